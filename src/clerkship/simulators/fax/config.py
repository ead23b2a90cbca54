"""The configuration of a `fax` simulator."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.duration import Duration
from clerkship.model.frozen import Frozen, Whole

LineOutcome = Literal["ok", "busy", "no_answer", "failed", "partial"]


class FaxContact(Frozen):
    """A fax machine elsewhere, and how its line behaves."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    number: PhoneNumber
    outcomes: Annotated[
        tuple[LineOutcome, ...],
        Field(max_length=20, description="outcome of each attempt to send to it; the last one stays"),
    ] = ("ok",)
    partial_pages: Annotated[Whole, Field(ge=0, description="pages that get through when the outcome is `partial`")] = 1


class FaxConfig(Frozen):
    """The configuration: own numbers, the machines elsewhere, and how long sending takes."""

    organization: Annotated[str, Field(description="name of the organization, in the header line")] = "Clinic"
    numbers: Annotated[
        tuple[PhoneNumber, ...], Field(min_length=1, max_length=20, description="its own fax numbers")
    ] = ("+15550100200",)
    contacts: Annotated[tuple[FaxContact, ...], Field(max_length=10_000, description="fax machines elsewhere")] = ()
    project: Annotated[
        str, Field(pattern=r"^[0-9a-f-]{36}$", description="its project id in the Sinch API, the path of each URL")
    ] = "5ca1ab1e-fa00-4000-8000-000000000001"
    webhook: Annotated[
        str | None, Field(description="URL of the agent that is called for each fax that arrives or is done")
    ] = None
    dial_time: Annotated[Duration, Field(description="simulated time from the queue to the first page")] = timedelta(
        seconds=20
    )
    page_time: Annotated[Duration, Field(description="simulated time to send a page; twice as long in `fine`")] = (
        timedelta(seconds=15)
    )
    degradation: Annotated[Degradation, Field(description="how inbound faxes look, where a step does not say")] = (
        Degradation()
    )
    max_faxes: Annotated[
        Whole, Field(ge=1, le=1_000_000, description="how many faxes there may be; sending more is refused")
    ] = 10_000
    zone: Annotated[
        Whole | None,
        Field(
            ge=-720,
            le=840,
            description="offset of the time in header lines from UTC, in minutes; by default that of the environment's "
            "now",
        ),
    ] = None
