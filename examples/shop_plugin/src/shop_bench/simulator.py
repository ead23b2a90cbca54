"""`shop.orders`: the orders of a shop over HTTP, and as an agent in Python holds them."""

from typing import Annotated, Any

from pydantic import Field

from clerkship.plugin import Dataset, Frozen, Handle, OperationContext, Request, Route, Spec, operation
from shop_bench.end_state import EndState
from shop_bench.state import OrderChanged, OrderRead, OrdersState, orders_by_id

Context = OperationContext[OrdersState]


class OrderId(Frozen):
    """An order."""

    id: Annotated[str, Field(description="the number of the order, such as W1")]


class Cancellation(OrderId):
    """An order to cancel."""

    reason: Annotated[str, Field(min_length=1, max_length=200)]


@operation()
def read_order(context: Context, order: OrderId) -> Any:
    """Return an order."""
    return context.state.read(context.action, order.id)


@operation()
def cancel_order(context: Context, cancellation: Cancellation) -> Any:
    """Cancel an order; returns the order."""
    return context.state.cancel(context.action, cancellation.id, cancellation.reason)


class OrdersHandle(Handle):
    """The shop as an agent in Python holds it: `sandboxes["shop"].cancel("W1", "changed my mind")`."""

    def read(self, id: str) -> Any:
        """Return an order."""
        return self._json("GET", f"/orders/{id}")

    def cancel(self, id: str, reason: str) -> Any:
        """Cancel an order."""
        return self._json("POST", f"/orders/{id}/cancel", {"reason": reason})


DATASET = Dataset(name="orders", type="records", records=({"type": "Order", "id": "W1", "status": "pending"},))
"""What the conformance suite starts from."""

SPEC = Spec(
    kind="shop.orders",
    summary="The orders of a shop: read them, cancel those that have not been sent.",
    state=OrdersState,
    events=(OrderRead, OrderChanged),
    operations=(read_order, cancel_order),
    routes=(
        Route("GET", "/orders/{id}", read_order),
        Route("POST", "/orders/{id}/cancel", cancel_order),
    ),
    handle=OrdersHandle,
    exercise=(
        Request("GET", "/orders/W1"),
        Request("POST", "/orders/W1/cancel", body=b'{"reason": "changed my mind"}'),
        Request("POST", "/orders/W1/cancel", body=b"{}"),
    ),
    dataset="records",
    prepare=orders_by_id,
    exercise_datasets=(DATASET,),
    assertions=(EndState,),
)
