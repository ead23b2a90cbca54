"""What the agent told payers in X12, and which of its patients or subscribers the payers did not know."""

from collections.abc import Iterator

from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
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
    TransactionRefused,
    X12Answered,
    X12Requested,
)
from clerkship.simulators.x12.transactions.codes import CODES

_EVENTS: tuple[type[Payload], ...] = (
    *REQUESTED_EVENTS.values(),
    *ANSWERED_EVENTS.values(),
    TransactionRefused,
    AcknowledgmentReceived,
    InterchangeAccepted,
    InterchangeRefused,
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


def _render(sent: TransactionSet) -> str:
    """Return a set with its segments on lines, and a word before birth dates, which makes them known as such."""
    return "\n".join(f"birth {text}" if text.startswith("DMG") else text for text in sent.segment_texts)


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
