"""The way through a flow that goes well: what is asked for, done and said on it, and what it depends on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pydantic import JsonValue

from clerkship.rasa import names
from clerkship.rasa.flow import Edge, Flow, FlowStep

UTTER = "utter_"
_DEEDS_ARE_WORTH = 1000
"""How much more it counts that something is asked or done than that something is said."""
_TURNS_AWAY = re.compile(
    r"error|fail|sorry|invalid|reject|den(y|ied)|declin|insufficient|unavailable|wrong|bad|cannot|cant|unable|unknown"
    r"|abort|cancel|missing|expired|too_|not_|no_|left_as|handoff|human"
)
_DEEPEST = 50
"""How far flows are followed into flows that they call."""
_SIMPLE = re.compile(
    r"(?P<no>not\s+)?(?:slots\.)?(?P<slot>[A-Za-z_]\w*)(?:\s*(?P<how>==|=|is\s+not|!=|is)\s*(?P<value>\"[^\"]*\"|'[^']*'|[\w.-]+))?"
)
_NEGATED = re.compile(r"^not\s+(?=slots\.\w+$)")
_CONSTANTS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "undefined": None, "empty": None}


class Move(NamedTuple):
    """Something that happens on the way."""

    sort: Literal["collect", "action", "utter"]
    name: str
    flow: str
    step: str | None = None
    hint: str = ""


@dataclass
class Way:
    """A way through a flow, with the flows that it calls and links to."""

    moves: list[Move] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    """What must hold for it to be this way."""
    implied: dict[str, JsonValue] = field(default_factory=dict)
    """Slots whose value follows from the conditions."""
    not_said: list[str] = field(default_factory=list)
    """Responses that stand on other ways alone."""
    linked: str = ""
    """The flow it goes over into, where the rest is not its own any more."""
    strangers: list[str] = field(default_factory=list)
    """What is called and is no flow that is known."""
    circles: list[str] = field(default_factory=list)
    """Flows that call or link back to where they came from."""
    preset: set[str] = field(default_factory=set)
    """Slots that the flow sets by itself before it would ask."""
    walked: set[str] = field(default_factory=set)
    """Flows that have been gone through."""

    @property
    def collected(self) -> list[Move]:
        """What a person is asked for, each slot once."""
        return list({move.name: move for move in reversed(self.moves) if move.sort == "collect"}.values())[::-1]

    def actions(self, *, after: str = "") -> list[str]:
        """What is done, by name, each once; only after a slot was asked for, if one is given."""
        start = max(
            (n for n, move in enumerate(self.moves) if move.sort == "collect" and move.name == after), default=-1
        )
        return list(dict.fromkeys(move.name for move in self.moves[start + 1 :] if move.sort == "action"))

    def own(self, flow: str, sort: str) -> list[str]:
        """The names of a sort that the flow itself has, each once."""
        return list(dict.fromkeys(move.name for move in self.moves if move.sort == sort and move.flow == flow))


def way_through(flow: Flow, flows: Mapping[str, Flow]) -> Way:
    """The way on which most is asked and done: where a flow branches, the others turn somebody away."""
    way = Way()
    _follow(flow, flows, way, ())
    said = {move.name for move in way.moves}
    other = [name for step in flow.steps for name in (_said(step), *step.rejections) if name and name not in said]
    way.not_said = list(dict.fromkeys(other))
    return way


def _follow(flow: Flow, flows: Mapping[str, Flow], way: Way, above: tuple[str, ...]) -> None:
    above = (*above, flow.id)
    way.walked.add(flow.id)
    for step, edge in _best(flow.steps):
        if step.deed == "set_slots":
            way.preset.update(step.slots)
        elif step.deed == "collect" and step.about not in way.preset:
            way.moves.append(Move("collect", step.about, flow.id, step.id, step.hint))
        elif step.deed == "action" and step.about:
            way.moves.append(Move("utter" if _said(step) else "action", step.about, flow.id, step.id))
        elif step.deed in ("call", "link"):
            _go_over(step, flow, flows, way, above)
        if edge is not None and (edge.condition is not None or edge.unless):
            _depend(edge, way)


def _go_over(step: FlowStep, flow: Flow, flows: Mapping[str, Flow], way: Way, above: tuple[str, ...]) -> None:
    if step.deed == "link" and not way.linked and len(above) == 1:
        way.linked = step.about
    if step.about in above or len(above) > _DEEPEST:
        way.circles.append(f"{flow.id} -> {step.about}")
    elif step.about not in flows:
        way.strangers.append(step.about)
    elif step.about not in way.walked:  # a second time it has nothing to ask for
        _follow(flows[step.about], flows, way, above)


def _best(steps: tuple[FlowStep, ...]) -> Iterator[tuple[FlowStep, Edge | None]]:
    """The steps of the best way, each with the edge that was taken. Edges that lead back are not taken."""
    worth: dict[int, tuple[int, Edge | None]] = {}
    for number in _from_the_end(steps):
        ahead = [
            (worth[edge.to][0] if edge.to is not None else 0, edge)
            for edge in steps[number].edges
            if _is_done(edge, worth)
        ]
        best = max(ahead, key=lambda pair: pair[0], default=(0, None))
        worth[number] = (best[0] + _worth(steps[number]), best[1])
    here: int | None = 0
    while here is not None:
        edge = worth[here][1]
        yield steps[here], edge
        here = edge.to if edge is not None else None


def _is_done(edge: Edge, worth: Mapping[int, object]) -> bool:
    return edge.to is None or edge.to in worth


def _from_the_end(steps: tuple[FlowStep, ...]) -> Iterator[int]:
    """Each step that can be reached, after all that it leads to; without recursion, for flows can be long."""
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


def _worth(step: FlowStep) -> int:
    """Words that turn somebody away count against a way, other words for it; what is asked and done counts most."""
    if step.about in names.ACTIONS:  # the engine's own: calling off, starting anew
        return -1
    if step.deed == "link" or _said(step):
        return -1 if _TURNS_AWAY.search(step.about) else 1
    return 0 if step.deed in ("noop", "set_slots") else _DEEDS_ARE_WORTH


def _said(step: FlowStep) -> str:
    return step.about if step.deed == "action" and step.about.startswith(UTTER) else ""


def _depend(edge: Edge, way: Way) -> None:
    if edge.condition is not None:
        way.conditions.append(edge.condition)
        for slot, value in implied(edge.condition).items():
            way.implied.setdefault(slot, value)
        return
    way.conditions += [_NEGATED.sub("", c) if _NEGATED.match(c) else f"not ({c})" for c in edge.unless]
    for condition in edge.unless:
        for slot, value in implied(f"not {condition}").items():
            way.implied.setdefault(slot, value)


def implied(condition: str) -> dict[str, JsonValue]:
    """What slots must be where that can be read off: `slots.confirmed`, `not slots.known`, `slots.kind is "a"`."""
    parts = [_read(part) for part in re.split(r"\s+and\s+", condition.strip())]
    if None in parts or (len(parts) > 1 and condition.strip().startswith("not ")):
        return {}
    return dict(part for part in parts if part is not None)


def _read(text: str) -> tuple[str, JsonValue] | None:
    double = text.startswith("not not ")
    found = _SIMPLE.fullmatch(text.removeprefix("not not ") if double else text)
    if found is None or found["slot"] in ("true", "false", "not"):
        return None
    if found["value"] is None:
        return found["slot"], found["no"] is None
    value = _literal(found["value"])
    differs = (found["no"] is not None) != (" ".join(found["how"].split()) in ("is not", "!="))
    if not differs:
        return (found["slot"], value) if value is not None else None
    return (found["slot"], not value) if isinstance(value, bool) else None


def _literal(text: str) -> JsonValue:
    if text[0] in "\"'":
        return text[1:-1]
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text
