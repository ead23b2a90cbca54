"""Records of a state as plain data, for comparison."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from typing import Any

from pydantic import BaseModel

from clerkship.events.event import Event


def to_plain(value: Any) -> Any:
    """Return a value as plain data: texts, numbers, lists, and mappings with texts as keys.

    Bytes become their hash, sets are sorted, and an event loses the request that it records. Other objects become
    mappings of their public attributes. Private ones are indexes and caches, which follow from the public ones.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        return {_to_key(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Event):
        return dump_attributes(value, without=("request",))
    if isinstance(value, AbstractSet):
        return sorted(map(to_plain, value))
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return list(map(to_plain, value))
    return str(value) if isinstance(value, timedelta) else dump_attributes(value)


def dump_attributes(value: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the public attributes of an object as plain data, except some."""
    names = [name for name in _list_names(value) if not name.startswith("_") and name not in without]
    return {name: to_plain(getattr(value, name)) for name in names}


def _list_names(value: Any) -> Iterable[str]:
    if isinstance(value, BaseModel):
        return type(value).model_fields
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    names: Iterable[str] = getattr(value, "_fields", None) or vars(value)
    return names


def _to_key(key: Any) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
