"""The webhook of the fax line: the agent is called for each fax that arrives, and for each that is done."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, cast

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationCall, operation
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.operations import WEBHOOK_LINK, Context, FaxId
from clerkship.simulators.fax.records import FINAL_STATUSES, FaxRecord
from clerkship.simulators.fax.state import FaxState
from clerkship.simulators.fax.views import view_fax
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundClient
from clerkship.transports.outbound.http import HttpLimits, OutboundRequest, WebhookDelivery, json_request
from clerkship.transports.outbound.retry import RetryPolicy

MAX_ANSWER_SECONDS = 15.0
"""Wall time for an agent to answer."""
MAX_ANSWER_BYTES = 64_000
"""Bytes of an answer. Only its status counts."""


class FaxCall(OperationCall[Any, Any]):
    """A call of an operation for a webhook."""

    transport: ClassVar[str] = "webhook"


@operation(tool=False)
def read_fax_event(context: Context, fax: FaxId) -> dict[str, Any]:
    """Return what the agent is told about a fax that arrived or is done."""
    record = context.state.find_fax(fax.id)
    return {"event": "fax.arrived" if record.is_inbound else "fax.done", "fax": view_fax(record)}


class FaxDelivery(WebhookDelivery):
    """Calls the agent once for each fax that concerns it and is done. An arrived fax is done at once."""

    def __init__(self, client: OutboundClient) -> None:
        super().__init__(client)
        self._first = 0
        """The number of a fax; it and all before it are finished."""

    @property
    def retry(self) -> RetryPolicy:
        """Five attempts, the first retry after five seconds."""
        return RetryPolicy()

    @property
    def limits(self) -> HttpLimits:
        """The limits of an answer."""
        return HttpLimits(MAX_ANSWER_SECONDS, MAX_ANSWER_BYTES)

    @abstractmethod
    def concerns(self, record: FaxRecord) -> bool:
        """Return whether the agent is called for a fax, now or later."""

    def is_finished(self, state: FaxState, fax_id: str) -> bool:
        """Return whether the agent has answered, also before the run was rewound, or the call was given up."""
        return fax_id in self._finished or (self.name, fax_id) in state.answered_calls

    def hear(self, kind: str) -> None:
        """Wake after a fax arrived or its status changed."""
        if kind.endswith((".arrived", ".status_changed")):
            self.wake()

    def pending(self, state: FaxState) -> Iterable[str]:
        """Return the ids of the faxes that are done and were not reported."""
        is_start, faxes = True, state.index.in_order
        for place in range(self._first, len(faxes)):
            record = faxes[place]
            if not self.concerns(record) or self.is_finished(state, record.id):
                self._first = record.number if is_start else self._first
                continue
            is_start = False
            if record.status in FINAL_STATUSES:
                yield record.id

    def reset(self) -> None:
        """Also begin with the first fax."""
        self._first = 0
        super().reset()


class FaxWebhook(FaxDelivery):
    """Posts JSON to the URL that was registered with `POST /webhook`, or that the config has."""

    name: ClassVar[str] = "fax-webhook"
    link: ClassVar[str] = WEBHOOK_LINK

    @classmethod
    def configured(cls, config: Frozen) -> str | None:
        """Return the `webhook` of the config."""
        return cast(FaxConfig, config).webhook

    def concerns(self, record: FaxRecord) -> bool:
        """Return True: the agent is called for all faxes."""
        return True

    async def build(self, message_id: str) -> OutboundRequest:
        """Return the request with the fax, without its pages."""
        reply = await self.client.call_as_run(FaxCall(read_fax_event, FaxId(id=message_id), f"/{message_id}"))
        if not reply.ok or not isinstance(reply.result, dict):
            raise DeliveryFailed("not_sent", reply.status or None)
        return json_request(reply.result)


WEBHOOK_OPERATIONS = (read_fax_event,)
WEBHOOK_EXERCISE = (FaxCall(read_fax_event, FaxId(id="unknown")),)
