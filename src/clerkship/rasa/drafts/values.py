"""Sample values of slots, by type and name; always the same."""

from typing import NamedTuple

from pydantic import JsonValue

from clerkship.model.agent_domain import AgentDomain
from clerkship.rasa import names
from clerkship.rasa.drafts.tables import WORDS


class Samples(NamedTuple):
    """A value, and another that a person may give by mistake."""

    right: JsonValue
    wrong: JsonValue


def type_of(slot: str, domain: AgentDomain | None) -> str:
    """Return the type of a slot; `any` if it is unknown."""
    known = domain.slots if domain is not None else {}
    return known.get(slot) or names.BUILT_IN_SLOTS.get(slot, "any")


def samples(slot: str, domain: AgentDomain | None) -> Samples:
    """Return the values of a slot: by its type, for texts by its name."""
    kind = type_of(slot, domain)
    if kind == "bool":
        return Samples(True, False)
    if kind == "float":
        return Samples(100, 250)
    choices = domain.choices.get(slot, ()) if domain is not None else ()
    if choices:
        return Samples(choices[0], choices[min(1, len(choices) - 1)])
    text = _texts(slot)
    return Samples([text.right], [text.wrong]) if kind == "list" else text


def _texts(slot: str) -> Samples:
    words = slot.lower().replace("-", "_").split("_")
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in WORDS["samples"] and (last != "name" or not before or before in WORDS["people"]):
        return Samples(*WORDS["samples"][last])
    if words[:2] in (["number", "of"], ["num", "of"]) or words[0] == "num":
        return Samples("3", "4")
    if last in WORDS["numbered"]:
        return Samples(f"{before.upper()[:12] or 'NO'}-1001", f"{before.upper()[:12] or 'NO'}-1002")
    spoken = " ".join(words).strip() or slot
    return Samples(f"some {spoken}", f"another {spoken}")
