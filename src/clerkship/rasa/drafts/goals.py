"""The assertions of a draft, which follow from the flow without a model."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from clerkship.rasa.drafts.kinds import DraftKind, DraftPlan, RasaProject


class Goal(NamedTuple):
    """An assertion, with a comment for the person who edits the draft."""

    name: str
    args: JsonValue
    comment: str = ""

    @property
    def is_list(self) -> bool:
        """Whether the arguments are a list."""
        return isinstance(self.args, list)


def build_goals(plan: DraftPlan, project: RasaProject) -> list[Goal]:
    """Return the assertions of a draft."""
    return list(_BY_KIND[plan.kind](plan, project))


def _build_completed(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    """Yield assertions that the flow was completed with the person's values."""
    yield _build_started(plan)
    yield Goal("flow_completed", {"flow_id": plan.flow.id})
    known: list[JsonValue] = [{"name": s, "value": value} for s, value in plan.values.items() if project.knows(s)]
    if known:
        yield Goal("slot_was_set", known, "leave `value` out where people may word it in several ways")
    yield from _build_order(plan, project)
    for name in dict.fromkeys(step.name for step in plan.path.steps if step.kind == "utter"):
        yield Goal("bot_uttered", {"utter_name": name})
    for name in plan.path.not_said:
        yield Goal("bot_did_not_utter", {"utter_name": name}, "said only where the flow goes another way")


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
    yield from _build_not_done(plan, after=last)


def _build_clarified(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    ids: list[JsonValue] = [plan.flow.id, plan.partner.id if plan.partner is not None else plan.flow.id]
    yield Goal("pattern_clarification_contains", {"flow_ids": ids, "operator": "all"}, "both are offered")
    yield from _build_completed(plan, project)


def _build_refused(plan: DraftPlan, project: RasaProject) -> Iterator[Goal]:
    yield Goal("bot_uttered", {"text_matches": "[A-Za-z]"}, "silence is no answer")
    yield from _build_not_done(plan)


def _build_not_done(plan: DraftPlan, after: str = "") -> Iterator[Goal]:
    yield Goal("flow_not_completed", {"flow_id": plan.flow.id})
    for action in plan.path.actions(after=after):
        yield Goal("action_not_executed", action)


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
