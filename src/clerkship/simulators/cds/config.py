"""The configuration of a `cds` simulator."""

from datetime import timedelta
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from clerkship.formats.cds_hooks.drugs import Indicator
from clerkship.formats.cds_hooks.hooks import HookName
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.model.pattern import Regex
from clerkship.sandbox.authentication.scope import parse_scopes
from clerkship.transports.outbound.address import OutboundAddress

Choice = Literal["recommended", "first", "all"]


def parse_base_url(text: str) -> OutboundAddress:
    """Parse the base URL of services; raise ValueError unless it is an http or https URL without a query."""
    address = OutboundAddress.parse(text)
    if address.scheme == "tcp":
        raise ValueError("expected the base URL of your services, such as http://127.0.0.1:8080")
    if urlsplit(text).query:
        raise ValueError("a base URL has no query")
    return address


def _check_url(text: str | None) -> str | None:
    if text is not None and not parse_base_url(text).is_loopback:
        raise ValueError("services named in a file must be on this machine (127.0.0.1, [::1] or localhost)")
    return text


def _check_scopes(scopes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(scope.text for scope in parse_scopes(scopes)) if scopes else ()


class CardDecision(Frozen):
    """What the clinician does with the cards that fit: accept suggestions, override, or ignore.

    The first decision that fits a card counts. A card that none fits is ignored.
    """

    do: Literal["accept", "override", "ignore"]
    hook: Annotated[HookName | None, Field(description="only cards of this hook")] = None
    service: Annotated[str | None, Field(description="only cards of the service with this id")] = None
    indicator: Annotated[Indicator | None, Field(description="only cards with this indicator")] = None
    summary: Annotated[Regex | None, Field(description="only cards whose summary matches")] = None
    choose: Annotated[
        Choice, Field(description="accept the recommended suggestion (or the first), the first, or all if allowed")
    ] = "recommended"
    label: Annotated[Regex | None, Field(description="accept the suggestions whose label matches, instead")] = None
    reason: Annotated[str | None, Field(description="override with this code of the card's override reasons")] = None
    comment: Annotated[str | None, Field(max_length=1000, description="override with this comment")] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.label is not None and self.do != "accept":
            raise ValueError("`label` is only for `do: accept`")
        if (self.reason is not None or self.comment is not None) and self.do != "override":
            raise ValueError("`reason` and `comment` are only for `do: override`")
        return self


class CdsConfig(Frozen):
    """The configuration of an EHR that calls CDS services: its name, where they are, limits, and what clinicians do."""

    organization: Annotated[
        str, Field(min_length=1, max_length=100, description="name of the organization that runs the EHR")
    ] = "Clinic"
    url: Annotated[
        str | None,
        AfterValidator(_check_url),
        Field(description="base URL of the agent's services; otherwise the agent registers it"),
    ] = None
    time_limit: Annotated[
        Duration, Field(description="wall time for a service to answer; simulated time stands still meanwhile")
    ] = timedelta(seconds=10)
    max_response: Annotated[Whole, Field(ge=1000, le=10_000_000, description="bytes in one answer")] = 1_000_000
    scopes: Annotated[
        tuple[str, ...],
        AfterValidator(_check_scopes),
        Field(description="SMART scopes of the access token for the chart; without any, services get no token"),
    ] = ("patient/*.read",)
    token_lifetime: Annotated[Duration, Field(description="wall time for which that token is valid")] = timedelta(
        minutes=5
    )
    apply_system_actions: Annotated[
        Flag, Field(description="whether system actions are applied to the chart, without a clinician")
    ] = True
    send_feedback: Annotated[Flag, Field(description="whether services are told what became of their cards")] = True
    decisions: Annotated[
        tuple[CardDecision, ...], Field(max_length=100, description="what clinicians do with cards")
    ] = ()

    @model_validator(mode="after")
    def _check_time_limit(self) -> Self:
        if not timedelta(milliseconds=50) <= self.time_limit <= timedelta(minutes=2):
            raise ValueError("time_limit is from 50 ms to 2 minutes")
        return self

    @model_validator(mode="after")
    def _check_token_lifetime(self) -> Self:
        if not timedelta(seconds=1) <= self.token_lifetime <= timedelta(hours=1):
            raise ValueError("token_lifetime is from 1 second to 1 hour")
        return self
