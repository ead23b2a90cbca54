"""A validation error, reworded for the author of a file."""

import types
from collections.abc import Iterator, Sequence
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from clerkship.library.yaml import Path, Tree
from clerkship.model.names import did_you_mean
from clerkship.model.problem import Problem

_EXPECTED = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list",
    "list_type": "expected a list",
    "dict_type": "expected a map",
    "model_type": "expected a map",
    "model_attributes_type": "expected a map",
    "timezone_aware": "expected a time with its zone, such as 2026-03-02T09:00:00-05:00",
    "datetime_from_date_parsing": "expected a time with its zone, such as 2026-03-02T09:00:00-05:00",
    "datetime_parsing": "expected a time with its zone, such as 2026-03-02T09:00:00-05:00",
}


def complain(error: ValidationError, model: type[BaseModel], tree: Tree, prefix: Path) -> Iterator[Problem]:
    """Each error at its place, with what was expected and the nearest name."""
    for found in _sharpest(error.errors()):
        location = [part for part in found["loc"] if part != "[key]"]
        kind = found["type"]
        path = [*prefix, *location]
        key = str(location[-1]) if location else str(prefix[-1]) if prefix else ""
        hint = ""
        if kind == "extra_forbidden":
            message = f"unknown key `{key}`"
            hint = did_you_mean(key, _fields_at(model, location[:-1]))
        elif kind == "missing":
            message = f"`{key}` is missing"
            path.pop()
        else:
            message = _EXPECTED.get(kind) or found["msg"].removeprefix("Value error, ").replace(
                "Input should", "it should"
            )
            if kind in _EXPECTED:
                message += f", not {_shown(found['input'])}"
        file, line, column = tree.locate(path, key=kind == "extra_forbidden")
        dotted = ".".join(str(part) for part in _real(tree, [*prefix, *location]))
        yield Problem(file=file, line=line, column=column, key=dotted, message=message, hint=hint)


def _sharpest(errors: Sequence[Any]) -> list[Any]:
    """Of a union's complaints about one place, the one that got furthest into it."""
    kept: list[Any] = []
    for error in errors:
        rival = next((other for other in kept if _branches(other["loc"], error["loc"])), None)
        if rival is None:
            kept.append(error)
        elif len(error["loc"]) > len(rival["loc"]) or rival["type"] in ("string_type", "function-after"):
            kept[kept.index(rival)] = error
    return kept


def _branches(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two places differ only after a step that names a union's branch, not a key of the file."""
    for left, right in zip(one, other, strict=False):
        if left != right:
            return _is_branch(left) and _is_branch(right)
    return False


def _is_branch(part: Any) -> bool:
    return isinstance(part, str) and (part[:1].isupper() or "[" in part or part in ("str", "nullable", "int"))


def _real(tree: Tree, path: Path) -> list[int | str]:
    """The path without the steps that only the model has."""
    return [part for part in path if not _is_branch(part) or isinstance(part, int)]


def _fields_at(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The keys a map at this place may have."""
    here: Any = model
    for part in location:
        here = _inside(here, part)
    models = list(_models(here))
    return sorted({name for found in models for name in found.model_fields})


def _inside(annotation: Any, part: int | str) -> Any:
    for found in _models(annotation):
        if part in found.model_fields:
            return found.model_fields[part].annotation
        if found.__name__ == part:
            return found
    arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    return Union[tuple(arguments)] if arguments else annotation  # noqa: UP007


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    if get_origin(annotation) in (Union, types.UnionType) or get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from _models(argument)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return repr(value)[:60]
