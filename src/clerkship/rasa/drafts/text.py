"""A draft as the YAML that a person edits: what needs them is marked TODO."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from clerkship.model.variables import escape_text
from clerkship.rasa.drafts.goals import Goal
from clerkship.rasa.drafts.kinds import Draft, DraftPlan, Project
from clerkship.rasa.drafts.values import type_of
from clerkship.rasa.flows import one_line
from clerkship.rasa.layout import TEMPLATES

_WIDE = 110
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")
_TAKEN = re.compile(r"(?i)true|false|null|yes|no|on|off|y|n")
_MOST_NAMED = 12


def render(draft: Draft, goals: Sequence[Goal], project: Project) -> str:
    """Return the whole file."""
    plan = draft.plan
    who = "Is this how your users are? Do the values fit your test system?" if draft.by else plan.text("todo")
    text = TEMPLATES.get_template("draft.yml.jinja2").render(
        draft=draft,
        plan=plan,
        goals=goals,
        head=list(_head(draft)),
        person=[f"TODO {who}", *_on_the_way(plan)],
        before=[f"TODO {_beforehand(project)}"],
        left_out=list(_left_out(plan, project)),
    )
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _head(draft: Draft) -> Iterator[str]:
    flow, kind = draft.plan.flow, draft.plan.kind.replace("_", " ")
    writer = f"Written by {draft.by}" if draft.by else "Written by rules, without a model"
    yield f"A draft, to be edited: {kind}, for the flow {flow.id} ({flow.file})."
    yield f"{writer}. What is marked TODO needs you; delete the comments when you are done."
    if draft.note:
        yield f"Note: {draft.note}"
    if flow.description:
        yield f"The flow: {flow.description}"


def _on_the_way(plan: DraftPlan) -> Iterator[str]:
    """What the flow depends on, where an editor must see to it."""
    if plan.kind == "out_of_scope":
        return
    hints = [f"{step.name} is {step.hint}" for step in plan.path.collected if step.hint]
    if hints:
        yield f"The flow says: {'; '.join(hints)}"
    if plan.path.conditions and plan.kind != "cancellation":
        yield f"The flow goes this way if {'; and '.join(plan.path.conditions)}."
    if plan.path.strangers:
        yield f"It calls {', '.join(plan.path.strangers)}, no flow that is known here: what that asks for is left out."
    if plan.path.linked:
        yield f"It goes over into the flow {plan.path.linked}."


def _beforehand(project: Project) -> str:
    told = "What must hold before the first message?"
    domain = project.domain
    if domain is None or not domain.controlled:
        return told
    named = [f"{slot} ({type_of(slot, domain)})" for slot in sorted(domain.controlled)]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"{told} Slots that no user fills: {', '.join(named[:_MOST_NAMED])}{more}."


def _left_out(plan: DraftPlan, project: Project) -> Iterator[str]:
    unknown = [slot for slot in plan.values if not project.knows(slot)]
    if unknown and project.domain is not None:
        yield f"TODO {project.domain.source} has no slot {', '.join(unknown)}, so nothing is said of it here."


def _inline(value: JsonValue) -> str:
    if isinstance(value, dict):
        if len(value) == 1 and not isinstance(next(iter(value.values())), dict | list):
            [(key, inner)] = value.items()
            return f"{{{key}: {_scalar(inner)}}}"
        return f"{{{', '.join(f'{key}: {_inline(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return _scalar(value)


def _scalar(value: JsonValue) -> str:
    """A value that YAML reads back as it was. `${` would stand for a variable of the machine."""
    if not isinstance(value, str):
        return _inline(value) if isinstance(value, list | dict) else json.dumps(value)
    if _PLAIN.fullmatch(value) and not _TAKEN.fullmatch(value):
        return value
    return "".join(map(_sign, json.dumps(escape_text(value), ensure_ascii=False)))


def _sign(sign: str) -> str:
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def _block(text: str) -> Iterator[str]:
    """Yield the lines of a literal block."""
    for line in escape_text(text).splitlines():
        clean = one_line(line)
        yield from _wrapped(clean, _WIDE, "  " if clean.startswith("- ") else "") or [""]


def _comment(texts: Sequence[str], indent: int = 0) -> Iterator[str]:
    """Yield the lines of comments."""
    for text in texts:
        yield from _wrapped(one_line(text), _WIDE - indent)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


TEMPLATES.filters |= {"scalar": _scalar, "inline": _inline, "block": _block, "comment": _comment}
