"""What is shown of an interface engine at one moment: its inbox, and what the agent sent."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.hl7.state import Hl7State


def list_rows(state: Hl7State, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the messages for the agent with their acknowledgments, then those that it sent."""
    for entry in state.inbox.values():
        acks = ", ".join(f"{ack.code} {ack.text}".strip() for ack in entry.acks)
        facts: dict[str, Any] = {
            "at": entry.at.isoformat(),
            "control id": entry.control_id,
            "status": acks or "not acknowledged",
        }
        facts |= {"delivered": entry.delivery_count}
        read, seq = partial(_read, facts, entry.text), entry.acks[-1].seq if entry.acks else entry.seq
        yield StateRow(entry.id, "inbox", entry.type, facts, read, seq)
    for sent in state.sent:
        facts = {"at": sent.at.isoformat(), "control id": sent.control_id}
        facts |= {"status": "accepted" if sent.is_accepted else f"refused: {'; '.join(sent.reasons)}", "ack": sent.ack}
        yield StateRow(f"sent {sent.seq}", "outbox", sent.type, facts, partial(_read, facts, sent.text), sent.seq)


def _read(facts: dict[str, Any], text: str) -> dict[str, Any]:
    return {**facts, "segments": text.replace("\r\n", "\r").rstrip("\r").split("\r")}
