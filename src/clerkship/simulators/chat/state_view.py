"""What is shown of a chat at one moment."""

from collections.abc import Iterator

from clerkship.events.event import Utterance, is_by_agent
from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.chat.state import ChatState


def list_rows(state: ChatState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List who is in the conversation, and its messages."""
    facts = {"person": state.person or "", "turns": state.turns}
    yield StateRow("conversation", "conversation", "open" if state.open else "not open", facts)
    for event in state.messages:
        payload = event.payload
        assert isinstance(payload, Utterance)
        facts = {"at": event.at.isoformat(), "from": "agent" if is_by_agent(event) else "person", "turn": payload.turn}
        yield StateRow(f"message {event.seq}", "messages", payload.text, facts, seq=event.seq)
