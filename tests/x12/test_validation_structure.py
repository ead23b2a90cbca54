"""The order of segments and loops in a set."""

from clerkship.x12.transaction_set import parse_transaction_set
from clerkship.x12.validation import ValidatedSet, validate_set
from tests.x12.messages import eligibility_set


def validate(text: str) -> ValidatedSet:
    return validate_set(parse_transaction_set(text))


def places(result: ValidatedSet) -> list[tuple[str, int, str, str]]:
    return [(error.segment, error.position, error.loop, error.code) for error in result.errors]


def test_a_valid_270_has_no_errors_and_is_divided_into_loops() -> None:
    result = validate(eligibility_set())
    assert result.errors == []
    assert [loop.id for loop in result.tree.walk()] == [
        *("", "2000A", "2100A", "2000B", "2100B", "2000C", "2100C", "2110C"),
    ]
    inquiry = result.tree.first("2110C")
    assert inquiry is not None
    assert [segment.render() for segment in inquiry.segments] == ["EQ*30"]


def test_every_segment_is_in_the_tree_once() -> None:
    transaction = parse_transaction_set(eligibility_set())
    result = validate_set(transaction)
    assert sorted(map(id, result.tree.all_segments())) == sorted(map(id, transaction.segments))


def test_the_dependent_of_a_270_has_the_entity_03() -> None:
    dependent = ["NM1*03*1*OKAFOR*SAM", "DMG*D8*20150101*M"]
    assert validate(eligibility_set(dependent=dependent)).errors == []
    result = validate(eligibility_set(dependent=["NM1*QC*1*OKAFOR*SAM", "DMG*D8*20150101*M"]))
    assert places(result) == [("NM1", 12, "2100D", "8")]
    assert [(error.position, error.code, error.value) for error in result.errors[0].elements] == [(1, "I6", "QC")]
