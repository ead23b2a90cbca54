"""What a FHIR server can be told."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.environment import Environment, utc_offset_minutes
from clerkship.model.frozen import Flag, Frozen, Whole


class FhirConfig(Frozen):
    """How strict the server is, and where its limits are."""

    validation: Annotated[
        Literal["strict", "lenient"],
        Field(description="whether a resource with defects is refused, or kept and the defects taken down"),
    ] = "strict"
    references: Annotated[
        Literal["checked", "unchecked"],
        Field(description="whether a reference to what is not on this server is refused"),
    ] = "checked"
    read_only: Annotated[Flag, Field(description="the agent may not write or delete")] = False
    client_ids: Annotated[Flag, Field(description="an update of what is not there makes it, under that id")] = True
    page_size: Annotated[Whole, Field(ge=1, le=1000, description="matches on a page where `_count` is not said")] = 50
    max_page_size: Annotated[Whole, Field(ge=1, le=10_000, description="matches on a page at most")] = 1000
    max_entries: Annotated[Whole, Field(ge=1, le=100_000, description="entries in a batch or transaction")] = 10_000
    zone: Annotated[
        Whole | None,
        Field(ge=-840, le=840, description="minutes ahead of UTC, where a date begins; as in the environment's now"),
    ] = None
    authorities: Annotated[
        dict[str, str],
        Field(description="identifier systems by the names that HL7 messages have for who gives numbers out"),
    ] = {}
    max_depth: Annotated[Whole, Field(ge=10, le=200, description="how deep a body may be nested")] = 100


def apply_environment_zone(config: FhirConfig, environment: Environment) -> FhirConfig:
    """A server that is where its environment is, unless it says otherwise."""
    return (
        config if config.zone is not None else config.model_copy(update={"zone": utc_offset_minutes(environment.now)})
    )
