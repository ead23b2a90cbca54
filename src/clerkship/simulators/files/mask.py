"""Hide the secret address of a drop, which is its user name over SFTP, from the log."""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal

PLACEHOLDER = "[address]"
InputT = TypeVar("InputT", bound=Frozen)
ResultT = TypeVar("ResultT")


@lru_cache(maxsize=256)
def _pattern(alias: str) -> re.Pattern[str]:
    return re.compile(re.escape(alias), re.IGNORECASE)


def hide_address(text: str, alias: str) -> str:
    """Replace the address in a text. A path written with the address can still be read with the address."""
    return _pattern(alias).sub(PLACEHOLDER, text) if alias else text


def masked(run: Callable[[Any, InputT], ResultT]) -> Callable[[Any, InputT], ResultT]:
    """Decorate an operation: hide the address in the texts of its input and in its refusals."""

    @wraps(run)
    def run_masked(context: Any, input: InputT) -> ResultT:
        alias = context.secret_address
        if not alias:
            return run(context, input)
        try:
            return run(context, _mask_input(input, alias))
        except Refusal as refusal:
            raise Refusal(refusal.status, refusal.code, hide_address(refusal.reason, alias), refusal.headers) from None

    return run_masked


def _mask_input(input: InputT, alias: str) -> InputT:
    search = _pattern(alias).search
    texts = {name: value for name, value in input.__dict__.items() if isinstance(value, str) and search(value)}
    if not texts:
        return input
    return input.model_copy(update={name: hide_address(text, alias) for name, text in texts.items()})
