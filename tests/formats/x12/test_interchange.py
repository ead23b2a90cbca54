"""Parsing of interchanges: separators, groups, sets, and what is not X12."""

from contextlib import suppress

import pytest

from clerkship.formats.x12.interchange import InterchangeTooLarge, NotX12, ParseLimits, parse_interchanges
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import parse_transaction_set
from tests.choices import mark_slow_after
from tests.formats.x12.messages import (
    AUTHORIZATION,
    CLAIM_STATUS,
    ELIGIBILITY,
    acknowledgment,
    authorization_request,
    authorization_set,
    claim_status_request,
    claim_status_set,
    eligibility_request,
    eligibility_set,
    functional_group,
    interchange,
    with_delimiters,
)
from tests.formats.x12.parsing import BARS, NO_PROBLEMS, list_codes, parse_one
from tests.waiting import processor_limit

MESSAGES = [eligibility_request(), claim_status_request(), authorization_request(), acknowledgment()]


@pytest.mark.parametrize("text", MESSAGES)
def test_valid_interchange_has_no_problems_and_renders_to_the_same_text(text: str) -> None:
    parsed = parse_one(text)
    assert list_codes(parsed) == NO_PROBLEMS
    assert parsed.render() == text


def test_envelope_values_are_exposed() -> None:
    parsed = parse_one(interchange(functional_group("HS", ELIGIBILITY, [eligibility_set()]), usage="P", wants_ta1=True))
    assert (parsed.sender_qualifier, parsed.sender, parsed.receiver_qualifier, parsed.receiver) == (
        *("ZZ", "HARBOR"),
        *("ZZ", "SUMMIT"),
    )
    assert (parsed.control_number, parsed.version, parsed.usage) == ("000000101", "00501", "P")
    assert parsed.wants_ta1
    (group,) = parsed.groups
    assert (group.functional_code, group.control_number, group.version) == ("HS", "101", ELIGIBILITY)
    assert (group.sender, group.receiver) == ("HARBOR", "SUMMIT")
    (transaction,) = group.sets
    assert (transaction.code, transaction.control_number, transaction.version) == ("270", "0001", ELIGIBILITY)
    assert transaction.segments[-1].elements == ["SE", "13", "0001"]


def test_no_ta1_is_wanted_by_default() -> None:
    assert not parse_one(eligibility_request()).wants_ta1


@pytest.mark.parametrize(
    "delimiters",
    [
        BARS,
        X12Delimiters("\x1d", "\x1f", "\x1c", "\x1e"),
        X12Delimiters("+", "*", ":", "'"),
        BARS._replace(segment="\r"),
    ],
)
def test_delimiters_are_read_from_isa(delimiters: X12Delimiters) -> None:
    text = with_delimiters(eligibility_request(eligibility_set(service_types="30^98")), delimiters)
    parsed = parse_one(text)
    assert parsed.delimiters == delimiters
    assert list_codes(parsed) == NO_PROBLEMS
    question = parsed.sets[0].segments[-2]
    assert question.repeats(1) == ["30", "98"]
    assert parsed.render() == text


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"])
def test_line_breaks_after_the_terminator_are_ignored(line_break: str) -> None:
    text = eligibility_request()
    parsed = parse_one(text.replace("~", f"~{line_break}"))
    assert list_codes(parsed) == NO_PROBLEMS
    assert parsed.render() == text
    assert parsed.render(line_break) == text.replace("~", f"~{line_break}")


def test_terminator_may_be_a_carriage_return_before_line_feeds() -> None:
    text = with_delimiters(eligibility_request(), BARS._replace(segment="\r"))
    assert list_codes(parse_one(text.replace("\r", "\r\n"))) == NO_PROBLEMS


def test_newline_terminator_may_be_missing_at_the_end() -> None:
    assert list_codes(parse_one(with_delimiters(eligibility_request(), BARS).strip())) == NO_PROBLEMS


def test_whitespace_and_byte_order_mark_before_isa_are_ignored() -> None:
    text = eligibility_request()
    assert parse_one(b"\xef\xbb\xbf\r\n " + text.encode()).render() == text
    assert parse_one(f"\ufeff\n{text}").render() == text


def test_several_groups_and_sets() -> None:
    parsed = parse_one(
        interchange(
            functional_group("HS", ELIGIBILITY, [eligibility_set("0001"), eligibility_set("0002")], "1"),
            functional_group("HR", CLAIM_STATUS, [claim_status_set()], "2"),
            functional_group("HI", AUTHORIZATION, [authorization_set(), authorization_set("0002")], "3"),
        )
    )
    assert list_codes(parsed) == NO_PROBLEMS
    assert [[each.code for each in group.sets] for group in parsed.groups] == [["270"] * 2, ["276"], ["278"] * 2]


def test_several_interchanges_each_with_its_own_delimiters() -> None:
    texts = [MESSAGES[0], with_delimiters(MESSAGES[1], BARS), MESSAGES[2]]
    parsed = parse_interchanges("\r\n".join(texts))
    assert [each.sets[0].code for each in parsed] == ["270", "276", "278"]
    assert [each.delimiters.element for each in parsed] == ["*", "|", "*"]
    assert [list_codes(each) for each in parsed] == [NO_PROBLEMS] * 3


def test_received_text_is_kept() -> None:
    texts = [MESSAGES[0].replace("~", "~\r\n").rstrip(), MESSAGES[1].replace("GE*", "NTE*stray~GE*"), MESSAGES[2][:-20]]
    parsed = parse_interchanges(" \n".join(["", *texts]))
    assert [each.received for each in parsed] == texts


def test_set_is_parsed_from_its_text() -> None:
    transaction = parse_transaction_set(eligibility_set().replace("~", "~\r\n"), group_version="V1")
    assert transaction.render() == eligibility_set()
    assert (transaction.code, transaction.version) == ("270", ELIGIBILITY)
    assert parse_transaction_set("ST*835*0001~", group_version="V1").version == "V1"
    with pytest.raises(ValueError, match="no segments"):
        parse_transaction_set("\n")


def test_thousand_sets_are_parsed() -> None:
    sets = [eligibility_set(f"{number:04}", trace=f"T{number}") for number in range(1, 1001)]
    parsed = parse_one(eligibility_request(*sets))
    assert list_codes(parsed) == NO_PROBLEMS
    assert parsed.sets[999].segments[7].value(2) == "T1000"


def test_version_of_a_set_without_st03_is_that_of_the_group() -> None:
    parsed = parse_one(MESSAGES[0].replace(f"ST*270*0001*{ELIGIBILITY}", "ST*270*0001"))
    assert parsed.sets[0].version == ELIGIBILITY
    assert list_codes(parsed) == NO_PROBLEMS


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"MSH|^~\\&|LAB", "starts with 'MSH"),
        (b"{}", "starts with"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "NUL"),
        (b"\xff\xd8\xff\xe0", "starts with"),
        (MESSAGES[0].encode("utf-16"), "UTF-16"),
        (MESSAGES[0].encode("utf-16-le"), "UTF-16"),
        (MESSAGES[0].encode("utf-16-be"), "UTF-16"),
        (MESSAGES[0].encode() + b"\0", "NUL"),
        ("ISA*00*\0", "NUL"),
        (b"ISA", "not complete"),
        (b"ISABELLA", "not complete"),
        (MESSAGES[0][:105], "not complete"),
        ("ISA*" * 1000, "not complete"),
    ],
)
def test_data_without_isa_is_not_x12(data: bytes | str, reason: str) -> None:
    with pytest.raises(NotX12, match=reason):
        parse_interchanges(data)


@pytest.mark.parametrize(
    "limits",
    [
        ParseLimits(bytes=500),
        ParseLimits(interchanges=0),
        ParseLimits(sets=2),
        ParseLimits(segments=30),
    ],
)
def test_data_above_a_limit_is_refused(limits: ParseLimits) -> None:
    text = eligibility_request(*(eligibility_set(f"{number:04}") for number in range(3)))
    assert parse_one(text)
    with pytest.raises(InterchangeTooLarge):
        parse_interchanges(text, limits)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (ParseLimits(sets=1), "1 sets"),
        (ParseLimits(interchanges=1), "1 interchanges"),
    ],
)
def test_parts_of_several_interchanges_count_together(limits: ParseLimits, reason: str) -> None:
    with pytest.raises(InterchangeTooLarge, match=f"more than {reason}"):
        parse_interchanges(MESSAGES[0] * 2, limits)


def test_hundred_megabytes_are_refused() -> None:
    with pytest.raises(InterchangeTooLarge, match="104857600 bytes"):
        parse_interchanges(b"~" * (100 * 1024 * 1024))


HEADER = MESSAGES[0][:106]
GROUP_HEADER = MESSAGES[0][106 : MESSAGES[0].index("ST*")]
MILLION = 1_000_000


@pytest.mark.parametrize(
    "text",
    mark_slow_after(
        4,
        [
            HEADER + "~" * (MILLION // 4),
            HEADER + "\n" * MILLION,
            HEADER + "*" * MILLION,
            HEADER + "~I" * (MILLION // 4),
            HEADER + "~ISA*" * (MILLION // 10),
            with_delimiters(HEADER, BARS) + "\r\n" * (MILLION // 4),
            HEADER * 1000,
            (MESSAGES[0] + " " * 1000) * 500,
            MESSAGES[0] + "ISA*" * (MILLION // 4),
            HEADER + "SE~ST~GE~" * (MILLION // 10),
            HEADER + GROUP_HEADER * 10_000,
            HEADER + GROUP_HEADER + "ST*270*0001~" * 30_000,
            f"{HEADER}IEA*1*{'9' * MILLION}",
            " " * MILLION,
        ],
    ),
)
def test_time_grows_with_the_size_of_hostile_input_only(text: str) -> None:
    with processor_limit(10), suppress(NotX12):
        parse_interchanges(text)
