"""Entries by keypad: when one is complete, and what it means."""

from datetime import date
from typing import Literal, NamedTuple

from clerkship.formats.phone_tree.tree import CollectNode, EntryFormat

DATE_KEYS = 8
"""A date is keyed as MMDDYYYY."""
DECIMAL_KEY = "*"
"""The decimal point of an amount of money, after its first digit."""

EntryProgress = Literal["incomplete", "complete", "repeat"]


class KeyedEntry(NamedTuple):
    """How far an entry by keypad is."""

    progress: EntryProgress
    keys: str = ""
    """The keys of the entry, without the end key."""
    rest: str = ""
    """The keys after it."""


def read_keys(node: CollectNode, keys: str) -> KeyedEntry:
    """Return the entry at the beginning of the pressed keys.

    An entry is complete at the end key, when it has as many digits as fit, or at a key that is not part of an entry.
    """
    max_digits = DATE_KEYS if node.format == "date" else node.max_length
    digits = 0
    for index, key in enumerate(keys):
        rest = keys[index + 1 :]
        if key == node.end_key:
            return KeyedEntry("complete", keys[:index], rest)
        if key.isdigit():
            digits += 1
            if digits == max_digits:
                return KeyedEntry("complete", keys[: index + 1], _skip_end_key(node, rest))
        elif node.format == "money" and key == DECIMAL_KEY and digits:
            continue
        elif key == node.repeat_key:
            return KeyedEntry("repeat", rest=rest)
        else:
            return KeyedEntry("complete", keys[: index + 1], rest)
    return KeyedEntry("incomplete", keys)


def parse_keys(format: EntryFormat, keys: str) -> str | None:
    """Return the value of an entry by keypad; None if it is not valid. Letters cannot be entered by keypad."""
    if format == "money":
        return _parse_amount(keys)
    if not keys.isdigit():
        return None
    return _parse_date(keys) if format == "date" else keys


def has_valid_length(node: CollectNode, value: str) -> bool:
    """Whether a value is neither too short nor too long. Dates and amounts of money have no such limits."""
    if node.format in ("date", "money"):
        return True
    return node.min_length <= len(value) <= node.max_length


def _skip_end_key(node: CollectNode, rest: str) -> str:
    """Leave out an end key after an entry that was complete without it."""
    return rest[1:] if node.end_key is not None and rest.startswith(node.end_key) else rest


def _parse_date(keys: str) -> str | None:
    if len(keys) != DATE_KEYS:
        return None
    try:
        return date(int(keys[4:]), int(keys[:2]), int(keys[2:4])).isoformat()
    except ValueError:
        return None


def _parse_amount(keys: str) -> str | None:
    """Return dollars and cents. Without a decimal point, the last two digits are cents."""
    dollars, point, cents = keys.partition(DECIMAL_KEY)
    if not point:
        dollars, cents = keys[:-2], keys[-2:]
    dollars = dollars or "0"
    if not dollars.isdigit() or not cents.isdigit() or len(cents) != 2:
        return None
    return f"{int(dollars)}.{cents}"
