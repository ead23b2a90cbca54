"""What the agent told CDS services of others."""

from collections.abc import Iterator

from clerkship.assertions.patients.subject import read_data
from clerkship.events.evidence import Evidence
from clerkship.formats.cds_hooks.patient import read_context_patient
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.cds_service.events import FeedbackReceived, ServiceCalled


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each call of a service, with its context and prefetch, and each feedback."""
    for event in evidence.of_kind(ServiceCalled.kind, FeedbackReceived.kind):
        payload = event.payload
        if event.source != sandbox or event.actor != "agent":
            continue
        if isinstance(payload, ServiceCalled):
            about = read_context_patient(payload.context)
            data = {"context": payload.context, "prefetch": payload.prefetch}
        elif isinstance(payload, FeedbackReceived):
            about = ()
            data = {"feedback": payload.feedback}
        else:
            continue
        parts = tuple(TextPart(name, "\n".join(read_data(each).lines)) for name, each in data.items())
        yield Disclosure(event, "cds_service", (payload.service,), parts, "treatment", about=about)
