"""Run the mutants of tasks as variants of their reference solutions."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from clerkship.actors.contract import AgentError, Message, ReplyPart, Start
from clerkship.checks.attacks.contract import AttackKnowledge, AttackStrategy
from clerkship.checks.attacks.variants import VariantAgent, VariantStrategy
from clerkship.checks.mutants.operators import Mutant
from clerkship.model.snapshot import Snapshot
from clerkship.model.variant import Variant
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.handle import Sandboxes, SandboxTransport, TransportWrapper, wrap_transports
from clerkship.sandbox.request import Reply, Request

MAX_MORE_REQUESTS = 100
"""Requests of a mutant besides twice those of the solution: because of its mistake, it may wait for ever."""


class MutantStrategy(VariantStrategy):
    """Runs one mutant of each task."""

    name = key = "mutants"
    summary = "runs the reference solution with one mistake"
    advice = "check what the mistake changed"

    def __init__(self, mutants: Mapping[str, Sequence[Mutant]], requests: Mapping[str, int], number: int = 0) -> None:
        super().__init__(number)
        self._mutants, self._requests = mutants, requests

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> VariantAgent:
        """Return the mutant. It fails if it sends far more requests than the solution."""
        limit = 2 * self._requests[snapshot.task.name] + MAX_MORE_REQUESTS
        return _LimitedAgent(self, snapshot, knowledge, self._variants(snapshot)[self._number], limit)

    def _variants(self, snapshot: Snapshot) -> tuple[Variant, ...]:
        return tuple(mutant.variant for mutant in self._mutants.get(snapshot.task.name, ()))


class _LimitedAgent(VariantAgent):
    def __init__(
        self, strategy: AttackStrategy, snapshot: Snapshot, knowledge: AttackKnowledge, variant: Variant, limit: int
    ) -> None:
        super().__init__(strategy, snapshot, knowledge, variant)
        self._requests_left = limit

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        return await super().on_start(start, wrap_transports(sandboxes, self._limit_transport))

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        return await super().on_turn(message, wrap_transports(sandboxes, self._limit_transport))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        return await super().on_task(task_item, wrap_transports(sandboxes, self._limit_transport))

    def count_request(self) -> None:
        """Count a request; raise AgentError if there are too many."""
        self._requests_left -= 1
        if self._requests_left < 0:
            raise AgentError("it makes the same requests again and again")

    def _limit_transport(self, transport: SandboxTransport) -> SandboxTransport:
        return _LimitedTransport(transport, self)


class _LimitedTransport(TransportWrapper):
    def __init__(self, transport: SandboxTransport, agent: _LimitedAgent) -> None:
        super().__init__(transport)
        self._agent = agent

    def send(self, request: Request) -> Reply:
        self._agent.count_request()
        return self._transport.send(request)

    def call(self, record: CallRecord) -> Reply:
        self._agent.count_request()
        return self._transport.call(record)
