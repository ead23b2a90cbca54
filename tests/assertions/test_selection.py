"""The base class of assertions that compare several things: the best one, a count, none, or every one."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from clerkship.assertions.selection import MAX_ROWS, Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Check, compare_given
from tests.assertions.log_builder import LogBuilder


class Parcel(SelectionAssertion):
    """A parcel of a color and a weight."""

    name: ClassVar[str] = "parcel"
    parcels: tuple[dict[str, Any], ...] = ()
    color: str | None = None
    weight: int | None = None
    every: bool = False
    is_open: bool = True

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        for seq, parcel in enumerate(self.parcels, 1):
            values = [("color", self.color, parcel["color"]), ("weight", self.weight, parcel["weight"])]
            yield Compared(f"parcel {seq}", tuple(compare_given(values, seq)), parcel)

    def describe_selection(self, evidence: Evidence) -> str:
        return "parcel in the shop"

    def compare_conditions(self, evidence: Evidence) -> Iterator[FieldCheck]:
        return compare_given([("shop", "open", "open" if self.is_open else "closed")])

    def check_best(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        return self.check_every(compared, evidence) if self.every else super().check_best(compared, evidence)

    def list_undecided(self, compared: Sequence[Compared]) -> Sequence[Compared]:
        return [each for each in compared if each.item.get("is_late")]

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        yield f"it has {len(compared)}"


RED = {"color": "red", "weight": 1}
BLUE = {"color": "blue", "weight": 2}


def check(*parcels: dict[str, Any], **fields: Any) -> Check:
    return Parcel.model_validate({"parcels": parcels, **fields}).check(LogBuilder().evidence())


def test_one_thing_as_expected_is_enough() -> None:
    result = check(RED, BLUE, color="blue", weight=2)
    assert (result.passed, result.score, result.detail) == (True, 1.0, "parcel 2 is as expected")
    assert [(row.path, row.seq) for row in result.evidence] == [("shop", None), ("color", 2), ("weight", 2)]


def test_failure_shows_the_nearest_thing_and_then_the_others() -> None:
    result = check(BLUE, RED, color="red", weight=2)
    assert not result.passed
    assert result.score == pytest.approx(2 / 3)
    assert result.detail == (
        "parcel 1 is there (the nearest of 2), but not as expected: color is 'blue', expected 'red'; it has 2"
    )
    assert [row.path for row in result.evidence] == [
        "shop", "color", "weight", "parcel 2: color", "parcel 2: weight",
    ]  # fmt: skip


def test_nothing_selected_fails_with_a_hint() -> None:
    result = check(color="red")
    assert (result.passed, result.detail) == (False, "there is no parcel in the shop; it has 0")


@pytest.mark.parametrize(
    ("fields", "passed", "detail"),
    [
        ({"count": 1}, True, "parcel in the shop: parcel 1 (expected 1)"),
        (
            {"count": {"gte": 2}},
            False,
            "parcel in the shop: parcel 1 (expected at least 2); parcel 2 is not",
        ),
        ({"none": True}, False, "parcel in the shop: parcel 1 (expected 0); it has 2"),
        ({"none": True, "weight": 9}, True, "parcel in the shop: none (expected 0)"),
        ({"count": 1, "is_open": False}, False, "parcel in the shop: parcel 1 (expected 1)"),
    ],
)
def test_number_of_things_as_expected_is_compared(fields: dict[str, Any], passed: bool, detail: str) -> None:
    result = check(RED, BLUE, color="red", **fields)
    assert (result.passed, result.score) == (passed, float(passed))
    assert result.detail.startswith(detail)


def test_number_must_be_right_with_and_without_what_is_undecided() -> None:
    late = {"color": "blue", "weight": 2, "is_late": True}
    assert not check(RED, late, color="red", count=1).passed
    assert check(RED, late, color="red", count={"lte": 2}).passed


def test_every_thing_must_be_as_expected_if_an_assertion_says_so() -> None:
    result = check(RED, BLUE, color="red", weight=1, every=True)
    assert (result.passed, result.score) == (False, 0.5)
    assert result.detail.startswith("parcel in the shop: 1 of 2 as expected; not parcel 2: color is 'blue'")
    assert check(RED, RED, color="red", every=True).passed


def test_rows_of_others_are_limited() -> None:
    assert len(check(*[BLUE] * 1000, color="red").evidence) == MAX_ROWS + 2


def test_count_and_none_together_are_refused() -> None:
    with pytest.raises(ValidationError, match="`count` and `none` do not go together"):
        Parcel.model_validate({"count": 1, "none": True})


@pytest.mark.parametrize(("fields", "passes"), [({}, False), ({"none": True}, True), ({"count": 0}, True)])
def test_what_passes_without_things_passes_on_inaction(fields: dict[str, Any], passes: bool) -> None:
    assert Parcel.model_validate(fields).passes_on_inaction is passes
