"""What must be true of the conversation, as far as it follows from the flow: assertions that need no model."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from clerkship.rasa.drafts.kinds import Kind, Matter, Project

Data = JsonValue


class Goal(NamedTuple):
    """An assertion, and what its editor should know of it."""

    name: str
    args: JsonValue
    comment: str = ""


def goals(made: Matter, project: Project) -> list[Goal]:
    """Of this kind."""
    return list(_BY_KIND[made.kind](made, project))


def _reached(made: Matter, project: Project) -> Iterator[Goal]:
    """The flow ran to its end, with what the person said."""
    yield _started(made)
    yield Goal("flow_completed", {"flow_id": made.flow.id})
    yield from _slots(made, project)
    yield from _order(made, [{"flow_started": made.flow.id}])
    yield from _said(made)


def _corrected(made: Matter, project: Project) -> Iterator[Goal]:
    twice: list[Data] = [{"slot_was_set": made.mistaken}] * 2
    if made.in_one_breath or not project.knows(made.mistaken):
        yield from _reached(made, project)
        return
    yield _started(made)
    yield Goal("flow_completed", {"flow_id": made.flow.id})
    yield from _slots(made, project)
    yield from _order(made, twice, "it is set, and set again; only then is anything done")
    yield from _said(made)


def _called_off(made: Matter, project: Project) -> Iterator[Goal]:
    yield _started(made)
    last = made.asked_last
    step = next((move.step for move in made.way.collected if move.name == last and move.step), None)
    where = f"it should be at the step {step}: add flow_step_id: {step}" if step else ""
    yield Goal("flow_cancelled", {"flow_id": made.flow.id}, where)
    yield Goal("flow_not_completed", {"flow_id": made.flow.id})
    for action in made.way.actions(after=last):
        yield Goal("action_not_executed", action)


def _offered(made: Matter, project: Project) -> Iterator[Goal]:
    ids: list[Data] = [made.flow.id, made.partner.id if made.partner is not None else made.flow.id]
    yield Goal("pattern_clarification_contains", {"flow_ids": ids, "operator": "all"}, "both are offered")
    yield from _reached(made, project)


def _not_done(made: Matter, project: Project) -> Iterator[Goal]:
    yield Goal("bot_uttered", {"text_matches": "[A-Za-z]"}, "silence is no answer")
    yield Goal("flow_not_completed", {"flow_id": made.flow.id})
    for action in made.way.actions():
        yield Goal("action_not_executed", action)


def _started(made: Matter) -> Goal:
    return Goal("flow_started", {"flow_ids": [made.flow.id], "operator": "any"})


def _slots(made: Matter, project: Project) -> Iterator[Goal]:
    known: list[Data] = [{"name": slot, "value": value} for slot, value in made.values.items() if project.knows(slot)]
    if known:
        yield Goal("slot_was_set", known, "leave `value` out where people may word it in several ways")


def _order(made: Matter, first: list[Data], comment: str = "") -> Iterator[Goal]:
    """What is done, in the order of the flow; what another flow does that it goes over into, at any time."""
    every = made.way.actions()
    ours = every if not made.way.linked else made.way.own(made.flow.id, "action")
    deeds: list[Data] = [{"action_executed": action} for action in ours]
    if deeds or comment:
        yield Goal("sequencing", [*first, *deeds, {"flow_completed": made.flow.id}], comment)
    for action in every:
        if action not in ours:
            yield Goal("action_executed", action)


def _said(made: Matter) -> Iterator[Goal]:
    for name in dict.fromkeys(move.name for move in made.way.moves if move.sort == "utter"):
        yield Goal("bot_uttered", {"utter_name": name})
    for name in made.way.not_said:
        yield Goal("bot_did_not_utter", {"utter_name": name}, "said only where the flow goes another way")


_BY_KIND: dict[Kind, Callable[[Matter, Project], Iterator[Goal]]] = {
    "happy_path": _reached,
    "correction": _corrected,
    "cancellation": _called_off,
    "clarification": _offered,
    "out_of_scope": _not_done,
    "impatient": _reached,
}
