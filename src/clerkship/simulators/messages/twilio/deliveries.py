"""Webhooks for text messages that arrive, and status callbacks for those that are sent."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar, cast
from urllib.parse import urlencode

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationCall
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.mailbox import MessageFilter
from clerkship.simulators.messages.records import DeliveryStatus
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.twilio import operations as ops
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.signature import SIGNATURE_HEADER, sign_webhook
from clerkship.simulators.messages.twilio.twiml import BadTwiml, parse_answer
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundClient
from clerkship.transports.outbound.http import HttpLimits, HttpResponse, OutboundRequest, WebhookDelivery, check_status
from clerkship.transports.outbound.retry import RetryPolicy

MAX_ANSWER_SECONDS = 15.0
"""Wall time for an agent to answer, as in Twilio."""
MAX_ANSWER_BYTES = 64_000
"""The largest TwiML document, as in Twilio."""
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


class TwilioCall(OperationCall[Any, Any]):
    """A call of an operation for a webhook or with its answer."""

    transport: ClassVar[str] = "twilio"


class TwilioDelivery(WebhookDelivery):
    """Posts a signed form to the agent."""

    @property
    def retry(self) -> RetryPolicy:
        """Five attempts, the first retry after five seconds."""
        return RetryPolicy()

    @property
    def limits(self) -> HttpLimits:
        """The limits of Twilio."""
        return HttpLimits(MAX_ANSWER_SECONDS, MAX_ANSWER_BYTES)

    def is_finished(self, state: MessagesState, message_id: str) -> bool:
        """Return whether the agent has answered, also before the run was rewound, or the call was given up."""
        return message_id in self._finished or (self.name, message_id) in state.answered_calls

    @abstractmethod
    def build_call(self, message_id: str) -> TwilioCall:
        """Return the call that reads the parameters of a request."""

    async def build(self, message_id: str) -> OutboundRequest:
        """Return the request, with its signature over the URL as it was registered."""
        reply = await self.client.call_as_run(self.build_call(message_id))
        if not reply.ok or not isinstance(reply.result, dict):
            raise DeliveryFailed("not_sent", reply.status or None)
        parameters: dict[str, str] = reply.result
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

    def __init__(self, client: OutboundClient) -> None:
        super().__init__(client)
        self._first = 0
        """The number of a message; it and all before it are finished."""

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return the `webhook` of the config."""
        return cast(MessagesConfig, config).webhook

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

    def pending(self, state: MessagesState) -> Iterable[str]:
        """Return the ids of text messages that arrived at a number with an SmsUrl."""
        is_start = True
        for record in state.mailbox.list_messages(_ARRIVED, after=self._first):
            is_finished = self.is_finished(state, record.id)
            if is_start and is_finished:
                self._first = record.number
                continue
            is_start = False
            if not is_finished and self._get_address(record.header.to[0]):
                yield record.id

    def reset(self) -> None:
        """Also begin with the first message."""
        self._first = 0
        super().reset()

    def build_call(self, message_id: str) -> TwilioCall:
        """Return the call that reads a message."""
        return TwilioCall(ops.read_sms_webhook, ops.SmsCallback(id=message_id), f"/{message_id}")

    async def accept(self, message_id: str, response: HttpResponse) -> None:
        """Send the messages that the agent answers. They are the agent's actions; refusals are in the log."""
        check_status(response)
        try:
            messages = parse_answer(response.headers.get("content-type", ""), response.body)
        except BadTwiml as error:
            raise DeliveryFailed("rejected", response.status, error.reason, is_final=True) from None
        for message in messages:
            answer = ops.SmsAnswer(id=message_id, text=message.text, to=message.to, sender=message.sender)
            await self.client.call(TwilioCall(ops.answer_sms_webhook, answer, f"/{message_id}", response.body))


class SmsStatusCallback(TwilioDelivery):
    """Calls the StatusCallback of a text message for each status that it gets."""

    name: ClassVar[str] = "twilio-status"
    link: ClassVar[str] = ops.STATUS_LINK

    def __init__(self, client: OutboundClient) -> None:
        super().__init__(client)
        self._first = 0
        """How many of the callback addresses, from the start, have nothing left to report."""

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return None: each message has its own address."""
        return None

    @property
    def has_address(self) -> bool:
        """Whether a message has a StatusCallback."""
        return any(name.startswith(f"{self.link}/") for name in self.client.callbacks)

    async def find_address(self, message_id: str) -> str:
        """Return the StatusCallback of a message."""
        return self.client.callbacks.get(f"{self.link}/{message_id.partition('/')[0]}", "")

    def hear(self, kind: str) -> None:
        """Wake after a message was sent or its status changed."""
        if kind.endswith((".sent", ".status_changed")):
            self.wake()

    def pending(self, state: MessagesState) -> Iterable[str]:
        """Return message and status, such as `SM1/sent`, for each status that was not reported."""
        is_start = True
        for place, name in enumerate(list(islice(self.client.callbacks, self._first, None)), self._first + 1):
            link, _, sid = name.partition("/")
            if link == self.link and sid != ops.NEW_MESSAGE:
                record = state.messages.get(sid)
                statuses = () if record is None else _STATUSES.get(record.status, ())
                ids = [id for id in (f"{sid}/{status}" for status in statuses) if not self.is_finished(state, id)]
                yield from ids
                is_start = is_start and not ids and record is not None and record.status in _FINAL_STATUSES
            if is_start:
                self._first = place

    def reset(self) -> None:
        """Also begin with the first message."""
        self._first = 0
        super().reset()

    def build_call(self, message_id: str) -> TwilioCall:
        """Return the call that reads the status of a message."""
        sid, _, status = message_id.partition("/")
        return TwilioCall(ops.read_sms_status, ops.SmsCallback(id=sid, status=status), f"/{message_id}")


TWILIO_DELIVERIES = (SmsWebhook, SmsStatusCallback)
