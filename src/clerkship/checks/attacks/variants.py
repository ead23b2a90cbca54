"""The variants of a task's solution that the task itself has: wrong solutions, and other ways that are right."""

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from pydantic import JsonValue

from clerkship.actors.contract import Message, ReplyPart, Start
from clerkship.actors.python import PythonAgent, load_module, load_source
from clerkship.checks.attacks.call_changes import ChangedCalls, make_calls, merge
from clerkship.checks.attacks.contract import PASSES, AttackAgent, AttackKnowledge, AttackStrategy
from clerkship.checks.attacks.reference import ReferenceAgent
from clerkship.checks.attacks.reply_calls import ReplyHandle, make_reply
from clerkship.events.reply_calls import REPLY
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.variant import Variant, WrongSolution
from clerkship.sandbox.handle import Sandboxes

REFERENCE = "reference"
"""The parameter of a function in a Python file that gets the reference solution."""


class VariantAgent(ReferenceAgent):
    """Runs a variant of the reference solution."""

    def __init__(
        self, strategy: AttackStrategy, snapshot: Snapshot, knowledge: AttackKnowledge, variant: Variant
    ) -> None:
        super().__init__(strategy, snapshot, knowledge, _load_agent(variant, snapshot.solution))
        self.variant = variant
        self.changes = ChangedCalls(variant.changes)
        self._has_begun = self._has_ended = False

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        reply = ReplyHandle(sandboxes.agent_events)
        with_reply = reply.add_to(sandboxes)
        self._begin(with_reply)
        make_reply(await super().on_start(start, with_reply), self.changes.wrap(with_reply)[REPLY])
        return reply.parts

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        reply = ReplyHandle(sandboxes.agent_events)
        with_reply = reply.add_to(sandboxes)
        self._begin(with_reply)
        make_reply(await super().on_turn(message, with_reply), self.changes.wrap(with_reply)[REPLY])
        self._end(with_reply)
        return reply.parts

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        self._begin(sandboxes)
        answer = await super().on_task(task_item, sandboxes)
        self._end(sandboxes)
        return merge(answer, self.variant.answer) if self.variant.changes_answer else answer

    def wrap_sandboxes(self, sandboxes: Sandboxes) -> Sandboxes:
        return self.changes.wrap(sandboxes)

    def _begin(self, sandboxes: Sandboxes) -> None:
        if not self._has_begun:
            self._has_begun = True
            make_calls(sandboxes, self.variant.before)

    def _end(self, sandboxes: Sandboxes) -> None:
        """Make the calls after the solution: of a conversation, after the first turn."""
        if not self._has_ended:
            self._has_ended = True
            make_calls(sandboxes, self.variant.after)


def _load_agent(variant: Variant, solution: str | None) -> PythonAgent:
    """Return the solution that a variant changes: the reference, or its own."""
    if variant.solution is None:
        return load_source(solution or "", "solution.py")
    if not variant.function:
        return load_source(variant.source, variant.solution)
    function = getattr(load_module(variant.source, variant.solution), variant.function)
    parameters = list(inspect.signature(function).parameters)
    if REFERENCE not in parameters:
        return PythonAgent.of(function, variant.solution)
    reference = load_source(solution or "", "solution.py")
    original = reference.get_function("on_turn" if parameters[0] == "message" else "on_task")
    return reference.replaced_by(PythonAgent.of(partial(function, **{REFERENCE: original}), variant.solution))


class VariantStrategy(AttackStrategy):
    """Runs one variant of each task. Its rounds run all of them."""

    key: ClassVar[str]
    """The key of a task that has the variants."""
    needs_solution = True

    def __init__(self, number: int = 0) -> None:
        self._number = number

    def rounds(self, snapshots: Sequence[Snapshot]) -> Sequence["VariantStrategy"]:
        """Return one strategy for the first variant of each task, one for the second, and so on."""
        count = max((len(self._variants(snapshot)) for snapshot in snapshots), default=0)
        return [type(self)(number) for number in range(count)] or [self]

    def label(self, snapshot: Snapshot) -> str:
        """Return the name of the task and of the variant."""
        names = [f"{snapshot.task.name}: {variant.name}" for variant in self._variants(snapshot)[self._number :]]
        return names[0] if names else snapshot.task.name

    def unfit(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> str:
        """Return why there is no variant to run; empty if there is one."""
        if len(self._variants(snapshot)) <= self._number:
            return f"the task has no{' further' * bool(self._number)} `{self.key}`"
        return knowledge.unsolved.get(snapshot.task.name, "")

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> VariantAgent:
        """Return the variant."""
        return VariantAgent(self, snapshot, knowledge, self._variants(snapshot)[self._number])

    def explain_unexpected(self, run: TaskRun, agent: AttackAgent) -> str:
        """Return why the result is not as it must be: the agent failed, a change had no effect, or the verdict."""
        assert isinstance(agent, VariantAgent)
        if run.agent_error:
            return f"the agent failed: {run.agent_error}"
        return agent.changes.find_unused() or self.explain_verdict(run, agent.variant)

    def explain_verdict(self, run: TaskRun, variant: Any) -> str:
        """Return why the verdict is not as it must be; empty if it is."""
        raise NotImplementedError

    def _variants(self, snapshot: Snapshot) -> tuple[Variant, ...]:
        variants: tuple[Variant, ...] = getattr(snapshot.task, self.key)
        return variants


class WrongSolutions(VariantStrategy):
    """The task's own wrong solutions."""

    name = key = "wrong"
    summary = "runs the wrong solutions under `wrong` of the task; each must fail on the criterion that it names"
    advice = "improve the criterion, or correct the entry of `wrong`"

    def unfit(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> str:
        """Return why a wrong solution cannot be run; also if there is no judge for the criterion that must fail."""
        reason = super().unfit(snapshot, knowledge)
        if reason or knowledge.has_judge:
            return reason
        label = snapshot.task.wrong[self._number].fails
        calls = [criterion.assertion for criterion in snapshot.task.criteria if criterion.label == label]
        is_judged = any(knowledge.assertion(leaf.name).judged for call in calls for _, leaf in call.leaves())
        return "the criterion that must fail needs a judge" if is_judged else ""

    def explain_verdict(self, run: TaskRun, variant: WrongSolution) -> str:
        """Return why a wrong solution did not fail as it must; empty if it did."""
        if run.verdict == "pass":
            return PASSES
        if run.verdict in ("fail", "partial") and variant.fails in list_failed(run):
            return ""
        return f"it must fail on {variant.fails!r}, but {_describe_verdict(run)}"


class OtherWays(VariantStrategy):
    """The task's own other solutions that are right."""

    name = key = "ways"
    summary = "runs the other correct solutions under `ways` of the task; each must pass"
    advice = "let the criteria accept what is right, or correct the entry of `ways`"

    def explain_verdict(self, run: TaskRun, variant: Variant) -> str:
        """Return why another solution does not pass; empty if it does."""
        return "" if run.verdict == "pass" else f"it must pass, but {_describe_verdict(run)}"


def _describe_verdict(run: TaskRun) -> str:
    """Return the verdict of a trial as the end of a sentence, with the criteria that failed."""
    failed = ", ".join(map(repr, list_failed(run)))
    return f"the verdict is {run.verdict}" + (f" on {failed}" if failed else "")


def list_failed(run: TaskRun) -> list[str]:
    """Return the labels of the criteria that failed, without warnings of monitors."""
    return [each.label for each in run.criteria if each.passed is False and not each.is_warning]
