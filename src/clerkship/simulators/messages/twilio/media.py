"""Media of text messages: where a `MediaUrl` leads, and the Media resource."""

import base64
import binascii
import re
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.mailbox import Mailbox
from clerkship.simulators.messages.outgoing import NewAttachment
from clerkship.simulators.messages.records import MessageAttachment, MessageRecord
from clerkship.simulators.messages.twilio.resources import VERSION, render_date

DATA_SCHEME = "data:"
DEFAULT_TYPE = "text/plain"
"""Of a data URL without a type (RFC 2397)."""
_OWN_PATH = re.compile(
    rf"(?:/attachments|/{VERSION}/Accounts/AC[0-9a-f]{{32}}/Messages/MM[0-9a-f]{{32}}/Media)/([A-Za-z0-9-]+)"
)
_EXTENSION = re.compile(r"[a-z0-9]{1,10}")


def load_media(url: str, number: int, mailbox: Mailbox, base_url: str) -> NewAttachment:
    """Return the file that the MediaUrl with this number names; raise Refusal.

    It is in the URL itself (`data:`), or an attachment that this sandbox has. Nothing is fetched.
    """
    if url.lower().startswith(DATA_SCHEME):
        return _parse_data_url(url, number)
    own = _OWN_PATH.fullmatch(url.removeprefix(base_url) if base_url else url)
    stored = mailbox.attachments.get(own[1]) if own is not None else None
    if stored is None:
        reason = "the sandbox fetches no URLs; give a data: URL, or the URL of media or an attachment of this sandbox"
        raise Refusal(400, "21620", f"MediaUrl: {reason}, not {url[:60]!r}")
    return NewAttachment(name=stored.name, content_type=stored.content_type, data=stored.data)


def _parse_data_url(url: str, number: int) -> NewAttachment:
    """Read a data URL (RFC 2397). A parameter `name` is the name of the file."""
    head, comma, content = url[len(DATA_SCHEME) :].partition(",")
    media, *parameters = (part.strip() for part in head.split(";"))
    media = media.lower() or DEFAULT_TYPE
    data = unquote_to_bytes(content)
    if not comma:
        raise Refusal(400, "21620", "MediaUrl: a data URL has a comma before its data")
    if parameters and parameters[-1].lower() == "base64":
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise Refusal(400, "21620", "MediaUrl: the data URL is not valid base64") from None
    stated = dict(part.split("=", 1) for part in parameters if "=" in part)
    extension = media.rpartition("/")[2]
    default = f"media-{number}.{extension}" if _EXTENSION.fullmatch(extension) else f"media-{number}"
    return NewAttachment(name=unquote(stated.get("name", "")) or default, content_type=media, data=data)


def find_media(record: MessageRecord, sid: str) -> MessageAttachment:
    """Return the media of a message with a SID; refused if it does not exist."""
    for attachment in record.header.attachments:
        if attachment.id == sid:
            return attachment
    raise Refusal(404, "20404", f"message {record.id} has no media {sid[:40]}")


def build_media_path(account: str, record: MessageRecord, sid: str) -> str:
    """Return the path at which media are downloaded; with `.json`, it is that of their resource."""
    return f"/{VERSION}/Accounts/{account}/Messages/{record.id}/Media/{sid}"


def render_media(account: str, record: MessageRecord, media: MessageAttachment) -> dict[str, Any]:
    """Return media as the Media resource."""
    created = render_date(record.event.at)
    return {
        "sid": media.id,
        "account_sid": account,
        "parent_sid": record.id,
        "content_type": media.content_type,
        "date_created": created,
        "date_updated": created,
        "uri": f"{build_media_path(account, record, media.id)}.json",
    }
