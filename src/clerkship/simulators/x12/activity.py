"""What the agent told payers in X12, and which of its patients or subscribers the payers did not know."""

from collections.abc import Iterator
from typing import Any

import orjson

from clerkship.assertions.patients.subject import read_data
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import RequestRefused
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet, parse_transaction_set
from clerkship.payer.answer import IDENTITY_REASONS
from clerkship.sandbox.activity import Activity, Disclosure, RejectedIdentity, TextPart
from clerkship.simulators.x12.events import (
    ANSWERED_EVENTS,
    REQUESTED_EVENTS,
    AcknowledgmentReceived,
    InterchangeAccepted,
    InterchangeRefused,
    PasAnswered,
    PasRequested,
    TransactionRefused,
    X12Answered,
    X12Requested,
)
from clerkship.simulators.x12.pas.elements import PAS_PATHS
from clerkship.simulators.x12.transactions.codes import CODES

_EVENTS: tuple[type[Payload], ...] = (
    *REQUESTED_EVENTS.values(),
    *ANSWERED_EVENTS.values(),
    TransactionRefused,
    AcknowledgmentReceived,
    InterchangeAccepted,
    InterchangeRefused,
    PasRequested,
    PasAnswered,
    RequestRefused,
)
_PAYERS = ("PR", "X3")
"""NM101 of a payer, and of one that reviews requests in a 278."""
_REJECTIONS = [CODES.rejections[reason] for reason in IDENTITY_REASONS]
_AAA_CODES = {
    code.split(":")[1] for each in _REJECTIONS for code in (each.aaa, each.dependent_aaa, each.review_aaa) if code
}
_STC_CODES = {each.stc for each in _REJECTIONS}


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Activity]:
    """Yield each set that the agent sent, accepted or refused, and each person in it whom the payer did not know."""
    headers: dict[str, TextPart] = {}
    payers: dict[str, str] = {}
    for event in evidence.of_kind(*(each.kind for each in _EVENTS)):
        payload = event.payload
        if event.source != sandbox or evidence.find_originator(event) != "agent":
            continue
        if isinstance(payload, InterchangeAccepted):
            headers[payload.id] = TextPart("ISA", payload.header, seq=event.seq)
        elif isinstance(payload, InterchangeRefused):
            parts = (TextPart("interchange", payload.edi),)
            yield Disclosure(event, "x12", (payload.receiver,), parts, "payment", has_failed=True)
        elif isinstance(payload, X12Requested | TransactionRefused | AcknowledgmentReceived):
            sent = parse_transaction_set(payload.edi, X12Delimiters(*payload.delimiters))
            payers[payload.id] = payer = _find_payer(sent)
            header = headers.pop(payload.interchange, None)
            has_failed = isinstance(payload, TransactionRefused)
            parts = (*([header] if header is not None else ()), TextPart(payload.transaction, _render(sent)))
            yield Disclosure(event, "x12", (payer,), parts, "payment", has_failed=has_failed)
        elif isinstance(payload, X12Answered):
            yield from _list_rejected(event, payload, payers.get(payload.request, ""))
        elif isinstance(payload, PasRequested):
            yield Disclosure(event, "x12", (payload.payer_id,), (_render_bundle(payload.bundle),), "payment")
        elif isinstance(payload, RequestRefused) and event.request and event.request.path in PAS_PATHS:
            part = _render_bundle(_read_json(event.request.body))
            yield Disclosure(event, "x12", ("",), (part,), "payment", has_failed=True)
        elif isinstance(payload, PasAnswered) and payload.rejection in IDENTITY_REASONS:
            yield RejectedIdentity(event, payload.payer_id)


def _render(sent: TransactionSet) -> str:
    """Return a set with its segments on lines, and a word before birth dates, which makes them known as such."""
    return "\n".join(f"birth {text}" if text.startswith("DMG") else text for text in sent.segment_texts)


def _read_json(body: bytes) -> dict[str, Any]:
    """Return the object that a body is, or its text as an object."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = body.decode(errors="replace")
    return data if isinstance(data, dict) else {"text": data}


def _render_bundle(data: dict[str, Any]) -> TextPart:
    """Return what a Bundle says. Its number and its time begin as in a set, because they differ each time."""
    varying = {name: data[name] for name in ("identifier", "timestamp") if name in data}
    lines = [f"BHT {line}" for line in read_data(varying).lines]
    lines += read_data({name: value for name, value in data.items() if name not in varying}).lines
    return TextPart("Bundle", "\n".join(lines))


def _find_payer(sent: TransactionSet) -> str:
    """Return the id of the payer (NM109), or else its name."""
    payers = (each for each in sent.segments if each.id == "NM1" and each.raw(1) in _PAYERS)
    return next((each.raw(9) or each.raw(3) for each in payers), "")


def _list_rejected(event: Event, answered: X12Answered, payer: str) -> Iterator[RejectedIdentity]:
    for segment in parse_transaction_set(answered.edi, X12Delimiters(*answered.delimiters)).segments:
        is_unknown = segment.id == "AAA" and segment.raw(3) in _AAA_CODES
        is_unknown |= segment.id == "STC" and f"{segment.value(1, 1)}:{segment.value(1, 2)}" in _STC_CODES
        if is_unknown:
            yield RejectedIdentity(event, payer)
