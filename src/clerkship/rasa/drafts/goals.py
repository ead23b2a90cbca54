"""The assertions of a draft, which follow from the flow without a model."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from pydantic import JsonValue

from clerkship.rasa.drafts.kinds import DraftKind, DraftPlan, RasaProject
from clerkship.rasa.drafts.path import find_best_path
from clerkship.rasa.drafts.values import is_stored_alike

DraftTarget = Literal["rasa", "clerkship"]
"""The tool that reads a draft. Rasa has no assertion for a flow that is not completed, or an action that is not run."""


class Goal(NamedTuple):
    """An assertion, with a comment for the person who edits the draft."""

    name: str
    args: JsonValue
    comment: str = ""
    is_extension: bool = False
    """Whether Rasa does not have it."""

    @property
    def is_list(self) -> bool:
        """Whether the arguments are a list."""
        return isinstance(self.args, list)


def build_goals(plan: DraftPlan, project: RasaProject, target: DraftTarget) -> list[Goal]:
    """Return the assertions of a draft that a tool can read."""
    goals = _BY_KIND[plan.kind](plan, project)
    return [goal for goal in goals if target == "clerkship" or not goal.is_extension]


def _build_completed(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    """Yield assertions that the flow was completed with the person's values."""
    yield _build_started(plan)
    yield Goal("flow_completed", {"flow_id": plan.flow.id})
    known = [_build_slot(slot, plan, project) for slot in plan.values if project.knows(slot)]
    if known:
        yield Goal("slot_was_set", known, "leave `value` out where people may word it in several ways")
    yield from _build_order(plan, project)
    for name in dict.fromkeys(step.name for step in plan.path.steps if step.kind == "utter"):
        yield Goal("bot_uttered", {"utter_name": name})
    for name in plan.path.not_said:
        yield Goal("bot_did_not_utter", {"utter_name": name}, "said only where the flow goes another way")


def _build_slot(slot: str, plan: DraftPlan, project: RasaProject) -> JsonValue:
    """Return a slot with its value, or without it if the assistant may store another one."""
    value, path = plan.values[slot], plan.path
    is_filled_by_user = project.domain is None or slot not in project.domain.controlled or path.decides(slot)
    is_certain = (path.fits(slot, value) and is_filled_by_user) or slot == plan.mistaken
    is_asserted = is_certain and is_stored_alike(slot, value, project.domain)
    return {"name": slot, "value": value} if is_asserted else {"name": slot}


def _build_order(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    """Yield assertions about actions: those of the flow in order, those of a linked flow at any time."""
    every = plan.path.actions()
    own = plan.path.own(plan.flow.id, "action") if plan.path.linked else every
    first, comment = list[JsonValue]([{"flow_started": plan.flow.id}]), ""
    if plan.mistaken and not plan.in_one_message and project.knows(plan.mistaken):
        first = [{"slot_was_set": plan.mistaken}] * 2
        comment = "it is set, and set again; only then is anything done"
    actions: list[JsonValue] = [{"action_executed": action} for action in own]
    if actions or comment:
        yield Goal("sequencing", [*first, *actions, {"flow_completed": plan.flow.id}], comment)
    for action in every:
        if action not in own:
            yield Goal("action_executed", action)


def _build_cancelled(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    yield _build_started(plan)
    last = plan.asked_last
    step = next((step.id for step in plan.path.collected if step.name == last and step.id), None)
    where = f"it should be at the step {step}: add flow_step_id: {step}" if step else ""
    yield Goal("flow_cancelled", {"flow_id": plan.flow.id}, where)
    if project.knows(last) and last not in plan.setup:
        is_yes_or_no = isinstance(plan.withheld, bool)  # a model may take a refusal for the other answer
        yield Goal("slot_was_not_set", [{"name": last, "value": plan.withheld} if is_yes_or_no else {"name": last}])
    yield Goal("flow_not_completed", {"flow_id": plan.flow.id}, is_extension=True)
    for action in plan.path.actions(after=last):
        yield Goal("action_not_executed", action, is_extension=True)


def _build_clarified(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    ids: list[JsonValue] = [plan.flow.id, plan.partner.id if plan.partner is not None else plan.flow.id]
    yield Goal("pattern_clarification_contains", {"flow_ids": ids, "operator": "all"}, "both are offered")
    yield from _build_completed(plan, project)


def _build_refused(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    yield Goal("bot_uttered", {"text_matches": "[A-Za-z]"}, "silence is no answer")
    paths = [find_best_path(flow, project.flows) for flow in plan.refused]
    for name in dict.fromkeys(step.name for path in paths for step in path.steps if step.kind == "utter"):
        yield Goal("bot_did_not_utter", {"utter_name": name}, "said only where a flow does what it is for")
    for flow in plan.refused:
        yield Goal("flow_not_completed", {"flow_id": flow.id}, is_extension=True)
    for action in dict.fromkeys(action for path in paths for action in path.actions()):
        yield Goal("action_not_executed", action, is_extension=True)


def _build_started(plan: DraftPlan) -> Goal:
    return Goal("flow_started", {"flow_ids": [plan.flow.id], "operator": "any"})


_BY_KIND: dict[DraftKind, Callable[[DraftPlan, RasaProject], Iterator[Goal]]] = {
    "happy_path": _build_completed,
    "correction": _build_completed,
    "cancellation": _build_cancelled,
    "clarification": _build_clarified,
    "out_of_scope": _build_refused,
    "impatient": _build_completed,
}
