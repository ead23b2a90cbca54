"""Webhooks that tell the agent of each event once: a message that arrived, a fax that is done, a call that rings."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationCall, OperationContext
from clerkship.sandbox.request import Refusal
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundClient
from clerkship.transports.outbound.http import HttpLimits, OutboundRequest, WebhookDelivery, json_request
from clerkship.transports.outbound.retry import RetryPolicy

MAX_ANSWER_SECONDS = 15.0
"""Wall time for an agent to answer, as in Twilio."""
MAX_ANSWER_BYTES = 64_000
"""Bytes of an answer: the largest TwiML document, as in Twilio."""


class WebhookCall(OperationCall[Any, Any]):
    """A call of an operation that reads what a webhook sends."""

    transport: ClassVar[str] = "webhook"


class ReportedItem(NamedTuple):
    """A record of the state, such as a fax, and the messages about it."""

    place: int
    """Its place among the records, from 1."""
    ids: Sequence[str]
    """The ids of the messages about it that can be sent by now."""
    is_complete: bool = True
    """Whether no other message about it can follow."""


class StateWithWebhooks(Protocol):
    """A state that knows what was answered."""

    @property
    def answered_calls(self) -> Collection[tuple[str, str]]:
        """The name of the webhook and the id of each message that the agent has answered."""


S = TypeVar("S", bound=StateWithWebhooks)


class EventWebhook(WebhookDelivery, Generic[S]):
    """Sends each message until the agent answers it, at most five times. What was answered is not sent again after a
    rewind.
    """

    def __init__(self, client: OutboundClient) -> None:
        super().__init__(client)
        self._first = 0
        """The place of a record: all messages about it and those before it are finished."""

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return the `webhook` of the config."""
        return getattr(config, "webhook", None)

    @property
    def retry(self) -> RetryPolicy:
        """Five attempts, the first retry after five seconds."""
        return RetryPolicy()

    @property
    def limits(self) -> HttpLimits:
        """The limits of an answer."""
        return HttpLimits(MAX_ANSWER_SECONDS, max_body=MAX_ANSWER_BYTES)

    @abstractmethod
    def list_items(self, state: S, after: int) -> Iterable[ReportedItem]:
        """Iterate over the records after a place, in order."""

    def pending(self, state: S) -> Iterable[str]:
        """Iterate over the ids of the messages that are not finished."""
        is_start, answered = True, state.answered_calls
        for item in self.list_items(state, self._first):
            ids = [id for id in item.ids if id not in self._finished and (self.name, id) not in answered]
            yield from ids
            is_start = is_start and item.is_complete and not ids
            if is_start:
                self._first = item.place

    def reset(self) -> None:
        """Also begin with the first record."""
        self._first = 0
        super().reset()

    @abstractmethod
    def build_call(self, message_id: str) -> OperationCall[Any, Any]:
        """Return the call that reads a message."""

    async def read(self, message_id: str) -> Any:
        """Return the message; raise DeliveryFailed if a fault keeps it in the sandbox."""
        reply = await self.client.call_as_run(self.build_call(message_id))
        if not reply.ok or reply.result is None:
            raise DeliveryFailed("not_sent", reply.status or None)
        return reply.result

    async def build(self, message_id: str) -> OutboundRequest:
        """Return a request with the message as JSON."""
        return json_request(await self.read(message_id))


def register_url(
    context: OperationContext[Any], link: str, url: str, refuse: Callable[[str], Refusal] | None = None
) -> None:
    """Register a URL of the agent under a name; an empty one ends it.

    One that is not valid, or that the policy forbids, is refused. `refuse` builds the refusal from the reason.
    """
    try:
        if url and OutboundAddress.parse(url).scheme == "tcp":
            raise BadAddress("expected an http or https URL")
        context.register_callback(link, url)
        return
    except BadAddress as error:
        refusal = Refusal(400, "bad_url", str(error))
    except Refusal as error:
        refusal = error
    raise refusal if refuse is None else refuse(refusal.reason)
