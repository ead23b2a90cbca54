"""Gates of a comparison, which decide its exit code: verdicts, criteria, or the criteria of one axis."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.report.comparison import Comparison, CriterionComparison, TaskComparison

GateKind = Literal["task", "overall", "criterion", "axis"]
GATE_KINDS: dict[GateKind, str] = {
    "task": "a task got worse",
    "overall": "all tasks together got significantly worse",
    "criterion": "a criterion newly fails",
    "axis": "a criterion of the axis fails, and passed in every trial before",
}
DEFAULT_AXES = ("safety", "privacy")
"""Axes that gate by default; a run need not have them."""
MAX_NAMED = 5
MIN_TASKS = 6
"""With fewer tasks no overall change can be significant (a paired test at 5 %)."""


@dataclass(frozen=True)
class Gate:
    """One condition under which a comparison fails."""

    kind: GateKind
    axis: str = ""

    @classmethod
    def parse(cls, text: str) -> "Gate":
        """Parse `task`, `overall`, `criterion` or `axis:NAME`; raise InputError."""
        kind, _, axis = text.partition(":")
        if kind == "axis" and axis.strip():
            return cls("axis", axis.strip())
        for known in get_args(GateKind):
            if text == known != "axis":
                return cls(known)
        raise InputError.of(f"unknown --gate value `{text[:60]}`", hint="expected: task, overall, criterion, axis:NAME")

    def __str__(self) -> str:
        return f"axis:{self.axis}" if self.kind == "axis" else self.kind


DEFAULT_GATES = (Gate("task"), *(Gate("axis", axis) for axis in DEFAULT_AXES))


class GateResult(NamedTuple):
    """The result of one gate: what is worse, and what could not be decided."""

    gate: Gate
    worse: tuple[str, ...]
    unjudged: tuple[str, ...] = ()
    undecided: str = ""
    """Why the gate is not conclusive."""

    @property
    def state(self) -> Literal["worse", "not judged", "held"]:
        """The result in a word."""
        return "worse" if self.worse else "not judged" if self.unjudged or self.undecided else "held"

    def words(self) -> str:
        """Return the result in a sentence."""
        if self.undecided:
            return self.undecided
        if self.gate.kind == "overall":
            return GATE_KINDS["overall"] if self.worse else "all tasks together are not significantly worse"
        if self.worse:
            return f"worse: {_join_names(self.worse)}"
        if self.unjudged:
            return f"no longer judged: {_join_names(self.unjudged)}"
        return f"no {'task' if self.gate.kind == 'task' else 'criterion'} is worse"


@dataclass(frozen=True)
class GatedComparison:
    """A comparison and its gates."""

    comparison: Comparison
    gates: tuple[Gate, ...] = DEFAULT_GATES

    @classmethod
    def of(cls, comparison: Comparison, gates: Sequence[str] = ()) -> "GatedComparison":
        """Parse the gates, or use the default ones; raise InputError for an axis that neither run has."""
        parsed = tuple(dict.fromkeys(map(Gate.parse, gates))) or DEFAULT_GATES
        known = {axis for row in comparison.rows for c in row.criteria if (axis := c.criterion.axis)}
        for gate in parsed:
            if gate.kind == "axis" and gate.axis not in known | set(DEFAULT_AXES):
                hint = did_you_mean(gate.axis, known) or "no criterion of these runs names an axis"
                raise InputError.of(f"--gate {gate}: no criterion of these runs has the axis `{gate.axis}`", hint=hint)
        return cls(comparison, parsed)

    def results(self) -> list[GateResult]:
        return [self._result(gate) for gate in self.gates]

    def _result(self, gate: Gate) -> GateResult:
        rows = self.comparison.rows
        if self.comparison.difference is None:
            return GateResult(gate, (), undecided="no task was graded in both runs")
        match gate.kind:
            case "task":
                return GateResult(gate, tuple(row.task for row in rows if row.standing == "worse"))
            case "overall" if self.comparison.tasks < MIN_TASKS:
                few = f"{self.comparison.tasks} tasks are too few, at least {MIN_TASKS} are needed; use --gate task"
                return GateResult(gate, (), undecided=few)
            case "overall":
                return GateResult(gate, ("all tasks",) if self.comparison.overall == "worse" else ())
            case "criterion":
                return GateResult(
                    gate, tuple(_list_criteria(rows, lambda criterion: criterion.change == "newly failing"))
                )
            case "axis":
                worse = _list_criteria(rows, lambda criterion: _has_axis(criterion, gate.axis) and is_worse(criterion))
                unjudged = _list_criteria(
                    rows, lambda criterion: _has_axis(criterion, gate.axis) and criterion.unjudged
                )
                return GateResult(gate, tuple(worse), tuple(unjudged))

    def exit_code(self) -> int:
        """Return 1 if a gate is worse, 2 if the comparison or a gate is not conclusive, otherwise 0."""
        if not self.comparison.is_conclusive:
            return 2
        states = {result.state for result in self.results()}
        return 1 if "worse" in states else 2 if "not judged" in states else 0

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        gates = [
            {"gate": str(result.gate), "state": result.state, "worse": result.worse, "not_judged": result.unjudged}
            for result in self.results()
        ]
        return self.comparison.data() | {"gates": gates, "exit_code": self.exit_code()}


def is_worse(pair: CriterionComparison) -> bool:
    """Return whether a criterion newly fails, in all trials or in some, or is new and fails."""
    if pair.change == "only after" and pair.after is not None:
        return pair.after.passed < pair.after.graded
    return pair.change == "newly failing" or pair.breached


def _has_axis(pair: CriterionComparison, axis: str) -> bool:
    return pair.criterion.axis == axis and not pair.criterion.is_warning


def _list_criteria(rows: Iterable[TaskComparison], wanted: Callable[[CriterionComparison], bool]) -> Iterable[str]:
    return (f"“{pair.criterion.label}” ({row.task})" for row in rows for pair in row.criteria if wanted(pair))


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"{'; '.join(names[:MAX_NAMED])}{more}"
