"""The webhook of a telephone: the agent is called for each call that rings and, if it asks, for other events."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationCall, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.events import VoiceWebhookRegistered, WebhookEvent
from clerkship.simulators.voice.operations import view_voicemail
from clerkship.simulators.voice.state import VoiceState
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundClient
from clerkship.transports.outbound.http import HttpLimits, OutboundRequest, WebhookDelivery, json_request
from clerkship.transports.outbound.retry import RetryPolicy

Context = OperationContext[VoiceState]
WEBHOOK_LINK = "webhook"
"""The name of the callback address that is called for each call that rings."""
MAX_ANSWER_SECONDS = 15.0
"""Wall time for an agent to answer."""
MAX_ANSWER_BYTES = 64_000
"""Bytes of an answer. Only its status counts."""


class VoiceWebhookUrl(Frozen):
    """Where the agent is called, and for what."""

    url: Annotated[str, Field(description="URL of the agent; empty to end it")]
    events: Annotated[
        tuple[WebhookEvent, ...],
        Field(min_length=1, max_length=3, description="call.ringing, voicemail.received and call.ended"),
    ] = ("call.ringing",)


class VoiceNotification(Frozen):
    """Something that the agent is told."""

    event: WebhookEvent
    id: Annotated[str, Field(description="id of the call or voicemail")]


class VoiceCallback(OperationCall[Any, Any]):
    """A call of an operation for a webhook."""

    transport: ClassVar[str] = "webhook"


@operation(tool=False, logs_body=False)
def register_voice_webhook(context: Context, webhook: VoiceWebhookUrl) -> None:
    """Register the URL that is called for each call that rings, or also for other events; an empty one ends it."""
    try:
        if webhook.url and OutboundAddress.parse(webhook.url).scheme == "tcp":
            raise BadAddress("expected an http or https URL")
    except BadAddress as error:
        raise Refusal(400, "bad_url", str(error)) from None
    context.register_callback(WEBHOOK_LINK, webhook.url)  # first, because it may refuse the address
    context.action.emit(VoiceWebhookRegistered(registered=bool(webhook.url), events=webhook.events))


@operation(tool=False)
def read_voice_event(context: Context, notification: VoiceNotification) -> dict[str, Any]:
    """Return what the agent is told about a call or a voicemail."""
    event, state = notification.event, context.state
    if event == "voicemail.received":
        return {"event": event, "voicemail": view_voicemail(state.mailboxes.find_message(notification.id))}
    call = state.find_call(notification.id)
    told = {"event": event, "call": call.id, "from": call.from_number, "to": call.to_number}
    return {**told, "outcome": call.outcome} if event == "call.ended" else told


class VoiceWebhook(WebhookDelivery):
    """Posts JSON to the URL that was registered with `POST /webhook`, or that the config has."""

    name: ClassVar[str] = "voice-webhook"
    link: ClassVar[str] = WEBHOOK_LINK

    def __init__(self, client: OutboundClient) -> None:
        super().__init__(client)
        self._first_call = 0
        """How many calls, from the start, have ended and were reported."""

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return the `webhook` of the config."""
        return cast(VoiceConfig, config).webhook

    @property
    def retry(self) -> RetryPolicy:
        """Five attempts, the first retry after five seconds."""
        return RetryPolicy()

    @property
    def limits(self) -> HttpLimits:
        """The limits of an answer."""
        return HttpLimits(MAX_ANSWER_SECONDS, MAX_ANSWER_BYTES)

    def hear(self, kind: str) -> None:
        """Wake after a call began or ended, or a voicemail was left."""
        if kind.endswith((".call.started", ".call.ended", ".voicemail.left")):
            self.wake()

    def pending(self, state: VoiceState) -> Iterable[str]:
        """Return event and id, such as `call.ringing/call-1`, for all that the agent was not told yet."""
        found = list[str]()
        if "call.ringing" in state.webhook.events:
            calls = state.calls.open_calls.values()
            found += [f"call.ringing/{call.id}" for call in calls if call.can_be_answered]
        if "voicemail.received" in state.webhook.events:
            messages = state.mailboxes.messages.values()
            own = [message for message in messages if state.mailboxes.configs[message.mailbox].is_own]
            found += [f"voicemail.received/{message.id}" for message in own if not message.is_deleted]
        if "call.ended" in state.webhook.events:
            found += self._list_ended(state)
        return [id for id in found if not self._is_finished(state, id)]

    def _list_ended(self, state: VoiceState) -> Iterator[str]:
        is_start = True
        for place, call in enumerate(islice(state.calls.by_id.values(), self._first_call, None), self._first_call + 1):
            id = f"call.ended/{call.id}"
            is_start = is_start and call.status == "ended" and self._is_finished(state, id)
            if is_start:
                self._first_call = place
            elif call.status == "ended":
                yield id

    def _is_finished(self, state: VoiceState, id: str) -> bool:
        """Return whether the agent has answered, also before the run was rewound, or the call was given up."""
        return id in self._finished or (self.name, id) in state.webhook.answered

    def reset(self) -> None:
        """Also begin with the first call."""
        self._first_call = 0
        super().reset()

    async def build(self, message_id: str) -> OutboundRequest:
        """Return the request with the event."""
        event, _, id = message_id.partition("/")
        notification = VoiceNotification.model_validate({"event": event, "id": id})
        reply = await self.client.call_as_run(VoiceCallback(read_voice_event, notification, f"/{message_id}"))
        if not reply.ok or not isinstance(reply.result, dict):
            raise DeliveryFailed("not_sent", reply.status or None)
        return json_request(reply.result)


WEBHOOK_OPERATIONS = (register_voice_webhook, read_voice_event)
WEBHOOK_EXERCISE = (VoiceCallback(read_voice_event, VoiceNotification(event="call.ringing", id="unknown")),)
