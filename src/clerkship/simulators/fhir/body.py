"""Bodies of requests and replies: their limits, their JSON, and the address of the server in them.

An element is any JSON value: an object, an array, a text, a number, `true`, `false` or `null`. The work of a request
grows with their number, so that is limited.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from clerkship.fhir import exact
from clerkship.fhir.reference import iter_references
from clerkship.sandbox.request import Reply
from clerkship.simulators.fhir.outcome import refusal

MAX_RESOURCE_ELEMENTS = 100_000
MAX_BUNDLE_ELEMENTS = 1_000_000
"""In a batch or transaction together, where each resource has the limit of a resource; and in a Bundle that is kept."""
_CHUNK_BYTES = 250_000
"""Bytes looked at by one call of the interpreter: no other thread runs during that."""


class ServerAddress:
    """The address of the server: as the client has it (`outside`), and as the store and the log have it (`inside`),
    which is the same on every machine. Requests are rewritten from the one to the other, and replies back."""

    def __init__(self, public_url: str = "") -> None:
        self.public_url = public_url
        self.internal_url = _build_internal_url(public_url)
        self._differs = self.public_url != self.internal_url
        path = urlsplit(public_url).path
        self._marker = max(path.split("/"), key=len)
        """Occurs in any text that contains the address, with or without backslashes: cheap to search for."""
        # Any host name: the path contains a name that no other server has, and a machine may have several host names.
        spelled = r"https?:" + f"//[A-Za-z0-9.:\\-\\[\\]]+{re.escape(path)}".replace("/", r"\\?/") + r"(?![\w\-])"
        self._text_pattern, self._json_pattern = re.compile(spelled), re.compile(spelled.encode())

    def rewrite_text(self, text: str) -> str:
        """Rewrite a text of a request."""
        return self._text_pattern.sub(self.internal_url, text) if self._differs and self._marker in text else text

    def rewrite_json(self, body: bytes) -> bytes:
        """Rewrite the body of a request: JSON, in which slashes may be escaped."""
        if not self._differs or self._marker.encode() not in body:
            return body
        return self._json_pattern.sub(self.internal_url.encode(), body)

    def rewrite_pairs(self, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Rewrite the values of a query."""
        return tuple((name, self.rewrite_text(value)) for name, value in pairs)

    def rewrite_reply(self, reply: Reply) -> Reply:
        """Rewrite a reply for the client."""
        if not self._differs:
            return reply
        headers: Mapping[str, str] = reply.headers
        if "Location" in headers:
            headers = {**headers, "Location": headers["Location"].replace(self.internal_url, self.public_url)}
        body = reply.body.replace(self.internal_url.encode(), self.public_url.encode())
        return Reply(reply.status, body, reply.media, headers)


def _build_internal_url(public_url: str) -> str:
    """Return `http://ehr.invalid` (RFC 6761 §6.4: reserved), which is also what an agent in this process has."""
    name = urlsplit(public_url).path.rpartition("/")[2]
    return f"http://{name}.invalid" if name else public_url


@lru_cache(maxsize=64)
def get_server_address(base: str) -> ServerAddress:
    """Return the address of a server that a client finds there."""
    return ServerAddress(base)


NO_ADDRESS = ServerAddress()
"""For changes that no request asks for."""


def parse_json(body: bytes, max_depth: int, max_elements: int = MAX_RESOURCE_ELEMENTS) -> Any:
    """Parse a body, with every digit kept; refuse one that has too many elements or is nested too deep."""
    check_elements(body, max_elements)
    try:
        data = exact.loads(body)
    except (ValueError, RecursionError):
        raise refusal(400, "structure", "the body is not JSON" if body else "there is no body") from None
    opened = body.count(b"{") + body.count(b"[")  # no more levels than that: most bodies need no second look
    if opened > max_depth and measure_depth(data, max_depth) > max_depth:
        raise refusal(400, "too-costly", f"the body is nested more than {max_depth} deep")
    return data


def parse_resource(body: bytes, base: str, max_depth: int, max_elements: int = MAX_RESOURCE_ELEMENTS) -> Any:
    """Parse a body that is a resource, whose references to this server are kept relative."""
    data = parse_json(body, max_depth, max_elements)
    # By the host's name: the slashes before it may be escaped.
    return make_relative(data, base) if base and base.rpartition("/")[2].encode() in body else data


def make_relative(data: Any, base: str) -> Any:
    """Remove the address from references to something on this server, in place. It is left wherever else it occurs: in
    the system of an identifier, the url of an extension, a text."""
    start = f"{base}/"
    for _, holder in iter_references(data):
        if holder["reference"].startswith(start):
            holder["reference"] = holder["reference"].removeprefix(start)
    return data


def measure_depth(data: Any, limit: int) -> int:
    """Count the levels of data, up to one more than a limit; without recursion, which the data may be too deep for."""
    level, depth = [data], 0
    while level and depth <= limit:
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        depth += 1
    return depth


def check_elements(body: bytes, limit: int) -> None:
    """Refuse JSON with more elements than a limit, before it is parsed."""
    if _has_more_elements(body, limit):
        raise too_many_elements(limit)


def check_resource(resource: Any, expression: str = "", status: int = 413) -> None:
    """Refuse a resource with too many elements."""
    if count_elements(resource, MAX_RESOURCE_ELEMENTS) > MAX_RESOURCE_ELEMENTS:
        raise too_many_elements(MAX_RESOURCE_ELEMENTS, expression, status)


def too_many_elements(limit: int, expression: str = "", status: int = 413) -> Exception:
    """Say that there are more elements than a limit."""
    return refusal(status, "too-costly", f"more than {limit:,} elements; send it in smaller parts", expression)


def count_elements(data: Any, limit: int) -> int:
    """Count the elements of parsed data; stop soon after a limit."""
    left, count = [data], 0
    while left and count <= limit:
        item = left.pop()
        count += 1
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return count


def _has_more_elements(body: bytes, limit: int) -> bool:
    """Every element is the first in an object or array, or follows a comma; commas and brackets in texts are none."""
    return (
        len(body) > limit
        and _count_by_chunk(body, limit, _count_delimiters) > limit
        and _count_by_chunk(body, limit, _DelimiterCounter()) > limit
    )


def _count_by_chunk(body: bytes, limit: int, count_in: Callable[[bytes], int]) -> int:
    """Add up what is counted in each slice; stop soon after a limit."""
    count, start = 1, 0
    while start < len(body) and count <= limit:
        end = start + _CHUNK_BYTES
        while body[end - 1 : end] == b"\\":  # an escape stays whole
            end += 1
        count += count_in(body[start:end])
        start = end
    return count


def _count_delimiters(data: bytes) -> int:
    return data.count(b",") + data.count(b"{") + data.count(b"[")


class _DelimiterCounter:
    """Counts marks outside of texts, from slice to slice."""

    def __init__(self) -> None:
        self._in_text = False

    def __call__(self, data: bytes) -> int:
        if b"\\" in data:
            data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = data.split(b'"')
        outside = parts[1::2] if self._in_text else parts[::2]
        self._in_text ^= len(parts) % 2 == 0
        return _count_delimiters(b"".join(outside))
