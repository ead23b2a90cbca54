"""Writing of sets and interchanges."""

from datetime import datetime

import pytest

from clerkship.formats.x12.interchange import parse_interchanges
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet, parse_transaction_set
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, SetWriter, render_interchange
from tests.formats.x12.messages import CLAIM_STATUS, ELIGIBILITY, claim_status_set, eligibility_request, eligibility_set
from tests.formats.x12.parsing import BARS

NOON = datetime(2026, 11, 15, 9, 0)
ENVELOPE = OutgoingEnvelope("HARBOR", "SUMMIT", 101, NOON)


def build_eligibility_set(delimiters: X12Delimiters = ENVELOPE.delimiters) -> TransactionSet:
    """Write the set of `eligibility_set()`."""
    writer = SetWriter("270", "0001", ELIGIBILITY, delimiters=delimiters)
    writer.add("BHT", "0022", "13", "T270A", "20261115", "0900")
    payer = writer.add_level("20")
    writer.add("NM1", "PR", 2, "SUMMIT HEALTH", None, None, None, None, "PI", "SUM01")
    provider = writer.add_level("21", payer)
    writer.add("NM1", "1P", "2", "HARBOR CLINIC", "", "", "", "", "XX", "1234567893")
    writer.add_level("22", provider)
    writer.add("TRN", "1", "T270A", "9HARBOR001")
    writer.add("NM1", "IL", "1", "OKAFOR", "JUNE", None, None, None, "MI", "SM70010")
    writer.add("DMG", "D8", "19790312", "F", None, None)
    writer.add("DTP", "291", "D8", "20261115")
    writer.add("EQ", ["30"])
    return writer.build()


def test_written_set_has_levels_and_the_right_count() -> None:
    assert build_eligibility_set().render() == eligibility_set()


def test_rendered_interchange_is_the_one_written_by_hand() -> None:
    group = OutgoingGroup(101, ELIGIBILITY, [build_eligibility_set()])
    assert render_interchange(ENVELOPE, [group]) == eligibility_request()


def test_level_without_child_code() -> None:
    writer = SetWriter("276")
    payer = writer.add_level("20")
    writer.add_level("23", payer, states_children=False)
    assert writer.build().render() == "ST*276*0001~HL*1**20*1~HL*2*1*23~SE*4*0001~"


def test_level_below_a_missing_level_is_refused() -> None:
    with pytest.raises(ValueError, match="level 1 does not exist"):
        SetWriter("276").add_level("21", 1)


@pytest.mark.parametrize("number", ["", "1", "0" * 10, "00 1", "000*"])
def test_control_number_that_st02_cannot_hold_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match="expected: 4 to 9 letters or digits"):
        SetWriter("276", number)


@pytest.mark.parametrize("id", ["", "N", "nm1", "NM1*", "N~1", "NM12", "SE", "ISA", "ST "])
def test_id_that_no_segment_of_a_set_has_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="not the id of a segment in a set"):
        SetWriter("276").add(id, "1")


def test_composites_and_repetitions_leave_out_trailing_empty_parts() -> None:
    writer = SetWriter("278")
    writer.add("SV1", ("HC", "72148", None, None), None, "UN", 1)
    writer.add("EB", "1", None, ["30", "98", ""], None)
    writer.add("HI", ("ABK", "M5416"), ("ABF", None, "X"))
    writer.add("XYZ", [("A", "1"), ("B",)])
    assert writer.build().segment_texts[1:-1] == [
        "SV1*HC:72148**UN*1",
        "EB*1**30^98",
        "HI*ABK:M5416*ABF::X",
        "XYZ*A:1^B",
    ]


def test_values_with_separators_do_not_break_the_set() -> None:
    writer = SetWriter("271")
    writer.add("MSG", "5*3:1^2~3\r\n Muñoz’s “plan” \0 €")
    writer.add("MSG", "  ", "***")
    assert writer.build().segment_texts[1:-1] == ['MSG*5 3 1 2 3   Munoz\'s "plan"', "MSG"]


def test_basic_set_writes_capitals() -> None:
    writer = SetWriter("271", charset="basic")
    writer.add("MSG", "Straße & ñandú #3 {x}")
    assert writer.build().segment_texts[1] == "MSG*STRASSE & NANDU  3  X"


def test_copied_segment_takes_the_separators_of_the_set() -> None:
    text = "ST|276|0001\nSVC|HC>99213!HC>99214|25*5\nSE|3|0001\n"
    segment = parse_transaction_set(text, BARS).segments[1]
    writer = SetWriter("277")
    writer.copy(segment)
    assert writer.build().segment_texts[1] == "SVC*HC:99213^HC:99214*25 5"


def test_set_with_other_separators_is_rewritten() -> None:
    group = OutgoingGroup(101, ELIGIBILITY, [build_eligibility_set(BARS)])
    assert render_interchange(ENVELOPE, [group]) == eligibility_request()


def test_several_groups_with_their_own_codes() -> None:
    groups = [
        OutgoingGroup(1, ELIGIBILITY, [parse_transaction_set(eligibility_set())]),
        OutgoingGroup(2, CLAIM_STATUS, [parse_transaction_set(claim_status_set())], sender="APP1", receiver="APP2"),
    ]
    (parsed,) = parse_interchanges(render_interchange(ENVELOPE, groups))
    assert [(each.functional_code, each.sender, each.receiver) for each in parsed.groups] == [
        ("HS", "HARBOR", "SUMMIT"),
        ("HR", "APP1", "APP2"),
    ]
    assert parsed.problems == []


def test_long_and_unusual_party_ids_keep_the_width_of_isa() -> None:
    envelope = OutgoingEnvelope("A CLINIC WITH A LONG NAME", "a*b~c", 999_999_999, NOON, usage="P", wants_ta1=True)
    group = OutgoingGroup(1, ELIGIBILITY, [build_eligibility_set()])
    (parsed,) = parse_interchanges(render_interchange(envelope, [group]))
    assert parsed.problems == []
    assert (parsed.groups[0].sender, parsed.groups[0].receiver) == ("A CLINIC WITH A", "a b c")
    assert (parsed.sender, parsed.receiver) == ("A CLINIC WITH A", "a b c")
    assert (parsed.control_number, parsed.usage, parsed.wants_ta1) == ("999999999", "P", True)


@pytest.mark.parametrize("number", [0, -1, 1_000_000_000])
def test_control_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="not between 1 and"):
        render_interchange(OutgoingEnvelope("A", "B", number, NOON))
