"""Values that a slot may have, for drafts: by its type and its name, the same every time."""

from typing import NamedTuple

from pydantic import JsonValue

from clerkship.model.domain import Domain
from clerkship.rasa import names

_BY_WORD: dict[str, tuple[str, str]] = {
    "email": ("sam.taylor@example.com", "sam.taylor@example.org"),
    "phone": ("555-0134", "555-0187"),
    "mobile": ("555-0134", "555-0187"),
    "pin": ("4711", "2580"),
    "password": ("open-sesame", "sesame-open"),
    "otp": ("314159", "271828"),
    "date": ("2026-03-09", "2026-03-11"),
    "day": ("Monday", "Wednesday"),
    "time": ("10:30", "14:15"),
    "address": ("12 Elm Road, Riverton", "7 Oak Lane, Riverton"),
    "street": ("12 Elm Road", "7 Oak Lane"),
    "city": ("Riverton", "Lakeside"),
    "town": ("Riverton", "Lakeside"),
    "location": ("Riverton", "Lakeside"),
    "country": ("Ireland", "Portugal"),
    "zip": ("20095", "10115"),
    "postcode": ("20095", "10115"),
    "amount": ("100", "250"),
    "price": ("100", "250"),
    "age": ("42", "24"),
    "iban": ("DE02 1203 0000 0000 2020 51", "DE02 5001 0517 0137 0750 30"),
    "name": ("Sam Taylor", "Alex Morgan"),
    "recipient": ("Sam Taylor", "Alex Morgan"),
    "payee": ("Sam Taylor", "Alex Morgan"),
    "reason": ("it arrived broken", "I ordered it twice"),
    "url": ("https://example.com/one", "https://example.com/two"),
}
_NUMBERED = {"id", "number", "no", "code", "nr", "reference", "ref"}

_PEOPLE = {
    "first",
    "last",
    "full",
    "user",
    "customer",
    "contact",
    "person",
    "recipient",
    "payee",
    "patient",
    "buyer",
    "your",
}


class Samples(NamedTuple):
    """One value, and another that somebody may have said by mistake."""

    right: JsonValue
    wrong: JsonValue


def type_of(slot: str, domain: Domain | None) -> str:
    """A slot's type; `any` where that is not known."""
    known = domain.slots if domain is not None else {}
    return known.get(slot) or names.SLOTS.get(slot, "any")


def samples(slot: str, domain: Domain | None) -> Samples:
    """By its type; texts by what the slot is called."""
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
    if last in _BY_WORD and (last != "name" or not before or before in _PEOPLE):
        return Samples(*_BY_WORD[last])
    if words[:2] in (["number", "of"], ["num", "of"]) or words[0] == "num":
        return Samples("3", "4")
    if last in _NUMBERED:
        return Samples(f"{before.upper()[:12] or 'NO'}-1001", f"{before.upper()[:12] or 'NO'}-1002")
    spoken = " ".join(words).strip() or slot
    return Samples(f"some {spoken}", f"another {spoken}")
