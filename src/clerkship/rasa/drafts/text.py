"""A draft as the YAML that a person edits: what needs them is marked TODO."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from clerkship.model.variables import escape_text
from clerkship.rasa.drafts.goals import Goal
from clerkship.rasa.drafts.kinds import Draft, Kind, Matter, Project
from clerkship.rasa.drafts.values import type_of

_WIDE = 110
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")
_TAKEN = re.compile(r"(?i)true|false|null|yes|no|on|off|y|n")
_MOST_NAMED = 12
_WHO: dict[Kind, str] = {
    "happy_path": "Who is this, and why do they come today? Put in values that your test system knows.",
    "correction": "Put in values that your test system knows: the one that is said first, and the right one.",
    "cancellation": "Why do they change their mind? Put in values that your test system knows.",
    "clarification": "Write down the few words they begin with, such as your users have really said.",
    "out_of_scope": "Replace the weather by something near to this flow that it does not do: that finds more.",
    "impatient": "Why are they in a hurry? Put in values that your test system knows.",
}


def render(made: Matter, draft: Draft, goals: Sequence[Goal], project: Project) -> str:
    """The whole file."""
    lines = [*_head(made, draft), "scenario:", f"  name: {_scalar(draft.name)}"]
    lines += [f"  type: {'happy_path' if made.kind == 'happy_path' else 'edge_case'}", ""]
    lines += _comments("  ", f"TODO {_who(made, draft)}", *_on_the_way(made))
    lines += ["  simulation_context: |", *_block(draft.context, "    "), ""]
    lines += ["  setup:", *_comments("    ", f"TODO {_beforehand(project)}"), *_slots(made), ""]
    lines += ["  goals:", *_comments("    ", "TODO A model judges these. Keep what matters to you, one thing each.")]
    lines += ["    criteria:", *(f"      - {_scalar(text)}" for text in draft.criteria)]
    lines += _comments(
        "    ", "These follow from the flow. Whether they hold needs no model.", *_left_out(made, project)
    )
    lines += ["    assertions:"]
    for before, goal in zip([None, *goals], goals, strict=False):
        lines += _goal(goal, said=before.comment if before is not None else "")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(made: Matter, draft: Draft) -> Iterator[str]:
    flow = made.flow
    kind = made.kind.replace("_", " ")
    writer = f"Written by {draft.by}" if draft.by else "Written by rules, without a model"
    yield from _comments("", f"A draft, to be edited: {kind}, for the flow {flow.id} ({flow.file}).")
    yield from _comments("", f"{writer}. What is marked TODO needs you; delete the comments when you are done.")
    if draft.note:
        yield from _comments("", f"Note: {draft.note}")
    if flow.description:
        yield from _comments("", f"The flow: {flow.description}")


def _who(made: Matter, draft: Draft) -> str:
    return "Is this how your users are? Do the values fit your test system?" if draft.by else _WHO[made.kind]


def _on_the_way(made: Matter) -> Iterator[str]:
    """What the flow depends on, where an editor must see to it."""
    if made.kind == "out_of_scope":
        return
    hints = [f"{move.name} is {move.hint}" for move in made.way.collected if move.hint]
    if hints:
        yield f"The flow says: {'; '.join(hints)}"
    if made.way.conditions and made.kind != "cancellation":
        yield f"The flow goes this way if {'; and '.join(made.way.conditions)}."
    if made.way.strangers:
        yield f"It calls {', '.join(made.way.strangers)}, no flow that is known here: what that asks for is left out."
    if made.way.linked:
        yield f"It goes over into the flow {made.way.linked}."


def _beforehand(project: Project) -> str:
    told = "What must hold before the first message?"
    domain = project.domain
    if domain is None or not domain.controlled:
        return told
    named = [f"{slot} ({type_of(slot, domain)})" for slot in sorted(domain.controlled)]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"{told} Slots that no user fills: {', '.join(named[:_MOST_NAMED])}{more}."


def _slots(made: Matter) -> Iterator[str]:
    if not made.setup:
        yield "    initial_slots: {}"
        return
    yield from _comments("    ", f"The flow may be started only if {made.flow.guard}.")
    yield "    initial_slots:"
    yield from (f"      {_scalar(slot)}: {_scalar(value)}" for slot, value in made.setup.items())


def _left_out(made: Matter, project: Project) -> Iterator[str]:
    unknown = [slot for slot in made.values if not project.knows(slot)]
    if unknown and project.domain is not None:
        yield f"TODO {project.domain.source} has no slot {', '.join(unknown)}, so nothing is said of it here."


def _goal(goal: Goal, said: str) -> Iterator[str]:
    if goal.comment and goal.comment != said:
        yield from _comments("      ", goal.comment)
    args = goal.args
    if isinstance(args, list):
        yield f"      - {goal.name}:"
        yield from (f"          - {_inline(item)}" for item in args)
    else:
        yield f"      - {goal.name}: {_inline(args)}"


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


def _block(text: str, indent: str) -> Iterator[str]:
    """Lines of a literal block."""
    for line in escape_text(text).splitlines():
        clean = "".join(sign for sign in " ".join(line.split()) if sign.isprintable())
        item = "  " if clean.startswith("- ") else ""
        wrapped = textwrap.wrap(clean, _WIDE, subsequent_indent=item, break_long_words=False, break_on_hyphens=False)
        yield from (f"{indent}{part}" for part in wrapped or [""])


def _comments(indent: str, *texts: str) -> Iterator[str]:
    for text in texts:
        clean = "".join(sign for sign in " ".join(text.split()) if sign.isprintable())
        wrapped = textwrap.wrap(clean, _WIDE - len(indent), break_long_words=False, break_on_hyphens=False)
        yield from (f"{indent}# {line}" for line in wrapped)
