"""Find the path through a flow on which everything goes well: its questions, actions, responses and conditions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import JsonValue

from clerkship.rasa import names
from clerkship.rasa.flow import Flow, FlowEdge, FlowStep

RESPONSE_PREFIX = "utter_"
_ACTION_SCORE = 1000
"""The score of an action or a question; that of a response is 1."""
_REJECTION = re.compile(
    r"error|fail|sorry|invalid|reject|den(y|ied)|declin|insufficient|unavailable|wrong|bad|cannot|cant|unable|unknown"
    r"|abort|cancel|missing|expired|too_|not_|no_|left_as|handoff|human"
)
_MAX_DEPTH = 50
"""Maximum depth of calls and links."""
_SIMPLE_CONDITION = re.compile(
    r"(?P<no>not\s+)?(?:slots\.)?(?P<slot>[A-Za-z_]\w*)(?:\s*(?P<how>==|=|is\s+not|!=|is)\s*(?P<value>\"[^\"]*\"|'[^']*'|[\w.-]+))?"
)
_NEGATION = re.compile(r"^not\s+(?=slots\.\w+$)")
_CONSTANTS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "undefined": None, "empty": None}


class PathStep(NamedTuple):
    """One step of a path."""

    kind: Literal["collect", "action", "utter"]
    name: str
    flow: str
    id: str | None = None
    hint: str = ""


@dataclass
class FlowPath:
    """A path through a flow, including the flows that it calls and links to."""

    steps: list[PathStep] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    """Conditions of the branches that were taken."""
    implied: dict[str, JsonValue] = field(default_factory=dict)
    """Slots whose value follows from the conditions."""
    not_said: list[str] = field(default_factory=list)
    """Responses that only other paths have."""
    linked: str = ""
    """The flow that it links to."""
    unknown_flows: list[str] = field(default_factory=list)
    """Unknown flows that are called or linked to."""
    cycles: list[str] = field(default_factory=list)
    """Calls and links back to a flow on the call stack."""
    preset: set[str] = field(default_factory=set)
    """Slots that the flow sets before it would ask for them."""
    walked: set[str] = field(default_factory=set)
    """Flows that were followed."""

    @property
    def collected(self) -> list[PathStep]:
        """The steps that ask for a slot; for each slot the first."""
        return list({step.name: step for step in reversed(self.steps) if step.kind == "collect"}.values())[::-1]

    def actions(self, *, after: str = "") -> list[str]:
        """Return the actions, each once. With `after`, only those after that slot was last asked for."""
        start = max(
            (n for n, step in enumerate(self.steps) if step.kind == "collect" and step.name == after), default=-1
        )
        return list(dict.fromkeys(step.name for step in self.steps[start + 1 :] if step.kind == "action"))

    def own(self, flow: str, kind: str) -> list[str]:
        """Return the names in steps of a kind that belong to the flow itself, each once."""
        return list(dict.fromkeys(step.name for step in self.steps if step.kind == kind and step.flow == flow))


def find_best_path(flow: Flow, flows: Mapping[str, Flow]) -> FlowPath:
    """Return the path with the most questions and actions; other branches usually turn the user away."""
    path = FlowPath()
    _follow(flow, flows, path, ())
    said = {step.name for step in path.steps}
    other = [
        name
        for step in flow.steps
        for name in (_get_response_name(step), *step.rejections)
        if name and name not in said
    ]
    path.not_said = list(dict.fromkeys(other))
    return path


def _follow(flow: Flow, flows: Mapping[str, Flow], path: FlowPath, above: tuple[str, ...]) -> None:
    above = (*above, flow.id)
    path.walked.add(flow.id)
    for step, edge in _walk_best_path(flow.steps):
        if step.kind == "set_slots":
            path.preset.update(step.slots)
        elif step.kind == "collect" and step.target not in path.preset:
            path.steps.append(PathStep("collect", step.target, flow.id, step.id, step.hint))
        elif step.kind == "action" and step.target:
            path.steps.append(
                PathStep("utter" if _get_response_name(step) else "action", step.target, flow.id, step.id)
            )
        elif step.kind in ("call", "link"):
            _follow_call(step, flow, flows, path, above)
        if edge is not None and (edge.condition is not None or edge.unless):
            _add_conditions(edge, path)


def _follow_call(step: FlowStep, flow: Flow, flows: Mapping[str, Flow], path: FlowPath, above: tuple[str, ...]) -> None:
    if step.kind == "link" and not path.linked and len(above) == 1:
        path.linked = step.target
    if step.target in above or len(above) > _MAX_DEPTH:
        path.cycles.append(f"{flow.id} -> {step.target}")
    elif step.target not in flows:
        path.unknown_flows.append(step.target)
    elif step.target not in path.walked:  # the second time, all its slots are already set
        _follow(flows[step.target], flows, path, above)


def _walk_best_path(steps: tuple[FlowStep, ...]) -> Iterator[tuple[FlowStep, FlowEdge | None]]:
    """Yield the steps of the best path, each with the edge that is taken. Edges that lead back are not taken."""
    worth: dict[int, tuple[int, FlowEdge | None]] = {}
    for number in _order_from_end(steps):
        ahead = [
            (worth[edge.to][0] if edge.to is not None else 0, edge)
            for edge in steps[number].edges
            if edge.to is None or edge.to in worth
        ]
        best = max(ahead, key=lambda pair: pair[0], default=(0, None))
        worth[number] = (best[0] + _score_step(steps[number]), best[1])
    here: int | None = 0
    while here is not None:
        edge = worth[here][1]
        yield steps[here], edge
        here = edge.to if edge is not None else None


def _order_from_end(steps: tuple[FlowStep, ...]) -> Iterator[int]:
    """Yield each reachable step after all steps it leads to. This does not recurse, because flows can be long."""
    seen = {0}
    stack = [(0, iter(steps[0].edges))]
    while stack:
        number, edges = stack[-1]
        edge = next(edges, None)
        if edge is None:
            stack.pop()
            yield number
        elif edge.to is not None and edge.to not in seen:
            seen.add(edge.to)
            stack.append((edge.to, iter(steps[edge.to].edges)))


def _score_step(step: FlowStep) -> int:
    """Return the score of a step for choosing a path. Responses that turn the user away have a negative score."""
    if step.target in names.BUILT_IN_ACTIONS:  # built-in actions, such as cancel and restart
        return -1
    if step.kind == "link" or _get_response_name(step):
        return -1 if _REJECTION.search(step.target) else 1
    return 0 if step.kind in ("noop", "set_slots") else _ACTION_SCORE


def _get_response_name(step: FlowStep) -> str:
    return step.target if step.kind == "action" and step.target.startswith(RESPONSE_PREFIX) else ""


def _add_conditions(edge: FlowEdge, path: FlowPath) -> None:
    if edge.condition is not None:
        path.conditions.append(edge.condition)
        conditions = [edge.condition]
    else:
        path.conditions += [_NEGATION.sub("", c) if _NEGATION.match(c) else f"not ({c})" for c in edge.unless]
        conditions = [f"not {condition}" for condition in edge.unless]
    for condition in conditions:
        path.implied = parse_condition(condition) | path.implied


def parse_condition(condition: str) -> dict[str, JsonValue]:
    """Return the values that a simple condition requires, such as `slots.confirmed` or `slots.kind is "a"`."""
    parts = [_parse_simple_condition(part) for part in re.split(r"\s+and\s+", condition.strip())]
    if None in parts or (len(parts) > 1 and condition.strip().startswith("not ")):
        return {}
    return dict(part for part in parts if part is not None)


def _parse_simple_condition(text: str) -> tuple[str, JsonValue] | None:
    double = text.startswith("not not ")
    found = _SIMPLE_CONDITION.fullmatch(text.removeprefix("not not ") if double else text)
    if found is None or found["slot"] in ("true", "false", "not"):
        return None
    if found["value"] is None:
        return found["slot"], found["no"] is None
    value = _parse_literal(found["value"])
    differs = (found["no"] is not None) != (" ".join(found["how"].split()) in ("is not", "!="))
    if not differs:
        return (found["slot"], value) if value is not None else None
    return (found["slot"], not value) if isinstance(value, bool) else None


def _parse_literal(text: str) -> JsonValue:
    if text[0] in "\"'":
        return text[1:-1]
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text
