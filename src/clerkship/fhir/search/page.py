"""Pages of an answer: each goes on where the last one ended, whatever came or went in between.

A cursor holds by what the last entry of a page was sorted, not a number of entries: nothing is seen twice and nothing
is passed over when others write meanwhile. It belongs to one query; with another, or altered, it is refused.
"""

import base64
import binascii
import hashlib
from typing import NamedTuple

import orjson

from clerkship.fhir.issue import fhir_error
from clerkship.fhir.search.find import SearchResult
from clerkship.fhir.search.order import SortPosition, find_position
from clerkship.fhir.search.query import SearchQuery

CURSOR_DIGEST_BYTES = 8
_DISPLAY_PARAMETERS = ("_count", "_total", "_summary", "_elements", "_include", "_revinclude")
"""What changes how a page looks, not what is on it."""

INVALID_CURSOR = fhir_error("invalid", "_cursor is not of this search: follow the links of a page as they are")


class ResultPage(NamedTuple):
    """One page."""

    keys: list[str]
    next_cursor: str
    """Empty on the last page."""
    total: int
    previous_cursor: str | None = None
    """None on the first page; empty where that is the one before."""


def build_page(found: SearchResult, query: SearchQuery, default_count: int) -> ResultPage:
    """The page that a query asks for."""
    count = default_count if query.count is None else query.count
    start = _find_start(found, query) if query.cursor else 0
    keys = list(found.keys[start : start + count])
    more = bool(count) and start + count < found.total
    further = _encode_cursor(query, found.place(start + count - 1)) if more else ""
    return ResultPage(keys, further, found.total, _build_previous_cursor(found, query, start, count))


def _build_previous_cursor(found: SearchResult, query: SearchQuery, start: int, count: int) -> str | None:
    if not start or not count:
        return None
    return _encode_cursor(query, found.place(start - count - 1)) if start > count else ""


def _digest_cursor(query: SearchQuery, said: bytes) -> bytes:
    asked = [pair for pair in query.pairs if pair[0].partition(":")[0] not in _DISPLAY_PARAMETERS]
    return hashlib.sha256(orjson.dumps([query.type, asked]) + said).digest()[:CURSOR_DIGEST_BYTES]


def _encode_cursor(query: SearchQuery, place: SortPosition) -> str:
    said = orjson.dumps(place)
    return base64.urlsafe_b64encode(_digest_cursor(query, said) + said).rstrip(b"=").decode()


def _find_start(found: SearchResult, query: SearchQuery) -> int:
    try:
        return find_position(found.total, found.place, _decode_cursor(query), [rule.descending for rule in query.sort])
    except (TypeError, ValueError):
        raise INVALID_CURSOR from None


def _decode_cursor(query: SearchQuery) -> SortPosition:
    try:
        data = base64.urlsafe_b64decode(query.cursor.encode("ascii") + b"=" * (-len(query.cursor) % 4))
    except (binascii.Error, ValueError):
        data = b""
    mark, said = data[:CURSOR_DIGEST_BYTES], data[CURSOR_DIGEST_BYTES:]
    if not said or mark != _digest_cursor(query, said):
        raise INVALID_CURSOR
    return tuple(orjson.loads(said))
