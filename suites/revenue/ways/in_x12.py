"""Other ways to solve tasks of this suite with X12: after a slip that is mended, in more requests, or with files."""

import re
from datetime import date

from clerkship.plugin import Dropped, override_methods
from clerkship.plugin.x12 import (
    AuthorizationQuery,
    EligibilityInquiry,
    OutgoingEnvelope,
    PartyQuery,
    PersonQuery,
    RequestedService,
    RequestHeader,
    build_authorization_inquiry,
    build_authorization_request,
    build_eligibility_request,
    render_requests,
)

CODES = ("97110", "72148", "93306")


def describe(payer_id, member_id, family, given, born):
    """Return who asks which payer about whom."""
    person = PersonQuery(member_id=member_id, family=family, given=given, birth_date=date.fromisoformat(born))
    return {"payer_id": payer_id, "provider_id": "9999900019", "subscriber": person}


TYRONE = describe("EV004", "EV503771416", "Dantley", "Tyrone", "1960-07-05")
IBRAHIM = describe("HL001", "HL243595524", "Darwish", "Ibrahim", "1999-01-11")
DIEGO = describe("HL001", "HL124656113", "Rosales", "Diego", "1962-10-04")
CHARLOTTE = describe("CM002", "CM123991033", "Fenwick", "Charlotte", "1977-10-28")


# Slips: the payer rejects the first request.


def mistype_birth_date(task_item, sandboxes, reference):
    """Ask with a wrong birth date first."""
    return send_slips_first(task_item, sandboxes, reference, r"DMG\*D8\*\d{8}", "DMG*D8*19010101")


def mistype_name(task_item, sandboxes, reference):
    """Ask with a wrong family name first."""
    return send_slips_first(task_item, sandboxes, reference, r"NM1\*IL\*1\*\w+", "NM1*IL*1*MISTYPED")


def mistype_payer(task_item, sandboxes, reference):
    """Ask a payer that does not exist first."""
    return send_slips_first(task_item, sandboxes, reference, r"\*PI\*\w+~", "*PI*ZZ999~")


def mistype_reference(task_item, sandboxes, reference):
    """Name another authorization than the one to appeal or to cancel first."""
    return send_slips_first(task_item, sandboxes, reference, r"REF\*(BB|NT)\*(\w+)\w\w", r"REF*\1*\g<2>00")


def send_slips_first(task_item, sandboxes, reference, pattern, text):
    """Replace a pattern in what is sent, which is rejected, and then send it as it was."""

    def send(original, edi):
        slip = re.sub(pattern, text, edi)
        if slip != edi:
            assert re.search(r"~(AAA|STC)\*", original(renumber(slip)))
        return original(edi)

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def ask_about_child_as_subscriber(task_item, sandboxes, reference):
    """Ask about the child with his mother's id as if it were his own first."""

    def send(original, edi):
        segments = [segment for segment in edi.split("~") if not segment.startswith(("NM1*IL", "HL*4"))]
        text = "~".join(segments).replace("HL*3*2*22*1", "HL*3*2*22*0")
        text = text.replace("NM1*03*1*PEMBERTON*THEODORE", "NM1*IL*1*PEMBERTON*THEODORE****MI*HL700411902")
        count = text[text.index("~ST*") : text.index("~SE*")].count("~") + 1
        assert "~AAA*" in original(renumber(re.sub(r"~SE\*\d+", f"~SE*{count}", text)))
        return original(edi)

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def write_refused_file_first(task_item, sandboxes, reference):
    """Write a file with a wrong segment count, and then the right one under a new control number."""

    def write(original, path, edi):
        original(f"{path}.first", re.sub(r"~SE\*\d+", "~SE*3", edi))
        original(path, renumber(edi))

    return reference(task_item, override_methods(sandboxes, {"drop.write": write}))


# Replies and files.


def overwrite_file(task_item, sandboxes, reference):
    """Write the corrected interchange over the refused file, and wait for the reply."""
    drop = sandboxes["drop"]

    def overwrite(original, edi):
        earlier = set(drop.list("inbound"))
        drop.write("outbound/status-0302.x12", edi)
        sandboxes.wait("15m")
        return "".join(drop.read_text(path) for path in sorted(set(drop.list("inbound")) - earlier))

    return reference(task_item, override_methods(sandboxes, {"clearing.send": overwrite}))


def find_lost_reply_by_trace(task_item, sandboxes, reference):
    """Find the transaction that was received by its trace, and put an envelope around it."""
    clearing = sandboxes["clearing"]

    def send(original, edi):
        try:
            return original(edi)
        except Dropped:
            [answer] = clearing.transactions("271", "ELG9")
            header = f"{edi.partition('GS*')[0]}GS*HB*CLEARING01*CLINIC01*20260302*0900*1*X*005010X279A1~"
            return f"{header}{clearing.transaction(answer['id'])['edi']}GE*1*1~IEA*1*000000009~"

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


# Authorizations.


def ask_about_each_procedure(task_item, sandboxes):
    """Ask about three procedures in three interchanges."""
    replies = {}
    for number, code in enumerate(CODES, 1):
        inquiry = EligibilityInquiry(**TYRONE, service_date=date(2026, 3, 9), procedure_codes=(code,))
        request = build_eligibility_request([inquiry], RequestHeader(f"ELG{number}", sandboxes.now))
        replies[code] = send_set(sandboxes, number, request)
    return {
        "needs_authorization": [code for code, reply in replies.items() if f"*Y**HC:{code}" in reply],
        "plan": "EVERGREEN SENIOR BASIC",
        "deductible_remaining": float(find_text(r"EB\*C\*IND\*30\*\*\*29\*([\d.]+)", replies["97110"])),
    }


def send_again_and_inquire(task_item, sandboxes, reference):
    """Send the request again because the reply was lost, and look when it is rejected as a duplicate."""

    def send(original, edi):
        original(renumber(edi))
        assert "~AAA*" in original(edi)
        return inquire(sandboxes, IBRAHIM)

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def correct_diagnosis(task_item, sandboxes, reference):
    """Request with a wrong diagnosis, and correct it by an update."""

    def send(original, edi):
        number = find_text(r"HCR\*A1\*(\w+)", original(edi.replace("G43909", "R519")))
        return send_request(sandboxes, 2, "update", number, **IBRAHIM, diagnoses=("G43909",))

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def answer_in_two_updates(task_item, sandboxes):
    """Answer the questions first, and send the document with another update."""
    service = RequestedService(procedure_code="72148", start=date(2026, 3, 16))
    reply = send_request(sandboxes, 1, **DIEGO, services=(service,), diagnoses=("M5416",))
    reference = find_text(r"REF\*NT\*(\w+)", reply)
    answers = {"red_flags": False, "therapy_weeks": 9}
    assert "QUESTION summary" in send_request(sandboxes, 2, "update", reference, **DIEGO, answers=answers)
    send_request(sandboxes, 3, "update", reference, **DIEGO, attachments=("PT-2026-0117",))
    sandboxes.wait("5h")
    reply = inquire(sandboxes, DIEGO)
    number, end = find_text(r"HCR\*A1\*(\w+)", reply), find_day("036", reply)
    write_note(sandboxes, "mri-of-the-spine", f"Authorization {number}, valid {find_day('007', reply)} to {end}")
    return {"status": "approved", "number": number, "valid_to": end}


def request_as_visits(task_item, sandboxes):
    """Request visits (HSD) instead of units."""
    service = RequestedService(procedure_code="97110", quantity=24, unit="visits", start=date(2026, 3, 9))
    reply = send_request(sandboxes, 1, **CHARLOTTE, services=(service,), diagnoses=("M1711",))
    number, visits = find_text(r"HCR\*A6\*(\w+)", reply), int(find_text(r"HSD\*VS\*(\d+)", reply))
    start, end = find_day("007", reply), find_day("036", reply)
    text = f"Authorization {number} for {visits} of 24 visits, valid {start} to {end}"
    write_note(sandboxes, "therapy-of-the-knee", text, quantityQuantity={"value": visits})
    return {"number": number, "visits": visits, "valid_to": end}


def send_request(sandboxes, number, kind="request", payer_reference=None, **fields):
    """Send a 278 under a control number, and return the reply."""
    header = RequestHeader(f"AUTH{number}", sandboxes.now)
    query = AuthorizationQuery(**fields)
    request = build_authorization_request(query, header, kind, payer_reference=payer_reference)
    return send_set(sandboxes, number, request)


def inquire(sandboxes, parties):
    """Ask which authorizations a person has, and return the reply."""
    request = build_authorization_inquiry(PartyQuery(**parties), RequestHeader("ASK9", sandboxes.now))
    return send_set(sandboxes, 9, request)


def send_set(sandboxes, number, request):
    """Send a transaction set under a control number, and return the reply."""
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    return sandboxes["clearing"].send(render_requests(envelope, [request]))


def write_note(sandboxes, order, text, **elements):
    """Write a note into an order of the chart."""
    ehr = sandboxes["ehr"]
    ehr.update({**ehr.read("ServiceRequest", order), "note": [{"text": text}], **elements})


def find_text(pattern, edi):
    """Return what the group of a pattern matches."""
    return re.search(pattern, edi)[1]


def find_day(qualifier, edi):
    """Return a day of a reply."""
    return str(date.fromisoformat(find_text(rf"DTP\*{qualifier}\*D8\*(\d+)", edi)))


def renumber(edi):
    """Return an interchange under another control number (ISA13, IEA02)."""
    return edi.replace(edi[90:99], f"{int(edi[90:99]) + 500_000:09}")
