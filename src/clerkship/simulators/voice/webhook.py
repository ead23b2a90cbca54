"""The webhook of a telephone: the agent is called for each call that rings and, if it asks, for other events."""

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.simulators.voice.events import VoiceWebhookRegistered, WebhookEvent
from clerkship.simulators.voice.operations import view_voicemail
from clerkship.simulators.voice.state import VoiceState
from clerkship.transports.outbound.event_webhook import EventWebhook, ReportedItem, WebhookCall, register_url

Context = OperationContext[VoiceState]
WEBHOOK_LINK = "webhook"
"""The name of the callback address that is called for each call that rings."""


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


@operation(tool=False, logs_body=False)
def register_voice_webhook(context: Context, webhook: VoiceWebhookUrl) -> None:
    """Register the URL that is called for each call that rings, or also for other events; an empty one ends it."""
    register_url(context, WEBHOOK_LINK, webhook.url)  # first, because it may refuse the address
    context.action.emit(VoiceWebhookRegistered(registered=bool(webhook.url), events=webhook.events))


@operation(tool=False)
def read_voice_event(context: Context, notification: VoiceNotification) -> dict[str, Any]:
    """Return what the agent is told about a call or a voicemail."""
    event, state = notification.event, context.state
    if event == "voicemail.received":
        return {"event": event, "voicemail": view_voicemail(state.mailboxes.find_message(notification.id))}
    call = state.find_call(notification.id)
    report = {"event": event, "call": call.id, "from": call.from_number, "to": call.to_number}
    return {**report, "outcome": call.outcome} if event == "call.ended" else report


class VoiceWebhook(EventWebhook[VoiceState]):
    """Posts JSON to the URL that was registered with `POST /webhook`, or that the config has."""

    name: ClassVar[str] = "voice-webhook"
    link: ClassVar[str] = WEBHOOK_LINK
    wakes_on: ClassVar[tuple[str, ...]] = (".call.started", ".call.ended", ".voicemail.left")

    def list_items(self, state: VoiceState, after: int) -> Iterable[ReportedItem]:
        """Iterate over what there is to report, such as `call.ringing/call-1`: first what has no place of its own."""
        events, boxes, ids = state.webhook.events, state.mailboxes, list[str]()
        if "call.ringing" in events:
            ids += [f"call.ringing/{call.id}" for call in state.calls.open_calls.values() if call.can_be_answered]
        if "voicemail.received" in events:
            own = [message for message in boxes.messages.values() if boxes.configs[message.mailbox].is_own]
            ids += [f"voicemail.received/{message.id}" for message in own if not message.is_deleted]
        yield ReportedItem(after, ids)
        if "call.ended" in events:
            for place, call in enumerate(islice(state.calls.by_id.values(), after, None), after + 1):
                has_ended = call.status == "ended"
                yield ReportedItem(place, (f"call.ended/{call.id}",) if has_ended else (), is_complete=has_ended)

    def build_call(self, message_id: str) -> WebhookCall:
        """Return the call that reads what happened."""
        event, _, id = message_id.partition("/")
        notification = VoiceNotification.model_validate({"event": event, "id": id})
        return WebhookCall(read_voice_event, notification, f"/{message_id}")


WEBHOOK_OPERATIONS = (register_voice_webhook, read_voice_event)
WEBHOOK_EXERCISE = (WebhookCall(read_voice_event, VoiceNotification(event="call.ringing", id="unknown")),)
