"""What an interface engine can be told."""

import ipaddress
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from clerkship.hl7.validation import Level
from clerkship.model.duration import Duration
from clerkship.model.environment import Environment, minutes_ahead
from clerkship.model.frozen import Flag, Frozen, Whole

LARGEST_PORT = 65535


def is_here(host: str) -> bool:
    """Whether it is this machine: a sandbox calls nobody else."""
    bare = host.strip("[]")
    try:
        return bare == "localhost" or ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def _address(text: str | None) -> str | None:
    host, _, port = (text or "").rpartition(":")
    if text is not None and (not host or not port.isdecimal() or not 0 < int(port) <= LARGEST_PORT):
        raise ValueError(f"expected host and port, such as 127.0.0.1:6661, not {text[:60]!r}")
    if text is not None and not is_here(host):
        raise ValueError(f"a listener is on this machine: 127.0.0.1, [::1] or localhost, not {host[:60]}")
    return text


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]{0,39}$")]


class Hl7Config(Frozen):
    """Who the engine is, how strict it is, and how it calls an agent that listens."""

    application: Annotated[Name, Field(description="its name as a sender, MSH-3")] = "LAB"
    facility: Annotated[Name, Field(description="its facility, MSH-4; what the log has for the one agents write")] = (
        "CLERKSHIP"
    )
    validation: Annotated[
        Level,
        Field(description="what a message is held against: all of the standard, or no more than daily feeds keep to"),
    ] = "strict"
    max_message: Annotated[Whole, Field(ge=1000, le=20_000_000, description="bytes in one message")] = 5_000_000
    own_port: Annotated[
        Flag,
        Field(description="whether MLLP has a port for this sandbox alone: any program here may send to it"),
    ] = False
    listener: Annotated[
        str | None,
        AfterValidator(_address),
        Field(description="where the agent listens for MLLP, as host:port; else it says so itself, or polls"),
    ] = None
    resend: Annotated[Duration, Field(description="how long between attempts to deliver a message")] = timedelta(
        seconds=5
    )
    zone: Annotated[
        Whole | None,
        Field(ge=-840, le=840, description="minutes ahead of UTC of the times it writes; as in the environment's now"),
    ] = None
    attempts: Annotated[Whole, Field(ge=1, le=100, description="attempts to deliver a message")] = 3


def located(config: Hl7Config, environment: Environment) -> Hl7Config:
    """An engine that is where its environment is, unless it says otherwise."""
    return config if config.zone is not None else config.model_copy(update={"zone": minutes_ahead(environment.now)})
