"""Render a draft as YAML for a person to edit. Places that need attention are marked TODO."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from clerkship.model.variables import escape_text
from clerkship.rasa.drafts.goals import DraftTarget, Goal
from clerkship.rasa.drafts.kinds import Draft, DraftPlan, RasaProject
from clerkship.rasa.drafts.values import get_slot_type
from clerkship.rasa.flows import to_one_line
from clerkship.rasa.layout import TEMPLATES

_MAX_WIDTH = 110
_PLAIN_SCALAR = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")
_RESERVED_SCALAR = re.compile(r"(?i)true|false|null|yes|no|on|off|y|n")
_MAX_LISTED_SLOTS = 12
_VARIABLE_START = re.compile(r"\$+\{")


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
