"""`shop.end_state`: the orders at the end are those of the dataset, with these changes and no others."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.plugin import Assertion, Check, Evidence, compare_value
from shop_bench.state import OrdersState


class EndState(Assertion):
    """The orders are as the dataset has them, but for the fields given here."""

    name: ClassVar[str] = "shop.end_state"
    simulator: ClassVar[str | None] = "shop.orders"
    unscoped_reason: ClassVar[str] = "it compares all orders"
    changes: Annotated[dict[str, dict[str, Any]], Field(description="order id -> fields with their new values")] = {}
    sandbox: Annotated[str | None, Field(description="which one; the only one if not given")] = None

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return not self.changes

    def check(self, evidence: Evidence) -> Check:
        """Compare every order that changed, or should have, as a whole."""
        state = evidence.state(OrdersState, self.sandbox)
        touched = sorted({*state.record_changes(), *self.changes})
        rows = [compare_value(id, self._expected(state, id), state.records.get(id)) for id in touched]
        wrong = [row.path for row in rows if not row.passed]
        return Check.of_fields(rows, f"not as expected: {', '.join(wrong)}" if wrong else "the orders are as expected")

    def _expected(self, state: OrdersState, id: str) -> Any:
        return {**state.initial_records.get(id, {}), **self.changes.get(id, {})}
