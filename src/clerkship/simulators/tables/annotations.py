"""The JSON Schema of a Python annotation. Only types whose values are JSON are allowed."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

_SIMPLE: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_LISTS = (list, Sequence)
_MAPS = (dict, Mapping)
EXPECTED = "str, int, float, bool, list, dict, Literal, TypedDict, Annotated, Any, or one of these with `| None`"


class NoJsonType(ValueError):
    """An annotation whose values are not JSON."""


def build_schema(annotation: Any, namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an annotation; raise NoJsonType."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return {}
    if annotation in _SIMPLE:
        return {"type": _SIMPLE[annotation]}
    if origin in (Annotated, Required):
        texts = [text for text in arguments[1:] if isinstance(text, str)]
        return build_schema(arguments[0], namespace) | ({"description": texts[0]} if texts else {})
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return {"anyOf": [build_schema(each, namespace) for each in arguments]}
    if annotation in _LISTS or origin in _LISTS:
        return {"type": "array"} | ({"items": build_schema(arguments[0], namespace)} if arguments else {})
    if annotation in _MAPS or origin in _MAPS:
        return {"type": "object"} | _build_values(arguments, namespace)
    if is_typeddict(annotation):
        return _build_object(annotation, namespace)
    raise NoJsonType(f"`{getattr(annotation, '__name__', annotation)}` is not a type of JSON (expected: {EXPECTED})")


def _build_values(arguments: tuple[Any, ...], namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the values of a map."""
    if not arguments:
        return {}
    if arguments[0] is not str:
        raise NoJsonType("the keys of a map must be `str`")
    return {"additionalProperties": build_schema(arguments[1], namespace)}


def _build_object(annotation: Any, namespace: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(annotation, globalns=namespace, include_extras=True)
    return {
        "type": "object",
        "properties": {name: build_schema(hint, namespace) for name, hint in hints.items()},
        "required": [name for name in hints if name in annotation.__required_keys__],
        "additionalProperties": False,
    }
