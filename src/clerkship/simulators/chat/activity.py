"""What the agent said in chats."""

from collections.abc import Iterator

from clerkship.events.evidence import Evidence
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.chat.events import ChatMessageSent, SessionStarted


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each message of the agent to the person in the conversation."""
    person = ""
    for event in evidence.of_kind(SessionStarted.kind, ChatMessageSent.kind):
        if event.source != sandbox:
            continue
        if isinstance(event.payload, SessionStarted):
            person = event.payload.person
        elif isinstance(event.payload, ChatMessageSent) and event.actor == "agent":
            part = TextPart("message", event.payload.text)
            yield Disclosure(event, "chat", (person,), (part,), "treatment", is_answer=True)
