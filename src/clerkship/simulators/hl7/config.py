"""The configuration of an `hl7` simulator."""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from clerkship.formats.hl7.validation import ValidationLevel
from clerkship.model.closed import NameOf
from clerkship.model.duration import Duration, UtcOffset
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.transports.outbound.address import OutboundAddress


def _check_listener(text: str | None) -> str | None:
    if text is None:
        return None
    address = OutboundAddress.parse(text)
    if address.scheme != "tcp":
        raise ValueError("expected host and port, such as 127.0.0.1:6661, not a URL")
    if not address.is_loopback:
        raise ValueError(f"a listener must be on this machine (127.0.0.1, [::1] or localhost), not {address.host[:60]}")
    return text


CONTROL_ID = NameOf("message with the control id", or_mentioned=True)
"""A message that a step sends."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,39}$")]


class Hl7Config(Frozen):
    """The configuration of an interface engine: name, validation level, limits, and delivery to a listening agent."""

    application: Annotated[Name, Field(description="its name as a sender, MSH-3")] = "LAB"
    facility: Annotated[
        Name, Field(description="its facility, MSH-4; the log shows it instead of the secret one that agents write")
    ] = "CLERKSHIP"
    validation: Annotated[
        ValidationLevel,
        Field(description="strict refuses each deviation from the standard; lenient accepts and records most of them"),
    ] = "strict"
    max_message: Annotated[Whole, Field(ge=1000, le=20_000_000, description="bytes in one message")] = 5_000_000
    own_port: Annotated[
        Flag,
        Field(description="whether this sandbox has an MLLP port of its own, to which any local program may send"),
    ] = False
    listener: Annotated[
        str | None,
        AfterValidator(_check_listener),
        Field(description="where the agent listens for MLLP, as host:port; otherwise it registers itself, or polls"),
    ] = None
    resend: Annotated[Duration, Field(description="simulated time between attempts to deliver a message")] = timedelta(
        seconds=5
    )
    zone: UtcOffset = None
    attempts: Annotated[Whole, Field(ge=1, le=100, description="attempts to deliver a message")] = 3
