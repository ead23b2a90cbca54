"""The result of a reaction to a message."""

from typing import NamedTuple


class FiledMessage(NamedTuple):
    """An application followed a message; returned by a reaction to the engine that took the message."""

    keys: tuple[str, ...]
    """The records that the message changed, in order, as the application names them: `Patient/ana`."""
