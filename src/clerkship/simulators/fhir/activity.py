"""What the agent told payers through the chart, and wrote into it. The chart itself is the office's own."""

from collections.abc import Iterator
from typing import Any

from clerkship.assertions.patients.subject import read_data
from clerkship.by_name import load
from clerkship.events.evidence import Evidence
from clerkship.sandbox.activity import Activity, Disclosure, RejectedIdentity, TextPart, WrittenText
from clerkship.simulators.fhir.assertions.agent_changes import WRITE_EVENTS
from clerkship.simulators.fhir.monitors.chart_monitor import ChartSandbox, list_all_changes
from clerkship.simulators.fhir.state import FhirState

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
_IDENTITY_REASONS = "clerkship.payer.answer:IDENTITY_REASONS"
"""Imported if a payer got a request, which means that the payer is imported already."""


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Activity]:
    """Yield each request of the chart that a payer got, and each that it rejected because it did not know the person;
    and the texts that the agent wrote.

    What the agent asks a payer over other sandboxes is listed there.
    """
    yield from _list_written(evidence, sandbox)
    sources = {event.seq: event.source for event in evidence.events} if evidence.of_kind(*INQUIRIES) else {}
    for event in evidence.of_kind(*INQUIRIES):
        if sources.get(event.cause or 0) != sandbox or evidence.find_originator(event) != "agent":
            continue
        payload: Any = event.payload
        told = read_data(getattr(payload, INQUIRIES[event.kind]))
        part = TextPart("request", "\n".join(told.lines))
        yield Disclosure(event, "payer", (payload.payer_id,), (part,), "payment")
        if getattr(payload, "rejection", None) in load(_IDENTITY_REASONS):
            yield RejectedIdentity(event, payload.payer_id)


def _list_written(evidence: Evidence, sandbox: str) -> Iterator[WrittenText]:
    """Yield the texts of each resource that the agent wrote. What a reaction wrote is in its own words."""
    state = evidence.states.get(sandbox)
    written = {event.seq: event for event in evidence.of_kind(*WRITE_EVENTS) if event.actor == "agent"}
    if not written or not isinstance(state, FhirState):
        return
    for change in list_all_changes(evidence, ChartSandbox(sandbox, state)):
        texts = ((path, value) for path, (_, value) in change.paths.items() if isinstance(value, str))
        parts = tuple(TextPart(path, text) for path, text in texts if " " in text)
        if parts and change.seq in written:
            yield WrittenText(written[change.seq], change.key, parts)
