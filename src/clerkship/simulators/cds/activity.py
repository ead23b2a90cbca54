"""What the agent's CDS services told clinicians."""

from collections.abc import Iterator

from clerkship.assertions.patients.subject import read_data
from clerkship.events.evidence import Evidence
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.cds.events import HookAnswered, HookFired


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each answer of the agent's services, with every string of its cards and actions."""
    users: dict[str, str] = {}
    for event in evidence.of_kind(HookFired.kind, HookAnswered.kind):
        payload = event.payload
        if event.source != sandbox:
            continue
        if isinstance(payload, HookFired):
            users[payload.call] = str(payload.request.get("context", {}).get("userId", ""))
        elif isinstance(payload, HookAnswered):
            named = [
                *((f"card {number}", card) for number, card in enumerate(payload.cards, 1)),
                *((f"system action {number}", action) for number, action in enumerate(payload.system_actions, 1)),
            ]
            parts = tuple(TextPart(place, "\n".join(read_data(data).lines)) for place, data in named)
            yield Disclosure(event, "card", (users.get(payload.call, ""),), parts, "treatment", is_answer=True)
