"""Events of every kind round trip through their bytes."""

from datetime import UTC, date, datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import MAX_INLINE_BYTES, Event, Payload, parse_event, render_event
from clerkship.events.log import compute_head, open_log
from tests.examples import examples

KINDS = RegisteredCatalog().events
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
LARGE = st.builds(lambda text, n: text * n, TEXT, st.sampled_from([1, 1, MAX_INLINE_BYTES]))
WHOLE = st.integers(-(2**63), 2**63 - 1)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | LARGE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
MAPS = st.dictionaries(TEXT, JSON, max_size=3)
BYTES = st.builds(lambda data, n: data * n, st.binary(max_size=30), st.sampled_from([1, 1, MAX_INLINE_BYTES]))
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: LARGE,
    int: WHOLE,
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
    date: st.dates(),
    datetime: TIMES,
    bytes: BYTES | LARGE.map(str.encode),
    str | None: st.none() | LARGE,
    bool: st.booleans(),
    int | None: st.none() | WHOLE,
    float | None: st.none() | st.floats(allow_nan=False, allow_infinity=False),
    Any: JSON,
    tuple[str, ...]: st.lists(LARGE, max_size=3).map(tuple),
    tuple[int, ...]: st.lists(WHOLE, max_size=3).map(tuple),
    tuple[dict[str, str], ...]: st.lists(st.dictionaries(TEXT, LARGE, max_size=3), max_size=3).map(tuple),
    dict[str, Any]: MAPS,
    dict[str, Any] | None: st.none() | MAPS,
    tuple[dict[str, Any], ...]: st.lists(MAPS, max_size=3).map(tuple),
}


POSITIVE = st.floats(0.5, 1e9)


def payloads(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    """Return a strategy for payloads of a kind, by the types of its fields."""
    return models(kind)


@cache
def models(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for models of a class, by the types of its fields.

    Values that the class refuses together are drawn again.
    """

    def build(**fields: Any) -> Any:
        try:
            return kind(**fields)
        except ValidationError:
            reject()

    return st.builds(build, **{name: field_values(info) for name, info in kind.model_fields.items()})


def field_values(info: FieldInfo) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a field. A number with a limit is positive."""
    if any(hasattr(item, "gt") or hasattr(item, "ge") for item in info.metadata):
        return POSITIVE
    return values(info.annotation)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type."""
    if annotation in BY_TYPE:
        return BY_TYPE[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is Annotated:
        return POSITIVE if arguments[0] is float else values(arguments[0])
    if origin in (Union, UnionType):
        return st.one_of([values(each) for each in arguments])
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if hasattr(annotation, "_fields"):
        return st.builds(annotation, **{name: values(each) for name, each in annotation.__annotations__.items()})
    return models(annotation)


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=examples(25, quick=5), deadline=None)  # of each of two hundred kinds
@given(data=st.data())
def test_an_event_is_the_same_after_a_round_trip_through_its_bytes(kind: str, data: st.DataObject) -> None:
    payload = data.draw(payloads(KINDS[kind]))
    cause = data.draw(st.none() | st.integers(1, 1000))
    event = Event(data.draw(st.integers(1, 10**9)), data.draw(TIMES), data.draw(TEXT), kind, "agent", cause, payload)
    blobs: dict[str, bytes] = {}
    line = render_event(event, blobs)
    assert parse_event(line, KINDS, blobs.__getitem__) == event
    assert b"\n" not in line
    assert render_event(parse_event(line, KINDS, blobs.__getitem__), {}) == line


@settings(max_examples=examples(25), deadline=None)
@given(BYTES)
def test_large_or_binary_body_is_stored_as_a_blob(body: bytes) -> None:
    blobs: dict[str, bytes] = {}
    payload = KINDS["files.file.written"](path="p", size=len(body), data=body)  # type: ignore[call-arg]
    line = render_event(Event(1, datetime(2026, 3, 2, tzinfo=UTC), "drop", payload.kind, "agent", None, payload), blobs)
    assert len(line) <= 2 * MAX_INLINE_BYTES
    assert set(blobs.values()) <= {body}


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(TEXT, max_size=6), st.integers(0, 5))
def test_head_changes_with_every_line(texts: list[str], place: int) -> None:
    log, writer = open_log()
    for text in texts:
        writer.append("x", KINDS["agent.failed"](error=text), actor="agent", at=datetime(2026, 3, 2, tzinfo=UTC))  # type: ignore[call-arg]
    assert compute_head(log.lines) == log.head
    if place < len(texts):
        assert compute_head([*log.lines[:place], log.lines[place] + b" ", *log.lines[place + 1 :]]) != log.head
        assert compute_head([*log.lines[:place], *log.lines[place + 1 :]]) != log.head
