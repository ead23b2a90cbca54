"""The state of messages as plain data."""

import hashlib
from typing import Any

from clerkship.simulators.messages.mailbox import Mailbox
from clerkship.simulators.messages.people import ConversationTable
from clerkship.simulators.messages.records import MessageRecord


def dump_mailbox(mailbox: Mailbox) -> dict[str, Any]:
    """Return the messages, threads and attachments."""
    return {
        "messages": [_dump_message(record) for record in mailbox.messages.values()],
        "threads": [
            {
                "id": thread.id,
                "channel": thread.channel,
                "subject": thread.subject,
                "correspondents": list(thread.correspondents),
                "messages": list(thread.messages),
                "unread": thread.unread,
                "closed": thread.is_closed,
            }
            for thread in mailbox.threads.values()
        ],
        "attachments": {
            id: {"name": each.name, "type": each.content_type, "sha256": hashlib.sha256(each.data).hexdigest()}
            for id, each in mailbox.attachments.items()
        },
    }


def dump_conversations(table: ConversationTable) -> list[dict[str, Any]]:
    """Return the conversations with simulated people."""
    return [
        {
            "person": each.person,
            "channel": each.channel,
            "address": each.address,
            "open": each.is_open,
            "turns": each.turns,
            "messages": [event.seq for event in each.messages],
        }
        for each in table.by_address.values()
    ]


def _dump_message(record: MessageRecord) -> dict[str, Any]:
    due = record.due
    return {
        "seq": record.event.seq,
        "from": record.event.actor,
        "payload": record.payload.model_dump(),
        "status": record.status,
        "error_code": record.error_code,
        "unread": record.unread,
        "deleted": record.deleted,
        "due": None if due is None else [due[0].isoformat(), due[1]],
    }
