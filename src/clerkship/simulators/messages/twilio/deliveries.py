"""Webhooks for text messages that arrive, and status callbacks for those that are sent."""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import ClassVar, cast
from urllib.parse import urlencode

from clerkship.model.frozen import Frozen
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.mailbox import MessageFilter
from clerkship.simulators.messages.records import DeliveryStatus
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.twilio import operations as ops
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.twiml import BadTwiml, parse_answer
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.delivery import DeliveryFailed
from clerkship.transports.outbound.event_webhook import EventWebhook, ReportedItem, WebhookCall
from clerkship.transports.outbound.http import HttpResponse, OutboundRequest, check_status

_ARRIVED = MessageFilter(channel="sms", inbound=True)
_STATUSES: Mapping[DeliveryStatus, tuple[DeliveryStatus, ...]] = {
    "queued": ("queued",),
    "sent": ("queued", "sent"),
    "delivered": ("queued", "sent", "delivered"),
    "undelivered": ("queued", "sent", "undelivered"),
    "failed": ("queued", "failed"),
}
"""The status of a message -> all that it has had, each with a callback."""
_FINAL_STATUSES = ("delivered", "undelivered", "failed")
SIGNATURE_HEADER = "x-twilio-signature"


def sign_webhook(token: str, url: str, parameters: Mapping[str, str]) -> str:
    """Return the signature of a form that is posted to a URL.

    It is the HMAC-SHA1, in base64, of the URL and of each parameter's name and value, sorted by name. The key is the
    Auth Token.
    """
    signed = url + "".join(f"{name}{parameters[name]}" for name in sorted(parameters))
    return base64.b64encode(hmac.digest(token.encode(), signed.encode(), hashlib.sha1)).decode()


class TwilioCall(WebhookCall):
    """A call of an operation for a webhook or with its answer."""

    transport: ClassVar[str] = "twilio"


class TwilioDelivery(EventWebhook[MessagesState]):
    """Posts a signed form to the agent."""

    async def build(self, message_id: str) -> OutboundRequest:
        """Return the request, with its signature over the URL as it was registered."""
        parameters: dict[str, str] = await self.read(message_id)
        if "MediaUrl0" in parameters:
            base = await self.client.find_url()
            parameters = {
                name: f"{base}{value}" if name.startswith("MediaUrl") else value for name, value in parameters.items()
            }
        registered = await self.find_address(message_id)
        sent_url, token = OutboundAddress.parse(registered).url, self.client.token

        def sign(sent: OutboundRequest) -> Mapping[str, str]:
            url = registered if sent.url == sent_url else sent.url  # a redirect has its own URL
            return {SIGNATURE_HEADER: sign_webhook(token, url, parameters)}

        headers = {"content-type": f"{FORM}; charset=utf-8", "i-twilio-idempotency-token": message_id}
        return OutboundRequest(headers=headers, body=urlencode(parameters).encode(), sign=sign)


class SmsWebhook(TwilioDelivery):
    """Calls the SmsUrl of a number for each text message to it, and sends what the agent answers in TwiML."""

    name: ClassVar[str] = "twilio-sms"
    link: ClassVar[str] = ops.SMS_LINK

    def _get_address(self, number: str) -> str:
        return self.client.callbacks.get(f"{self.link}/{number}", self.configured(self.client.config)) or ""

    @property
    def has_address(self) -> bool:
        """Whether one of the own numbers has an SmsUrl."""
        return any(map(self._get_address, cast(MessagesConfig, self.client.config).numbers))

    async def find_address(self, message_id: str) -> str:
        """Return the SmsUrl of the number to which a message was sent."""
        number: str = await self.client.read_state(lambda state: state.messages[message_id].header.to[0])
        return self._get_address(number)

    def list_items(self, state: MessagesState, after: int) -> Iterable[ReportedItem]:
        """Iterate over the text messages that arrived; only those at a number with an SmsUrl are reported."""
        for record in state.mailbox.list_messages(_ARRIVED, after):
            has_address = bool(self._get_address(record.header.to[0]))
            yield ReportedItem(record.number, (record.id,) if has_address else (), is_complete=has_address)

    def build_call(self, message_id: str) -> TwilioCall:
        return TwilioCall(ops.read_sms_webhook, ops.SmsCallback(id=message_id), f"/{message_id}")

    async def accept(self, message_id: str, response: HttpResponse) -> None:
        """Send the messages that the agent answers. They are the agent's actions; refusals are in the log."""
        check_status(response)
        try:
            messages = parse_answer(response.headers.get("content-type", ""), response.body)
        except BadTwiml as error:
            raise DeliveryFailed("rejected", response.status, error.reason, is_final=True) from None
        for message in messages:
            answer = ops.SmsAnswer(
                id=message_id,
                text=message.text,
                to=message.to,
                sender=message.sender,
                media_urls=tuple(message.media),
            )
            await self.client.call(TwilioCall(ops.answer_sms_webhook, answer, f"/{message_id}", response.body))


class SmsStatusCallback(TwilioDelivery):
    """Calls the StatusCallback of a text message for each status that it gets."""

    name: ClassVar[str] = "twilio-status"
    link: ClassVar[str] = ops.STATUS_LINK
    wakes_on: ClassVar[tuple[str, ...]] = (".sent", ".status_changed")

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return None: each message has its own address."""
        return None

    @property
    def has_address(self) -> bool:
        """Whether a message has a StatusCallback."""
        return any(name.startswith(f"{self.link}/") for name in self.client.callbacks)

    async def find_address(self, message_id: str) -> str:
        return self.client.callbacks.get(f"{self.link}/{message_id.partition('/')[0]}", "")

    def list_items(self, state: MessagesState, after: int) -> Iterable[ReportedItem]:
        """Iterate over the callback addresses; there is a message such as `SM1/sent` for each status."""
        for place, name in enumerate(list(islice(self.client.callbacks, after, None)), after + 1):
            link, _, sid = name.partition("/")
            if link != self.link or sid == ops.NEW_MESSAGE:
                yield ReportedItem(place, ())
                continue
            record = state.messages.get(sid)
            statuses = () if record is None else _STATUSES.get(record.status, ())
            is_complete = record is not None and record.status in _FINAL_STATUSES
            yield ReportedItem(place, [f"{sid}/{status}" for status in statuses], is_complete)

    def build_call(self, message_id: str) -> TwilioCall:
        sid, _, status = message_id.partition("/")
        return TwilioCall(ops.read_sms_status, ops.SmsCallback(id=sid, status=status), f"/{message_id}")


TWILIO_DELIVERIES = (SmsWebhook, SmsStatusCallback)
