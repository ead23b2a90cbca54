"""Immutable copies of plain data, which several playgrounds can share."""

import re
from collections.abc import Iterable
from copy import deepcopy
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin
from uuid import UUID

if TYPE_CHECKING:  # the handle of a FHIR server needs this module, and no data model
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(
        "records, event payloads and configs cannot be changed in place, because playgrounds share them; in `apply`, "
        "store a changed copy: records[key] = {**record, ...}, or use copy.deepcopy(record) to change nested values"
    )


class FrozenDict(dict[Any, Any]):
    """A dict that refuses changes. Its copies, shallow and deep, are plain dicts."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[type[dict[Any, Any]], tuple[dict[Any, Any]]]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses changes. Its copies, shallow and deep, are plain lists."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)


_SIMPLE = (NoneType, bool, int, float, str, bytes, datetime, date, time, timedelta, Decimal, UUID, frozenset)
IMMUTABLE: frozenset[type] = frozenset((*_SIMPLE, FrozenDict, FrozenList))
"""Types whose values `freeze` returns unchanged. A FrozenDict or FrozenList is frozen at every level."""
_EMPTY = ()
"""The only empty tuple. A comparison with it would call `__eq__` of the value, which is slow for a model."""
_IMMUTABLE_BASES = (str, bytes, int, float, date, time, tzinfo, Enum, PurePath, re.Pattern)


class CannotFreeze(TypeError):
    """The value is not plain data, so it cannot be frozen."""


def freeze(value: Any) -> Any:
    """Return an equal value that cannot be changed, at any level.

    Dicts, lists and sets are copied; frozen models are frozen in place. Raise CannotFreeze for any other mutable
    object.
    """
    kind = type(value)
    if kind is dict:
        frozen = FrozenDict(value)
        for key, item in value.items():
            if type(item) not in IMMUTABLE:
                dict.__setitem__(frozen, key, freeze(item))
        return frozen
    if kind is list:
        return FrozenList([item if type(item) in IMMUTABLE else freeze(item) for item in value])
    return value if kind in IMMUTABLE else _freeze_other(value)


def _freeze_other(value: Any) -> Any:
    if isinstance(value, tuple):
        return _freeze_tuple(value)
    model: Any = type(value)
    if getattr(model, "model_config", {}).get("frozen"):
        for name in find_mutable_fields(model):
            value.__dict__[name] = freeze(value.__dict__[name])
        return value
    if type(value) is set:
        return frozenset(value)
    if isinstance(value, _IMMUTABLE_BASES):
        return value
    raise CannotFreeze(f"a {type(value).__name__} cannot be frozen")


def _freeze_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    items = [item if type(item) in IMMUTABLE else freeze(item) for item in value]
    if type(value) is tuple:
        return tuple(items)
    make: Any = getattr(value, "_make", type(value))  # a named tuple takes its items one by one
    frozen: tuple[Any, ...] = make(items)
    return frozen


@cache
def find_mutable_fields(model: "type[BaseModel]") -> tuple[str, ...]:
    """Return the names of the fields whose types allow values that can be changed."""
    return tuple(name for name, field in model.model_fields.items() if not _is_immutable(field.annotation))


def _is_immutable(annotation: Any) -> bool:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal or annotation is Ellipsis:
        return True
    if origin is Annotated:
        return _is_immutable(arguments[0])
    if origin in (Union, UnionType, tuple):
        return all(map(_is_immutable, arguments))
    return annotation in IMMUTABLE or (isinstance(annotation, type) and issubclass(annotation, _IMMUTABLE_BASES))


def freeze_fields(model: M) -> M:
    """Freeze the fields of a frozen model in place, except those that are not plain data; return the model."""
    freeze_named(model.__dict__, find_mutable_fields(type(model)))
    return model


def freeze_named(fields: dict[str, Any], names: Iterable[str]) -> None:
    """Freeze some of the fields of a frozen model in place, except those that are not plain data."""
    for name in names:
        value = fields[name]
        if value is None or value is _EMPTY:
            continue
        try:
            fields[name] = freeze(value)
        except CannotFreeze:
            continue


def freeze_or_copy(value: Any) -> Any:
    """Return the value frozen, or a deep copy of it where it is not plain data."""
    try:
        return freeze(value)
    except CannotFreeze:
        return deepcopy(value)
