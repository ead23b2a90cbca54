"""Fields with a closed set of values: values that are always the same, and names that an environment defines.

An unknown value in such a field is a mistake: a criterion that forbids it would pass whatever the agent does.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from clerkship.model.matcher import is_matcher
from clerkship.model.names import did_you_mean
from clerkship.model.path import split_path

_LISTS = (tuple, list, set, frozenset)


def keep_name(name: str) -> str:
    """Return a name unchanged."""
    return name


def has_wildcard(name: str) -> bool:
    """Return whether a name is a pattern with `*` or `?`."""
    return "*" in name or "?" in name


class OneOf:
    """A marker of a field that takes a value of a closed set, or a matcher. Pydantic refuses an unknown value.

    A field that takes no matcher has a `Literal` instead.
    """

    def __init__(self, *values: str) -> None:
        self.values = values

    def check(self, expected: Any) -> Any:
        """Return an expectation; raise ValueError if it has a value that is not in the set."""
        if expected is None:
            return expected
        for value in list_literals(expected):
            if isinstance(value, list):
                raise ValueError("expected a value or a matcher, not a list; write {in: […]} for one of several values")
            if value not in self.values:
                raise ValueError(describe_unknown(value, self.values))
        return expected

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        optional = [{"type": "null"}] if {"type": "null"} in handler(schema).get("anyOf", ()) else []
        return {"anyOf": [{"enum": list(self.values)}, {"type": "object", "description": "a matcher"}, *optional]}


@dataclass(frozen=True)
class NameOf:
    """A marker of a field that holds a name which the environment or the task defines, such as that of a mailbox.

    The name is looked up when files are loaded. Matchers, and values that a template fills in, are not.
    """

    sort: str
    """What it names: a key of `ComponentSpec.names`, `entity` or `person`."""
    normalize: Callable[[str], str] = keep_name
    """Returns a name in the form in which it is compared."""
    is_pattern: Callable[[str], bool] = has_wildcard
    """Returns whether a text stands for several names; it is not looked up then, like a matcher."""
    or_mentioned: bool = False
    """Whether a criterion may also hold a name that only the rest of its task, or a dataset, mentions."""
    has_form: Callable[[str], bool] = bool
    """Returns whether a text can be such a name at all; a word that is mentioned is no phone number."""
    form: str = ""
    """What such a name looks like, for errors."""


ENTITY = NameOf("entity")
PERSON = NameOf("person")
PERSON_TOOL = NameOf("tool of people")
"""A function of a sandbox that people may use."""
REQUEST_METHOD = NameOf("request method")
OPERATION = NameOf("operation")
"""An operation that follows from the datasets of a sandbox, besides those of its kind."""
HTTP_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def list_literals(expected: Any) -> Iterator[Any]:
    """Yield the values in an expectation with which an actual value is compared: a literal, or those of `equals`, `in`
    and `not`.
    """
    if not is_matcher(expected):
        yield expected
        return
    for name, argument in expected.items():
        if name == "equals":
            yield argument
        elif name == "in":
            yield from argument
        elif name == "not":
            yield from list_literals(argument)


def describe_unknown(value: Any, known: Collection[Any]) -> str:
    """Return the error for a value that is not in a closed set."""
    names = [str(each).lower() if isinstance(each, bool) else str(each) for each in known if each is not None]
    hint = did_you_mean(str(value), names) or f"known: {', '.join(sorted(names))}"
    shown = "null" if value is None else str(value)[:60]
    return f"unknown value `{shown}`; {hint}"


def list_choices(annotation: Any) -> tuple[Any, ...] | None:
    """Return the values that a type allows; None if they are not a closed set."""
    origin = get_origin(annotation)
    if origin is Literal:
        return get_args(annotation)
    if annotation is bool:
        return (True, False)
    if annotation in (None, NoneType):
        return (None,)
    if origin is Annotated:
        return list_choices(get_args(annotation)[0])
    if origin in (Union, UnionType):
        choices = [list_choices(part) for part in get_args(annotation)]
        return None if None in choices else tuple(value for part in choices for value in part or ())
    return None


def find_unknown_value(model: type[BaseModel], path: str, expected: Any) -> str:
    """Describe a literal that the value at a path of a model can never equal; empty if there is none.

    Only types with a closed set of values are checked, and lists of them.
    """
    choices = _list_choices_at(model, path)
    if choices is None:
        return ""
    values = [item for value in list_literals(expected) for item in (value if isinstance(value, list) else [value])]
    unknown = [value for value in values if not _is_choice(value, choices)]
    return describe_unknown(unknown[0], choices) if unknown else ""


def _is_choice(value: Any, choices: Collection[Any]) -> bool:
    return any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices)


@cache
def _list_choices_at(model: type[BaseModel], path: str) -> tuple[Any, ...] | None:
    """Return the values that are possible at a path; None if they are not a closed set."""
    types: list[Any] = [model]
    for part in split_path(path):
        types = [inner for each in types for inner in _list_inner_types(each, part)]
    choices = [list_choices(_to_item_type(each)) for each in types]
    return None if not choices or None in choices else tuple(value for part in choices for value in part or ())


def _list_inner_types(annotation: Any, part: Any) -> list[Any]:
    """Return the types of what a part of a path leads to; `Any` if that is unknown."""
    annotation = annotation if isinstance(annotation, type) else _to_plain_type(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        return [field.annotation] if field is not None else [Any]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return [inner for each in arguments if each is not NoneType for inner in _list_inner_types(each, part)]
    if origin in _LISTS:
        return [each for each in arguments if each is not Ellipsis]
    return [arguments[1]] if origin in (dict, Mapping) else [Any]


def _to_plain_type(annotation: Any) -> Any:
    return _to_plain_type(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def _to_item_type(annotation: Any) -> Any:
    """Return the type of the items of a list; another type as it is."""
    plain = _to_plain_type(annotation)
    items = [each for each in get_args(plain) if each is not Ellipsis] if get_origin(plain) in _LISTS else []
    return items[0] if len(items) == 1 else plain
