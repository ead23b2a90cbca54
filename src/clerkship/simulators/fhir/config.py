"""The configuration of a FHIR server."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.sandbox.authentication.backend_services import BackendClient


def _check_clients(clients: tuple[BackendClient, ...]) -> tuple[BackendClient, ...]:
    if len({client.client_id for client in clients}) < len(clients):
        raise ValueError("two clients have the same client_id")
    if sum(client.jwks is None for client in clients) > 1:
        raise ValueError("only one client may be without `jwks`: the agent gets one private key")
    return clients


class FhirConfig(Frozen):
    """Strictness and limits of the server."""

    validation: Annotated[
        Literal["strict", "lenient"],
        Field(description="`strict` refuses a resource with defects; `lenient` stores it and logs the defects"),
    ] = "strict"
    references: Annotated[
        Literal["checked", "unchecked"],
        Field(description="`checked` refuses a reference to a resource that is not on this server"),
    ] = "checked"
    read_only: Annotated[Flag, Field(description="whether writes and deletes of the agent are refused")] = False
    client_ids: Annotated[
        Flag, Field(description="whether an update with an unknown id creates the resource under that id")
    ] = True
    page_size: Annotated[
        Whole, Field(ge=1, le=1000, description="matches on a page, unless the search has `_count`")
    ] = 50
    max_page_size: Annotated[Whole, Field(ge=1, le=10_000, description="the most matches on a page")] = 1000
    max_entries: Annotated[Whole, Field(ge=1, le=100_000, description="the most entries in a batch or transaction")] = (
        10_000
    )
    zone: Annotated[
        Whole | None,
        Field(
            ge=-840,
            le=840,
            description="time zone of the server in minutes ahead of UTC; by default that of the environment's `now`",
        ),
    ] = None
    authorities: Annotated[
        dict[str, str],
        Field(description="assigning authority in HL7 messages -> identifier system in FHIR"),
    ] = {}
    max_depth: Annotated[Whole, Field(ge=10, le=200, description="the most nested levels in a body")] = 100
    clients: Annotated[
        tuple[BackendClient, ...],
        AfterValidator(_check_clients),
        Field(description="clients of SMART backend services; without any, there is no token endpoint"),
    ] = ()
    export_duration: Annotated[
        Duration, Field(description="simulated time until the files of a bulk export are ready")
    ] = timedelta(seconds=5)
    token_lifetime: Annotated[Duration, Field(description="simulated time for which their access tokens are valid")] = (
        timedelta(minutes=5)
    )
