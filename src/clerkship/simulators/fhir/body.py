"""Request and response bodies: their limits, their JSON, and the server's URL in them.

An element is any JSON value: an object, an array, a text, a number, `true`, `false` or `null`. The work of a request
grows with the number of elements, so that number is limited.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.resource import list_references
from clerkship.sandbox.request import Reply
from clerkship.simulators.fhir.outcome import refusal

MAX_RESOURCE_ELEMENTS = 100_000
MAX_BUNDLE_ELEMENTS = 1_000_000
"""The limit of a whole batch or transaction, in which each resource has the limit above; and of a stored Bundle."""
_CONTAINERS = (dict, list)
_CHUNK_BYTES = 250_000
"""Bytes per call of `bytes.count`, which holds the interpreter lock."""


class ServerAddress:
    """The URL of the server as the client sees it (`public_url`) and as the store and the log have it (`internal_url`).

    The internal URL is the same on every machine. Requests are rewritten to it, and replies back to the public URL.
    """

    def __init__(self, public_url: str = "") -> None:
        self.public_url = public_url
        self.internal_url = _build_internal_url(public_url)
        self._differs = self.public_url != self.internal_url
        self._public_bytes, self._internal_bytes = self.public_url.encode(), self.internal_url.encode()
        path = urlsplit(public_url).path
        self._marker = max(path.split("/"), key=len)
        """A part of the URL that needs no escaping: a cheap test for whether a text may contain the URL."""
        # Match any host name: a machine may have several, and the path is unique to this server.
        spelled = r"https?:" + f"//[A-Za-z0-9.:\\-\\[\\]]+{re.escape(path)}".replace("/", r"\\?/") + r"(?![\w\-])"
        self._text_pattern, self._json_pattern = re.compile(spelled), re.compile(spelled.encode())

    def rewrite_text(self, text: str) -> str:
        """Replace the public URL in a text of a request."""
        return self._text_pattern.sub(self.internal_url, text) if self._differs and self._marker in text else text

    def rewrite_json(self, body: bytes) -> bytes:
        """Replace the public URL in the body of a request: JSON, in which slashes may be escaped."""
        if not self._differs or self._marker.encode() not in body:
            return body
        return self._json_pattern.sub(self._internal_bytes, body)

    def rewrite_pairs(self, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Replace the public URL in the values of a query."""
        return tuple((name, self.rewrite_text(value)) for name, value in pairs)

    def rewrite_reply(self, reply: Reply) -> Reply:
        """Replace the internal URL in a reply."""
        if not self._differs:
            return reply
        headers: Mapping[str, str] = reply.headers
        for name in ("Location", "Content-Location"):
            if name in headers:
                headers = {**headers, name: headers[name].replace(self.internal_url, self.public_url)}
        body = reply.body.replace(self._internal_bytes, self._public_bytes)
        if body == reply.body and headers is reply.headers:
            return reply
        return Reply(reply.status, body, reply.media, headers)


def _build_internal_url(public_url: str) -> str:
    """Return `http://ehr.invalid` for a sandbox named `ehr`. The domain is reserved (RFC 6761 §6.4).

    An agent in the same process sees the server under this URL too.
    """
    name = urlsplit(public_url).path.rpartition("/")[2]
    return f"http://{name}.invalid" if name else public_url


@lru_cache(maxsize=64)
def get_server_address(base: str) -> ServerAddress:
    """Return the address of the server from the base of a request."""
    return ServerAddress(base)


NO_ADDRESS = ServerAddress()
"""For changes by steps and reactions, which have no request."""


def parse_json(body: bytes, max_depth: int, max_elements: int = MAX_RESOURCE_ELEMENTS) -> Any:
    """Parse a body without losing digits of decimals; refuse one with too many elements or levels."""
    check_elements(body, max_elements)
    try:
        data = exact.loads(body)
    except (ValueError, RecursionError):
        raise refusal(400, "structure", "the body is not JSON" if body else "the body is empty") from None
    opened = body.count(b"{") + body.count(b"[")  # an upper bound of the depth, so most bodies need no second check
    if opened > max_depth and measure_depth(data, max_depth) > max_depth:
        raise refusal(400, "too-costly", f"the body is nested more than {max_depth} levels deep")
    return data


def parse_resource(body: bytes, base: str, max_depth: int, max_elements: int = MAX_RESOURCE_ELEMENTS) -> Any:
    """Parse a body that is a resource, and make its references to this server relative."""
    data = parse_json(body, max_depth, max_elements)
    # Test for the host name alone: the slashes before it may be escaped.
    return make_relative(data, base) if base and base.rpartition("/")[2].encode() in body else data


def make_relative(data: Any, base: str) -> Any:
    """Make references to this server relative, in place.

    The URL stays wherever else it occurs: in the system of an identifier, the url of an extension, a text.
    """
    start = f"{base}/"
    for _, holder in list_references(data):
        if holder["reference"].startswith(start):
            holder["reference"] = holder["reference"].removeprefix(start)
    return data


def measure_depth(data: Any, limit: int) -> int:
    """Return the number of nested levels, at most one more than the limit.

    It does not recurse, since the data may be nested deeper than Python's recursion limit.
    """
    level, depth = [data] if isinstance(data, _CONTAINERS) else [], 0
    while level and depth <= limit:
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if type(inner) is not str and isinstance(inner, _CONTAINERS)  # most are text: the first test is quicker
        ]
        depth += 1
    return depth


def check_elements(body: bytes, limit: int) -> None:
    """Refuse JSON with more elements than a limit, before it is parsed."""
    if has_more_elements(body, limit):
        raise too_many_elements(limit)


def check_resource(resource: Any, expression: str = "", status: int = 413) -> None:
    """Refuse a resource with too many elements."""
    if count_elements(resource, MAX_RESOURCE_ELEMENTS) > MAX_RESOURCE_ELEMENTS:
        raise too_many_elements(MAX_RESOURCE_ELEMENTS, expression, status)


def too_many_elements(limit: int, expression: str = "", status: int = 413) -> Exception:
    """Build the refusal of data with more elements than a limit."""
    return refusal(status, "too-costly", f"more than {limit:,} elements; send it in smaller parts", expression)


def count_elements(data: Any, limit: int) -> int:
    """Count the elements of parsed data; stop soon after the limit."""
    left, count = [data], 0
    while left and count <= limit:
        item = left.pop()
        count += 1
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return count


def has_more_elements(body: bytes, limit: int) -> bool:
    """Return whether JSON has more elements than a limit.

    Every element is the first in an object or array, or follows a comma. The second, slower count leaves out texts.
    """
    return (
        len(body) > limit
        and _count_by_chunk(body, limit, _count_delimiters) > limit
        and _count_by_chunk(body, limit, _DelimiterCounter()) > limit
    )


def _count_by_chunk(body: bytes, limit: int, count_in: Callable[[bytes], int]) -> int:
    """Add up the counts of all chunks; stop soon after the limit."""
    count, start = 1, 0
    while start < len(body) and count <= limit:
        end = start + _CHUNK_BYTES
        while body[end - 1 : end] == b"\\":  # do not split an escape sequence
            end += 1
        count += count_in(body[start:end])
        start = end
    return count


def _count_delimiters(data: bytes) -> int:
    return data.count(b",") + data.count(b"{") + data.count(b"[")


class _DelimiterCounter:
    """Counts delimiters outside of texts, over several chunks."""

    def __init__(self) -> None:
        self._in_text = False

    def __call__(self, data: bytes) -> int:
        if b"\\" in data:
            data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = data.split(b'"')
        outside = parts[1::2] if self._in_text else parts[::2]
        self._in_text ^= len(parts) % 2 == 0
        return _count_delimiters(b"".join(outside))
