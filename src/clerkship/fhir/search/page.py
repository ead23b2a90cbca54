"""Pages of an answer: each goes on where the last one ended, whatever came or went in between.

A cursor holds by what the last entry of a page was sorted, not a number of entries: nothing is seen twice and nothing
is passed over when others write meanwhile. It belongs to one query; with another, or altered, it is refused.
"""

import base64
import binascii
import hashlib
from typing import NamedTuple

import orjson

from clerkship.fhir.issue import invalid
from clerkship.fhir.search.find import Found
from clerkship.fhir.search.order import Place, position
from clerkship.fhir.search.query import Query

MARK = 8
_SHOWING = ("_count", "_total", "_summary", "_elements", "_include", "_revinclude")
"""What changes how a page looks, not what is on it."""

BAD = invalid("invalid", "_cursor is not of this search: follow the links of a page as they are")


class Page(NamedTuple):
    """One page."""

    keys: list[str]
    next_cursor: str
    """Empty on the last page."""
    total: int
    previous_cursor: str | None = None
    """None on the first page; empty where that is the one before."""


def page(found: Found, query: Query, default_count: int) -> Page:
    """The page that a query asks for."""
    count = default_count if query.count is None else query.count
    start = _start(found, query) if query.cursor else 0
    keys = list(found.keys[start : start + count])
    more = bool(count) and start + count < found.total
    further = _cursor(query, found.place(start + count - 1)) if more else ""
    return Page(keys, further, found.total, _before(found, query, start, count))


def _before(found: Found, query: Query, start: int, count: int) -> str | None:
    if not start or not count:
        return None
    return _cursor(query, found.place(start - count - 1)) if start > count else ""


def _mark(query: Query, said: bytes) -> bytes:
    asked = [pair for pair in query.pairs if pair[0].partition(":")[0] not in _SHOWING]
    return hashlib.sha256(orjson.dumps([query.type, asked]) + said).digest()[:MARK]


def _cursor(query: Query, place: Place) -> str:
    said = orjson.dumps(place)
    return base64.urlsafe_b64encode(_mark(query, said) + said).rstrip(b"=").decode()


def _start(found: Found, query: Query) -> int:
    try:
        return position(found.total, found.place, _place(query), [rule.descending for rule in query.sort])
    except (TypeError, ValueError):
        raise BAD from None


def _place(query: Query) -> Place:
    try:
        data = base64.urlsafe_b64decode(query.cursor.encode("ascii") + b"=" * (-len(query.cursor) % 4))
    except (binascii.Error, ValueError):
        data = b""
    mark, said = data[:MARK], data[MARK:]
    if not said or mark != _mark(query, said):
        raise BAD
    return tuple(orjson.loads(said))
