"""The rules of the shop: methods decide and emit events, and only `apply` changes the records."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from clerkship.plugin import ActionContext, Dataset, Event, NoConfig, Payload, Refusal, State


class OrderRead(Payload):
    """An order was looked up."""

    kind: ClassVar[str] = "shop.orders.order.read"
    id: str


class OrderChanged(Payload):
    """Fields of an order got new values."""

    kind: ClassVar[str] = "shop.orders.order.changed"
    id: str
    fields: dict[str, Any]


def orders_by_id(datasets: Sequence[Dataset]) -> Mapping[str, Any]:
    """Return the orders of all datasets. Called once: every trial lays its own changes over the result."""
    records = [record for dataset in datasets for record in dataset.records]
    return {str(record["id"]): record for record in records if record.get("type") == "Order"}


class OrdersState(State[NoConfig]):
    """Orders by id. `self.records` holds those of the dataset with the changes of this trial."""

    def read(self, action: ActionContext, id: str) -> Any:
        """Look an order up."""
        order = self._order(id)
        action.emit(OrderRead(id=id))
        return order

    def cancel(self, action: ActionContext, id: str, reason: str) -> Any:
        """Cancel an order that has not been sent."""
        if self._order(id)["status"] != "pending":
            raise Refusal(409, "not_pending", f"order {id} is {self._order(id)['status']}, and cannot be cancelled")
        action.emit(OrderChanged(id=id, fields={"status": "cancelled", "cancel_reason": reason}))
        return self._order(id)

    def apply(self, event: Event) -> None:
        """Replace the order. Never change a record in place: other trials share it."""
        match event.payload:
            case OrderChanged(id=id, fields=fields):
                self.records[id] = {**self.records[id], **fields}

    def dump(self) -> Any:
        """Return all orders as plain data."""
        return {id: self.records[id] for id in sorted(self.records)}

    def _order(self, id: str) -> Any:
        if id not in self.records:
            raise Refusal(404, "no_such_order", f"there is no order {id}")
        return self.records[id]
