"""Closed sets of values: which literals an expectation has, and which of them a type can never hold."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from clerkship.model.closed import OneOf, find_unknown_value
from clerkship.model.scenario import Expected


class Part(BaseModel):
    color: Literal["red", "green"] | None = None
    text: str = ""


class Whole(BaseModel):
    state: Annotated[Literal["open", "closed"], "a note"] = "open"
    colors: tuple[Literal["red", "green"], ...] = ()
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = {}
    first: Part | None = None
    either: Literal["red"] | int = 1
    is_done: bool = False


class Criterion(BaseModel):
    color: Annotated[Expected | None, OneOf("red", "green")] = None


@pytest.mark.parametrize(
    ("path", "expected", "error"),
    [
        ("state", "open", ""),
        ("state", "opn", "unknown value `opn`; did you mean `open`?"),
        ("state", {"in": ["open", "closd"]}, "unknown value `closd`; did you mean `closed`?"),
        ("state", {"not": {"equals": "opn"}}, "unknown value `opn`; did you mean `open`?"),
        ("state", {"matches": "opn"}, ""),
        ("state", None, "unknown value `null`; known: closed, open"),
        ("colors", ["red", "gren"], "unknown value `gren`; did you mean `green`?"),
        ("colors.0", "gren", "unknown value `gren`; did you mean `green`?"),
        ("colors", {"contains": "gren"}, ""),
        ("parts.*.color", "gren", "unknown value `gren`; did you mean `green`?"),
        ("parts[0].color", None, ""),
        ("by_name.x.color", "gren", "unknown value `gren`; did you mean `green`?"),
        ("first.color", "gren", "unknown value `gren`; did you mean `green`?"),
        ("first.text", "gren", ""),
        ("first.nothing", "gren", ""),
        ("either", "gren", ""),
        ("is_done", True, ""),
        ("is_done", 1, "unknown value `1`; known: false, true"),
        ("is_done", "yes", "unknown value `yes`; known: false, true"),
    ],
)
def test_literal_that_a_closed_type_never_holds_is_found(path: str, expected: Any, error: str) -> None:
    assert find_unknown_value(Whole, path, expected) == error


@pytest.mark.parametrize("expected", [None, "red", {"in": ["red", "green"]}, {"matches": "^r"}, {"not": "green"}])
def test_one_of_takes_its_values_and_matchers(expected: Any) -> None:
    assert Criterion(color=expected).color == expected


@pytest.mark.parametrize("expected", ["gren", {"in": ["gren"]}, {"not": {"equals": "gren"}}, ["red", "green"], 7])
def test_one_of_refuses_other_values(expected: Any) -> None:
    with pytest.raises(ValidationError):
        Criterion(color=expected)


def test_schema_shows_the_values_of_one_of() -> None:
    [values, matcher, null] = Criterion.model_json_schema()["properties"]["color"]["anyOf"]
    assert (values, matcher["type"], null) == ({"enum": ["red", "green"]}, "object", {"type": "null"})
