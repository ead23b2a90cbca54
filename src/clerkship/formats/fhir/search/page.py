"""Pages of search results. Each continues after the last entry of the previous one, even if resources change in
between.

A cursor holds the sort values of the last entry, not an offset: nothing is repeated or skipped when resources
change. It is valid for one query; with another query, or altered, it is refused.
"""

import base64
import binascii
import hashlib
from typing import NamedTuple

import orjson

from clerkship.formats.fhir.issue import fhir_error
from clerkship.formats.fhir.search.find import SearchResult
from clerkship.formats.fhir.search.order import SortPosition, find_position
from clerkship.formats.fhir.search.query import SearchQuery

CURSOR_DIGEST_BYTES = 8
_DISPLAY_PARAMETERS = ("_count", "_total", "_summary", "_elements", "_include", "_revinclude")
"""Parameters that change how a page is returned, not which matches are on it."""

INVALID_CURSOR = fhir_error("invalid", "_cursor is not valid for this search: use the links of a page unchanged")


class ResultPage(NamedTuple):
    """One page of keys."""

    keys: list[str]
    next_cursor: str
    """Empty on the last page."""
    total: int
    previous_cursor: str | None = None
    """None on the first page; empty if the previous page is the first one."""


def build_page(result: SearchResult, query: SearchQuery, default_count: int) -> ResultPage:
    """Return the page that a query requests; raises FhirError for an invalid cursor."""
    count = default_count if query.count is None else query.count
    start = _find_start(result, query) if query.cursor else 0
    keys = list(result.keys[start : start + count])
    has_more = bool(count) and start + count < result.total
    next_cursor = _encode_cursor(query, result.get_position(start + count - 1)) if has_more else ""
    return ResultPage(keys, next_cursor, result.total, _build_previous_cursor(result, query, start, count))


def _build_previous_cursor(result: SearchResult, query: SearchQuery, start: int, count: int) -> str | None:
    if not start or not count:
        return None
    return _encode_cursor(query, result.get_position(start - count - 1)) if start > count else ""


def _digest_cursor(query: SearchQuery, payload: bytes) -> bytes:
    pairs = [pair for pair in query.pairs if pair[0].partition(":")[0] not in _DISPLAY_PARAMETERS]
    return hashlib.sha256(orjson.dumps([query.type, pairs]) + payload).digest()[:CURSOR_DIGEST_BYTES]


def _encode_cursor(query: SearchQuery, position: SortPosition) -> str:
    payload = orjson.dumps(position)
    return base64.urlsafe_b64encode(_digest_cursor(query, payload) + payload).rstrip(b"=").decode()


def _find_start(result: SearchResult, query: SearchQuery) -> int:
    try:
        return find_position(
            result.total, result.get_position, _decode_cursor(query), [rule.descending for rule in query.sort]
        )
    except (TypeError, ValueError):
        raise INVALID_CURSOR from None


def _decode_cursor(query: SearchQuery) -> SortPosition:
    try:
        data = base64.urlsafe_b64decode(query.cursor.encode("ascii") + b"=" * (-len(query.cursor) % 4))
    except (binascii.Error, ValueError):
        data = b""
    digest, payload = data[:CURSOR_DIGEST_BYTES], data[CURSOR_DIGEST_BYTES:]
    if not payload or digest != _digest_cursor(query, payload):
        raise INVALID_CURSOR
    return tuple(orjson.loads(payload))
