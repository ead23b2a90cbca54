"""What the agent's CDS services told clinicians."""

from collections.abc import Iterator, Mapping
from typing import Any

from clerkship.assertions.patients.subject import read_data
from clerkship.events.evidence import Evidence
from clerkship.formats.cds_hooks.patient import read_context_patient
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.cds.events import HookAnswered, HookFired


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each answer of the agent's services, with every string of its cards and actions."""
    contexts: dict[str, Mapping[str, Any]] = {}
    for event in evidence.of_kind(HookFired.kind, HookAnswered.kind):
        payload = event.payload
        if event.source != sandbox:
            continue
        if isinstance(payload, HookFired):
            contexts[payload.call] = payload.request.get("context", {})
        elif isinstance(payload, HookAnswered):
            named = [
                *((f"card {number}", card) for number, card in enumerate(payload.cards, 1)),
                *((f"system action {number}", action) for number, action in enumerate(payload.system_actions, 1)),
            ]
            parts = tuple(TextPart(place, "\n".join(read_data(data).lines)) for place, data in named)
            context = contexts.get(payload.call, {})
            user, about = (str(context.get("userId", "")),), read_context_patient(context)
            yield Disclosure(event, "card", user, parts, "treatment", is_answer=True, about=about)
