"""What other rooms know of an event that carries a message."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Carries(Protocol):
    """An event's payload with a message in it, as it is kept: each segment ends with a carriage return."""

    message: str
