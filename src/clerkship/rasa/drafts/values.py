"""Sample values of slots, by type and name. They are always the same."""

from typing import NamedTuple

from pydantic import JsonValue

from clerkship.model.agent_domain import AgentDomain
from clerkship.rasa import names
from clerkship.rasa.drafts.tables import WORDS


class SlotSamples(NamedTuple):
    """A value, and another one that a person may give by mistake."""

    right: JsonValue
    wrong: JsonValue


def get_slot_type(slot: str, domain: AgentDomain | None) -> str:
    """Return the type of a slot; `any` if it is unknown."""
    known = domain.slots if domain is not None else {}
    return known.get(slot) or names.BUILT_IN_SLOTS.get(slot, "any")


def build_samples(slot: str, domain: AgentDomain | None) -> SlotSamples:
    """Return sample values of a slot: by its type, and for text by its name."""
    kind = get_slot_type(slot, domain)
    if kind == "bool":
        return SlotSamples(True, False)
    if kind == "float":
        return SlotSamples(100, 250)
    choices = domain.choices.get(slot, ()) if domain is not None else ()
    if choices:
        return SlotSamples(choices[0], choices[min(1, len(choices) - 1)])
    text = _build_text_samples(slot)
    return SlotSamples([text.right], [text.wrong]) if kind == "list" else text


def _build_text_samples(slot: str) -> SlotSamples:
    words = slot.lower().replace("-", "_").split("_")
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in WORDS["samples"] and (last != "name" or not before or before in WORDS["people"]):
        return SlotSamples(*WORDS["samples"][last])
    if words[:2] in (["number", "of"], ["num", "of"]) or words[0] == "num":
        return SlotSamples("3", "4")
    if last in WORDS["numbered"]:
        return SlotSamples(f"{before.upper()[:12] or 'NO'}-1001", f"{before.upper()[:12] or 'NO'}-1002")
    spoken = " ".join(words).strip() or slot
    return SlotSamples(f"some {spoken}", f"another {spoken}")
