"""The resources of the Twilio API as JSON: messages, phone numbers and the account."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

from clerkship.simulators.messages.records import MessageRecord
from clerkship.simulators.messages.twilio.errors import DESCRIPTIONS

VERSION = "2010-04-01"
PAGE_PREFIX = "PA"


def render_date(at: datetime | None) -> str | None:
    """Return a time as in RFC 2822, in UTC: `Mon, 02 Mar 2026 09:00:00 +0000`."""
    return None if at is None else format_datetime(at)


def get_date_sent(record: MessageRecord) -> datetime | None:
    """Return when a message was sent or arrived; None while it is queued."""
    return None if record.status in ("queued", "failed") else record.event.at


def get_direction(record: MessageRecord) -> str:
    """Return the direction of a message in Twilio's words."""
    if record.is_inbound:
        return "inbound"
    return "outbound-reply" if record.header.in_reply_to is not None else "outbound-api"


def render_message(account_sid: str, record: MessageRecord) -> dict[str, Any]:
    """Return a message as the Message resource."""
    header, code = record.header, record.error_code
    uri = f"/{VERSION}/Accounts/{account_sid}/Messages/{record.id}"
    return {
        "account_sid": account_sid,
        "api_version": VERSION,
        "body": "" if record.deleted else record.payload.text,
        "date_created": render_date(record.event.at),
        "date_sent": render_date(get_date_sent(record)),
        "date_updated": render_date(record.status_at or record.event.at),
        "direction": get_direction(record),
        "error_code": int(code) if code is not None and code.isdecimal() else None,
        "error_message": None if code is None else DESCRIPTIONS.get(code, "The message was not delivered"),
        "from": header.sender,
        "messaging_service_sid": None,
        "num_media": str(len(header.attachments)),
        "num_segments": str(record.payload.segments or 1),
        "price": None,
        "price_unit": "USD",
        "sid": record.id,
        "status": record.status,
        "subresource_uris": {"media": f"{uri}/Media.json"},
        "to": header.to[0],
        "uri": f"{uri}.json",
    }


def build_number_sid(number: str) -> str:
    """Return the SID of one of the organization's own numbers."""
    return f"PN{hashlib.blake2b(number.encode(), digest_size=16).hexdigest()}"


def render_number(account_sid: str, number: str, sms_url: str, now: datetime) -> dict[str, Any]:
    """Return an own number as the IncomingPhoneNumber resource."""
    sid = build_number_sid(number)
    return {
        "account_sid": account_sid,
        "api_version": VERSION,
        "capabilities": {"voice": False, "sms": True, "mms": True, "fax": False},
        "date_created": render_date(now),
        "date_updated": render_date(now),
        "friendly_name": number,
        "phone_number": number,
        "sid": sid,
        "sms_fallback_url": "",
        "sms_method": "POST",
        "sms_url": sms_url,
        "status": "in-use",
        "status_callback": "",
        "uri": f"/{VERSION}/Accounts/{account_sid}/IncomingPhoneNumbers/{sid}.json",
    }


def render_account(account_sid: str, name: str, now: datetime) -> dict[str, Any]:
    """Return the Account resource, without the Auth Token."""
    uri = f"/{VERSION}/Accounts/{account_sid}"
    return {
        "sid": account_sid,
        "owner_account_sid": account_sid,
        "friendly_name": name,
        "status": "active",
        "type": "Full",
        "date_created": render_date(now),
        "date_updated": render_date(now),
        "subresource_uris": {
            "messages": f"{uri}/Messages.json",
            "incoming_phone_numbers": f"{uri}/IncomingPhoneNumbers.json",
        },
        "uri": f"{uri}.json",
    }


class PageOfList(NamedTuple):
    """Which page of a list it is: the path and the filter of the list, the number and the size of the page."""

    path: str
    number: int
    size: int
    query: Mapping[str, str] = MappingProxyType({})
    has_next: bool = False

    def build_uri(self, number: int, token: str = "") -> str:
        """Return the URI of a page. It is relative to the base URL, as SDKs expect."""
        fields = {**self.query, "PageSize": str(self.size), "Page": str(number)}
        return f"{self.path}?{urlencode(fields | ({'PageToken': token} if token else {}))}"


def render_page(page: PageOfList, key: str, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a page of a list."""
    token = f"{PAGE_PREFIX}{items[-1]['sid']}" if items else ""
    start = page.number * page.size
    return {
        key: list(items),
        "page": page.number,
        "page_size": page.size,
        "start": start,
        "end": start + max(len(items) - 1, 0),
        "uri": page.build_uri(page.number),
        "first_page_uri": page.build_uri(0),
        "previous_page_uri": page.build_uri(page.number - 1) if page.number else None,
        "next_page_uri": page.build_uri(page.number + 1, token) if page.has_next else None,
    }
