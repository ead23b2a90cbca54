"""What the agent said in chats."""

from collections.abc import Iterator

from clerkship.by_name import load
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
            yield Disclosure(event, "chat", (person,), tuple(_list_texts(event.payload)), "treatment", is_answer=True)


def _list_texts(message: ChatMessageSent) -> Iterator[TextPart]:
    """Yield the text, and what else the person sees or a button sends."""
    yield TextPart("message", message.text)
    for place, shown in (("button", message.buttons), ("custom content", message.custom)):
        if shown:
            read_data = load("clerkship.assertions.patients.subject:read_data")  # few messages have more than a text
            yield TextPart(place, "\n".join(read_data(shown).lines))
