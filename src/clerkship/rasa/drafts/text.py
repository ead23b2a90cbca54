"""A draft as the YAML that a person edits: what needs them is marked TODO."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from clerkship.model.variables import escape_text
from clerkship.rasa.drafts.goals import Goal
from clerkship.rasa.drafts.kinds import Draft, Project
from clerkship.rasa.drafts.values import type_of
from clerkship.rasa.flows import to_one_line
from clerkship.rasa.layout import TEMPLATES

_WIDE = 110
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")
_TAKEN = re.compile(r"(?i)true|false|null|yes|no|on|off|y|n")
_MAX_NAMED = 12


def render(draft: Draft, goals: Sequence[Goal], project: Project) -> str:
    """Return the whole file."""
    unknown = [slot for slot in draft.plan.values if not project.knows(slot)]
    text = TEMPLATES.get_template("draft.yml.jinja2").render(
        draft=draft,
        plan=draft.plan,
        goals=goals,
        project=project,
        before=f"TODO {_beforehand(project)}",
        unknown=unknown if project.domain is not None else [],
    )
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _beforehand(project: Project) -> str:
    told = "What must hold before the first message?"
    domain = project.domain
    if domain is None or not domain.controlled:
        return told
    named = [f"{slot} ({type_of(slot, domain)})" for slot in sorted(domain.controlled)]
    more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    return f"{told} Slots that no user fills: {', '.join(named[:_MAX_NAMED])}{more}."


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
        clean = to_one_line(line)
        yield from _wrapped(clean, _WIDE, "  " if clean.startswith("- ") else "") or [""]


def _comments(text: str, indent: int = 0) -> str:
    """Return each line of a text as a comment, wrapped."""
    lines = [part for line in text.splitlines() for part in _wrapped(to_one_line(line), _WIDE - indent)]
    return "".join(f"{' ' * indent}# {line}\n" for line in lines)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


TEMPLATES.filters |= {
    "scalar": _scalar,
    "inline": _inline,
    "block": _block,
    "comments": _comments,
    "one_line": to_one_line,
}
