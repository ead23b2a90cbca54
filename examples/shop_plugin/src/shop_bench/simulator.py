"""`shop.orders`: the orders of a shop over HTTP, and as an agent in Python holds them."""

from typing import Annotated, Any

from pydantic import Field, ValidationError

from clerkship.plugin import Call, Frozen, Handle, Refusal, Reply, Request, Route, Spec, json_reply
from shop_bench.end_state import EndState
from shop_bench.state import OrderChanged, OrderRead, OrdersState, orders_by_id


class Cancellation(Frozen):
    """The body of a request that cancels an order."""

    reason: Annotated[str, Field(min_length=1, max_length=200)]


def read_order(call: Call) -> Reply:
    """Return an order."""
    return json_reply(200, call.state.read(call.act, call.params["id"]))


def cancel_order(call: Call) -> Reply:
    """Cancel an order, `{"reason": …}`; returns the order."""
    try:
        cancellation = Cancellation.model_validate_json(call.request.body)
    except ValidationError as error:
        raise Refusal(422, "not_a_cancellation", error.errors()[0]["msg"]) from None
    return json_reply(200, call.state.cancel(call.act, call.params["id"], cancellation.reason))


class OrdersHandle(Handle):
    """The shop as an agent in Python holds it: `sandboxes["shop"].cancel("W1", "changed my mind")`."""

    def read(self, id: str) -> Any:
        """Return an order."""
        return self._json("GET", f"/orders/{id}")

    def cancel(self, id: str, reason: str) -> Any:
        """Cancel an order."""
        return self._json("POST", f"/orders/{id}/cancel", {"reason": reason})


SPEC = Spec(
    kind="shop.orders",
    summary="The orders of a shop: read them, cancel those that have not been sent.",
    state=OrdersState,
    events=(OrderRead, OrderChanged),
    routes=(
        Route("GET", "/orders/{id}", "read_order", read_order),
        Route("POST", "/orders/{id}/cancel", "cancel_order", cancel_order, body=Cancellation),
    ),
    handle=OrdersHandle,
    exercise=(
        Request("GET", "/orders/W1"),
        Request("POST", "/orders/W1/cancel", body=b'{"reason": "changed my mind"}'),
        Request("POST", "/orders/W1/cancel", body=b"{}"),
    ),
    dataset="records",
    prepare=orders_by_id,
    assertions=(EndState,),
)
