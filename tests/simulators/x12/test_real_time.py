"""Interchanges in real time over HTTP: what is accepted, answered, acknowledged and refused."""

from typing import Any

import orjson
import pytest

from clerkship.formats.x12.interchange import parse_interchanges
from tests.simulators.x12.clearinghouse import (
    CLAIM,
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


def test_eligibility_inquiry_is_answered_by_271_without_acknowledgments() -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("270", eligibility()))
    assert not reply.acknowledgments
    assert [each.code for each in reply.sets] == ["271"]
    assert segments_of(reply, "TRN") == ["TRN*2*ELG1T*9CEDAR0001"]
    assert segments_of(reply, "EB")[0].startswith("EB*1**30")
    assert clearinghouse.kinds == [
        "x12.interchange.accepted",
        "x12.eligibility.requested",
        "payer.eligibility.checked",
        "x12.eligibility.answered",
        "x12.interchange.replied",
    ]


def test_reply_goes_back_from_receiver_to_sender_with_numbers_of_its_own() -> None:
    clearinghouse = Clearinghouse(zone=-300)
    first = clearinghouse.send(one("270", eligibility()))
    assert (first.sender, first.receiver, first.usage) == ("CLEARING01", "CLINIC01", "T")
    assert [(each.functional_code, each.sender, each.receiver) for each in first.groups] == [
        ("HB", "NW001", "CLINIC01")
    ]
    assert first.header.raw(10) == "0900"  # 14:00 in UTC
    second = clearinghouse.send(one("270", eligibility(), 102))
    assert [each.control_number for each in (first, second)] == ["000000001", "000000002"]
    assert [each.groups[0].control_number for each in (first, second)] == ["1", "2"]


@pytest.mark.parametrize(
    ("code", "segments", "answer", "functional_code"),
    [("276", claim_status(), "277", "HN"), ("278", authorization(), "278", "HI")],
)
def test_claim_status_and_authorization_are_answered(
    code: str, segments: list[str], answer: str, functional_code: str
) -> None:
    reply = Clearinghouse().send(one(code, segments))
    assert [each.code for each in reply.sets] == [answer]
    assert reply.groups[0].functional_code == functional_code
    assert reply.groups[0].version == group(code, segments).split("~")[0].split("*")[8]


@pytest.mark.parametrize(
    ("code", "segments"), [("270", eligibility()), ("276", claim_status()), ("278", authorization())]
)
def test_name_of_the_payer_is_its_own_not_that_of_the_request(code: str, segments: list[str]) -> None:
    entity = "X3" if code == "278" else "PR"
    reply = Clearinghouse().send(one(code, segments))
    assert f"NM1*{entity}*2*NORTH PAY*****PI*NW001" in segments_of(reply, "NM1")
    unknown = [segment.replace("PI*NW001", "PI*NW009") for segment in segments]
    reply = Clearinghouse().send(one(code, unknown))
    assert f"NM1*{entity}*2*NORTHPAY*****PI*NW009" in segments_of(reply, "NM1")


def test_name_of_the_payer_is_its_own_in_the_answer_to_an_appeal() -> None:
    clearinghouse = Clearinghouse({"determinations": [{"status": "denied", "reason": "not_medically_necessary"}]})
    reference = segments_of(clearinghouse.send(one("278", authorization())), "REF")[0]
    appeal = [segment.replace("UM*HS*I*", "UM*HS*2*") for segment in authorization()]
    appeal[11:12] = [reference, "HI*ABK:M5416", "MSG*Physical therapy failed"]
    reply = clearinghouse.send(one("278", appeal, 102))
    assert clearinghouse.count("payer.appeal.filed") == 1
    assert "NM1*X3*2*NORTH PAY*****PI*NW001" in segments_of(reply, "NM1")


@pytest.mark.parametrize("purpose", ["01", "36"])
def test_270_that_is_no_inquiry_is_refused_by_999(purpose: str) -> None:
    """A cancellation (01) and an authority to deduct (36) are about a spend down, which no payer here keeps."""
    clearinghouse = Clearinghouse()
    segments = [segment.replace("BHT*0022*13", f"BHT*0022*{purpose}") for segment in eligibility()]
    reply = clearinghouse.send(one("270", segments))
    assert segments_of(reply, "IK3") == ["IK3*BHT*2**8"]
    assert segments_of(reply, "IK4") == [f"IK4*2*353*I6*{purpose}"]
    assert clearinghouse.count("payer.eligibility.checked") == 0


def test_bad_character_is_reported_with_its_loop_and_element() -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("270", [each.replace("RIVERA", "RIVÉRA") for each in eligibility()]))
    assert segments_of(reply, "IK3") == ["IK3*NM1*9*2100*8"]
    assert segments_of(reply, "CTX") == ["CTX*TRN02:ELG1T"]
    assert segments_of(reply, "IK4") == ["IK4*3*1035*6*RIVERA"]
    [reason] = clearinghouse.state.transactions["1"].reasons
    assert reason.startswith("NM1 (segment 9, loop 2100C): NM103 (last or organization name) has the character")


def test_approved_authorization_is_in_the_response_and_in_the_payer() -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("278", authorization()))
    decision = segments_of(reply, "HCR")[0].split("*")
    assert decision[1] == "A1"
    assert clearinghouse.count("payer.authorization.requested") == 1


def test_groups_of_several_kinds_are_answered_group_by_group() -> None:
    groups = (
        group("270", eligibility("A1"), eligibility("A2")),
        group("276", claim_status("B1"), number=2),
        group("278", authorization("C1"), number=3),
    )
    reply = Clearinghouse().send(interchange(*groups))
    assert [(each.functional_code, len(each.sets)) for each in reply.groups] == [("HB", 2), ("HN", 1), ("HI", 1)]
    assert [each.control_number for each in reply.groups[0].sets] == ["0001", "0002"]
    assert [each.split("*")[2] for each in segments_of(reply, "TRN")][:3] == ["A1", "A2", "B1"]


def test_requested_ta1_comes_before_the_answers() -> None:
    reply = Clearinghouse().send(one("270", eligibility(), ta1="1"))
    assert ta1_of(reply) == "A 000"
    assert [each.code for each in reply.sets] == ["271"]


def test_faulty_set_is_refused_by_999_and_the_others_are_answered() -> None:
    bad = [segment for segment in eligibility("BAD1") if not segment.startswith("HL*2")]
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(interchange(group("270", eligibility("GOOD1"), bad)))
    assert [each.functional_code for each in reply.groups] == ["FA", "HB"]
    assert [each.split("*")[1] for each in segments_of(reply, "IK5")] == ["A", "R"]
    assert segments_of(reply, "AK9")[0].startswith("AK9*P*2*2*1")
    assert segments_of(reply, "TRN") == ["TRN*2*GOOD1*9CEDAR0001"]
    [refused] = [each for each in clearinghouse.state.transactions.values() if each.outcome == "refused"]
    assert refused.trace == "BAD1"
    assert refused.reasons


def test_999_names_segment_and_element_in_error() -> None:
    bad = [segment.replace("DMG*D8*19800214*F", "DMG*D8*19801314*F") for segment in eligibility()]
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("270", bad))
    assert [each.code for each in reply.sets] == ["999"]
    assert segments_of(reply, "IK3")[0].startswith("IK3*DMG*10*")
    assert segments_of(reply, "IK4")[0].startswith("IK4*2*")
    assert segments_of(reply, "IK5") == ["IK5*R*5"]
    [refused] = [event for event in clearinghouse.rig.playground.log.events if event.kind == "x12.transaction.refused"]
    assert refused.payload.model_dump()["codes"] == ("5",)


def test_claims_are_refused_by_name() -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("837", CLAIM))
    assert segments_of(reply, "AK2") == ["AK2*837*0001*005010X222A1"]
    assert segments_of(reply, "IK5") == ["IK5*R*1"]
    assert segments_of(reply, "AK9") == ["AK9*R*1*1*0"]
    [refused] = clearinghouse.get("/x12/transactions", transaction="837")["transactions"]
    assert "claim" in refused["reasons"][0]


@pytest.mark.parametrize("code", ["271", "277"])
def test_answers_of_payers_are_refused(code: str) -> None:
    version = {"271": "005010X279A1", "277": "005010X212"}[code]
    functional_code = {"271": "HB", "277": "HN"}[code]
    text = group("270", ["BHT*0022*11*1*20260302*0900"], version=version)
    reply = Clearinghouse().send(
        interchange(text.replace("GS*HS", f"GS*{functional_code}").replace("ST*270", f"ST*{code}"))
    )
    assert segments_of(reply, "IK5") == ["IK5*R*1"]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"sender": "ZZ*STRANGER"}, "R 006"),
        ({"sender": "30*CLINIC01"}, "R 005"),
        ({"receiver": "ZZ*ELSEWHERE"}, "R 008"),
        ({"receiver": "30*CLEARING01"}, "R 007"),
        ({"usage": "P"}, "R 020"),
        ({"version": "00401"}, "R 003"),
    ],
)
def test_interchange_for_others_or_of_another_version_is_refused_by_ta1(header: dict[str, Any], code: str) -> None:
    clearinghouse = Clearinghouse()
    reply = clearinghouse.send(one("270", eligibility(), **header))
    assert ta1_of(reply) == code
    assert not reply.groups
    assert clearinghouse.kinds == ["x12.interchange.refused", "x12.acknowledgment.sent", "x12.interchange.replied"]


def test_other_senders_and_production_are_a_matter_of_config() -> None:
    clearinghouse = Clearinghouse(
        senders=[{"id": "LAB7", "qualifier": "30"}], receiver={"id": "HUB", "qualifier": "01"}, usage="P"
    )
    reply = clearinghouse.send(one("270", eligibility(), sender="30*LAB7", receiver="01*HUB", usage="P"))
    assert (reply.receiver_qualifier, reply.receiver, reply.sender_qualifier, reply.sender) == (
        "30",
        "LAB7",
        "01",
        "HUB",
    )
    assert reply.usage == "P"


def test_group_of_another_version_is_refused_as_a_whole() -> None:
    reply = Clearinghouse().send(interchange(group("270", eligibility(), version="004010X092A1")))
    assert segments_of(reply, "AK9") == ["AK9*R*1*1*0*2"]


def test_unknown_guide_is_refused_by_999() -> None:
    reply = Clearinghouse().send(interchange(group("270", eligibility(), version="005010X999")))
    assert segments_of(reply, "IK5") == ["IK5*R*I6"]


def test_repeated_interchange_is_refused_and_has_no_second_effect() -> None:
    clearinghouse = Clearinghouse()
    edi = one("278", authorization())
    clearinghouse.send(edi)
    assert ta1_of(clearinghouse.send(edi)) == "R 025"
    assert ta1_of(clearinghouse.send(one("278", authorization("PA2E")))) == "R 025"
    assert clearinghouse.count("payer.authorization.requested") == 1


def test_control_number_of_a_refused_interchange_can_be_used_again() -> None:
    clearinghouse = Clearinghouse()
    clearinghouse.send(one("270", eligibility()).replace("IEA*1", "IEA*2"))
    assert [each.code for each in clearinghouse.send(one("270", eligibility())).sets] == ["271"]


def test_control_numbers_may_have_to_ascend() -> None:
    for rule, expected in (("unique", "A 000"), ("ascending", "R 018")):
        clearinghouse = Clearinghouse(control_numbers=rule)
        clearinghouse.send(one("270", eligibility(), 200))
        assert ta1_of(clearinghouse.send(one("270", eligibility(), 199, ta1="1"))) == expected


ACKNOWLEDGMENT = (
    "GS*FA*CLINIC01*CLEARING01*20260302*0900*7*X*005010X231A1~ST*999*0001*005010X231A1~"
    "AK1*HB*1*005010X279A1~AK9*A*1*1*1~SE*4*0001~GE*1*7~"
)


@pytest.mark.parametrize("ta1", ["0", "1"])
@pytest.mark.parametrize(
    ("content", "transaction"), [(ACKNOWLEDGMENT, "999"), ("TA1*000000001*260302*1400*A*000~", "TA1")]
)
def test_acknowledgment_of_the_agent_is_noted_and_never_answered(content: str, transaction: str, ta1: str) -> None:
    clearinghouse = Clearinghouse()
    edi = interchange(content, ta1=ta1)
    edi = edi if transaction == "999" else edi.replace("IEA*1", "IEA*0")
    assert clearinghouse.post(edi).status == 204
    assert clearinghouse.kinds == ["x12.interchange.accepted", "x12.acknowledgment.received"]
    [noted] = clearinghouse.get("/x12/transactions")["transactions"]
    assert (noted["transaction"], noted["outcome"]) == (transaction, "noted")


def test_faulty_interchange_with_only_acknowledgments_is_not_answered_either() -> None:
    clearinghouse = Clearinghouse()
    assert clearinghouse.post(interchange(ACKNOWLEDGMENT).replace("IEA*1", "IEA*2")).status == 204
    assert clearinghouse.kinds == ["x12.interchange.refused"]


def test_several_interchanges_in_one_body_are_answered_one_by_one() -> None:
    body = one("270", eligibility(), 1) + "\r\n" + one("270", eligibility(), 1) + "\n" + one("270", eligibility(), 2)
    replies = parse_interchanges(Clearinghouse().post(body).body)
    assert [len(each.sets) for each in replies] == [1, 0, 1]
    assert ta1_of(replies[1]) == "R 025"


@pytest.mark.parametrize("separators", ["|}>\n", "*^:\r", "\x1d\x1f\x1e\x1c"])
def test_reply_has_the_separators_of_the_request(separators: str) -> None:
    clearinghouse = Clearinghouse()
    edi = one("270", eligibility("T*1" if "*" not in separators else "T1"))
    if "*" not in separators:
        edi = edi.replace("T*1", "T\0" + "1")
    edi = edi.translate(str.maketrans("*^:~\0", separators + "*"))
    reply = clearinghouse.send(edi)
    assert reply.delimiters == tuple(separators)
    assert segments_of(reply, "TRN")[0].split(separators[0])[2] == ("T*1" if "*" not in separators else "T1")


def test_line_breaks_after_segments_are_ignored() -> None:
    reply = Clearinghouse().send(one("270", eligibility()).replace("~", "~\r\n"))
    assert [each.code for each in reply.sets] == ["271"]


def test_basic_character_set_excludes_lower_case() -> None:
    edi = one("270", eligibility()).replace("RIVERA", "Rivera")
    assert [each.code for each in Clearinghouse().send(edi).sets] == ["271"]
    reply = Clearinghouse(character_set="basic").send(edi)
    assert [each.split("*")[3] for each in segments_of(reply, "IK4")] == ["6"]


@pytest.mark.parametrize("media", ["application/edi-x12", "application/EDI-X12", "text/plain; charset=utf-8", ""])
def test_content_types_for_edi_are_accepted(media: str) -> None:
    reply = Clearinghouse().post(one("270", eligibility()), {"content-type": media} if media else {})
    assert (reply.status, reply.media) == (200, "application/edi-x12; charset=utf-8")
    assert reply.answer == "271"


@pytest.mark.parametrize("media", ["application/json", "multipart/form-data; boundary=x", "application/xml"])
def test_other_content_types_are_refused(media: str) -> None:
    clearinghouse = Clearinghouse()
    assert clearinghouse.post(one("270", eligibility()), {"content-type": media}).status == 415
    assert clearinghouse.kinds == ["sandbox.refused"]


@pytest.mark.parametrize(("query", "accept"), [({"view": "json"}, "*/*"), ({}, "application/json")])
def test_reply_as_json_names_loops_and_segments(query: dict[str, str], accept: str) -> None:
    clearinghouse = Clearinghouse()
    headers = {"content-type": "text/plain", "accept": accept}
    reply = clearinghouse.post(one("270", eligibility()), headers, **query)
    [exchanged] = orjson.loads(reply.body)["interchanges"]
    [answer] = exchanged["replies"][0]["transactions"]
    assert (answer["transaction"], answer["trace"]) == ("271", "ELG1T")
    assert exchanged["replies"][0]["edi"].startswith("ISA*")
    assert clearinghouse.get(f"/x12/transactions/{answer['id']}")["content"] == answer["content"]


def test_transactions_are_listed_by_kind_and_trace() -> None:
    clearinghouse = Clearinghouse()
    clearinghouse.send(interchange(group("270", eligibility("A1"), eligibility("A2"))))
    assert [each["id"] for each in clearinghouse.get("/x12/transactions")["transactions"]] == ["1", "2", "3", "4"]
    [answer] = clearinghouse.get("/x12/transactions", transaction="271", trace="A2")["transactions"]
    assert (answer["direction"], answer["request"]) == ("received", "3")
    [exchanged] = clearinghouse.get("/x12/interchanges")["interchanges"]
    assert [each["trace"] for each in exchanged["received"]] == ["A1", "A2"]


def test_log_has_the_edi_of_a_transaction_once() -> None:
    clearinghouse = Clearinghouse()
    clearinghouse.send(one("270", eligibility("UNIQUE7")))
    log = b"".join([*clearinghouse.rig.lines, *clearinghouse.rig.playground.log.blobs.values()])
    assert log.count(b"BHT*0022*13*UNIQUE7") == 1
    assert log.count(b"BHT*0022*11*UNIQUE7") == 1
    assert clearinghouse.rig.rebuilt() == clearinghouse.rig.dumped()


def test_profile_states_what_an_accepted_interchange_has() -> None:
    clearinghouse = Clearinghouse(receiver={"id": "HUB", "qualifier": "30"}, senders=[{"id": "DESK"}])
    profile = clearinghouse.get("/x12")
    assert (profile["receiver"], profile["senders"]) == (
        {"qualifier": "30", "id": "HUB"},
        [{"qualifier": "ZZ", "id": "DESK"}],
    )
    assert [(each["transaction"], each["guide"], each["answer"]) for each in profile["transactions"]] == [
        ("270", "005010X279A1", "271"),
        ("276", "005010X212", "277"),
        ("278", "005010X217", "278"),
        ("278", "005010X215", "278"),
    ]
