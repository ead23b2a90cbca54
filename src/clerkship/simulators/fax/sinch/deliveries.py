"""Webhooks of the Sinch API: INCOMING_FAX for faxes that arrive, FAX_COMPLETED for sent faxes that are done."""

import asyncio
import base64
import hashlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import orjson

from clerkship.formats.fax_pages.files import read_single_page, write_pdf
from clerkship.model.frozen import Frozen
from clerkship.simulators.fax.records import FaxRecord
from clerkship.simulators.fax.sinch import operations as ops
from clerkship.simulators.fax.sinch.operations import SinchEventName, SinchNotification
from clerkship.simulators.fax.sinch.resources import FORM, CallbackType
from clerkship.simulators.fax.webhook import FaxDelivery
from clerkship.transports.outbound.delivery import DeliveryFailed
from clerkship.transports.outbound.event_webhook import WebhookCall
from clerkship.transports.outbound.http import OutboundRequest, json_request


class SinchCall(WebhookCall):
    """A call of an operation for a webhook of the Sinch API."""

    transport: ClassVar[str] = "sinch"


class SinchDelivery(FaxDelivery):
    """Posts an event with the fax and its pages as a PDF file, as JSON or as a form."""

    event: ClassVar[SinchEventName]

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return None: agents register their addresses through the API."""
        return None

    @abstractmethod
    def get_link(self, fax_id: str, callback_type: CallbackType) -> str:
        """Return the name of the callback address of a fax."""

    def find_type(self, fax_id: str) -> CallbackType | None:
        """Return the type of the callback of a fax; None if it has none."""
        callbacks = self.client.callbacks
        return next((each for each in ops.CALLBACK_TYPES if callbacks.get(self.get_link(fax_id, each))), None)

    async def find_address(self, message_id: str) -> str:
        callback_type = self.find_type(message_id)
        return self.client.callbacks[self.get_link(message_id, callback_type)] if callback_type else ""

    def build_call(self, message_id: str) -> SinchCall:
        """Return the call that reads the event."""
        return SinchCall(ops.read_sinch_event, ops.SinchCallback(id=message_id, event=self.event), f"/{message_id}")

    async def build(self, message_id: str) -> OutboundRequest:
        """Return the request with the event. The file is written in a thread: a fax may have many pages."""
        notification: SinchNotification = await self.read(message_id)
        callback_type = self.find_type(message_id)
        if callback_type is None:
            raise DeliveryFailed("not_sent")
        file = await asyncio.to_thread(write_file, notification.pages) if notification.pages else None
        return render_json(notification, file) if callback_type == "json" else render_form(notification, file)


class IncomingFaxWebhook(SinchDelivery):
    """Calls the incomingWebhookUrl of the service for each fax that arrives."""

    name: ClassVar[str] = "sinch-incoming"
    link: ClassVar[str] = ops.INCOMING_LINK
    event: ClassVar[SinchEventName] = "INCOMING_FAX"

    @property
    def has_address(self) -> bool:
        """Whether the service has an incomingWebhookUrl."""
        return self.find_type("") is not None

    def get_link(self, fax_id: str, callback_type: CallbackType) -> str:
        """Return the name of the address: it is the same for all faxes."""
        return f"{self.link}/{callback_type}"

    def concerns(self, record: FaxRecord) -> bool:
        """Return whether a fax arrived."""
        return record.is_inbound


class CompletedFaxCallback(SinchDelivery):
    """Calls the callbackUrl of a fax when it is done."""

    name: ClassVar[str] = "sinch-completed"
    link: ClassVar[str] = ops.COMPLETED_LINK
    event: ClassVar[SinchEventName] = "FAX_COMPLETED"

    @property
    def has_address(self) -> bool:
        """Whether a fax has a callbackUrl."""
        return f"{self.link}/{ops.NEW_FAX}" in self.client.callbacks  # registered before the first of them

    def get_link(self, fax_id: str, callback_type: CallbackType) -> str:
        """Return the name of the address: each fax has its own."""
        return f"{self.link}/{fax_id}/{callback_type}"

    def concerns(self, record: FaxRecord) -> bool:
        """Return whether a fax has a callbackUrl. It is registered with the fax, never later."""
        return not record.is_inbound and self.find_type(record.id) is not None


def write_file(pages: tuple[bytes, ...]) -> bytes:
    """Return pages, each a TIFF file, as one PDF file."""
    return write_pdf([read_single_page(page) for page in pages])


def render_json(notification: SinchNotification, file: bytes | None) -> OutboundRequest:
    """Write an event as JSON, with the file in base64."""
    body: dict[str, object] = {
        "event": notification.event,
        "eventTime": notification.at,
        "fax": notification.fax,
    }
    if file is not None:
        body |= {"file": base64.b64encode(file).decode(), "fileType": "PDF"}
    return json_request(body)


def render_form(notification: SinchNotification, file: bytes | None) -> OutboundRequest:
    """Write an event as a form (RFC 7578), with the fax as JSON and the file as a part."""
    fields: Mapping[str, bytes] = {
        "event": notification.event.encode(),
        "eventTime": notification.at.encode(),
        "fax": orjson.dumps(notification.fax),
    }
    # It follows from the content, so that the same fax is always sent in the same bytes.
    digest = hashlib.blake2b(b"\n".join((*fields.values(), file or b"")), digest_size=16).hexdigest()
    boundary = f"fax-{digest}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"
        for name, value in fields.items()
    ]
    if file is not None:
        disposition = f'form-data; name="file"; filename="{notification.fax["id"]}.pdf"'
        head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: application/pdf\r\n\r\n"
        parts.append(head.encode() + file + b"\r\n")
    body = b"".join((*parts, f"--{boundary}--\r\n".encode()))
    return OutboundRequest(headers={"content-type": f"{FORM}; boundary={boundary}"}, body=body)


SINCH_DELIVERIES = (IncomingFaxWebhook, CompletedFaxCallback)
