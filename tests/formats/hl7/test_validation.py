"""Tests of validation: each flaw has a code, a location and a helpful text."""

import pytest

from clerkship.formats.hl7.message import Hl7Message, parse_message
from clerkship.formats.hl7.validation import MAX_FLAWS, Flaw, validate_file, validate_message
from tests.waiting import processor_limit

HEAD = "MSH|^~\\&|LAB|NORTH|EHR|CLINIC|20260302090000||{kind}|M1|P|{version}"
PID = "PID|1||77^^^NORTH^MR||Lopez^Maria||19650315|F"
PV1 = "PV1|1|O"
EVN = "EVN||20260302090000"
OBR = "OBR|1|||24323-8^CMP^LN"
OBX = "OBX|1|NM|2823-3^Potassium^LN||2.9|mmol/L|||||F"


def message(kind: str, *lines: str, version: str = "2.5.1") -> Hl7Message:
    return parse_message("\r".join([HEAD.format(kind=kind, version=version), *lines]))


def list_lenient_flaws(kind: str, *lines: str, version: str = "2.5.1") -> list[str]:
    found = validate_message(message(kind, *lines, version=version), "lenient")
    return [f"{flaw.code} {flaw.segment}-{flaw.field} {flaw.repetition} {flaw.component}" for flaw in found]


def list_flaws(kind: str, *lines: str, version: str = "2.5.1") -> list[str]:
    return [f"{flaw.code} {flaw.text}" for flaw in validate_message(message(kind, *lines, version=version))]


def test_valid_messages_have_no_flaws() -> None:
    assert list_flaws("ORU^R01^ORU_R01", PID, OBR, OBX) == []
    assert list_flaws("ADT^A08^ADT_A01", EVN, PID, PV1) == []
    assert list_flaws("ADT^A08", EVN, PID, PV1) == []
    assert list_flaws("ORM^O01", PID, "ORC|NW|1", OBR, version="2.3") == []
    assert list_flaws("ORU^R01^ORU_R01", PID, OBR, OBX, version="2.8.2") == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([EVN, PID], ["100 PV1 is missing after PID"]),
        ([PID, PV1], ["100 EVN is missing after MSH"]),
        ([EVN], ["100 PID is missing after EVN", "100 PV1 is missing after EVN"]),
        ([EVN, PV1, PID], ["100 PV1 (segment 3) may not precede PID (segment 4)"]),
        ([EVN, PID, PV1, PV1], ["100 PV1 (segment 5) may occur here only once"]),
        ([EVN, PID, PV1, "AL1|1||X", "NK1|1"], ["100 NK1 (segment 6) may not follow AL1"]),
        ([EVN, PID, PV1, "ABC|1"], ["100 ABC (segment 5) does not belong in ADT_A01"]),
        ([EVN, PID, PV1, "hello world"], ["100 'hello world' (segment 5) does not belong in ADT_A01"]),
        ([EVN, PID, PV1, "IN2|1"], ["100 IN1 is missing after PV1"]),
    ],
)
def test_segment_order_is_validated(lines: list[str], expected: list[str]) -> None:
    assert list_flaws("ADT^A01^ADT_A01", *lines) == expected


def test_observation_before_order_is_one_flaw() -> None:
    assert list_flaws("ORU^R01", PID, OBX, OBR) == ["100 OBX (segment 3) may not precede OBR (segment 4)"]
    assert list_flaws("ORU^R01", PID, OBX) == ["100 OBR is missing after PID"]


def test_exactly_one_of_a_choice_is_required() -> None:
    assert list_flaws("ORM^O01", "ORC|NW|1", OBR, version="2.4") == []
    assert list_flaws("ORM^O01", "ORC|NW|1", "DG1|1||||20260101|A", version="2.4") == [
        "100 OBR or RQD or RQ1 or RXO or ODS or ODT is missing after ORC"
    ]
    assert list_flaws("ORM^O01", "ORC|NW|1", OBR, "RXO|1", version="2.4") == ["100 RXO (segment 4) may not follow OBR"]


RXO, RXR, RXC = "RXO|00074-4332^Ampicillin^NDC|500||mg", "RXR|PO", "RXC|B|D5W^Dextrose^LN|1000|ml"
TIMING = "TQ1|1|1|Q6H|||||20260302"


@pytest.mark.parametrize("version", ["2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6"])
def test_pharmacy_order_has_routes_and_components(version: str) -> None:
    order = "ORC|NW|1"
    note, kind = "NTE|1||with food", "ORM^O01" if version != "2.6" else "ORM^O01^ORM_O01"
    rest = [RXO, note, RXR, RXC, note, RXC, "OBX|1|ST|9^Weight||70||||||F"]
    assert list_flaws(kind, PID, order, *rest, version=version) == []
    assert list_flaws(kind, PID, order, RXO, version=version) == []
    assert list_flaws(kind, PID, order, RXO, RXC, RXR, version=version) == ["100 RXR (segment 6) may not follow RXC"]
    assert list_flaws(kind, PID, order, OBR, RXR, version=version) == ["100 RXR (segment 5) may not follow OBR"]
    assert list_flaws(kind, PID, order, RXO, "RXC|B", version=version)[:1] == [
        f"101 RXC-2 is missing: it is required in version {version}"
    ]


@pytest.mark.parametrize("version", ["2.4", "2.5", "2.5.1", "2.6"])
def test_order_may_have_timing_from_2_5(version: str) -> None:
    kind = "ORM^O01" if version != "2.6" else "ORM^O01^ORM_O01"
    found = list_flaws(kind, PID, "ORC|NW|1", TIMING, "TQ2|1|S", TIMING, OBR, "ORC|NW|2", TIMING, OBR, version=version)
    assert bool(found) == (version < "2.5")


def test_z_segments_are_allowed_anywhere() -> None:
    assert list_flaws("ADT^A01^ADT_A01", "ZAA|1", EVN, "ZBB|x", PID, "ZCC", PV1, "ZDD|1") == []


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("ADT^A01", "2.2", Flaw("203", "", "MSH", 1, 12, 1, 1)),
        ("ADT^A01", "", Flaw("101", "", "MSH", 1, 12)),
        ("", "2.5", Flaw("101", "", "MSH", 1, 9)),
        ("DFT^P03", "2.5", Flaw("200", "", "MSH", 1, 9, 1, 1)),
        ("ORM^O01", "2.7", Flaw("200", "", "MSH", 1, 9, 1, 1)),
        ("ADT^A99", "2.5", Flaw("201", "", "MSH", 1, 9, 1, 2)),
        ("ADT", "2.5", Flaw("201", "", "MSH", 1, 9, 1, 2)),
        ("ADT^A01^ORU_R01", "2.5", Flaw("103", "", "MSH", 1, 9, 1, 3)),
    ],
)
def test_unsupported_header_values_are_flaws(kind: str, version: str, expected: Flaw) -> None:
    first = validate_message(message(kind, EVN, PID, PV1, version=version))[0]
    assert first._replace(text="") == expected


@pytest.mark.parametrize("structure", ["", "^ADT_A01", "^ADT_A08"])
def test_msh_9_3_accepts_event_or_structure_name(structure: str) -> None:
    assert list_flaws(f"ADT^A08{structure}", EVN, PID, PV1) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (PID.replace("77^^^NORTH^MR", ""), Flaw("101", "", "PID", 1, 3)),
        (PID.replace("77^^^NORTH^MR", "^^^"), Flaw("101", "", "PID", 1, 3)),
        (PID.replace("77^^^NORTH^MR", '""'), None),
        (PID.replace("19650315", '""'), None),
        (PID.replace("19650315", "15.3.1965"), Flaw("102", "", "PID", 1, 7, 1, 1)),
        (PID.replace("19650315", "19650231"), Flaw("102", "", "PID", 1, 7, 1, 1)),
        (PID.replace("19650315", "19000229"), Flaw("102", "", "PID", 1, 7, 1, 1)),
        (PID.replace("19650315", "20000229"), None),
        (PID.replace("19650315", "196503152561"), Flaw("102", "", "PID", 1, 7, 1, 1)),
        (PID.replace("19650315", "19650315235959.1234+0130"), None),
        (PID.replace("PID|1|", "PID|one|"), Flaw("102", "", "PID", 1, 1, 1)),
        (PID.replace("PID|1|", "PID|1~2|"), Flaw("102", "", "PID", 1, 1, 2)),
        (PID.replace("77^^^NORTH^MR", "77^^^N^MR^^2026^~88^^^N^MR^^soon"), Flaw("102", "", "PID", 1, 3, 2, 7)),
        (PID + "|" * 200 + "x", None),
    ],
)
def test_field_values_are_validated(line: str, expected: Flaw | None) -> None:
    found = validate_message(message("ADT^A01^ADT_A01", EVN, line, PV1))
    assert [flaw._replace(text="") for flaw in found] == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("NM", "-2.5", None),
        ("NM", "5~6", None),
        ("NM", "  95", None),
        ("NM", "95 ", None),
        ("NM", "9 5", "102 OBX-5: '9 5' is not a number"),
        ("DT", " 20260302", None),
        ("NM", ">5", "102 OBX-5: '>5' is not a number"),
        ("NM", "5~six", "102 OBX-5: 'six' is not a number"),
        ("NM", '""', None),
        ("NM", "", None),
        ("ST", "anything ^ at all", None),
        ("SN", ">^5", None),
        ("SN", ">^five", "102 OBX-5.2: 'five' is not a number"),
        ("DT", "2026-03-02", "102 OBX-5: '2026-03-02' is not a date as YYYY[MM[DD]]"),
        ("TM", "2561", "102 OBX-5: '2561' is not a time of day as HH[MM[SS[.S]]][+/-ZZZZ]"),
        ("TX", "a~b", None),
        ("QQ", "1", "103 OBX-2: there is no data type 'QQ'"),
        ("", "1", "101 OBX-2 is missing: it is required with OBX-5"),
        ("", "", None),
    ],
)
def test_obx_5_must_match_type_in_obx_2(type: str, value: str, expected: str | None) -> None:
    line = f"OBX|1|{type}|2823-3^Potassium^LN||{value}||||||F"
    assert list_flaws("ORU^R01", PID, OBR, line) == ([] if expected is None else [expected])


def test_time_with_hours_only_is_valid_from_2_5() -> None:
    line = PID.replace("19650315", "1965031509")
    assert list_flaws("ADT^A01", EVN, line, PV1, version="2.5") == []
    assert list_flaws("ADT^A01", "EVN|A01|20260302", line, PV1, version="2.4") == [
        "102 PID-7.1: '1965031509' is not a time as YYYY[MM[DD[HHMM[SS[.S]]]]][+/-ZZZZ]"
    ]


def test_required_component_is_checked() -> None:
    line = PID.replace("77^^^NORTH^MR", "^^^NORTH^MR")
    assert list_flaws("ADT^A01^ADT_A01", EVN, line, PV1) == []
    assert list_flaws("ADT^A01^ADT_A01", EVN, line, PV1, version="2.6") == ["101 PID-3.1: it is required"]


@pytest.mark.parametrize("version", ["2.6", "2.7", "2.8"])
def test_msh_9_3_may_be_missing(version: str) -> None:
    assert list_flaws("ADT^A08", EVN, PID, PV1, version=version) == []
    assert list_flaws("ADT^^ADT_A01", EVN, PID, PV1, version=version)[0].startswith("201")


def test_withdrawn_fields_are_allowed() -> None:
    line = PID.replace("PID|1||", "PID|1|old^id|")
    assert list_flaws("ADT^A01^ADT_A01", EVN, line, PV1, version="2.8") == []


@pytest.mark.parametrize("missing", [6, 16, 20])
def test_missing_required_sch_field_is_a_flaw(missing: int) -> None:
    values = {1: "1", 6: "R^Routine", 16: "9^Who", 20: "8^Who"}
    line = "|".join(["SCH", *("" if number == missing else values.get(number, "") for number in range(1, 21))])
    assert list_flaws("SIU^S12", line, "RGS|1") == [f"101 SCH-{missing} is missing: it is required in version 2.5.1"]


def test_missing_required_txa_field_is_a_flaw() -> None:
    assert list_flaws("MDM^T01", EVN, PID, PV1, "TXA|1|CN||||||||||9") == [
        "101 TXA-17 is missing: it is required in version 2.5.1"
    ]


def test_custom_delimiters_are_validated() -> None:
    text = "MSH#*!?%#LAB#N#E#C#20260302090000##ADT*A01#1#P#2.5.1\rEVN##20260302\rPID#1##7***N!8***N##L*M##soon\rPV1#1#O"
    assert [(flaw.segment, flaw.field) for flaw in validate_message(parse_message(text))] == [("PID", 7)]


def test_number_of_flaws_is_limited() -> None:
    assert len(validate_message(message("ORU^R01", PID, OBR, *["OBX|x"] * 500))) == MAX_FLAWS


@pytest.mark.parametrize(
    "lines", [[OBX], ["PID|1"], ["OBR|1", "PID|1"], ["NTE|1", "ORC"], ["ABC"], ["Z"], ["OBR|" + "~" * 50]]
)
def test_time_to_validate_many_segments_is_limited(lines: list[str]) -> None:
    many = message("ORU^R01", PID, OBR, *lines * (50_000 // len(lines)))
    with processor_limit():
        validate_message(many)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PID|one||||||1965031509", None),
        ("PID|||||||15.3.1965", "102 PID-7 1 1"),
        ("PID|||||||19650230", "102 PID-7 1 1"),
        ('PID|||||||""', None),
        ("OBR|||3~4||||20260302083000", None),
        ("OBR|||||||yesterday", "102 OBR-7 1 1"),
        ("OBX||NM|||<5", None),
        ("OBX||NM|||>= 5.5 ", None),
        ("OBX||NM|||5~high", "102 OBX-5 2 1"),
        ("OBX||SN|||>^5", None),
        ("OBX||SN|||>^five", "102 OBX-5 1 2"),
        ("OBX||TM|||2561", "102 OBX-5 1 1"),
        ("OBX||ST|||anything", None),
        ("OBX||QQ|||anything", None),
        ("OBX|||||anything", None),
        ("OBX||ST|||x|||||||||now", "102 OBX-14 1 1"),
        ("SCH|||||||||||^^30^202603020900&x^202603020930", None),
        ("SCH|||||||||||^^30^nine", "102 SCH-11 1 4"),
        ("ABC|1", None),
        ("Z|1", None),
        ("hello world", None),
    ],
)
@pytest.mark.parametrize("version", ["2.3", "2.8"])
def test_lenient_level_checks_readable_values(line: str, expected: str | None, version: str) -> None:
    assert list_lenient_flaws("ADT^A01^WHAT", line, version=version) == ([] if expected is None else [expected])


def test_lenient_level_refuses_unknown_message_type() -> None:
    assert list_lenient_flaws("ADT^A01", version="3") == ["203 MSH-12 1 1"]
    assert list_lenient_flaws("ADT^A01", version="") == list_lenient_flaws("adt^a01") == []
    assert list_lenient_flaws("ADT^A99") == list_lenient_flaws("ADT") == ["201 MSH-9 1 2"]
    assert list_lenient_flaws("DFT^P03") == ["200 MSH-9 1 1"]
    assert list_lenient_flaws("") == ["101 MSH-9 None None"]


def test_file_flaws_include_flaws_of_each_message() -> None:
    good = message("ADT^A01^ADT_A01", EVN, PID, PV1).render
    bad = message("ADT^A01^ADT_A01", EVN, PID).render
    around = "BHS|^~\\&\r{}BTS|2\r"
    assert validate_file(good.encode()) == validate_file(around.format(good * 2)) == []
    assert [flaw.text for flaw in validate_file(bad)] == ["PV1 is missing after PID"]
    assert [flaw.text for flaw in validate_file(around.format(good + bad))] == ["message 2: PV1 is missing after PID"]
    assert validate_file(around.format(good + bad), "lenient") == []
    assert [flaw.code for flaw in validate_file(around.format(good))] == ["102"]
    assert validate_file(around.format(good), "lenient") == []
    assert [flaw.code for flaw in validate_file("PID|1", "lenient")] == ["100"]
    assert [flaw.code for flaw in validate_file("")] == ["100"]
    assert [flaw.code for flaw in validate_file("MSH|")] == ["102"]
    assert len(validate_file(bad * 50)) == MAX_FLAWS
