"""The drop's unguessable address, which is its user's name over SFTP, kept out of what is taken down."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, wraps

from clerkship.sandbox.exchange import Refusal, Reply
from clerkship.sandbox.route import Call

INSTEAD = "[address]"


@lru_cache(maxsize=256)
def _pattern(alias: str) -> re.Pattern[str]:
    return re.compile(re.escape(alias), re.IGNORECASE)


def hide(text: str, alias: str) -> str:
    """The text as it may be kept. Whoever writes a path with the address reads it with the address too."""
    return _pattern(alias).sub(INSTEAD, text) if alias else text


def masked(handler: Callable[[Call], Reply]) -> Callable[[Call], Reply]:
    """An operation to whose paths, query and refusals that is done; what is in a body it does itself."""

    @wraps(handler)
    def handle(call: Call) -> Reply:
        alias = call.alias
        if not alias:
            return handler(call)
        params, query = _hidden(call.params, alias), _hidden(call.request.query, alias)
        if params is not call.params or query is not call.request.query:
            call = replace(call, params=params, request=replace(call.request, query=query))
        try:
            return handler(call)
        except Refusal as refusal:
            raise Refusal(refusal.status, refusal.code, hide(refusal.reason, alias), refusal.headers) from None

    return handle


def _hidden(given: Mapping[str, str], alias: str) -> Mapping[str, str]:
    """The same mapping, where there is nothing to hide."""
    search = _pattern(alias).search
    if not any(search(value) for value in given.values()):
        return given
    return {name: hide(value, alias) for name, value in given.items()}
