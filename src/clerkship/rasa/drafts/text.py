"""Render a draft and its goals as YAML for a person to edit. Places that need attention are marked TODO."""

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from pydantic import JsonValue

from clerkship.model.variables import escape_text
from clerkship.rasa.drafts.kinds import Draft, DraftKind, DraftPlan, RasaProject
from clerkship.rasa.drafts.path import find_best_path
from clerkship.rasa.drafts.values import get_slot_type, is_stored_alike
from clerkship.rasa.flows import to_one_line
from clerkship.rasa.layout import TEMPLATES

DraftTarget = Literal["rasa", "clerkship"]
"""The tool that reads a draft. Rasa has no assertion for a flow that is not completed, or an action that is not run."""
_MAX_WIDTH = 110
_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")
_RESERVED_SCALAR = re.compile(r"(?i)true|false|null|yes|no|on|off|y|n")
_MAX_LISTED_SLOTS = 12
_VARIABLE_START = re.compile(r"\$+\{")


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


def render_draft(draft: Draft, goals: Sequence[Goal], project: RasaProject, target: DraftTarget) -> str:
    """Return the text of the file, for the tool that will read it."""
    unknown = [slot for slot in draft.plan.values if not project.knows(slot)]
    text = TEMPLATES.get_template("draft.yml.jinja2").render(
        draft=draft,
        plan=draft.plan,
        goals=goals,
        project=project,
        target=target,
        before=f"TODO {_build_setup_comment(draft.plan, project)}",
        unknown=unknown if project.domain is not None else [],
    )
    if target == "rasa":
        text = _VARIABLE_START.sub("$ {", text)  # Rasa cannot escape it
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _build_setup_comment(plan: DraftPlan, project: RasaProject) -> str:
    """Return the question about initial slots, with those that users do not fill, except those of other flows."""
    question = "What must hold before the first message?"
    domain = project.domain
    own = frozenset[str]().union(*(project.used_slots[flow] for flow in plan.path.walked))
    others = frozenset[str]().union(*project.used_slots.values()) - own
    slots = sorted(domain.controlled - others) if domain is not None else []
    if not slots:
        return question
    named = [f"{slot} ({get_slot_type(slot, domain)})" for slot in slots]
    more = f" and {len(named) - _MAX_LISTED_SLOTS} more" if len(named) > _MAX_LISTED_SLOTS else ""
    return f"{question} Slots that no user fills: {', '.join(named[:_MAX_LISTED_SLOTS])}{more}."


def _render_inline(value: JsonValue) -> str:
    if isinstance(value, dict):
        if len(value) == 1 and not isinstance(next(iter(value.values())), dict | list):
            [(key, inner)] = value.items()
            return f"{{{key}: {_render_scalar(inner)}}}"
        return f"{{{', '.join(f'{key}: {_render_inline(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_render_inline, value))}]"
    return _render_scalar(value)


def _render_scalar(value: JsonValue) -> str:
    """Return a value that YAML reads back unchanged. `${` is escaped, because it would stand for a variable."""
    if not isinstance(value, str):
        return _render_inline(value) if isinstance(value, list | dict) else json.dumps(value)
    if _PLAIN_SCALAR.fullmatch(value) and not _RESERVED_SCALAR.fullmatch(value):
        return value
    return "".join(map(_escape_character, json.dumps(escape_text(value), ensure_ascii=False)))


def _escape_character(sign: str) -> str:
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def _render_block(text: str) -> Iterator[str]:
    """Yield the lines of a literal block."""
    for line in escape_text(text).splitlines():
        clean = to_one_line(line)
        yield from _wrap(clean, _MAX_WIDTH, "  " if clean.startswith("- ") else "") or [""]


def _render_comments(text: str, indent: int = 0) -> str:
    """Return each line of a text as a comment, wrapped."""
    lines = [part for line in text.splitlines() for part in _wrap(to_one_line(line), _MAX_WIDTH - indent)]
    return "".join(f"{' ' * indent}# {line}\n" for line in lines)


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


TEMPLATES.filters |= {
    "scalar": _render_scalar,
    "inline": _render_inline,
    "block": _render_block,
    "comments": _render_comments,
    "one_line": to_one_line,
}
