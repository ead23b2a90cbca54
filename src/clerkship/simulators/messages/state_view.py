"""What is shown of an organization's messages at one moment: its inbox and its outbox."""

from collections.abc import Iterator

from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.messages.records import MessageRecord
from clerkship.simulators.messages.state import MessagesState


def list_rows(state: MessagesState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the messages, then the consents that were given or withdrawn."""
    yield from map(_build_row, state.messages.values())
    for (own, number), consent in state.consents.items():
        yield StateRow(f"{own} {number}", "consent", number, {"texts from": own, "consent": consent})


def _build_row(record: MessageRecord) -> StateRow:
    header, text = record.header, record.payload.text
    facts = {"at": record.event.at.isoformat(), "channel": header.channel, "from": header.sender}
    facts |= {"to": ", ".join(header.recipients), "status": record.status}
    facts |= {"unread": "yes"} if record.unread else {}
    facts |= {"error": record.error_code} if record.error_code else {}
    group = "inbox" if record.is_inbound else "outbox"
    return StateRow(
        record.id, group, header.subject or text, facts, lambda: {**facts, "text": text, "header": to_plain(header)}
    )
