"""What the agent told in HL7 messages."""

from collections.abc import Iterator

from clerkship.events.evidence import Evidence
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.hl7.events import SENT_EVENTS, Hl7MessageRefused, Hl7MessageSent, MessageAcknowledged

KINDS = (*(each.kind for each in SENT_EVENTS.values()), Hl7MessageRefused.kind, MessageAcknowledged.kind)


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each message and acknowledgment of the agent, also those that were refused: they were read before."""
    for event in evidence.of_kind(*KINDS):
        payload = event.payload
        if event.source != sandbox or event.actor != "agent":
            continue
        if isinstance(payload, Hl7MessageSent | Hl7MessageRefused | MessageAcknowledged):
            is_answer = isinstance(payload, MessageAcknowledged)
            parts = [TextPart("message", payload.message.replace("\r", "\n"))]
            if isinstance(payload, Hl7MessageSent) and payload.findings:  # they quote lines outside any message
                parts.append(TextPart("findings", "\n".join(payload.findings)))
            yield Disclosure(event, "hl7", (_read_receiver(payload.message),), tuple(parts), "treatment", is_answer)


def _read_receiver(message: str) -> str:
    """Return the receiving application and facility (MSH-5 and MSH-6)."""
    header = message.splitlines()[0] if message else ""
    return " ".join(header.split(header[3:4] or "|")[4:6])
