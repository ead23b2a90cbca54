"""Sample values of slots, by type and name. They are always the same."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from clerkship.model.agent_domain import AgentDomain, describe_slot_mismatch
from clerkship.rasa import names
from clerkship.rasa.drafts.conditions import Requirement, list_comparisons, parse
from clerkship.suite_files.yaml import parse_yaml


def _table(name: str) -> Any:
    return parse_yaml((Path(__file__).parent / name).read_text(encoding="utf-8"), name).data


TEXTS: dict[str, dict[str, Any]] = _table("kinds.yml")
"""By kind of draft: `title`, `person`, `criteria`, `todo` and `brief`."""
WORDS: dict[str, Any] = _table("words.yml")
COMMON_WORDS = frozenset(word for words in WORDS["common"] for word in words)


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
    choices = list_choices(slot, domain)
    if choices:
        return SlotSamples(choices[0], choices[min(1, len(choices) - 1)])
    text = _build_text_samples(slot)
    return SlotSamples([text.right], [text.wrong]) if kind == "list" else text


def list_choices(slot: str, domain: AgentDomain | None) -> tuple[JsonValue, ...]:
    """Return the values of a categorical slot, as texts: Rasa stores them so, also `true` and numbers."""
    choices = domain.choices.get(slot, ()) if domain is not None else ()
    if get_slot_type(slot, domain) not in ("categorical", "strict_categorical"):
        return choices
    return tuple(_to_category(value) for value in choices)


def _to_category(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def list_candidates(slot: str, domain: AgentDomain | None, requirements: Iterable[Requirement]) -> list[JsonValue]:
    """Return values that a slot can have: samples, its choices, and values at the limits in conditions."""
    samples, choices, kind = build_samples(slot, domain), list_choices(slot, domain), get_slot_type(slot, domain)
    nodes = [parse(requirement.text) for requirement in requirements]
    compared = [part for node in nodes if node is not None for part in list_comparisons(node) if part.slot == slot]
    near: list[JsonValue] = []
    for comparison in compared:
        constant = comparison.constant
        if not comparison.operator and kind == "any":
            near += [True, False]
        elif isinstance(constant, float):
            near += [_to_whole(constant + step) for step in (0, -1, 1)]
        elif constant is not None and comparison.operator != "matches":
            near += [constant, not constant] if isinstance(constant, bool) else [constant]
    if kind == "float" or any(not isinstance(value, str) for value in near):
        near = [value for value in near if not isinstance(value, str)]
    candidates = [*near, *samples] if kind == "any" else [*samples, *near]
    fitting = [value for value in [*candidates, *choices] if not describe_slot_mismatch(value, kind)]
    return [value for value in fitting if not choices or value in choices] or [samples.right]


def _to_whole(number: float) -> JsonValue:
    return int(number) if number.is_integer() else number


def is_stored_alike(slot: str, value: JsonValue, domain: AgentDomain | None) -> bool:
    """Return whether an assistant stores a value as the person says it: a choice, a number or a code, not free text."""
    if not isinstance(value, str) or list_choices(slot, domain):
        return not isinstance(value, list)
    words = slot.lower().replace("-", "_").split("_")
    return words[-1] not in WORDS["worded"] and value != f"some {' '.join(words).strip() or slot}"


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
