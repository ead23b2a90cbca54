"""Datasets of policies: what payers and portals show, and the same documents as files for file drops."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.located_error import build_located_error
from clerkship.payer.policies.document import build_document, write_policy_html, write_policy_pdf
from clerkship.payer.policies.policy import Policy
from clerkship.suite_files.dataset_type import DatasetSource, DatasetType

POLICIES = "policies"


class PoliciesDatasetFile(DatasetFile):
    """Policies of payers. Each version is a PDF and an HTML file in the file drops of the environment."""

    type: Literal["policies"]
    folder: Annotated[
        str,
        Field(pattern=r"^[\w-]+(/[\w-]+)*$", description="folder of a file drop for the files, such as policies/cedar"),
    ] = "policies"
    policies: Annotated[tuple[Policy, ...], Field(min_length=1, description="the policies")]

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        counts = Counter(policy.id for policy in self.policies)
        mistakes = [
            (("policies", place, "id"), f"two policies have the id {policy.id}")
            for place, policy in enumerate(self.policies)
            if counts[policy.id] > 1
        ]
        if mistakes:
            raise build_located_error(mistakes)
        return self


def load_policies(written: PoliciesDatasetFile, source: DatasetSource) -> Dataset:
    """Return the policies as records, and their documents as files."""
    return build_policy_dataset(written)


def build_policy_dataset(written: PoliciesDatasetFile) -> Dataset:
    """Return the policies as records, and their documents as files: `policies/CM-RAD-014_2026.1.pdf`."""
    files: dict[str, bytes] = {}
    for policy in written.policies:
        for version in policy.versions:
            document, stem = build_document(policy, version), f"{written.folder}/{policy.id}_{version.number}"
            files[f"{stem}.pdf"] = write_policy_pdf(document)
            files[f"{stem}.html"] = write_policy_html(document)
    records = tuple(policy.model_dump(mode="json", exclude_unset=True) for policy in written.policies)
    return Dataset(name=written.name, type=POLICIES, records=records, files=files)


def read_policies(datasets: Sequence[Dataset]) -> Iterator[Policy]:
    """Yield the policies of datasets."""
    for dataset in datasets:
        yield from map(Policy.model_validate, dataset.records if dataset.type == POLICIES else ())


POLICIES_DATASET = DatasetType(
    name=POLICIES,
    summary="policies of payers in versions, as records and as PDF and HTML files",
    model=PoliciesDatasetFile,
    load=load_policies,
    has_files=True,
)
