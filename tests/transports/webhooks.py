"""A simulator for tests that posts notices to its agent as webhooks."""

import hashlib
import hmac
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from clerkship.events.event import Event, Payload
from clerkship.model.duration import Duration
from clerkship.model.frozen import Frozen, Whole
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.operation import OperationCall, OperationContext, operation
from clerkship.sandbox.request import Reply
from clerkship.sandbox.route import Route
from clerkship.sandbox.state import State
from clerkship.simulators.spec import Spec
from clerkship.transports.outbound.delivery import DeliveryFailed
from clerkship.transports.outbound.http import (
    HttpLimits,
    HttpResponse,
    OutboundRequest,
    WebhookDelivery,
    json_request,
)
from clerkship.transports.outbound.retry import RetryPolicy

SECRET = b"whsec-test"


class NoticeConfig(Frozen):
    """How notices are delivered."""

    webhook: str | None = None
    attempts: Annotated[Whole, Field(ge=1)] = 4
    first_delay: Duration = timedelta(seconds=10)
    jitter: float = 0.0
    timeout: float = 10.0


class NoticeArrived(Payload):
    """A notice for the agent."""

    kind: ClassVar[str] = "notices.notice.arrived"
    id: str
    text: str


class Notices(State[NoticeConfig]):
    """Notices, by id."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.texts: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        if isinstance(event.payload, NoticeArrived):
            self.texts[event.payload.id] = event.payload.text

    def dump(self) -> Any:
        return self.texts


class NoticeDelivery(WebhookDelivery):
    """Posts each notice as a signed request."""

    name: ClassVar[str] = "webhook"
    link: ClassVar[str] = "webhook"

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        assert isinstance(config, NoticeConfig)
        return config.webhook

    @property
    def retry(self) -> RetryPolicy:
        config = self.client.config
        assert isinstance(config, NoticeConfig)
        return RetryPolicy(config.attempts, config.first_delay, jitter=config.jitter)

    @property
    def limits(self) -> HttpLimits:
        """Limits that are small enough for tests."""
        config = self.client.config
        assert isinstance(config, NoticeConfig)
        return HttpLimits(config.timeout, max_body=1000, max_redirects=2)

    def pending(self, state: Notices) -> Iterable[str]:
        return list(state.texts)

    async def build(self, message_id: str) -> OutboundRequest:
        """Read the notice through the gateway, so that faults apply."""
        reply = await self.client.call_as_run(WebhookCall(read_notice, NoticeId(id=message_id), message_id))
        if not reply.ok:
            raise DeliveryFailed("not_sent", reply.status or None)
        return json_request(reply.result, sign=sign)

    async def accept(self, message_id: str, response: HttpResponse) -> None:
        """Accept an empty body or JSON."""
        await super().accept(message_id, response)
        orjson.loads(response.body or b"{}")


def sign(sent: OutboundRequest) -> dict[str, str]:
    """Sign URL and body, as SMS providers do."""
    digest = hmac.digest(SECRET, sent.url.encode() + sent.body, hashlib.sha256).hex()
    return {"x-signature": digest}


class WebhookUrl(Frozen):
    """The address at which an agent accepts webhooks."""

    url: str


class NoticeId(Frozen):
    """The id of a notice."""

    id: str


@operation(logs_body=False)
def register(context: OperationContext[Notices], webhook: WebhookUrl) -> None:
    """Register the address at which you accept webhooks."""
    context.register_callback("webhook", webhook.url)


@operation()
def read_notice(context: OperationContext[Notices], notice: NoticeId) -> dict[str, str]:
    """Return one notice."""
    return {"id": notice.id, "text": context.state.texts[notice.id]}


class WebhookCall(OperationCall[NoticeId, dict[str, str]]):
    """A call of an operation by the delivery."""

    transport: ClassVar[str] = "webhook"


class NoticesHandle(Handle):
    """The handle of a notices sandbox."""

    def register(self, url: str) -> Reply:
        """Register the address at which you accept webhooks."""
        return self.request("PUT", "/webhook", body=url.encode())


SPEC = Spec(
    kind="notices",
    summary="Notices that are posted to the agent.",
    state=Notices,
    events=(NoticeArrived,),
    operations=(register, read_notice),
    routes=(Route("PUT", "/webhook", register, body="url"), Route("GET", "/notices/{id}", read_notice)),
    handle=NoticesHandle,
    exercise=(),
    config=NoticeConfig,
    outbound=(NoticeDelivery,),
)
