"""The limit on the tokens of one answer, under the parameter that an endpoint accepts."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import JsonValue

from clerkship.llm.retry import RequestDeclined
from clerkship.providers.contract import ProviderApi

R = TypeVar("R")
DEFAULT_MAX_TOKENS = 8192
"""Tokens of one answer, if neither an option, a setting nor the parameters of the model say how many."""
_NEWER_HOSTS = ("api.openai.com",)
_TOO_LARGE = re.compile(r"(?i)too large|at most|context (length|window|size)|maximum context|in the completion|exceed")


class TokenLimit:
    """The limit that is sent with each request to one model.

    A limit that was set is sent as it is. The default is left out if the endpoint declines it, because its context is
    smaller: then the context is the limit.
    """

    def __init__(
        self, tokens: int | None, api: ProviderApi, address: str, parameters: Mapping[str, JsonValue] | None = None
    ) -> None:
        self._names, self._is_required = api.limits, api.requires_limit
        is_in_parameters = tokens is None and any(name in (parameters or {}) for name in self._names)
        self._is_default = tokens is None
        self._tokens: int | None = None if is_in_parameters else tokens or DEFAULT_MAX_TOKENS
        self._name = self._names[-1 if urlsplit(address).hostname in _NEWER_HOSTS else 0]
        self._is_renamed = len(self._names) == 1

    def apply(self, parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the parameters of a request with the limit; a limit that was set replaces one in the parameters."""
        if self._tokens is None:
            return dict(parameters)
        others = {name: value for name, value in parameters.items() if name not in self._names}
        return others | {self._name: self._tokens}

    def send(self, parameters: Mapping[str, JsonValue], post: Callable[[dict[str, JsonValue]], R]) -> R:
        """Send a request with the limit; if the endpoint declines the limit, send it in another form."""
        while True:
            sent = self.apply(parameters)
            try:
                return post(sent)
            except RequestDeclined as declined:
                # Another thread may have changed the form meanwhile.
                if sent == self.apply(parameters) and not self._change_form(declined):
                    raise

    def _change_form(self, declined: RequestDeclined) -> bool:
        """Use the other name, or leave the default out; return whether the form was changed."""
        text = str(declined)
        is_named = any(name in text for name in self._names)
        is_too_large = declined.code == "context_length_exceeded" or _TOO_LARGE.search(text) is not None
        if self._tokens is None or declined.status not in (400, 422) or not (is_named or is_too_large):
            return False
        if is_named and not is_too_large and not self._is_renamed:
            self._name = self._names[1 - self._names.index(self._name)]
            self._is_renamed = True
            return True
        if self._is_default and not self._is_required:
            self._tokens = None
            return True
        return False
