"""The result of a reaction to a message."""

from typing import NamedTuple


class FiledMessage(NamedTuple):
    """A message was processed by another sandbox; returned by a reaction to the engine that accepted the message."""

    keys: tuple[str, ...]
    """The records that the message changed, in order, such as `Patient/ana`."""
