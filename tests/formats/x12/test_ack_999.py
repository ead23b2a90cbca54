"""999: statuses of sets and groups, and the places of errors."""

from collections.abc import Sequence

import pytest

from clerkship.formats.x12.acknowledgments import (
    MAX_ELEMENTS_PER_SEGMENT,
    MAX_SEGMENTS_PER_GROUP,
    MAX_SEGMENTS_PER_SET,
    build_999,
)
from clerkship.formats.x12.interchange import FunctionalGroup
from clerkship.formats.x12.problems import ElementError, EnvelopeProblem, SegmentError
from clerkship.formats.x12.validation import validate_set
from tests.formats.x12.messages import ACKNOWLEDGMENT, ELIGIBILITY, acknowledgment, eligibility_request, eligibility_set
from tests.formats.x12.parsing import parse_one

MISSING = ElementError(9, "1", "NM109 is missing", element_number="67")
NM1 = SegmentError("NM1", 8, "2100C", "8", "the segment has elements in error", (MISSING,), trace="T270A")
UNEXPECTED = SegmentError("REF", 5, "", "2", "REF is not expected")
GUIDE = SegmentError("DTP", 9, "2100C", "I6", "DTP is required")


def build_group(sets: int = 1) -> FunctionalGroup:
    """Return a parsed group of 270 sets."""
    texts = [eligibility_set(f"{number:04}") for number in range(1, sets + 1)]
    return parse_one(eligibility_request(*texts)).groups[0]


def acknowledge(group: FunctionalGroup, *errors: Sequence[SegmentError], accepts_errors: bool = False) -> list[str]:
    """Return the segments of the 999 between AK1 and SE."""
    errors_per_set = errors or ((),) * len(group.sets)
    return build_999(group, errors_per_set, accepts_errors=accepts_errors).segment_texts[2:-1]


def test_accepted_group_is_the_999_written_by_hand() -> None:
    expected = parse_one(acknowledgment()).sets[0].render()
    assert build_999(build_group(), [()]).render() == expected


def test_rejected_set_names_the_place_of_the_error() -> None:
    written = build_999(build_group(), [[NM1]], "0007")
    assert written.render() == (
        f"ST*999*0007*{ACKNOWLEDGMENT}~AK1*HS*101*{ELIGIBILITY}~AK2*270*0001*{ELIGIBILITY}~IK3*NM1*8*2100*8~"
        "CTX*TRN02:T270A~IK4*9*67*1~IK5*R*5~AK9*R*1*1*0~SE*9*0007~"
    )


def test_element_error_has_component_repeat_and_value() -> None:
    elements = (
        ElementError(1, "7", "text", 2, 3, "1271", "Z9"),
        ElementError(3, "6", "text", repeat=2, value="a:b^c*d~é€"),
        ElementError(4, "5", "text", value="x" * 300),
    )
    lines = acknowledge(build_group(), [SegmentError("HI", 3, "", "8", "text", elements)])
    assert lines[1:5] == ["IK3*HI*3**8", "IK4*1:2:3*1271*7*Z9", "IK4*3::2**6*a b c d e", f"IK4*4**5*{'x' * 99}"]


def test_long_values_are_cut_to_what_the_elements_hold() -> None:
    element = ElementError(120, "3", "text", value="ﬁ" * 60)
    lines = acknowledge(build_group(), [NM1._replace(elements=(element,), trace="T" * 50)])
    assert lines[2:4] == [f"CTX*TRN02:{'T' * 35}", f"IK4*99**3*{('fi' * 60)[:99]}"]


@pytest.mark.parametrize(
    ("errors", "codes"),
    [
        ([UNEXPECTED], "5"),
        ([GUIDE], "I5"),
        ([GUIDE, NM1], "5*I5"),
        ([NM1._replace(elements=(MISSING._replace(code="I9"),))], "I5"),
    ],
)
def test_codes_of_a_set_tell_syntax_from_guide(errors: list[SegmentError], codes: str) -> None:
    assert f"IK5*R*{codes}" in acknowledge(build_group(), errors)


def test_group_is_partly_accepted() -> None:
    lines = acknowledge(build_group(3), (), [UNEXPECTED], ())
    assert [line for line in lines if line.startswith(("IK5", "AK9"))] == ["IK5*A", "IK5*R*5", "IK5*A", "AK9*P*3*3*2"]


def test_group_is_rejected_if_all_sets_are() -> None:
    assert acknowledge(build_group(2), [UNEXPECTED], [GUIDE])[-1] == "AK9*R*2*2*0"


def test_sets_with_errors_may_be_accepted() -> None:
    lines = acknowledge(build_group(2), (), [UNEXPECTED], accepts_errors=True)
    assert [line for line in lines if line.startswith(("IK5", "AK9"))] == ["IK5*A", "IK5*E*5", "AK9*E*2*2*2"]


def test_set_with_a_problem_of_its_envelope_is_rejected() -> None:
    text = eligibility_request(eligibility_set().replace("SE*13*0001", "SE*12*0009"))
    group = parse_one(text).groups[0]
    assert acknowledge(group, accepts_errors=True) == [f"AK2*270*0001*{ELIGIBILITY}", "IK5*R*3*4", "AK9*R*1*1*0"]


def test_set_that_the_receiver_does_not_support_is_rejected() -> None:
    group = build_group()
    group.sets[0].problems.append(EnvelopeProblem("1", "not supported"))
    assert acknowledge(group)[1:] == ["IK5*R*1", "AK9*R*1*1*0"]


def test_group_with_a_problem_of_its_envelope_is_rejected_as_a_whole() -> None:
    group = parse_one(eligibility_request(eligibility_set()).replace("GE*1*101", "GE*4*102")).groups[0]
    assert acknowledge(group) == ["AK9*R*4*1*0*4*5"]
    assert acknowledge(group, [UNEXPECTED])[-2:] == ["IK5*R*5", "AK9*R*4*1*0*4*5"]


def test_each_code_is_reported_once_and_five_at_most() -> None:
    group = build_group()
    problems = [EnvelopeProblem(code, "text") for code in ("1", "5", "3", "4", "6", "7")]
    group.sets[0].problems += problems[:2]
    assert acknowledge(group, [UNEXPECTED, GUIDE])[-2] == "IK5*R*1*5*I5"
    group.sets[0].problems += problems[2:]
    group.problems += problems
    assert acknowledge(group, [UNEXPECTED, GUIDE])[-2:] == ["IK5*R*1*5*3*4*6", "AK9*R*1*1*0*1*5*3*4*6"]


@pytest.mark.parametrize(
    ("trailer", "expected"),
    [
        ("", "AK9*R*1*1*0*3"),
        ("GE*x*101~", "AK9*R*1*1*0*5"),
        ("GE*1000000*101~", "AK9*R*999999*1*0*5"),
    ],
)
def test_declared_count_that_ak902_cannot_hold_is_replaced(trailer: str, expected: str) -> None:
    group = parse_one(eligibility_request().replace("GE*1*101~", trailer)).groups[0]
    assert acknowledge(group)[-1] == expected


def test_truncated_set_is_acknowledged() -> None:
    text = eligibility_request()
    group = parse_one(text[: text.index("OKAFOR")]).groups[0]
    assert acknowledge(group)[1:] == ["IK5*R*2", "AK9*R*1*1*0*3"]


def test_unreadable_identifiers_do_not_break_the_999() -> None:
    text = eligibility_request().replace("ST*270*0001", "ST**").replace("*101*X", "*1A*X")
    written = build_999(parse_one(text).groups[0], [[UNEXPECTED._replace(segment="")]])
    assert written.segments[1].elements == ["AK1", "HS", "0", ELIGIBILITY]
    assert written.segments[2].elements[1:3] == ["000", "0000"]
    assert written.segments[3].elements == ["IK3", "??", "5", "", "2"]


def test_written_999_fits_its_grammar() -> None:
    elements = (MISSING, ElementError(1, "7", "text", 2, 3, "1271", "Z9"))
    errors = [[NM1._replace(elements=elements), UNEXPECTED], [GUIDE], ()]
    for accepts_errors in (True, False):
        written = build_999(build_group(3), errors, accepts_errors=accepts_errors)
        assert validate_set(written).errors == []


def test_number_of_reported_errors_is_limited() -> None:
    many = NM1._replace(elements=(MISSING,) * 1000)
    lines = acknowledge(build_group(100), *[[many] * 1000] * 100)
    assert sum(line.startswith("IK3") for line in lines) == MAX_SEGMENTS_PER_GROUP
    first = lines[: lines.index("IK5*R*5")]
    assert sum(line.startswith("IK3") for line in first) == MAX_SEGMENTS_PER_SET
    assert sum(line.startswith("IK4") for line in first) == MAX_SEGMENTS_PER_SET * MAX_ELEMENTS_PER_SEGMENT
    assert lines[-1] == "AK9*R*100*100*0"
    assert lines.count("IK5*R*5") == 100


def test_group_of_999_is_an_acknowledgment() -> None:
    assert parse_one(acknowledgment()).groups[0].is_acknowledgment
    assert not build_group().is_acknowledgment
