"""`voice_path`: the nodes of a phone tree that a call came to."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import share_passed
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.names import did_you_mean
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.voice.assertions.call_match import CallMatch
from clerkship.simulators.voice.names import NODE, TREE
from clerkship.simulators.voice.records import PhoneCall, VisitedNode
from clerkship.simulators.voice.state import VoiceState

MAX_NODES = 100
MAX_SHOWN = 40
"""Nodes of a path in a verdict."""
NodePath = Annotated[str, Field(min_length=1, max_length=300, description="a node, or `tree/node`"), NODE]


class VoicePath(Assertion, CallMatch):
    """A call came to these nodes in this order, with others between them unless `exactly` is set; and no such call came
    to one of the nodes in `never`. `count` is about all such calls together. A node that no phone tree has fails it.
    `input_entity_id` selects calls with that person, or in which the record is identified.
    """

    name: ClassVar[str] = "voice_path"
    simulator: ClassVar[str | None] = "voice"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "nodes"
    tree: Annotated[str | None, TREE, Field(description="only nodes of the tree with this name")] = None
    nodes: Annotated[
        tuple[NodePath, ...],
        Field(max_length=MAX_NODES, description="nodes in the order in which a call comes to them"),
    ] = ()
    exactly: Annotated[Flag, Field(description="whether `nodes` is the whole path, with nothing between")] = False
    never: Annotated[tuple[NodePath, ...], Field(max_length=MAX_NODES, description="nodes to which no call comes")] = ()
    count: Annotated[
        dict[NodePath, CountExpectation],
        Field(max_length=MAX_NODES, description="node -> how often the calls come to it, in all"),
    ] = {}

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if not self.nodes and not self.never and not self.count:
            raise ValueError("expected `nodes`, `never` or `count`")
        if self.exactly and not self.nodes:
            raise ValueError("`exactly` needs `nodes`")
        both = next((node for node in self.never if node in self.nodes), None)
        if both is not None:
            raise ValueError(f"{both!r} is in `nodes` and in `never`")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return not self.nodes and all(allows_zero(expected) for expected in self.count.values())

    def check(self, evidence: Evidence) -> Check:
        """Compare the path of each call; the best one decides on `nodes`. Fail if a node does not exist."""
        unknown = self._find_unknown_node(evidence)
        if unknown is not None:
            return Check.of(False, unknown)
        paths = [
            (call, self._list_steps(call)) for call in self.list_selected(evidence, forbids=self.passes_on_inaction)
        ]
        watched = self.list_selected(evidence, forbids=True) if self.never else ()
        rows = [
            *self._compare_never([(call, self._list_steps(call)) for call in watched]),
            *self._compare_counts(paths),
        ]
        if not self.nodes:
            return self._report(rows, f"{len(paths)} calls{self.describe_calls()}")
        if not paths:
            row = FieldCheck(path="calls", expected={"gte": 1}, actual=0, passed=False)
            return Check(False, 0.0, f"there was no call{self.describe_calls()}", (row, *rows))
        compared = [(call, steps, self._compare_nodes(call, steps)) for call, steps in paths]
        call, steps, best = max(compared, key=lambda each: share_passed(each[2]))
        subject = f"the {call.describe()} went {_render_path(steps)}"
        return self._report([*best, *rows], subject)

    def _report(self, rows: Sequence[FieldCheck], subject: str) -> Check:
        failed = "; ".join(
            f"{row.path}: expected {describe_expected(row.expected)}, actual {row.actual}"
            for row in rows
            if not row.passed
        )
        result = Check.of_fields(rows, f"{failed}; {subject}" if failed else subject)
        is_forbidden = any(not row.passed and row.path == "never" for row in rows)
        return result._replace(score=0.0) if is_forbidden else result

    def _find_unknown_node(self, evidence: Evidence) -> str | None:
        """Describe a node that no phone tree has: no call could come to it, so `never` would always pass."""
        states = [state for state in evidence.states.values() if isinstance(state, VoiceState)]
        trees = [tree for state in states for tree in state.lines.list_trees() if self.tree in (None, tree.name)]
        known = {name for tree in trees for node in tree.nodes for name in (node, f"{tree.name}/{node}")}
        for node in (*self.nodes, *self.never, *self.count) if states else ():
            if node not in known:
                where = "phone tree" if self.tree is None else f"phone tree `{self.tree}`"
                hint = did_you_mean(node, known)
                return f"no {where} of the environment has a node `{node}`{f'; {hint}' if hint else ''}"
        return None

    def _list_steps(self, call: PhoneCall) -> list[VisitedNode]:
        return [step for step in call.path if self.tree in (None, step.tree)]

    def _compare_nodes(self, call: PhoneCall, steps: Sequence[VisitedNode]) -> list[FieldCheck]:
        if self.exactly:
            passed = len(steps) == len(self.nodes) and all(map(_is_node, self.nodes, steps))
            return [
                FieldCheck(
                    path="nodes", expected=list(self.nodes), actual=_list_names(steps), passed=passed, seq=call.seq
                )
            ]
        rows, place = [], 0
        for number, node in enumerate(self.nodes):
            visited = next((index for index in range(place, len(steps)) if _is_node(node, steps[index])), None)
            if visited is None:
                is_early = any(_is_node(node, step) for step in steps[:place])
                actual = "(only earlier)" if is_early else "(not visited)"
                seq = call.seq
            else:
                actual, seq, place = steps[visited].name, steps[visited].seq, visited + 1
            rows.append(
                FieldCheck(path=f"nodes[{number}]", expected=node, actual=actual, passed=visited is not None, seq=seq)
            )
        return rows

    def _compare_never(self, paths: Sequence[tuple[PhoneCall, Sequence[VisitedNode]]]) -> list[FieldCheck]:
        rows = []
        for node in self.never:
            step = next((step for _, steps in paths for step in steps if _is_node(node, step)), None)
            actual, seq = ("(not visited)", None) if step is None else (step.name, step.seq)
            expected = {"not": node}
            rows.append(FieldCheck(path="never", expected=expected, actual=actual, passed=step is None, seq=seq))
        return rows

    def _compare_counts(self, paths: Sequence[tuple[PhoneCall, Sequence[VisitedNode]]]) -> list[FieldCheck]:
        rows = []
        for node, expected in self.count.items():
            visits = [step for _, steps in paths for step in steps if _is_node(node, step)]
            passed = matches_expected(expected, len(visits))
            seq = visits[-1].seq if visits else None
            rows.append(
                FieldCheck(path=f"count of {node}", expected=expected, actual=len(visits), passed=passed, seq=seq)
            )
        return rows


def _is_node(expected: str, step: VisitedNode) -> bool:
    return expected in (step.node, step.name)


def _list_names(steps: Sequence[VisitedNode]) -> list[str]:
    return [step.name for step in steps]


def _render_path(steps: Sequence[VisitedNode]) -> str:
    names = [step.node for step in steps]
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return (" > ".join(names[:MAX_SHOWN]) + more) or "to no node"
