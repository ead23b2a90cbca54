"""Events of the Sinch API."""

from clerkship.events.event import Payload


class FaxTokenIssued(Payload, kind="fax.token_issued"):
    """The agent got an access token for the Sinch API; without the token."""

    expires_in: int
    """Seconds of simulated time."""


SINCH_EVENTS: tuple[type[Payload], ...] = (FaxTokenIssued,)
