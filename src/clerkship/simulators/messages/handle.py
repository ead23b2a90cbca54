"""The Python client of a `messages` sandbox."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.resources import VERSION, build_number_sid


class Messages(Handle):
    """Sends and reads text messages, e-mail and patient portal messages."""

    def send(self, channel: str, to: str | Sequence[str], text: str, **fields: Any) -> dict[str, Any]:
        """Send a message; return it with its id. `fields` are those of `POST /messages`, such as `subject`.

        `attachments` may be a mapping of names to bytes.
        """
        recipients = [to] if isinstance(to, str) else list(to)
        message = {"channel": channel, "to": recipients, "text": text, **_encode_attachments(fields)}
        return self._object("POST", "/messages", message)

    def reply(self, id: str, text: str, **fields: Any) -> dict[str, Any]:
        """Answer a message on its channel; return the answer."""
        message = {"in_reply_to": id, "text": text, **_encode_attachments(fields)}
        return self._object("POST", "/messages", message)

    def inbox(self, *, unread: bool = True, **filters: str) -> list[dict[str, Any]]:
        """Return the messages that arrived: unread ones, or all."""
        return self.messages(direction="inbound", **({"unread": "true"} if unread else {}), **filters)

    def messages(self, **filters: str) -> list[dict[str, Any]]:
        """Return messages, oldest first; filters are `channel`, `direction`, `address`, `thread`, `unread`, `since`."""
        return self._list_all("/messages", "messages", filters)

    def read(self, id: str) -> dict[str, Any]:
        """Return a message with its whole text; one that arrived is then marked as read."""
        return self._object("GET", f"/messages/{id}")

    def threads(self, **filters: str) -> list[dict[str, Any]]:
        """Return the threads, the one with the latest message first."""
        return self._list_all("/threads", "threads", filters)

    def thread(self, id: str) -> dict[str, Any]:
        """Return a thread with its messages."""
        return self._object("GET", f"/threads/{id}")

    def close(self, id: str) -> dict[str, Any]:
        """Close a patient portal thread."""
        return self._object("POST", f"/threads/{id}/close", {})

    def attachment(self, id: str) -> bytes:
        """Return the content of an attachment."""
        return self.request("GET", f"/attachments/{id}").body

    def contacts(self, name: str = "", address: str = "") -> list[dict[str, Any]]:
        """Return the contacts whose name contains a text, or who have an address."""
        return self._list_all("/contacts", "contacts", {"name": name, "address": address})

    def consents(self) -> list[dict[str, Any]]:
        """Return who opted out of text messages, or in again."""
        return self._list("/consents", "consents")

    def register_webhook(self, url: str, number: str | None = None) -> None:
        """Have each text message to an own number, the first by default, posted to a URL; an empty URL ends it."""
        number = number or self._json("GET", "/")["numbers"][0]
        account = self.credentials["basic"]["user"]
        path = f"/{VERSION}/Accounts/{account}/IncomingPhoneNumbers/{build_number_sid(number)}.json"
        self.request("POST", path, body=urlencode({"SmsUrl": url}).encode(), media=FORM)

    @property
    def smtp(self) -> ConnectionInfo:
        """How to connect over SMTP: host, port, user, password, and the certificate of STARTTLS in PEM."""
        return self._find_listener("smtp")

    @property
    def smtps(self) -> ConnectionInfo:
        """How to connect over SMTP with TLS from the first byte: as `smtp`, on another port."""
        return self._find_listener("smtps")


def _encode_attachments(fields: dict[str, Any]) -> dict[str, Any]:
    attachments = fields.get("attachments")
    if not isinstance(attachments, Mapping):
        return fields
    encoded = [{"name": name, "base64": base64.b64encode(data).decode()} for name, data in attachments.items()]
    return {**fields, "attachments": encoded}
