"""What the agent told payers through the chart. The chart itself is the office's own."""

from collections.abc import Iterator
from typing import Any

from clerkship.assertions.patients.subject import read_data
from clerkship.events.evidence import Evidence
from clerkship.payer.answer import IDENTITY_REASONS
from clerkship.sandbox.activity import Activity, Disclosure, RejectedIdentity, TextPart

INQUIRIES = {
    "payer.eligibility.checked": "inquiry",
    "payer.authorization.requested": "authorization",
    "payer.authorization.updated": "authorization",
    "payer.authorization.rejected": "query",
    "payer.authorization.inquired": "query",
    "payer.claim.inquired": "query",
    "payer.appeal.filed": "appeal",
    "payer.appeal.rejected": "query",
}
"""Events of a payer about a request, and the field with what it was told. They are named, because importing them takes
the whole payer."""


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Activity]:
    """Yield each request of the chart that a payer got, and each that it rejected because it did not know the person.

    What the agent asks a payer over other sandboxes is listed there.
    """
    sources = {event.seq: event.source for event in evidence.events} if evidence.of_kind(*INQUIRIES) else {}
    for event in evidence.of_kind(*INQUIRIES):
        if sources.get(event.cause or 0) != sandbox or evidence.find_originator(event) != "agent":
            continue
        payload: Any = event.payload
        told = read_data(getattr(payload, INQUIRIES[event.kind]))
        part = TextPart("request", "\n".join(told.lines))
        yield Disclosure(event, "payer", (payload.payer_id,), (part,), "payment")
        if getattr(payload, "rejection", None) in IDENTITY_REASONS:
            yield RejectedIdentity(event, payload.payer_id)
