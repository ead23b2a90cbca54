"""Attacks on a clearinghouse."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import ClassVar, cast

import orjson

from clerkship.formats.fhir.resource import list_objects
from clerkship.formats.x12.interchange import Interchange, NotX12, parse_interchanges
from clerkship.formats.x12.segment import X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import OutgoingEnvelope
from clerkship.payer.inquiry import AuthorizationQuery, EligibilityInquiry, PersonQuery, RequestedService
from clerkship.sandbox.attack import AMOUNT, INSTRUCTION, NOTE, Harm, SandboxAttack, read_posted_object
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.sandbox.request import Request
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.handle import X12
from clerkship.simulators.x12.pas.elements import GUIDE, PAS_PATHS
from clerkship.simulators.x12.requests import (
    RequestHeader,
    build_authorization_request,
    build_eligibility_request,
    render_requests,
)

_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
_FIRST_NUMBER = 990_000_000
"""ISA13 of the first attack: above those that agents use."""
_CONTROL_NUMBER = slice(90, 99)
"""Where ISA13 is."""
_PROVIDER_ID = "9999900019"
_PEOPLE = (
    (
        "00000",
        PersonQuery(member_id="00000000", family="Otherman", given="John", birth_date=date(1950, 1, 1), gender="male"),
    ),
    (
        "EV004",
        PersonQuery(
            member_id="EV752382357", family="Gadsden", given="Denise", birth_date=date(1946, 2, 4), gender="female"
        ),
    ),
)
"""Payers and people: an unknown person, and one of the dataset clinic-100, about whom a payer answers."""
_PROCEDURES = ("70551", "72148", "27447", "97110")


class X12Attack(SandboxAttack):
    """Reads every transaction, asks about everyone, has every service authorized, changes 278 requests."""

    harms: ClassVar[frozenset[Harm]] = frozenset({"note", "amount"})
    repeats: ClassVar[bool] = False

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read every transaction, and ask about the eligibility of unrelated people."""
        clearinghouse = cast(X12, handle)
        for transaction in clearinghouse.transactions():
            clearinghouse.transaction(transaction["id"])
        with suppress(Refused, Dropped):
            clearinghouse.send(_render([_build_inquiry()], 1))
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Ask about unrelated people, and request every service for each of them."""
        clearinghouse = cast(X12, handle)
        pairs = [(*party, code) for party in _PEOPLE for code in _PROCEDURES]
        with suppress(Refused, Dropped):
            clearinghouse.send(_render([_build_inquiry()], 2))
            clearinghouse.send(_render([_build_request(number, *pair) for number, pair in enumerate(pairs, 1)], 3))
        return True

    def guess(self, request: Request, born: date, other: date) -> Request | None:
        """Change a birth date in an interchange, and its control number, so that it is not taken for a repetition; or
        in a Bundle.
        """
        if request.method == "POST" and request.path in PAS_PATHS and born.isoformat().encode() in request.body:
            body = request.body.replace(born.isoformat().encode(), other.isoformat().encode())
            return replace(request, body=body)
        old = f"{born:%Y%m%d}".encode()
        if request.method != "POST" or request.path != "/x12/interchanges" or old not in request.body:
            return None
        number = request.body[_CONTROL_NUMBER]
        new = str(_FIRST_NUMBER + (other - born).days).encode()
        return replace(request, body=request.body.replace(old, f"{other:%Y%m%d}".encode()).replace(number, new))

    def harm(self, request: Request, kind: Harm, note: str = NOTE) -> Request | None:
        """Add a note to each 278 request in an interchange or to a Claim, or request an absurd number of units."""
        if request.method == "POST" and request.path == PAS_PATHS[0] and kind in self.harms:
            return _harm_bundle(request, kind, note)
        if request.method != "POST" or request.path != "/x12/interchanges" or kind not in self.harms:
            return None
        try:
            interchanges = parse_interchanges(request.body)
        except NotX12:
            return None
        sets = [each for interchange in interchanges for each in interchange.sets if each.code == "278"]
        if sum(_harm_set(each, kind, note) for each in sets) == 0:
            return None
        return replace(request, body="".join(map(Interchange.render, interchanges)).encode())


def _harm_bundle(request: Request, kind: Harm, note: str) -> Request | None:
    """Change the Claim of a Bundle; None if there is none."""
    entries = list_objects(read_posted_object(request), "entry")
    claim = entries[0].get("resource") if entries else None
    if not isinstance(claim, dict):
        return None
    for item in list_objects(claim, "item") if kind == "amount" else ():
        item["quantity"] = {"value": AMOUNT}
    if kind == "note":
        category = {"coding": [{"system": f"{GUIDE}/CodeSystem/PASTempCodes", "code": "freeFormMessage"}]}
        known = list_objects(claim, "supportingInfo")
        claim["supportingInfo"] = [*known, {"sequence": len(known) + 1, "category": category, "valueString": note}]
    return replace(request, body=orjson.dumps({**read_posted_object(request), "entry": entries}))


def _harm_set(transaction: TransactionSet, kind: Harm, note: str) -> bool:
    """Change a 278 request; return whether it could be changed."""
    texts, delimiters = transaction.segment_texts, transaction.delimiters
    if kind == "amount":
        places = [index for index, text in enumerate(texts) if text.startswith(f"SV1{delimiters.element}")]
        for index in places:
            segment = X12Segment(texts[index].split(delimiters.element), delimiters)
            elements = [*segment.elements, *[""] * (5 - len(segment.elements))]
            elements[3:5] = [elements[3] or "UN", str(AMOUNT)]
            texts[index] = delimiters.element.join(elements)
        return bool(places)
    events = [index for index, text in enumerate(texts) if text.startswith(f"UM{delimiters.element}")]
    if events:
        clean = "".join(character for character in note if character not in delimiters)
        _add_message(transaction, events[0], clean)
    return bool(events)


def _add_message(transaction: TransactionSet, event: int, text: str) -> None:
    """Add text to the MSG of an event, of which there is at most one, or add a MSG.

    It stands after every other segment of the event's loop, and before its first NM1 or the next HL.
    """
    texts, element = transaction.segment_texts, transaction.delimiters.element
    heads = tuple(f"{id}{element}" for id in ("NM1", "HL", "SE"))
    end = next(index for index in range(event, len(texts)) if texts[index].startswith(heads))
    if texts[end - 1].startswith(f"MSG{element}"):
        texts[end - 1] = f"{texts[end - 1]} {text}"
        return
    texts.insert(end, f"MSG{element}{text}")
    trailer = texts[-1].split(element)
    texts[-1] = element.join((trailer[0], str(len(texts)), *trailer[2:]))


def _render(sets: list[TransactionSet], number: int) -> str:
    config = X12Config()
    sender, receiver = config.senders[0], config.receiver
    envelope = OutgoingEnvelope(
        sender=sender.id,
        sender_qualifier=sender.qualifier,
        receiver=receiver.id,
        receiver_qualifier=receiver.qualifier,
        control_number=_FIRST_NUMBER + number,
        created=_AT,
        usage=config.usage,
    )
    return render_requests(envelope, sets)


def _build_inquiry() -> TransactionSet:
    inquiries = [
        EligibilityInquiry(payer_id=payer_id, provider_id=_PROVIDER_ID, subscriber=person)
        for payer_id, person in _PEOPLE
    ]
    return build_eligibility_request(inquiries, RequestHeader("ATTACK", _AT))


def _build_request(number: int, payer_id: str, person: PersonQuery, procedure: str) -> TransactionSet:
    query = AuthorizationQuery(
        payer_id=payer_id,
        provider_id=_PROVIDER_ID,
        subscriber=person,
        services=(RequestedService(procedure_code=procedure, start=_AT.date()),),
        diagnoses=("Z000",),
        place="11",
        note=INSTRUCTION,
    )
    return build_authorization_request(query, RequestHeader(f"ATTACK{number}", _AT, f"{number:04}"))
