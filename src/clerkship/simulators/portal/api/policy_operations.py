"""Operations of the REST API on the library of policies."""

from datetime import date
from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.payer.policies.policy import PolicySection, VersionStatus
from clerkship.sandbox.request import Reply
from clerkship.simulators.portal.api.results import ApiFact, to_dict
from clerkship.simulators.portal.api.serve import ApiAnswer
from clerkship.simulators.portal.desk import Desk, InvalidForm
from clerkship.simulators.portal.downloads import build_download
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.policy_library import download_version, open_version, search_library


class PolicySearch(Frozen):
    """What to search the library for; all versions if nothing is given."""

    text: Annotated[str, Field(description="words of the policy, all of which it has")] = ""
    code: Annotated[str, Field(description="procedure code that it is about")] = ""
    day: Annotated[str, Field(description="day on which the version is in force, such as 2026-03-16")] = ""


class PolicyInput(Frozen):
    """A version of a policy."""

    id: Annotated[str, Field(description="id of the policy, such as CM-RAD-014")]
    version: Annotated[str, Field(description="number of the version, such as 2026.1")]


class ApiPolicyRow(Frozen):
    """A version of a policy in the library."""

    id: str
    version: str
    title: str
    kind: str
    rank: Annotated[int, Field(description="1 is the highest; where two policies conflict, the lower rank gives way")]
    effective: date
    until: date | None
    status: VersionStatus
    status_label: str


class ApiPolicies(Frozen):
    """Versions that match a search."""

    policies: tuple[ApiPolicyRow, ...]


class ApiPolicy(ApiPolicyRow):
    """Everything that a version says."""

    publisher: str
    facts: tuple[ApiFact, ...]
    sections: tuple[PolicySection, ...]


def search_policies(desk: Desk, given: PolicySearch) -> ApiAnswer[ApiPolicies]:
    """Search the library of policies: versions in force, superseded, and of the future, each with its days."""
    form = FormValues(given.model_dump())
    found = search_library(desk, form)
    if form.problems:
        raise InvalidForm(form.problems)
    rows = tuple(ApiPolicyRow(**to_dict(row)) for row in found.rows)
    return ApiAnswer(ApiPolicies(policies=rows), "policy_list", found.records)


def read_policy(desk: Desk, given: PolicyInput) -> ApiAnswer[ApiPolicy]:
    """Read a version of a policy."""
    opened = open_version(desk, given.id, given.version)
    facts = tuple(ApiFact(label=label, value=value) for label, value in opened.document.facts)
    result = ApiPolicy(
        **to_dict(opened.row),
        publisher=opened.document.publisher,
        facts=facts,
        sections=opened.document.sections,
    )
    return ApiAnswer(result, "policy", (opened.record,), opened.shown)


def read_policy_pdf(desk: Desk, given: PolicyInput) -> Reply:
    """Download a version of a policy as PDF."""
    return build_download(download_version(desk, given.id, given.version))
