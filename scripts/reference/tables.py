"""Tables of the fields of models, dataclasses and handles, in Markdown."""

import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clerkship.assertions.selection import EventWindow, SelectionAssertion
from clerkship.model.closed import NameOf, OneOf
from clerkship.model.duration import render_duration
from clerkship.model.scenario import EventMatch

_TYPE_NAMES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "timedelta": "duration",
    "datetime": "date and time",
    "date": "date",
    "Any": "anything",
    "StepCall": "step",
    "AssertionCall": "assertion",
}
_BAR = re.compile(r"(?<!\\)\|")
_SHARED_FIELDS = (EventWindow, SelectionAssertion)


def rows(items: Iterable[tuple[object, ...]]) -> str:
    """Return table rows, one for each tuple of cells, in which a bar is no border."""
    return "\n".join("| " + " | ".join(_BAR.sub(r"\|", str(cell)) for cell in cells) + " |" for cells in items)


def code_list(names: Iterable[str]) -> str:
    """Return names as a sorted list of code."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def describe_dataclass(model: type, descriptions: Mapping[str, str], prefix: str = "") -> str:
    """Return rows for the fields of a dataclass. Raise KeyError if a field has no description."""
    return rows((f"`{prefix}{field.name}`", descriptions[field.name]) for field in fields(model))


def describe_model(model: type[BaseModel]) -> str:
    """Return the table of the fields of a model, our additions to a format and what several assertions have last."""
    ordered = sorted(model.model_fields.items(), key=lambda field: _is_last(model, *field))
    if not ordered:
        return "It has no keys.\n"
    body = rows(_field_cells(info.alias or name, info) for name, info in ordered)
    return f"| key | type | default | |\n|---|---|---|---|\n{body}\n"


def _is_last(model: type[BaseModel], name: str, info: FieldInfo) -> bool:
    is_shared = any(issubclass(model, base) and name in base.model_fields for base in _SHARED_FIELDS)
    return is_shared or (info.description or "").endswith("(ours)")


def describe_nested_models(model: type[BaseModel]) -> str:
    """Return the tables of the models in the fields of a model, unless another page has them."""
    nested: set[type[BaseModel]] = set()
    _collect_models(model, nested)
    shown = {inner for inner in nested - {EventMatch} if inner.__name__ not in _TYPE_NAMES}
    return "".join(
        f"\n{inner.__name__}: {docstring(inner)}\n\n{describe_model(inner)}"
        for inner in sorted(shown, key=lambda inner: inner.__name__)
    )


def _collect_models(model: type[BaseModel], collected: set[type[BaseModel]]) -> None:
    """Add the models in the fields of a model, and in theirs, at any depth."""
    for info in model.model_fields.values():
        for inner in _models_in(info.annotation):
            if inner not in collected:
                collected.add(inner)
                _collect_models(inner, collected)


def describe_members(handle: type) -> Iterator[tuple[str, str]]:
    """Yield the public members of a class with their parameters and the first line of their docstrings."""
    for name, member in inspect.getmembers(handle):
        if not name.startswith("_") and name != "request":
            parameters = "" if isinstance(member, property) else _parameters_of(member)
            yield f"{name}{parameters}", (inspect.getdoc(member) or "").split("\n")[0]


def docstring(model: type) -> str:
    """Return the docstring of a class."""
    return inspect.getdoc(model) or ""


def first_sentence(model: type) -> str:
    """Return the first line of a docstring without its full stop."""
    return docstring(model).split("\n")[0].removesuffix(".")


def _parameters_of(function: Any) -> str:
    return "(" + ", ".join(name for name in inspect.signature(function).parameters if name != "self") + ")"


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _field_cells(name: str, info: FieldInfo) -> tuple[str, str, str, str]:
    default = "required" if info.is_required() else _show_default(info.get_default(call_default_factory=True))
    return f"`{name}`", _describe_type(info), default, info.description or ""


def _describe_type(info: FieldInfo) -> str:
    """Return the type of a field with the values of a closed set, or with what its names must be."""
    for marker in info.metadata:
        if isinstance(marker, OneOf):
            return " or ".join((*(f"`{value}`" for value in marker.values), "a matcher"))
        if isinstance(marker, NameOf):
            return f"{_type_name(info.annotation)} (known {marker.sort})"
    return _type_name(info.annotation)


def _show_default(value: object) -> str:
    if value is None or value in ("", (), {}) or isinstance(value, BaseModel):
        return ""
    if isinstance(value, timedelta):
        return f"`{render_duration(value)}`"
    if isinstance(value, tuple) and any(_is_nested(item) for item in value):
        return "as shipped"
    return f"`[{', '.join(map(str, value))}]`" if isinstance(value, tuple) else f"`{value}`"


def _is_nested(value: object) -> bool:
    """Return whether a value has several fields and no short text of its own."""
    return isinstance(value, BaseModel) and type(value).__str__ is BaseModel.__str__


def _type_name(annotation: Any) -> str:
    if annotation is type(None):
        return ""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(filter(None, map(_type_name, arguments))))
    if origin in (tuple, list):
        return f"list of {_type_name(arguments[0])}"
    if origin is dict:
        value = arguments[1] if arguments else None
        return f"map of {value.__name__}" if isinstance(value, type) and issubclass(value, BaseModel) else "map"
    if hasattr(annotation, "__metadata__"):
        return _type_name(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation.__name__ not in _TYPE_NAMES:
        return annotation.__name__
    return _TYPE_NAMES.get(getattr(annotation, "__name__", ""), "anything")
