"""The benchmark's own agent, as `--agent shop:careful` or `--agent shop:careless`, and an event that it reports."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from clerkship.plugin import (
    NO_FACTS,
    AgentError,
    EntryPointName,
    InputError,
    Message,
    Payload,
    Refused,
    ReplyPart,
    Sandboxes,
    Settings,
    Solver,
)


class PolicyConsulted(Payload):
    """The agent looked a rule of the shop up before it acted."""

    kind: ClassVar[str] = "shop.policy.consulted"
    rule: str


class ShopAgent:
    """Cancels the order it is asked to; a careful one consults the policy first."""

    entries: frozenset[EntryPointName] = frozenset({"on_task"})

    def __init__(self, careful: bool) -> None:
        self._careful = careful

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """It takes no part in conversations."""
        raise AgentError("this agent takes tasks only")

    async def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> Any:
        """Cancel the order; return what became of it."""
        shop: Any = sandboxes["shop"]
        if self._careful:
            sandboxes.report(PolicyConsulted(rule="cancellation"))
        try:
            return shop.cancel(task_item["order"], task_item["reason"])["status"]
        except Refused as refused:
            return f"refused: {refused}"

    def close(self) -> Mapping[str, Any]:
        """It holds nothing."""
        return NO_FACTS


class ShopSolver:
    """Opens a fresh agent for each trial."""

    def __init__(self, name: str, careful: bool) -> None:
        self.name, self._careful = name, careful

    def open(self, solution: str | None, trial: int = 1) -> ShopAgent:
        """Return an agent that remembers nothing."""
        return ShopAgent(self._careful)


def load_agent(rest: str, settings: Settings) -> Solver:
    """Build a solver of what stands behind `shop:`."""
    if rest not in ("careful", "careless"):
        raise InputError.of(f"unknown agent `shop:{rest}`", hint="expected shop:careful or shop:careless")
    return ShopSolver(f"shop:{rest}", rest == "careful")
