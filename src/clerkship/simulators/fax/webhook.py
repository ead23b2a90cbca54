"""The webhook of the fax line: the agent is called for each fax that arrives, and for each that is done."""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import Any, ClassVar

from clerkship.sandbox.operation import operation
from clerkship.simulators.fax.operations import WEBHOOK_LINK, Context, FaxId, view_fax
from clerkship.simulators.fax.records import FINAL_STATUSES, FaxRecord
from clerkship.simulators.fax.state import FaxState
from clerkship.transports.outbound.event_webhook import EventWebhook, ReportedItem, WebhookCall


@operation(tool=False)
def read_fax_event(context: Context, fax: FaxId) -> dict[str, Any]:
    """Return what the agent is told about a fax that arrived or is done."""
    record = context.state.find_fax(fax.id)
    return {"event": "fax.arrived" if record.is_inbound else "fax.done", "fax": view_fax(record)}


class FaxDelivery(EventWebhook[FaxState]):
    """Calls the agent once for each fax that concerns it and is done. An arrived fax is done at once."""

    wakes_on: ClassVar[tuple[str, ...]] = (".arrived", ".status_changed")

    @abstractmethod
    def concerns(self, record: FaxRecord) -> bool:
        """Return whether the agent is called for a fax, now or later."""

    def list_items(self, state: FaxState, after: int) -> Iterable[ReportedItem]:
        """Iterate over the faxes; the message about a fax has its id."""
        for record in islice(state.index.in_order, after, None):
            is_done, is_reported = record.status in FINAL_STATUSES, self.concerns(record)
            ids = (record.id,) if is_reported and is_done else ()
            yield ReportedItem(record.number, ids, is_complete=is_done or not is_reported)


class FaxWebhook(FaxDelivery):
    """Posts a fax without its pages as JSON to the URL that was registered with `POST /webhook`, or of the config."""

    name: ClassVar[str] = "fax-webhook"
    link: ClassVar[str] = WEBHOOK_LINK

    def concerns(self, record: FaxRecord) -> bool:
        """Return True: the agent is called for all faxes."""
        return True

    def build_call(self, message_id: str) -> WebhookCall:
        return WebhookCall(read_fax_event, FaxId(id=message_id), f"/{message_id}")


WEBHOOK_OPERATIONS = (read_fax_event,)
WEBHOOK_EXERCISE = (WebhookCall(read_fax_event, FaxId(id="unknown")),)
