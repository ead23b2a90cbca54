"""Tests of messages from the agent: accepted, refused, repeated; in both acknowledgment modes, alone and in batches."""

import re

import orjson
import pytest

from clerkship.formats.hl7.ack import parse_ack
from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.message import parse_message
from clerkship.sandbox.request import Request
from clerkship.simulators.hl7.mllp_call import SendMessage
from tests.simulators.hl7.interface import Interface, admission, build_msh, results


def test_acknowledgment_names_control_id() -> None:
    engine = Interface()
    reply = engine.post(admission("A1"))
    assert (reply.status, reply.media) == (200, "application/hl7-v2; charset=utf-8")
    ack = parse_message(reply.body)
    assert (ack.type, ack.value("MSA.1"), ack.value("MSA.2")) == ("ACK", "AA", "A1")
    assert [ack.value(f"MSH.{n}") for n in (3, 4, 5, 6)] == ["LAB", "CLERKSHIP", "EHR", "CLINIC"]
    assert engine.kinds == ["hl7.adt.sent"]
    assert engine.last.payload.model_dump() == {
        "control_id": "A1",
        "trigger": "A01",
        "message": admission("A1"),
        "findings": (),
    }


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_are_accepted(ends: str, start: str) -> None:
    engine = Interface()
    assert engine.send(start + admission("A1").replace("\r", ends)).code == "AA"
    assert engine.state.sent[0].text == admission("A1")


@pytest.mark.parametrize(
    ("message", "ack", "code", "kind"),
    [
        (results("R1").replace("ORU^R01^ORU_R01", "QRY^A19"), "AR", "200", "hl7.message.refused"),
        (results("R1").replace("ORU^R01^ORU_R01", "ORU^R99"), "AR", "201", "hl7.message.refused"),
        (results("R1", version="1.9"), "AR", "203", "hl7.message.refused"),
        (results(""), "AR", "101", "hl7.message.refused"),
        (results("R1").replace("4711^^^CLINIC^MR", ""), "AE", "101", "hl7.message.refused"),
        (results("R1").replace("OBR|", "ZZZ|"), "AE", "100", "hl7.message.refused"),
        (results("R1") + "ZPI|mine\r", "AA", "", "hl7.oru.sent"),
    ],
)
def test_flaws_have_error_codes(message: str, ack: str, code: str, kind: str) -> None:
    engine = Interface()
    said = engine.send(message)
    assert said.code == ack
    assert code in [error.code for error in said.errors] if code else not said.errors
    assert engine.kinds == [kind]
    assert said.control_id == engine.last.payload.model_dump()["control_id"]


APPOINTMENT = "SCH|1||||||R^Routine||||^^30^202603020900^202603020930"
ROUND = results("R1", "<5").replace("O-1|L-1", "O-1|L-1~L-2")
UPDATE = "\r".join((build_msh("U1", "ADT^A08"), "EVN||20260302090000", "PID|1||4711||Okafor^Ada", ""))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (ROUND, ""),
        (UPDATE, ""),
        (build_msh("S1", "SIU^S12") + f"\r{APPOINTMENT}\r", ""),
        (build_msh("R2", "ORU^R01"), ""),
        (admission("A1").replace("|P|", "||"), ""),
        (build_msh("R3", "ORU^R01", version="1.9"), "203"),
        (build_msh("R3", "ORU^R01", version=""), ""),
        (build_msh("", "ORU^R01"), "101"),
        (build_msh("R3", "", version=""), "200"),
        (build_msh("R3", "ORU^R99"), "201"),
        (build_msh("R3", "ORU"), "201"),
        (build_msh("R3", "QRY^A19"), "200"),
        (build_msh("R3", "ADT^A01") + "\rgood morning\r", ""),
        (results("R1", "many"), "102"),
        (f"BHS|^~\\&\r{admission('A1')}BTS|2\r", ""),
    ],
)
def test_lenient_level_accepts_deviations_and_refuses_unreadable_values(message: str, code: str) -> None:
    engine = Interface(validation="lenient")
    said = parse_ack(parse_message(split_messages(engine.post(message).body).messages[0]))
    assert [error.code for error in said.errors] == ([code] if code else [])
    assert (said.code == "AA") == (not code)
    if not code:
        strict = parse_ack(parse_message(split_messages(Interface().post(message).body).messages[0]))
        assert strict.code == "AE"
        findings = engine.last.payload.model_dump()["findings"]
        assert {error.code for error in strict.errors} <= {finding[-4:-1] for finding in findings}


def test_sloppy_feed_is_taken_and_each_flaw_is_a_finding() -> None:
    engine = Interface(validation="lenient")
    lower = admission("A1").replace("ADT^A01^ADT_A01", "adt^a01").replace("|P|2.5.1", "|P|")
    stray = results("R1").replace("OBX|1", "see the report of today\rOBX|1")
    reply = engine.post(f"a line before\rBHS|^~\\&\r{lower}{stray}BTS|7\rFTS|1\r")
    answer = split_messages(reply.body)
    assert not answer.flaws
    acks = [parse_message(text) for text in answer.messages]
    assert [(ack.value("MSA.1"), ack.value("MSA.2"), ack.value("MSH.9")) for ack in acks] == [
        ("AA", "A1", "ACK^A01^ACK"),
        ("AA", "R1", "ACK^R01^ACK"),
    ]
    assert engine.kinds == ["hl7.adt.sent", "hl7.oru.sent"]
    first, second = (event.payload.model_dump() for event in engine.rig.playground.log.events)
    around = (
        "'a line before' does not belong to a message: a message starts with MSH (100)",
        "BTS-1 says 7, but there are 2 messages in the batch (102)",
        "FTS without FHS (100)",
    )
    assert first["findings"] == (
        *around,
        "MSH-9.1: 'adt' is not in upper case (expected: ADT) (200)",
        "MSH-9.2: 'a01' is not in upper case (expected: A01) (201)",
        "MSH-12 is missing: it is required in version 2.5.1 (101)",
    )
    assert second["findings"][:3] == around
    assert second["findings"][3:] == ("'see the report of to' (segment 4) does not belong in ORU_R01 (100)",)
    assert (first["message"], second["message"]) == (lower, stray)
    assert [(sent.type, sent.ack, sent.is_accepted) for sent in engine.state.sent] == [
        ("ADT^A01", "AA", True),
        ("ORU^R01", "AA", True),
    ]
    assert engine.replays_to_same_state()


def test_processing_id_must_be_in_table_0103() -> None:
    said = Interface().send(admission("A1").replace("|P|", "|X|"))
    assert (said.code, said.errors[0].code, said.errors[0].field) == ("AR", "202", 11)
    for good in ("P", "D", "T", "T^A"):
        assert Interface().send(admission("A1").replace("|P|", f"|{good}|")).code == "AA"


@pytest.mark.parametrize("body", [b"", b"\xff\x00\xfe", b"hello", b"MSH", b"MSHabcdef", b"{}", "PID|1\r"])
def test_non_message_is_refused_over_http(body: bytes) -> None:
    engine = Interface()
    reply = engine.post(body)
    assert reply.status == 400
    assert orjson.loads(reply.body)["error"]["code"] == "not_hl7"
    assert engine.kinds == ["sandbox.refused"]


def test_oversized_message_is_rejected_and_only_msh_logged() -> None:
    engine = Interface(max_message=1000)
    said = engine.send(results("R1", *["4.2"] * 30))
    assert (said.code, said.control_id) == ("AR", "R1")
    assert "1000 bytes" in said.errors[0].text
    assert engine.state.sent[0].text.count("\r") == 1
    reply = engine.rig.call(SendMessage(results("R2").encode(), 52_000_000))  # truncated by a listener
    assert parse_ack(parse_message(reply.body)).code == "AR"


def test_repeated_message_is_answered_without_effect() -> None:
    engine = Interface()
    for _ in range(3):
        assert engine.send(admission("A1")).code == "AA"
    assert engine.kinds == ["hl7.adt.sent", "hl7.message.repeated", "hl7.message.repeated"]
    assert len(engine.state.sent) == 1
    said = engine.send(admission("A1", name="Silva^Eva"))
    assert (said.code, said.errors[0].code) == ("AE", "205")
    assert (
        engine.send(admission("A1", name="Silva^Eva").replace("|EHR|", "|OTHER|")).code == "AA"
    )  # control ids are per sender


def test_refused_message_may_be_corrected_with_same_control_id() -> None:
    engine = Interface()
    assert engine.send(admission("A1").replace("4711^^^CLINIC^MR", "")).code == "AE"
    assert engine.send(admission("A1")).code == "AA"


GOOD, BAD, FOREIGN = admission("A1"), admission("A1").replace("4711^^^CLINIC^MR", ""), admission("A1", version="9")


@pytest.mark.parametrize(
    ("accept", "message", "now", "later"),
    [
        ("AL|AL", GOOD, "CA", "AA"),
        ("AL|NE", GOOD, "CA", ""),
        ("AL|SU", GOOD, "CA", "AA"),
        ("AL|ER", GOOD, "CA", ""),
        ("AL", GOOD, "CA", ""),
        ("SU|AL", GOOD, "CA", "AA"),
        ("ER|AL", GOOD, "", "AA"),
        ("ER|NE", GOOD, "", ""),
        ("NE|NE", GOOD, "", ""),
        ("NE|AL", GOOD, "AA", ""),
        ("|AL", GOOD, "AA", ""),
        ("NE|ER", GOOD, "", ""),
        ("AL|AL", BAD, "CE", ""),
        ("ER|NE", BAD, "CE", ""),
        ("SU|AL", BAD, "", "AE"),
        ("SU|NE", BAD, "", ""),
        ("NE|ER", BAD, "AE", ""),
        ("NE|NE", BAD, "", ""),
        ("AL|AL", FOREIGN, "CR", ""),
        ("NE|AL", FOREIGN, "AR", ""),
    ],
)
def test_enhanced_mode_follows_msh_15_and_msh_16(accept: str, message: str, now: str, later: str) -> None:
    engine = Interface()
    header, _, segments = message.partition("\r")
    reply = engine.post(f"{header}|||{accept}\r{segments}")
    assert reply.status == (200 if now else 204)
    if now:
        ack = parse_ack(parse_message(reply.body))
        assert (ack.code, ack.control_id) == (now, "A1")
    waiting = engine.inbox()
    assert [parse_ack(parse_message(entry["message"])).code for entry in waiting] == ([later] if later else [])
    if later:
        assert engine.kinds[1] == "hl7.ack.arrived"
        assert (waiting[0]["type"], engine.state.inbox["1"].message.value("MSA.2")) == ("ACK^A01", "A1")
    engine.post(f"{header}|||{accept}\r{segments}")
    assert len(engine.inbox()) == len(waiting) or message is not GOOD  # a repeated message adds nothing


def test_batch_is_answered_with_batch_of_acknowledgments() -> None:
    engine = Interface()
    messages = admission("A1") + BAD.replace("A1", "A2") + results("R1")
    body = f"{HEADERS}{messages}BTS|3\rFTS|1\r"
    reply = engine.post(body)
    answer = split_messages(reply.body)
    assert not answer.flaws
    assert [segment.name for segment in answer.headers] == ["FHS", "BHS"]
    assert [segment.text(12) for segment in answer.headers] == ["F-1", "B-1"]
    assert [segment.text(6) for segment in answer.headers] == ["CLINIC", "CLINIC"]
    said = [parse_ack(parse_message(text)) for text in answer.messages]
    assert [(each.code, each.control_id) for each in said] == [("AA", "A1"), ("AE", "A2"), ("AA", "R1")]
    assert engine.kinds == ["hl7.adt.sent", "hl7.message.refused", "hl7.oru.sent"]


HEADERS = "FHS|^~\\&|EHR|CLINIC|LAB|CLERKSHIP|20260302||||F-1\rBHS|^~\\&|EHR|CLINIC|LAB|CLERKSHIP|20260302||||B-1\r"


def test_flawed_batch_is_refused_completely() -> None:
    engine = Interface()
    reply = engine.post(f"{HEADERS}{admission('A1')}{admission('A2')}BTS|3\rFTS|1\r")
    said = [parse_ack(parse_message(text)) for text in split_messages(reply.body).messages]
    assert [each.code for each in said] == ["AE", "AE"]
    assert "BTS-1 says 3" in said[0].errors[0].text
    assert not any(sent.is_accepted for sent in engine.state.sent)


def test_messages_without_batch_are_answered_in_sequence() -> None:
    engine = Interface()
    reply = engine.post(admission("A1") + results("R1") + admission("A2", accept="NE|NE"))
    answer = split_messages(reply.body)
    assert not answer.headers
    assert [parse_ack(parse_message(text)).control_id for text in answer.messages] == ["A1", "R1"]
    assert len(engine.state.sent) == 3


@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_secret_facility_is_masked_in_log_but_in_answer(case: type[str]) -> None:
    engine = Interface()
    sandbox = engine.rig.playground.sandboxes[engine.rig.name]
    sandbox.address = "Q7XK2M9PLW3ZT8VB4RNC"
    written = str(case(sandbox.address))
    reply = engine.post(admission("A1", to=written, name=f"{written}^Ada"))
    assert parse_message(reply.body).value("MSH.4") == written
    assert engine.send(BAD.replace("CLERKSHIP", written)).code == "AE"
    engine.post(f"{written}\r{HEADERS}{admission('A2', to=written)}")
    engine.post(f"{HEADERS.replace('CLERKSHIP', written)}{admission('A3', to=written)}BTS|1\rFTS|1\r")
    engine.post(f"MSH{written}")
    log = b"".join([*engine.rig.lines, *engine.rig.playground.log.blobs.values()]).lower()
    assert written.lower().encode() not in log
    assert b"|lab|clerkship|" in log
    listed = engine.ask("GET", "/hl7/outbound").body
    assert written.encode() not in listed


def test_application_acknowledgment_may_be_a_separate_message() -> None:
    engine = Interface()
    engine.arrive(message=results("IN-1", accept="AL|AL"))
    assert engine.ask("POST", "/hl7/inbox/1/ack", code="CA").status == 204
    ack = f"{build_msh('X1', 'ACK^R01^ACK')}\rMSA|AA|IN-1\r"
    assert engine.post(ack).status == 204
    assert [said.code for said in engine.state.inbox["1"].acks] == ["CA", "AA"]


@pytest.mark.parametrize(
    "ack",
    [
        f"{build_msh('X1', 'ACK^R01^ACK')}\rMSA|AA|IN-9\r",  # of an unknown message
        f"{build_msh('X1', 'ACK^R01^ACK', accept='AL|AL')}\rMSA|AA|IN-9\r",
        f"{build_msh('X1', 'ACK^R01^ACK')}\rMSA|XX|IN-1\r",
        f"{build_msh('X1', 'ACK^R01^ACK')}\r",
        f"{build_msh('', 'ACK')}\rMSA|AA|IN-9\r",
        f"{build_msh('X1', 'ACK')}\rMSA|AA|IN-9|{'x' * 2000}\r",
    ],
)
def test_acknowledgment_is_never_acknowledged(ack: str) -> None:
    engine = Interface(max_message=1000)
    engine.arrive(message=results("IN-1", accept="AL|AL"))
    reply = engine.post(ack)
    assert (reply.status, reply.body) == (204, b"")
    refused = engine.last.payload.model_dump()
    assert (engine.last.kind, refused["ack"]) == ("hl7.message.refused", "")
    assert refused["reasons"]
    assert len(engine.inbox()) == 1


def test_listing_sent_messages_changes_nothing() -> None:
    engine = Interface()
    engine.send(admission("A1"))
    engine.send(BAD.replace("A1", "A2"))
    before = engine.kinds
    one, other = orjson.loads(engine.ask("GET", "/hl7/outbound").body)["messages"]
    assert (one["control_id"], one["type"], one["ack"], one["taken"]) == ("A1", "ADT^A01", "AA", True)
    assert (other["control_id"], other["ack"], other["taken"]) == ("A2", "AE", False)
    assert re.search(r"PID.3", other["reasons"][0])
    assert engine.kinds == [*before, "sandbox.answered"]
    assert engine.replays_to_same_state()


def test_charset_of_request_precedes_charset_of_message() -> None:
    engine = Interface()
    latin = (
        admission("A1", name="Müller^Ana").replace("|P|2.5.1", "|P|2.5.1||||||8859/1").replace("CLINIC|LAB", "Köln|LAB")
    )
    reply = engine.post(latin.encode("latin-1"))
    assert (reply.media, "Köln".encode("latin-1") in reply.body) == ("application/hl7-v2; charset=iso-8859-1", True)
    stated = {"content-type": "application/hl7-v2; charset=utf-8"}
    assert parse_ack(parse_message(engine.post(latin, stated).body)).code == "AA"
    assert engine.kinds == ["hl7.adt.sent", "hl7.message.repeated"]  # the same text in another charset
    assert engine.state.sent[0].text == latin
    engine.arrive(message=latin, control_id="IN-1")
    assert "Müller".encode("latin-1") in engine.ask("GET", "/hl7/inbox/1").body
    handle = engine.handle()
    assert "Köln" in handle.send(latin.replace("|A1|", "|A2|"))
    assert "Müller" in handle.take("1")


@pytest.mark.parametrize("path", ["/hl7/outbound", "/hl7/inbox/1/ack"])
@pytest.mark.parametrize(
    "charset",
    ["punycode", "undefined", "utf-7", "unicode_escape", "idna", "rot13", "base64", "utf-8-sig", "x", "ütf-8"],
)
def test_non_text_charset_is_refused_with_415(path: str, charset: str) -> None:
    engine = Interface()
    engine.arrive(message=results("IN-1"))
    media = {"content-type": f"application/hl7-v2; charset={charset}"}
    body = admission("A1").encode() + b"\\ud800 +2AA- \xff"
    reply = engine.rig.send(Request("POST", path, {}, media, body))
    assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (415, "unsupported_charset")
    assert engine.rig.playground.broken is None


@pytest.mark.parametrize(
    "charset",
    ["utf-8", "UTF8", "us-ascii", "iso-8859-15", "ISO_8859-1", "windows-1252", "gb18030", "euc-kr", "shift_jis"],
)
@pytest.mark.parametrize("tail", [b"", b"ZZZ|\xff\xfe\x80\xed\xa0\x80\r"])
def test_text_charset_is_decoded_and_undecodable_body_is_safe(charset: str, tail: bytes) -> None:
    engine = Interface()
    media = {"content-type": f'application/hl7-v2; charset="{charset}"'}
    reply = engine.post(admission("A1").encode("ascii") + tail, media)
    assert (reply.status, parse_ack(parse_message(reply.body)).code) == (200, "AA")
    engine.state.sent[0].text.encode()


def test_batch_over_message_limit_is_refused_completely() -> None:
    engine = Interface()
    batch = build_msh("B1", "ADT").replace("MSH", "BHS") + "\r" + "".join(admission(f"A{n}") for n in range(1001))
    reply = engine.post(batch)
    error = orjson.loads(reply.body)["error"]
    assert (reply.status, error["code"]) == (413, "too_many_messages")
    assert "1000 messages" in error["message"]
    assert engine.kinds == ["sandbox.refused"]


def test_batch_exceeding_log_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 100)
    engine = Interface()
    batch = "".join(admission(f"A{n}") for n in range(21))
    assert engine.post(batch).status == 200
    reply = engine.post(batch.replace("|A", "|B"))
    assert (reply.status, engine.kinds[21:]) == (429, ["sandbox.refused"])


@pytest.mark.parametrize("count", [20_001, 300_000])
def test_message_over_segment_limit_is_refused_before_parsing(count: int) -> None:
    engine = Interface()
    reply = engine.post(admission("A1") + "ZZZ\r" * count)
    assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (413, "too_many_segments")
    assert engine.kinds == ["sandbox.refused"]
    assert engine.send(admission("A1") + "ZZZ\r" * 19_000).code == "AA"
