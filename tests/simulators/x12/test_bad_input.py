"""Bad input: it is refused as the rules say, in bounded time, and breaks nothing."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.simulators.x12.clearinghouse import (
    Clearinghouse,
    authorization,
    claim_status,
    eligibility,
    group,
    interchange,
    one,
    segments_of,
    ta1_of,
)
from tests.waiting import processor_limit

VALID = one("270", eligibility())


@pytest.mark.parametrize(
    ("edi", "expected"),
    [
        (VALID[: VALID.index("IEA")], "R 023"),
        (VALID[: VALID.index("EQ*30")], "R 023"),
        (VALID[:-1], "R 023"),
        (VALID.replace("IEA*1*", "IEA*2*"), "R 021"),
        (VALID.replace("IEA*1*000000101", "IEA*1*000000102"), "R 001"),
        (VALID.replace("*260302*0900*^", "*261302*0900*^"), "R 014"),
        (VALID.replace("*260302*0900*^", "*260302*2560*^"), "R 015"),
        (VALID.replace("000000101", "00000010A"), "R 018"),
        (VALID.replace("ISA*00*", "ISA*99*"), "R 010"),
        (VALID.replace("*00*          *ZZ*CLINIC01", "*99*          *ZZ*CLINIC01"), "R 012"),
        (VALID.replace("*1*X*", "*1*T*"), "R 024"),
        (VALID.replace("~GS*", "~HELLO*1~GS*"), "R 022"),
        (interchange(), "R 024"),
    ],
)
def test_broken_interchange_is_refused_by_ta1_alone(edi: str, expected: str) -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(edi)
    assert (ta1_of(reply), reply.groups) == (expected, [])
    assert clearinghouse.count("x12.interchange.refused") == 1
    assert clearinghouse.count("payer.eligibility.checked") == 0


@pytest.mark.parametrize(
    ("edi", "group_status", "set_codes"),
    [
        (VALID.replace("GE*1*1~", "GE*2*1~"), "AK9*R*2*1*0*5", []),
        (VALID.replace("GE*1*1~", "GE*1*9~"), "AK9*R*1*1*0*4", []),
        (VALID.replace("GE*1*1~", ""), "AK9*R*1*1*0*3", []),
        (VALID.replace("SE*13*0001", "SE*12*0001"), "AK9*R*1*1*0", ["IK5*R*4"]),
        (VALID.replace("SE*13*0001", "SE*13*0002"), "AK9*R*1*1*0", ["IK5*R*3"]),
        (VALID.replace("SE*13*0001~", ""), "AK9*R*1*1*0", ["IK5*R*2"]),
        (interchange(group("270")), "AK9*R*0*0*0*5", []),
    ],
)
def test_broken_group_or_set_is_refused_by_999(edi: str, group_status: str, set_codes: list[str]) -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(edi)
    assert [each.code for each in reply.sets] == ["999"]
    assert segments_of(reply, "AK9") == [group_status]
    assert segments_of(reply, "IK5") == set_codes
    assert clearinghouse.count("payer.eligibility.checked") == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \r\n",
        b"HELLO",
        b"ISA",
        b"ISA*00*short~",
        bytes(range(256)),
        VALID.encode("utf-16"),
        b"\x89PNG\r\n",
        b"{}",
    ],
)
def test_what_is_not_x12_is_refused_over_http(body: bytes) -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.post(body)
    assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (400, "not_x12")
    assert clearinghouse.kinds == ["sandbox.refused"]


def test_separators_that_change_in_the_middle_are_refused() -> None:
    reply = Clearinghouse().send(VALID.replace("~GS*", "~GS|"))
    assert ta1_of(reply).startswith("R ")
    changed = VALID.replace("NM1*IL*1*RIVERA", "NM1|IL|1|RIVERA")
    reply = Clearinghouse().send(changed)
    assert segments_of(reply, "IK5")[0].startswith("IK5*R*")


def test_too_large_body_is_refused_before_it_is_parsed() -> None:
    clearinghouse = Clearinghouse(max_interchange=1000, max_sets=2)
    reply = clearinghouse.post(VALID + " " * 1000)
    assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (413, "too_large")
    clearinghouse = Clearinghouse(max_sets=2)
    assert clearinghouse.post(interchange(group("270", *[eligibility()] * 3))).status == 413
    assert clearinghouse.post(interchange(group("270", *[eligibility()] * 2))).status == 200


def test_set_with_too_many_patients_is_refused_before_it_is_checked() -> None:
    patients = [f"HL*{number}*2*22*0" for number in range(4, 20)]
    reply = Clearinghouse(max_levels=10).send(one("270", [*eligibility(), *patients]))
    assert segments_of(reply, "IK3") == ["IK3*HL*20**4"]
    assert segments_of(reply, "IK5") == ["IK5*R*5"]


def test_many_sets_with_many_patients_each_are_too_large_together() -> None:
    patients = [
        segment
        for number in range(4, 14)
        for segment in (f"HL*{number}*2*22*0", "NM1*IL*1*RIVERA*ANA****MI*NW55501", "DMG*D8*19800214*F", "EQ*30")
    ]
    clearinghouse = Clearinghouse(max_sets=5, max_levels=20)
    edi = interchange(group("270", *[[*eligibility(), *patients]] * 5))
    reply = clearinghouse.post(edi)
    assert (reply.status, b"at most 30 are accepted" in reply.body) == (413, True)
    assert clearinghouse.count("payer.eligibility.checked") == 0
    clearinghouse.send(interchange(group("270", *[[*eligibility(), *patients]] * 2)))
    assert clearinghouse.count("payer.eligibility.checked") == 22


def test_too_many_segments_are_refused() -> None:
    assert Clearinghouse().post(one("270", [*eligibility(), *["EQ*30"] * 200_000])).status == 413


def test_long_set_that_is_refused_is_logged_in_part() -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("270", [*eligibility(), "EQ" + "*30" * 1_000_000]))
    assert segments_of(reply, "IK3")[0].startswith("IK3*EQ*13")
    assert clearinghouse.rig.playground.log.size < 200_000
    assert clearinghouse.get("/x12/transactions/1")["reasons"]


def test_thousand_sets_are_answered_in_bounded_time_and_log() -> None:
    clearinghouse = Clearinghouse()
    edi = interchange(group("270", *(eligibility(f"T{number}") for number in range(1000))))
    with processor_limit(20):  # about two seconds
        reply = clearinghouse.send(edi)
    assert len(reply.sets) == 1000
    assert clearinghouse.rig.playground.log.size < 8_000_000


def test_interchange_that_the_log_has_no_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 40)
    clearinghouse = Clearinghouse()
    reply = clearinghouse.post(interchange(group("270", *[eligibility()] * 10)))
    assert reply.status == 429
    assert clearinghouse.count("x12.interchange.accepted") == 0
    assert clearinghouse.post(VALID).status == 200


def test_unusual_bytes_in_values_are_refused_by_999() -> None:
    edi = VALID.replace("RIVERA", "RÍVERA")
    for body in (edi.encode(), edi.encode("latin-1")):
        clearinghouse = Clearinghouse()
        reply = clearinghouse.post(body)
        assert b"IK4*3" in reply.body
        assert clearinghouse.rig.rebuilt() == clearinghouse.rig.dumped()


MUTATED = (VALID, interchange(group("278", authorization()), group("270", eligibility(), eligibility("B"), number=2)))


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_no_change_to_an_interchange_breaks_the_clearinghouse(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(MUTATED))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        new = data.draw(
            st.one_of(st.text(max_size=5), st.sampled_from(["~", "*", "ST*270*0001~", "HL*9*9*99*9~", ":^"]))
        )
        text = text[:start] + new + text[end:]
    with Clearinghouse() as clearinghouse:
        reply = clearinghouse.post(text.encode(errors="surrogatepass"))
        assert reply.status in (200, 204, 400, 413)
        assert clearinghouse.rig.playground.broken is None
        assert clearinghouse.rig.rebuilt() == clearinghouse.rig.dumped()


ODD_VALUES = (
    *("", "0", "1", "-1", ".5", "1.5", "99999999999999", "00010101", "99991231", "20260230", "20260302-20260301"),
    *("A" * 60, "é", "HC", "HC:72148:26:TC", "ABK:M54.16^ABF:Z00", "IL", "03", "QC", "22", "23", "11:B", "30^1^98"),
    *(
        "20260101-20261231",
        "RD8",
        "D8",
        "I",
        "S",
        "3",
        "N",
        "R",
        "4",
        "BB",
        "NT",
        "XX",
        "Y",
        "U",
        "HS",
        "SC",
        "AR",
        "VS",
    ),
)
ODD_SEGMENTS = (
    *("REF*BB*AUTH1", "REF*NT*R1", "REF*1K*NWC451", "MSG*HELLO", "PWK*77*EL***AC*A1", "DTP*AAH*D8*20260401"),
    *("HSD*VS*12*WK*1*34*3", "HL*6*5*SS*0", "HL*9*1*23*0", "NM1*QC*1*X*Y", "NM1*SJ*2*LAB*****XX*1234567893"),
    *("SV2*0300*HC:72148**UN*3", "EQ**HC:72148", "EQ*30", "TRN*1*ZZZ*9X", "AMT*T3*0", "SVC*HC:99213*100"),
)
REQUESTS = {"270": eligibility(), "276": claim_status(), "278": authorization()}


@settings(max_examples=examples(150), deadline=None)
@given(code=st.sampled_from(list(REQUESTS)), data=st.data())
def test_no_odd_value_or_segment_breaks_the_clearinghouse(code: str, data: st.DataObject) -> None:
    segments = list(REQUESTS[code])
    place = data.draw(st.integers(0, len(segments) - 1))
    if data.draw(st.booleans()):
        elements = segments[place].split("*")
        elements[data.draw(st.integers(1, len(elements) - 1))] = data.draw(st.sampled_from(ODD_VALUES))
        segments[place] = "*".join(elements)
    else:
        segments.insert(place, data.draw(st.sampled_from(ODD_SEGMENTS)))
    with Clearinghouse() as clearinghouse:
        reply = clearinghouse.send(one(code, segments))
        assert [each.code for each in reply.sets] in (["999"], [{"270": "271", "276": "277", "278": "278"}[code]])
        assert clearinghouse.rig.rebuilt() == clearinghouse.rig.dumped()
