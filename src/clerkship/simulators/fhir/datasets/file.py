"""The keys of a FHIR dataset in a file."""

from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from clerkship.model.dataset import DatasetFile, Record
from clerkship.model.frozen import Frozen, Whole


class Generate(Frozen):
    """Synthetic patients to generate. The same seed gives the same patients."""

    patients: Annotated[Whole, Field(ge=1, le=100_000)] = 100
    seed: Whole = 7


class FhirDatasetFile(DatasetFile):
    """FHIR R4 resources: inline, from files, or generated."""

    type: Literal["fhir"]
    records: Annotated[tuple[Record, ...], Field(description="FHIR resources and Bundles")] = ()
    file: Annotated[str | None, Field(description="a Bundle (.json) or NDJSON file beside this file")] = None
    folder: Annotated[str | None, Field(description="a folder of such files beside this file")] = None
    generate: Annotated[Generate | None, Field(description="synthetic patients, with dates relative to `now`")] = None
    as_of: Annotated[
        AwareDatetime | None,
        Field(
            description="when the records were current; their dates are shifted from then to the environment's `now`"
        ),
    ] = None
    validation: Annotated[
        Literal["strict", "lenient"],
        Field(description="whether a violation of R4 is an error (`strict`) or a warning (`lenient`)"),
    ] = "strict"

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not (self.records or self.file or self.folder or self.generate):
            raise ValueError("a dataset of type fhir needs `records`, `file`, `folder` or `generate`")
        return self
