"""The operations with voicemails."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from clerkship.model.frozen import Flag, Frozen
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.simulators.voice.page_count import PageCount
from clerkship.simulators.voice.records import Voicemail
from clerkship.simulators.voice.state import VoiceState

Context = OperationContext[VoiceState]
MAX_LISTED = 1000


class VoicemailList(Frozen):
    """Which voicemails to list."""

    mailbox: Annotated[str | None, Field(description="name of a mailbox; all of yours by default")] = None
    unread: Annotated[bool | None, Field(description="true for unread messages only, false for read ones")] = None
    after: Annotated[str, Field(description="the next of the previous page")] = ""
    count: Annotated[PageCount, Field(ge=1, le=MAX_LISTED, description="the largest number of messages to return")] = (
        100
    )


class VoicemailId(Frozen):
    """A voicemail."""

    id: Annotated[str, Field(description="id of a voicemail")]


class VoicemailMark(VoicemailId):
    """A voicemail to mark."""

    read: Annotated[Flag, Field(description="whether it is marked as read; false for unread")]


@operation()
def list_voicemails(context: Context, wanted: VoicemailList) -> dict[str, Any]:
    """List the voicemails of your mailboxes, the oldest first, without their text: {"voicemails", "unread"}.

    `unread` has the number of unread messages of each mailbox. `next` is for the next page.
    """
    boxes = context.state.mailboxes
    names = [config.name for config in boxes.configs.values() if config.is_own]
    if wanted.mailbox is not None:
        names = [boxes.find_own(wanted.mailbox).name]
    messages = sorted((message for name in names for message in boxes.list_messages(name)), key=_list_order)
    if wanted.unread is not None:
        messages = [message for message in messages if message.is_read != wanted.unread]
    last = boxes.messages.get(wanted.after)
    if last is not None:
        messages = [message for message in messages if _list_order(message) > _list_order(last)]
    page = messages[: wanted.count]
    result: dict[str, Any] = {
        "voicemails": [view_voicemail(message) for message in page],
        "unread": {name: boxes.count_unread(name) for name in names},
    }
    if len(page) < len(messages):
        result["next"] = page[-1].id
    return result


@operation()
def read_voicemail(context: Context, wanted: VoicemailId) -> dict[str, Any]:
    """Read a voicemail with its text. It is marked as read."""
    message = context.state.mailboxes.find_message(wanted.id)
    context.state.mailboxes.change(context.action, message, "read")
    return {**view_voicemail(message), "text": message.text}


@operation()
def mark_voicemail(context: Context, mark: VoicemailMark) -> dict[str, Any]:
    """Mark a voicemail as read or unread."""
    message = context.state.mailboxes.find_message(mark.id)
    context.state.mailboxes.change(context.action, message, "read" if mark.read else "unread")
    return view_voicemail(message)


@operation()
def delete_voicemail(context: Context, wanted: VoicemailId) -> dict[str, Any]:
    """Delete a voicemail."""
    message = context.state.mailboxes.find_message(wanted.id)
    context.state.mailboxes.change(context.action, message, "deleted")
    return {"id": message.id, "deleted": True}


def _list_order(message: Voicemail) -> tuple[datetime, str]:
    return message.received_at, message.id


def view_voicemail(message: Voicemail) -> dict[str, Any]:
    """Return a voicemail without its text."""
    return {
        "id": message.id,
        "mailbox": message.mailbox,
        "from": message.from_number,
        "received": message.received_at.isoformat(),
        "seconds": message.seconds,
        "read": message.is_read,
    }


MAILBOX_OPERATIONS = (list_voicemails, read_voicemail, mark_voicemail, delete_voicemail)
