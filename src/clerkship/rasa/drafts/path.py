"""Find the path through a flow on which everything goes well: its questions, actions, responses and conditions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import JsonValue

from clerkship.rasa import names
from clerkship.rasa.drafts.conditions import Requirement, find_values
from clerkship.rasa.flows import Flow, FlowEdge, FlowStep

RESPONSE_PREFIX = "utter_"
_FAILED_RESPONSE = re.compile(
    r"error|fail|sorry|invalid|reject|den(y|ied)|declin|insufficient|unavailable|wrong|bad|cannot|cant|unable|unknown"
    r"|abort|cancel|missing|expired|exceed|too_|(^|_)not?_|left_as|handoff|human|pending|retry|try_again|already"
    r"|nothing|unchanged|ineligible|forbidden|time_?out|unsuccessful|unsupported"
)
_FAILED_ACTION = re.compile(r"fail|error|reject|den(y|ied)|declin|abort|cancel|handoff|human|escalat|fallback")
_FAILED_STATE = re.compile(
    r"error|fail|invalid|reject|den(y|ied)|declin|insufficient|unavailable|wrong|abort|cancel|missing|expired|exceed"
    r"|blocked|locked|closed|(^|_)not?_|^none_"
)
_MIN_WORD_LENGTH = 4
_MAX_DEPTH = 50
"""Maximum depth of calls and links."""
_NEGATION = re.compile(r"^not\s+(?=slots\.\w+$)")


class PathScore(NamedTuple):
    """The score of a path; the higher, the better. What turns the user away counts first."""

    failures: int = 0
    """Steps and conditions that mean failure, negative."""
    denials: int = 0
    """Conditions that a yes/no slot is false, negative."""
    work: int = 0
    """Questions and actions."""
    responses: int = 0

    def plus(self, other: "PathScore") -> "PathScore":
        """Return the sum of two scores."""
        return PathScore(*(left + right for left, right in zip(self, other, strict=True)))


def list_requirements(edge: FlowEdge) -> list[Requirement]:
    """Return what must hold for a branch to be taken: its condition, and that earlier branches are not."""
    own = [Requirement(edge.condition)] if edge.condition is not None else []
    return [*own, *(Requirement(text, expected=False) for text in edge.unless)]


def score_edge(edge: FlowEdge, flow: Flow) -> PathScore:
    """Return the score of the conditions of a branch."""
    fixed = {slot: value for one in list_requirements(edge) for slot, value in find_values(one).items()}
    failures = denials = 0
    for slot, value in fixed.items():
        is_bad_name = bool(_FAILED_STATE.search(_without_own_words(slot, flow)))
        if isinstance(value, bool):
            failures += is_bad_name and value
            denials += not is_bad_name and not value
        elif isinstance(value, str):
            failures += bool(_FAILED_STATE.search(_without_own_words(value.lower().replace(" ", "_"), flow)))
    return PathScore(-failures, -denials)


def score_step(step: FlowStep, flow: Flow) -> PathScore:
    """Return the score of a step."""
    if step.target in names.BUILT_IN_ACTIONS:  # built-in actions, such as cancel and restart
        return PathScore(failures=-1)
    if step.kind == "link" or is_response(step):
        is_failed = _FAILED_RESPONSE.search(_without_own_words(step.target.removeprefix(RESPONSE_PREFIX), flow))
        return PathScore(failures=-1) if is_failed else PathScore(responses=1)
    if step.kind == "action":
        is_failed = _FAILED_ACTION.search(_without_own_words(step.target, flow))
        return PathScore(failures=-1 if is_failed else 0, work=1)
    return PathScore(work=0 if step.kind in ("noop", "set_slots") else 1)


def is_response(step: FlowStep) -> bool:
    """Return whether a step only says something."""
    return step.kind == "action" and step.target.startswith(RESPONSE_PREFIX)


def _without_own_words(name: str, flow: Flow) -> str:
    """Return a name without the words of its flow: in a flow that cancels an order, `cancelled` is a success."""
    own = {word for word in re.split(r"[\W_]+", f"{flow.id} {flow.name}".lower()) if len(word) >= _MIN_WORD_LENGTH}
    parts = [part for part in re.split(r"[\W_]+", name.lower()) if part]
    left = [part for part in parts if not any(part.startswith(word) or word.startswith(part) for word in own)]
    return "_".join([*left, ""])


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
    requirements: list[Requirement] = field(default_factory=list)
    """What must hold for these branches, and for the values that are asked for."""
    known: dict[str, JsonValue] = field(default_factory=dict)
    """Slots whose value follows from the conditions, or is set by the flow."""
    initial: dict[str, JsonValue] = field(default_factory=dict)
    """Slots on which a branch depends before anything is asked or done: they must be set before the conversation."""
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

    def fits(self, slot: str, value: JsonValue) -> bool | None:
        """Return whether the flow accepts a value and still goes this way; None if that is not known."""
        values = {**self.known, slot: value}
        met = [one.is_met(values) for one in self.requirements if slot in one.slots]
        return False if False in met else None if None in met else True

    def decides(self, slot: str) -> bool:
        """Return whether the value of a slot decides which way the flow goes."""
        return any(slot in one.slots and not one.is_rejection for one in self.requirements)

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
    """Return the path on which the user gets what they want; among several, the one with most questions and actions."""
    path = FlowPath()
    _follow(flow, flows, path, ())
    names = {step.name for step in path.steps}
    other = [
        name
        for step in flow.steps
        for name in (step.target if is_response(step) else "", *step.rejections)
        if name and name not in names
    ]
    path.not_said = list(dict.fromkeys(other))
    return path


def _follow(flow: Flow, flows: Mapping[str, Flow], path: FlowPath, above: tuple[str, ...]) -> None:
    above = (*above, flow.id)
    path.walked.add(flow.id)
    for step, edge in _walk_best_path(flow, path):
        if step.kind == "set_slots":
            path.preset.update(step.slots)
            path.known |= step.slots
        elif step.kind == "collect" and step.target not in path.preset:
            path.steps.append(PathStep("collect", step.target, flow.id, step.id, step.hint))
            path.requirements += [Requirement(text, expected=False, is_rejection=True) for text in step.rejected_if]
        elif step.kind == "action" and step.target:
            path.steps.append(PathStep("utter" if is_response(step) else "action", step.target, flow.id, step.id))
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


def _walk_best_path(flow: Flow, path: FlowPath) -> Iterator[tuple[FlowStep, FlowEdge | None]]:
    """Yield the steps of the best path, each with the edge that is taken.

    Edges that lead back are not taken, nor those that contradict what is known from earlier ones if there is another.
    """
    steps = flow.steps
    worth: dict[int, PathScore] = {}
    ahead: dict[int, list[FlowEdge]] = {}

    def rate(edge: FlowEdge) -> PathScore:
        return score_edge(edge, flow).plus(worth[edge.to] if edge.to is not None else PathScore())

    for number in _order_from_end(steps):
        edges = [edge for edge in steps[number].edges if edge.to is None or edge.to in worth]
        ahead[number] = sorted(edges, key=rate, reverse=True)  # of equal ones the first of the file is first
        best = rate(ahead[number][0]) if edges else PathScore()
        worth[number] = best.plus(score_step(steps[number], flow))
    here: int | None = 0
    while here is not None:
        possible = [edge for edge in ahead[here] if not _contradicts(edge, path)] or ahead[here]
        edge = possible[0] if possible else None
        yield steps[here], edge
        here = edge.to if edge is not None else None


def _contradicts(edge: FlowEdge, path: FlowPath) -> bool:
    return any(one.is_met(path.known) is False for one in list_requirements(edge))


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


def _add_conditions(edge: FlowEdge, path: FlowPath) -> None:
    if edge.condition is not None:
        path.conditions.append(edge.condition)
    else:
        path.conditions += [_NEGATION.sub("", c) if _NEGATION.match(c) else f"not ({c})" for c in edge.unless]
    requirements = list_requirements(edge)
    path.requirements += requirements
    fixed = {slot: value for one in requirements for slot, value in find_values(one).items()}
    if not path.unknown_flows and all(step.kind == "utter" for step in path.steps):
        path.initial |= {slot: value for slot, value in fixed.items() if slot not in path.preset}
    path.known = fixed | path.known
