"""The slots of a representative's dialogue: what is known, from where, and whether it matches what is on file."""

from collections.abc import Collection, Mapping

from clerkship.formats.phone_tree.session import CALLER, LINE, Slot
from clerkship.formats.phone_tree.stated_values import PATIENT_NAMES
from clerkship.text.folding import fold_words

Slots = Mapping[str, Slot]


def list_stated(slots: Slots) -> dict[str, str]:
    """Return the values that the caller stated, or entered before at the phone tree."""
    return {name: slot.value for name, slot in slots.items() if slot.source in (CALLER, LINE)}


def list_returned(slots: Slots) -> dict[str, str]:
    """Return the values that hooks returned."""
    return {name: slot.value for name, slot in slots.items() if slot.source not in (CALLER, LINE)}


def find_new(slots: Slots, values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that are not known, differ from what is known, or confirm what is in doubt."""
    return {
        name: value
        for name, value in values.items()
        if name not in slots or slots[name].state == "doubted" or not _is_same(name, value, slots[name])
    }


def doubt(slots: Slots, names: Collection[str]) -> dict[str, Slot]:
    """Return the slots after some values did not match what is on file."""
    return _change(slots, dict.fromkeys(names, "doubted"))


def trust(slots: Slots) -> dict[str, Slot]:
    """Return the slots without doubt: one value was corrected, so the others may be right."""
    return _change(slots, {name: "stated" for name, slot in slots.items() if slot.state == "doubted"})


def verify(slots: Slots, names: Collection[str]) -> dict[str, Slot]:
    """Return the slots after some values matched what is on file."""
    return _change(slots, dict.fromkeys(names, "verified"))


def is_other_person(slots: Slots, person: str | None) -> bool:
    """Return whether a name is not that of the person whom the caller may hear about."""
    names = [slots[name].value for name in PATIENT_NAMES if name in slots and slots[name].state == "verified"]
    return person is not None and bool(names) and not any(_is_part(person, name) for name in names)


def _change(slots: Slots, states: Mapping[str, str]) -> dict[str, Slot]:
    changed = {name: slots[name].model_copy(update={"state": states[name]}) for name in states if name in slots}
    return {**slots, **changed}


def _is_same(name: str, value: str, slot: Slot) -> bool:
    """Return whether a value is the known one. Of a name, a part is enough."""
    return slot.value == value or (name in PATIENT_NAMES and _is_part(value, slot.value))


def _is_part(name: str, full_name: str) -> bool:
    return set(fold_words(name)) <= set(fold_words(full_name))
