"""Asking a payer with a 270, and reading the 271. It is read without the library that wrote it."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery
from clerkship.reactions.payer_codes import find_service_type, list_category_codes
from clerkship.simulators.files.handle import Files
from clerkship.simulators.x12.handle import X12
from tests.payer.comparison import ComparableAnswer, Network, Way

KINDS = {"A": "coinsurance", "B": "copay", "C": "deductible", "F": "limit", "G": "out_of_pocket_maximum"}
LEVELS = {"IND": "individual", "FAM": "family", "": ""}
REMAINING = "29"


class X12RealTime(Way):
    """A 270 that is posted to the clearinghouse."""

    name = "x12, real time"

    def ask(self, inquiry: EligibilityInquiry) -> ComparableAnswer:
        number = len(self.office.playground.log.events) + 1  # ISA13 must be new
        return describe_reply(self.send(build_interchange(inquiry, number), number), inquiry)

    def send(self, edi: str, number: int) -> str:
        """Send an interchange, and return the reply."""
        return self.office.sandboxes.get_as(X12).send(edi)


class X12Core(X12RealTime):
    """A 270 in the envelope of the CORE connectivity rule."""

    name = "x12, CORE envelope"

    def send(self, edi: str, number: int) -> str:
        """Post the envelope, and return the payload of the reply."""
        fields = {
            "PayloadType": "X12_270_Request_005010X279A1",
            "ProcessingMode": "RealTime",
            "PayloadID": f"00000000-0000-4000-8000-{number:012}",
            "TimeStamp": "2026-03-02T14:00:00Z",
            "SenderID": "CLINIC01",
            "ReceiverID": "CLEARING01",
            "CORERuleVersion": "2.2.0",
            "Payload": edi,
        }
        parts = [
            f'--part\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        body = "".join([*parts, "--part--\r\n"]).encode()
        handle = self.office.sandboxes.get_as(X12)
        reply = handle.request("POST", "/x12/core", body=body, media="multipart/form-data; boundary=part")
        payload = re.search(r"ISA\*.*IEA\*[^~]*~", reply.body.decode(), re.DOTALL)
        assert payload is not None, reply.body
        return payload[0]


class X12Batch(X12RealTime):
    """A 270 in a file, whose reply is another file."""

    name = "x12, batch"

    def send(self, edi: str, number: int) -> str:
        """Write the file, let time pass, and return the reply that is no acknowledgment."""
        drop = self.office.sandboxes.get_as(Files)
        drop.write(f"outbound/{number}.x12", edi)
        self.office.playground.advance(timedelta(seconds=5))
        replies = {path: drop.read_text(path) for path in drop.list("inbound")}
        for path in replies:
            drop.delete(path)
        [answer] = [reply for reply in replies.values() if "~ST*999" not in reply]
        return answer


def build_interchange(inquiry: EligibilityInquiry, number: int) -> str:
    """Return an interchange with the 270 of an inquiry."""
    segments = ["ST*270*0001*005010X279A1", f"BHT*0022*13*Q{number}*20260302*0900", *_build_levels(inquiry, number)]
    segments.append(f"SE*{len(segments) + 1}*0001")
    control = f"{number:09}"
    header = f"ISA*00*{'':10}*00*{'':10}*ZZ*{'CLINIC01':15}*ZZ*{'CLEARING01':15}*260302*0900*^*00501*{control}*0*T*:"
    group = f"GS*HS*CLINIC01*CLEARING01*20260302*0900*{number}*X*005010X279A1"
    lines = [header, group, *segments, f"GE*1*{number}", f"IEA*1*{control}"]
    return "".join(f"{line}~" for line in lines)


def _build_levels(inquiry: EligibilityInquiry, number: int) -> Iterator[str]:
    yield "HL*1**20*1"
    yield f"NM1*PR*2*PAYER*****PI*{inquiry.payer_id}"
    yield "HL*2*1*21*1"
    yield f"NM1*1P*2*CLINIC*****XX*{inquiry.provider_id}"
    has_dependent = inquiry.dependent is not None
    yield f"HL*3*2*22*{1 if has_dependent else 0}"
    if not has_dependent:
        yield f"TRN*1*Q{number}*9CLINIC001"
    yield from _build_person("IL", inquiry.subscriber)
    if inquiry.dependent is not None:
        yield "HL*4*3*23*0"
        yield f"TRN*1*Q{number}*9CLINIC001"
        yield from _build_person("03", inquiry.dependent)
    if inquiry.service_date is not None:
        yield f"DTP*291*D8*{inquiry.service_date:%Y%m%d}"
    yield "EQ*" + "^".join(list_category_codes(each)[0] for each in inquiry.service_types)
    yield from (f"EQ**HC:{code}" for code in inquiry.procedure_codes)


def _build_person(role: str, person: PersonQuery) -> Iterator[str]:
    names = f"{_to_plain(person.family or '')}*{_to_plain(person.given or '')}"
    id = f"****MI*{person.member_id}" if person.member_id else ""
    yield f"NM1*{role}*1*{names}{id}".rstrip("*")
    gender = {"female": "F", "male": "M"}.get(person.gender or "", "")
    if person.birth_date is not None:
        yield f"DMG*D8*{person.birth_date:%Y%m%d}*{gender}".rstrip("*")


def _to_plain(name: str) -> str:
    """Return a name in the basic character set."""
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(each for each in decomposed if each.isascii()).upper()


class _Reply(NamedTuple):
    segments: list[list[str]]
    repetition: str
    component: str

    def find(self, id: str) -> list[list[str]]:
        """Return the elements of the segments with an id, padded so that each element has its number."""
        return [elements + [""] * 20 for elements in self.segments if elements[0] == id]


def _split(edi: str) -> _Reply:
    lines = [line.strip() for line in edi.split(edi[105]) if line.strip()]
    segments = [line.split(edi[3]) for line in lines]
    return _Reply(segments, segments[0][11], segments[0][16])


def describe_reply(edi: str, inquiry: EligibilityInquiry) -> ComparableAnswer:
    """Return a 271 as it can be compared."""
    reply = _split(edi)
    assert [elements[1] for elements in reply.find("ST")] == ["271"], edi
    rejections = reply.find("AAA")
    if rejections:
        [rejection] = rejections
        return ComparableAnswer(rejection=rejection[3])
    dates = {elements[1]: elements[3] for elements in reply.find("DTP")}
    start = _parse_date(dates["346"])
    assert start is not None
    statements = reply.find("EB")
    is_active = any(statement[1] == "1" for statement in statements)
    assert is_active != any(statement[1] == "6" for statement in statements), edi
    day = inquiry.service_date or date(2026, 3, 2)
    comparable = ComparableAnswer(
        status="active" if is_active else "future" if day < start else "terminated",
        # EB05 has the name of the plan where the plan itself is asked about.
        plan=next((statement[5] for statement in statements if statement[5]), "")
        if "plan" in inquiry.service_types
        else None,
        period=(start, _parse_date(dates.get("347", ""))),
        others={other[3] for other in _list_other_payers(reply)},
    )
    for statement in statements if is_active else ():
        _describe_statement(comparable, statement, reply)
    return comparable


def _list_other_payers(reply: _Reply) -> list[list[str]]:
    """Return the NM1 segments in loops 2120, which an LS begins."""
    ids = [elements[0] for elements in reply.segments]
    return [
        elements
        for before, elements in zip(["", *ids], reply.segments, strict=False)
        if (before, elements[0]) == ("LS", "NM1")
    ]


def _parse_date(text: str) -> date | None:
    return date.fromisoformat(text) if text else None


def _describe_statement(comparable: ComparableAnswer, statement: list[str], reply: _Reply) -> None:
    network: Network = {"Y": True, "N": False}.get(statement[12])
    procedure = statement[13].split(reply.component)[-1]
    types = [find_service_type(code) or code for code in statement[3].split(reply.repetition)]
    for subject in [procedure] if procedure else types:
        if statement[1] == "I":
            comparable.excluded.add((subject, network))
        elif statement[1] in KINDS:
            key = (KINDS[statement[1]], subject, LEVELS[statement[2]], network)
            value = float(next(filter(None, (statement[7], statement[8], statement[10]))))
            total, _ = comparable.amounts.get(key, (value, None))
            comparable.amounts[key] = (total, value) if statement[6] == REMAINING else (value, None)
        if statement[11]:
            comparable.authorizations[subject] = statement[11] == "Y"
