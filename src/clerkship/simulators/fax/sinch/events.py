"""Events of the Sinch API."""

from typing import ClassVar

from clerkship.events.event import Payload


class FaxTokenIssued(Payload):
    """The agent got an access token for the Sinch API; without the token."""

    kind: ClassVar[str] = "fax.token_issued"
    expires_in: int
    """Seconds of simulated time."""


SINCH_EVENTS: tuple[type[Payload], ...] = (FaxTokenIssued,)
