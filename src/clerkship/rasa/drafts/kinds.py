"""The kinds of draft: how each is planned for a flow, and the draft that rules write."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

from pydantic import JsonValue

from clerkship.model.agent_domain import AgentDomain, describe_slot_mismatch
from clerkship.rasa import names
from clerkship.rasa.drafts.conditions import Requirement, find_values
from clerkship.rasa.drafts.path import FlowPath, find_best_path
from clerkship.rasa.drafts.values import COMMON_WORDS, TEXTS, build_samples, get_slot_type, list_candidates
from clerkship.rasa.flows import Flow

DraftKind = Literal["happy_path", "correction", "cancellation", "clarification", "out_of_scope", "impatient"]
KINDS: tuple[DraftKind, ...] = get_args(DraftKind)


@dataclass(frozen=True)
class RasaProject:
    """The flows of a project, and its domain."""

    flows: Mapping[str, Flow]
    domain: AgentDomain | None

    @cached_property
    def words(self) -> dict[str, set[str]]:
        """The words of each flow that users can start."""
        return {flow.id: _collect_words(flow) for flow in self.flows.values() if flow.is_for_people}

    @cached_property
    def used_slots(self) -> dict[str, frozenset[str]]:
        """The slots that each flow names in its steps and conditions."""
        return {flow.id: frozenset(_list_slots(flow)) for flow in self.flows.values()}

    def knows(self, slot: str) -> bool:
        """Return whether the domain has a slot; True if there is no domain."""
        return self.domain is None or slot in self.domain.slots or slot in names.BUILT_IN_SLOTS


@dataclass(frozen=True)
class DraftPlan:
    """The plan of a draft: a flow, a path through it, and the values that the person gives."""

    flow: Flow
    kind: DraftKind
    path: FlowPath
    values: dict[str, JsonValue]
    """Values that the person gives, by slot."""
    mistaken: str = ""
    """The slot for which the person first gives a wrong value."""
    wrong: JsonValue = None
    withheld: JsonValue = None
    """The value of the slot that is asked for last, if the person cancels instead of answering."""
    partner: Flow | None = None
    """Another flow that the person could mean."""
    setup: dict[str, JsonValue] = field(default_factory=dict)
    refused: tuple[Flow, ...] = ()
    """In a draft for all flows: the flows that the person does not want."""

    @property
    def asked_last(self) -> str:
        """The last slot that the flow itself asks for. At that point the person can still cancel."""
        own = self.path.own(self.flow.id, "collect") or [step.name for step in self.path.collected]
        return own[-1] if own else ""

    @property
    def in_one_message(self) -> bool:
        """Whether the wrong value is corrected in the same message, because the flow asks for nothing after it."""
        return bool(self.mistaken) and self.path.collected[-1].name == self.mistaken

    def text(self, name: str) -> str:
        """Return a text of this kind, with its placeholders filled."""
        return self._fill(self._texts[name])

    def criteria(self) -> list[str]:
        """Return the criteria of this kind."""
        return [self._fill(text) for text in self._texts["criteria"]]

    @property
    def _texts(self) -> dict[str, Any]:
        own = TEXTS["correction_in_one_message"] if self.in_one_message else {}
        return TEXTS[self.kind] | own

    def _fill(self, text: str) -> str:
        slot = to_spoken_name(self.mistaken)
        return text.format(
            flow=self.flow.words,
            other=self.partner.words if self.partner is not None else "",
            slot=slot,
            safe_slot="".join(char for char in slot if char.isalnum() or char == " "),
            right=to_spoken(self.values.get(self.mistaken)),
            wrong=to_spoken(self.wrong),
            last=to_spoken_name(self.asked_last),
        )


@dataclass(frozen=True)
class Draft:
    """A drafted scenario: the plan, the name, the description of the person, and the criteria."""

    plan: DraftPlan
    name: str
    context: str
    criteria: Sequence[str]
    note: str = ""
    """Why it was not written as requested."""
    by: str = ""
    """The model that wrote it; empty if it was written by rules."""
    outage: bool = False


SkipReason = str


def plan_draft(flow: Flow, kind: DraftKind, project: RasaProject) -> DraftPlan | SkipReason:
    """Return the plan of a draft, or the reason why there is none of this kind."""
    path = find_best_path(flow, project.flows)
    slots = [step.name for step in path.collected]
    values = {slot: _choose_value(slot, path, project) for slot in slots}
    guarded = find_values(Requirement(flow.guard)) if flow.guard is not None else {}
    setup = {
        slot: value
        for slot, value in (path.initial | guarded).items()
        if slot not in slots
        and project.knows(slot)
        and not describe_slot_mismatch(value, get_slot_type(slot, project.domain))
    }
    plan = DraftPlan(flow, kind, path, values, setup=setup)
    if kind in ("correction", "cancellation") and not slots:
        return "it asks for nothing"
    if kind == "cancellation":
        return replace(plan, withheld=values.pop(plan.asked_last))
    if kind == "correction":
        return _with_mistake(plan, project)
    return _with_partner(plan, project) if kind == "clarification" else plan


def plan_out_of_scope(flows: Sequence[Flow]) -> DraftPlan:
    """Return the plan of the one draft in which the person wants something that no flow does."""
    kind: DraftKind = "out_of_scope"
    files = ", ".join(dict.fromkeys(flow.file for flow in flows))
    flow = Flow(id=kind, name="out of scope", steps=(), file=files)
    return DraftPlan(flow, kind, FlowPath(), {}, refused=tuple(flows))


def _list_slots(flow: Flow) -> Iterator[str]:
    conditions = [flow.guard]
    for step in flow.steps:
        yield from step.slots
        if step.kind == "collect":
            yield step.target
        conditions += [*(edge.condition for edge in step.edges), *step.rejected_if]
    for condition in conditions:
        yield from Requirement(condition).slots if condition is not None else ()


def _choose_value(slot: str, path: FlowPath, project: RasaProject) -> JsonValue:
    """Return the first value that the flow accepts on this path; a sample if none is known to be accepted."""
    candidates = list_candidates(slot, project.domain, path.requirements)
    ratings = [path.fits(slot, value) for value in candidates]
    for wanted in (True, None):
        if wanted in ratings:
            return candidates[ratings.index(wanted)]
    return candidates[0]


def _with_mistake(plan: DraftPlan, project: RasaProject) -> DraftPlan | SkipReason:
    """Choose the first slot that has another possible value and does not decide which way the flow goes."""
    for slot, value in plan.values.items():
        candidates = [
            *build_samples(slot, project.domain),
            *list_candidates(slot, project.domain, plan.path.requirements),
        ]
        others = (one for one in candidates if one != value and plan.path.fits(slot, one) is not False)
        other = next(others, value)
        if not isinstance(value, bool) and other != value and not plan.path.decides(slot):
            return replace(plan, mistaken=slot, wrong=other)
    return "it asks for nothing that can be corrected without changing the path"


def _with_partner(plan: DraftPlan, project: RasaProject) -> DraftPlan | SkipReason:
    """Choose the flow that has the most words in common with this one."""
    own = _collect_words(plan.flow)
    alike = {other: len(own & words) for other, words in project.words.items() if other != plan.flow.id}
    partner = max(alike, key=lambda other: alike[other], default="")
    if not alike.get(partner):
        return "no other flow is similar" if alike else "there is no other flow"
    return replace(plan, partner=project.flows[partner])


def _collect_words(flow: Flow) -> set[str]:
    collected = " ".join(step.target for step in flow.steps if step.kind == "collect")
    words = re.findall(r"[^\W_]+", f"{flow.id} {flow.name} {flow.description} {collected}".lower())
    return {word.rstrip("s") for word in words if word not in COMMON_WORDS and len(word) > 1}


def draft_by_rules(plan: DraftPlan, note: str = "", *, outage: bool = False) -> Draft:
    """Return a draft written by rules, without a model."""
    lines = [f"You are a user of this assistant. What you want: {plan.flow.words}."]
    if plan.kind == "out_of_scope":
        lines = []
    elif plan.flow.description:
        lines.append(f"The assistant says of it: {plan.flow.description}")
    if plan.values:
        lines += ["", "You know this, and tell it when you are asked:"]
        lines += [f"- {to_spoken_name(slot)}: {to_spoken(value)}" for slot, value in plan.values.items()]
    context = "\n".join([*lines, "", plan.text("person")]).strip()
    name = f"{plan.flow.words}: {plan.text('title')}"[:200]
    return Draft(plan, name, context, plan.criteria(), note, outage=outage)


def to_spoken_name(slot: str) -> str:
    """Return the name of a slot as people say it."""
    return slot.replace("_", " ").replace("-", " ").strip() or slot


def to_spoken(value: JsonValue) -> str:
    """Return a value as people say it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(to_spoken, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
