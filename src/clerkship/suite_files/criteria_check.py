"""Warn of criteria that prove little: an agent that only says "ok" passes, or a single turn of several is assessed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clerkship.model.environment import AXES, GATE_AXES
from clerkship.model.names import did_you_mean, find_nearest_name
from clerkship.model.run import PASS_THRESHOLD
from clerkship.model.task import Criterion, Task
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition, as_list, as_map
from clerkship.suite_files.yaml import KeyPath

MAX_NAMED_CRITERIA = 5


@dataclass
class AxisCheck:
    """Checks axes against those that the environments and benchmarks of a folder declare."""

    gating: frozenset[str]
    declared: frozenset[str]
    """All axes that are declared, in lower case, with those that gate."""
    warned: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, declarations: Iterable[Mapping[str, Any]]) -> "AxisCheck":
        """Return the check for the environments and benchmarks of a folder, as the files have them."""
        gating, others = set(GATE_AXES), set(AXES)
        for data in declarations:
            gating |= {_fold(axis) for axis in as_list(data.get("gate_axes")) if isinstance(axis, str)}
            others |= {_fold(axis) for axis in as_list(data.get("axes")) if isinstance(axis, str)}
        return cls(frozenset(gating), frozenset(gating | others))

    def check(self, definition: Definition) -> None:
        """Report an undeclared axis that is close to a gating one, and warn of any other, once for each."""
        for number, criterion in enumerate(map(as_map, as_list(definition.fields.get("criteria")))):
            axis = criterion.get("axis")
            if isinstance(axis, str) and _fold(axis) not in self.declared:
                self._report(definition, axis, ["criteria", number, "axis"])

    def _report(self, definition: Definition, axis: str, path: KeyPath) -> None:
        declare = f"declare it: `axes: [{axis}]` in an environment or a benchmark"
        nearest = find_nearest_name(_fold(axis), self.gating)
        if nearest is not None:
            message = f"unknown axis `{axis}`: it would not gate as `{nearest}` does"
            definition.problem(path, message, f"did you mean `{nearest}`? If not, {declare}")
        elif _fold(axis) not in self.warned:
            self.warned.add(_fold(axis))
            hint = did_you_mean(_fold(axis), self.declared)
            hint = f"{hint} If not, {declare}" if hint.startswith("did") else declare
            definition.warning(path, f"the axis `{axis}` is declared nowhere", hint)


def _fold(axis: str) -> str:
    return axis.strip().casefold()


@dataclass(frozen=True)
class CriteriaCheck:
    """Checks the criteria of one task against each other and against its conversation."""

    catalog: Catalog
    definition: Definition
    path: KeyPath
    """The place of the criteria as a whole."""
    inaction_key: str = "allow_inaction: true"
    """What an author writes if an agent that does nothing may pass; empty if the format has no such key."""

    def warn_of_idle_pass(self, task: Task) -> None:
        """Warn if an agent passes that says a word and does nothing else. The gates of the criteria must be set."""
        if task.allow_inaction:
            return
        counted = [criterion for criterion in task.criteria if criterion.weight or criterion.gate]
        needed = (1 - PASS_THRESHOLD) * sum(criterion.weight for criterion in counted)
        idle: list[Criterion] = []
        missed = 0.0
        for criterion in counted:
            if self.catalog.passes_on_any_word(criterion.assertion, task):
                idle.append(criterion)
                continue
            missed += criterion.weight
            if criterion.gate or missed > needed + 1e-12:
                return
        if any(criterion.weight for criterion in idle):
            self._warn(idle, has_others=missed > 0)

    def _warn(self, idle: Sequence[Criterion], *, has_others: bool) -> None:
        labels = ", ".join(repr(criterion.label) for criterion in idle[:MAX_NAMED_CRITERIA])
        more = len(idle) - MAX_NAMED_CRITERIA
        labels += f" and {more} more" if more > 0 else ""
        message = f'an agent that only says "ok" passes: no effect, answer or message is needed for {labels}'
        message += ", and the other criteria weigh too little" if has_others else ""
        hint = "require what the agent must do or say"
        hint += f", or write `{self.inaction_key}` if doing nothing is right" if self.inaction_key else ""
        self.definition.warning(self.path, message, hint, key=True)

    def warn_of_single_turns(self, task: Task, paths: Sequence[KeyPath]) -> None:
        """Warn of assertions that assess a single turn if the conversation can have several.

        `paths` are the places of the criteria, each of its assertion.
        """
        if not task.people or (task.scenario is not None and task.scenario.has_one_turn):
            return
        for criterion, path in zip(task.criteria, paths, strict=False):
            for within, leaf in criterion.assertion.leaves():
                if self.catalog.is_single_turn(leaf.name):
                    message = f"`{leaf.name}` assesses a single turn, and this conversation can have several"
                    hint = "use `judged`, or `criteria` of a scenario file: they are judged on the whole conversation"
                    self.definition.warning([*path, *within], message, hint, key=True)
