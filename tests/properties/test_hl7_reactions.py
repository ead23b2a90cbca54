"""The chart files any message completely as valid resources, or refuses it and does not change."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.events.lifecycle import RequestRefused
from tests.examples import examples
from tests.reactions.hl7_to_fhir.clinic import CHART, PID, Clinic, build_msh
from tests.reactions.hl7_to_fhir.test_adt import NEW, build_pv1
from tests.reactions.hl7_to_fhir.test_mdm import build_mdm
from tests.reactions.hl7_to_fhir.test_mdm import obx as line
from tests.reactions.hl7_to_fhir.test_merge import OLD
from tests.reactions.hl7_to_fhir.test_oru import obr, obx
from tests.reactions.hl7_to_fhir.test_reports import organisms, series
from tests.reactions.hl7_to_fhir.test_siu import build_booking

EVN = "EVN||20260302090000"
MESSAGES: tuple[tuple[str, ...], ...] = (
    (build_msh("ADT^A01^ADT_A01"), EVN, NEW, build_pv1()),
    (
        build_msh("ADT^A08^ADT_A01"),
        EVN,
        f"{NEW}|||||Y|2||||20260301|Y".replace("5000", "4711")
        .replace("Lee", "Silva")
        .replace("Jo^Q", "Ana")
        .replace("|M|||", "|F|||"),
        build_pv1(),
    ),
    (build_msh("ADT^A40^ADT_A39"), EVN, PID, "MRG|4799^^^CLINIC^MR"),
    (build_msh("ORU^R01^ORU_R01"), PID, obr(), obx(), "NTE|1||late", obx("SN", "^1^:^128", code="X^Y^L"), "ZZZ|1"),
    (
        build_msh("ORU^R01^ORU_R01"),
        PID,
        obr("P"),
        obx("CWE", "1^Detected^SCT"),
        obx("ED", "L^AP^pdf^Base64^JVBERi0=", code="P"),
    ),
    organisms(),
    series(("20260302080000", "90"), ("20260302100000", "210")),
    (
        build_msh("ORM^O01^ORM_O01"),
        PID,
        "ORC|NW|O-1|||||^^^20260303^^S||20260302",
        "OBR|1|O-1||1^K^LN",
        "DG1|1||I10^H^I10C|||W",
    ),
    build_booking(),
    build_booking("S12", "", "AIS|1||99213^Visit^C4|20260305100000|||45|MIN", "AIP|1||9999910000"),
    build_mdm("T02", line("All well."), line("L^AP^pdf^Base64^JVBERi0=", "ED")),
)
ODD = (
    '""',
    " ",
    "^",
    "&",
    "~",
    "\\",
    "\\X00\\",
    "\\X0A\\",
    "^^^^",
    "a  b",
    "4711",
    "4712~4711",
    "20260302",
    "99991231235959-1400",
    "00010101000000+1400",
    "2026-03-02",
    "1e999",
    "9" * 50,
    "-0.00",
    "<5",
    "F",
    "C",
    "NM",
    "ED",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "x" * 2000,
    "http://a b/",
    "A^B^LN^C^D^SCT",
)
VALUES = st.sampled_from(ODD) | st.text(
    st.characters(exclude_characters="\r\n|", exclude_categories=["Cs"]), max_size=12
)
CHANGES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 46), VALUES), min_size=1, max_size=4)


def change_fields(lines: tuple[str, ...], changes: list[tuple[int, int, str]]) -> tuple[str, ...]:
    results = [line.split("|") for line in lines]
    for segment, field, value in changes:
        fields = results[1 + (segment - 1) % (len(results) - 1)]
        fields += [""] * (field + 1 - len(fields))
        fields[field] = value
    return tuple("|".join(fields) for fields in results)


@given(st.sampled_from(MESSAGES), CHANGES)
@settings(max_examples=examples(100), deadline=None)
def test_message_is_filed_completely_once_or_refused(
    lines: tuple[str, ...], changes: list[tuple[int, int, str]]
) -> None:
    clinic = Clinic(*CHART, OLD)
    empty = clinic.state.dump()
    message = change_fields(lines, changes)
    results = clinic.receive(*message, checked=False)
    refused = [each for each in results if isinstance(each.payload, RequestRefused)]
    assert results
    if refused:
        assert (len(results), clinic.state.dump()) == (1, empty)
        return
    filed = clinic.state.dump()
    clinic.receive(*message, checked=False)
    assert clinic.state.dump() == filed
    assert clinic.replay() == filed


def test_unchanged_messages_are_filed() -> None:
    for lines in MESSAGES:
        assert Clinic(*CHART, OLD).file(*lines)
