"""The calls of CDS services in a run, read from its events."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import RequestRefused
from clerkship.simulators.cds_service.events import FeedbackReceived, ServiceAnswered, ServiceCalled
from clerkship.simulators.cds_service.operations import call_service
from clerkship.simulators.cds_service.state import CdsServiceState

_PATIENT = re.compile(r"(?:.*/)?Patient/([^/|#]+)(?:/_history/.*)?")


class LoggedCall(NamedTuple):
    """A call that a service answered, with its cards and the last feedback on each."""

    event: Event
    called: ServiceCalled
    cards: tuple[dict[str, Any], ...]
    feedback: dict[str, Event]
    """The last feedback on each card, by the uuid of the card."""

    @property
    def resources(self) -> list[Mapping[str, Any]]:
        """The resources of the context, such as draft orders."""
        return [resource for value in self.called.context.values() for resource in list_resources(value)]

    @property
    def patients(self) -> list[str]:
        """The ids of the patients whom the context and its resources, and those of the prefetch, belong to."""
        own = self.called.context.get("patientId")
        fetched = [resource for value in self.called.prefetch.values() for resource in list_resources(value)]
        ids = [id for resource in (*self.resources, *fetched) if (id := find_patient(resource)) is not None]
        return list(dict.fromkeys([*([own] if isinstance(own, str) else []), *ids]))

    def __str__(self) -> str:
        patient = self.called.context.get("patientId")
        return f"{self.called.service} for patient {str(patient)[:64]} (#{self.event.seq})"


def list_calls(evidence: Evidence, sandbox: str | None = None) -> list[LoggedCall]:
    """Return the answered calls of the agent, in order. Refused calls are left out: they were not answered."""
    return [call for call in evidence.cached(_read_calls) if sandbox in (None, call.event.source)]


def list_refused_calls(evidence: Evidence, sandbox: str | None = None) -> list[RequestRefused]:
    """Return the refusals of calls, in order."""
    return [
        event.payload
        for event in evidence.of_kind(RequestRefused.kind)
        if isinstance(event.payload, RequestRefused)
        and event.payload.operation == call_service.name
        and sandbox in (None, event.source)
        and isinstance(evidence.states.get(event.source), CdsServiceState)
    ]


def list_resources(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the resources of a value: of a Bundle, of a list, or the value itself."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from list_resources(item)
    elif isinstance(value, Mapping) and value.get("resourceType") == "Bundle":
        entries = value.get("entry")
        for entry in entries if isinstance(entries, list | tuple) else ():
            yield from list_resources(entry.get("resource") if isinstance(entry, Mapping) else None)
    elif isinstance(value, Mapping) and "resourceType" in value:
        yield value


def find_patient(resource: Mapping[str, Any]) -> str | None:
    """Return the id of the patient whom a resource is about; None if it names none."""
    if resource.get("resourceType") == "Patient":
        return str(resource.get("id"))
    for field in ("subject", "patient"):
        holder = resource.get(field)
        reference = holder.get("reference") if isinstance(holder, Mapping) else None
        match = _PATIENT.fullmatch(reference) if isinstance(reference, str) else None
        if match is not None:
            return match[1]
    return None


def _read_calls(evidence: Evidence) -> list[LoggedCall]:
    calls: list[LoggedCall] = []
    open_calls: dict[tuple[str, str, str], Event] = {}
    latest: dict[tuple[str, str, str], LoggedCall] = {}  # by sandbox, service and uuid of a card
    for event in evidence.of_kind(ServiceCalled.kind, ServiceAnswered.kind, FeedbackReceived.kind):
        payload = event.payload
        if evidence.find_originator(event) != "agent":
            continue
        if isinstance(payload, ServiceCalled):
            open_calls[event.source, payload.service, payload.instance] = event
        elif isinstance(payload, ServiceAnswered):
            called = open_calls.pop((event.source, payload.service, payload.instance))
            assert isinstance(called.payload, ServiceCalled)
            call = LoggedCall(called, called.payload, payload.cards, {})
            calls.append(call)
            latest.update(((event.source, payload.service, str(card.get("uuid"))), call) for card in payload.cards)
        elif isinstance(payload, FeedbackReceived):
            # Feedback refers to a card by its uuid, which a repeated call may return again: the latest call counts.
            latest[event.source, payload.service, payload.card].feedback[payload.card] = event
    return calls
