"""The viewer of a server, on loopback: requests are passed on with a key that the browser never has."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import httpx

from clerkship.kit.http_client import is_loopback, parse_address
from clerkship.model.errors import InputError
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.service.server_key import read_key
from clerkship.settings import Settings
from clerkship.viewer.answering import CHANGE_HEADER
from clerkship.viewer.application import Answer
from clerkship.viewer.context import PREFIX

CONNECT_TIMEOUT, READ_TIMEOUT = 10.0, 120.0
_SENT = ("accept", "content-type", "if-none-match", CHANGE_HEADER)
_RETURNED = ("etag", "cache-control", "content-security-policy", "location", "x-content-type-options")


@contextmanager
def open_forwarding(url: str, key_file: Path | None, settings: Settings) -> Iterator[Answer]:
    """Yield what passes requests on to a server. Raise InputError if it does not answer, or refuses the key."""
    with closing(Forwarding(url, read_key(key_file, settings))) as forwarding:
        try:
            reply = forwarding.answer(Request("GET", f"{PREFIX}/data/runs"))
        except Refusal as refusal:
            raise InputError.of(refusal.reason) from None
        if not reply.ok:
            hint = "it needs a server of this version" if reply.status == 404 else ""
            raise InputError.of(f"{url} has no viewer: it answered {reply.status}", hint=hint)
        yield forwarding.answer


class Forwarding:
    """Passes requests on to one server."""

    def __init__(self, url: str, key: str) -> None:
        self._url = parse_address(url, url, "server").rstrip("/")
        timeout = httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
        headers = {"authorization": f"Bearer {key}"}
        self._http = httpx.Client(headers=headers, timeout=timeout, trust_env=not is_loopback(self._url))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def answer(self, request: Request) -> Reply:
        """Answer with what the server answers. Raise Refusal if it does not answer, or refuses the key."""
        query = f"?{urlencode(request.pairs)}" if request.query else ""
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        try:
            response = self._http.request(
                request.method, f"{self._url}{quote(request.path)}{query}", headers=headers, content=request.body
            )
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise Refusal(502, "no_server", f"the server {self._url} does not answer: {reason}") from None
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise Refusal(502, "key_refused", f"the server {self._url} does not accept the key")
        media = response.headers.get("content-type", "application/octet-stream")
        kept = {name: response.headers[name] for name in _RETURNED if name in response.headers}
        return Reply(response.status_code, response.content, media, kept)
