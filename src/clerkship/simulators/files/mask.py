"""Keeps the secret address of a drop, which is its user's name over SFTP, out of the log."""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal

INSTEAD = "[address]"
InputT = TypeVar("InputT", bound=Frozen)
ResultT = TypeVar("ResultT")


@lru_cache(maxsize=256)
def _pattern(alias: str) -> re.Pattern[str]:
    return re.compile(re.escape(alias), re.IGNORECASE)


def hide(text: str, alias: str) -> str:
    """Return the text as it may be kept. A client that writes a path with the address reads it with the address too."""
    return _pattern(alias).sub(INSTEAD, text) if alias else text


def masked(run: Callable[[Any, InputT], ResultT]) -> Callable[[Any, InputT], ResultT]:
    """Hide the address in the texts of an operation's input, and in its refusals."""

    @wraps(run)
    def run_masked(context: Any, input: InputT) -> ResultT:
        alias = context.secret_address
        if not alias:
            return run(context, input)
        try:
            return run(context, _hidden(input, alias))
        except Refusal as refusal:
            raise Refusal(refusal.status, refusal.code, hide(refusal.reason, alias), refusal.headers) from None

    return run_masked


def _hidden(input: InputT, alias: str) -> InputT:
    """Return the same input where there is nothing to hide."""
    search = _pattern(alias).search
    texts = {name: value for name, value in input.__dict__.items() if isinstance(value, str) and search(value)}
    if not texts:
        return input
    return input.model_copy(update={name: hide(text, alias) for name, text in texts.items()})
