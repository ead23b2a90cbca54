"""Reword pydantic's validation errors for the author of a file."""

import json
import re
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from clerkship.model.errors import InputProblem
from clerkship.model.names import did_you_mean, find_nearest_name
from clerkship.suite_files.yaml import KeyPath, YamlTree

_TIME = "a time with its zone, such as 2026-03-02T09:00:00-05:00"
_DATE = "a date such as 2026-03-02"
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_from_datetime_inexact": _DATE,
    "timezone_aware": _TIME,
    "datetime_type": _TIME,
    "datetime_from_date_parsing": _TIME,
    "datetime_parsing": _TIME,
}
_LIST_KINDS = ("tuple_type", "list_type")
_WORD = re.compile(r"[A-Za-z][\w.-]*")
_MAX_ITEM = 60
"""Characters of a text that are shown in a suggested list."""
_MAX_UNKNOWN_KEYS = 100
_MAX_LISTED_KEYS = 40
_LIMITS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_PATTERNS = {
    r"\S": "text that is not blank",
    r"^[a-z][a-z0-9_-]*$": "a lower-case letter, then lower-case letters, digits, - and _",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "a letter, then letters, digits and _",
    r"^[a-z0-9][a-z0-9-]*$": "lower-case letters, digits and -",
    r"^[A-Za-z_][A-Za-z0-9_-]*$": "a letter or _, then letters, digits, - and _",
    r"^[a-z][a-z0-9_]{0,39}$": "a lower-case letter, then lower-case letters, digits and _, at most 40 characters",
    r"^[a-z][a-z0-9-]{0,59}$": "a lower-case letter, then lower-case letters, digits and -, at most 60 characters",
    r"^[A-Za-z0-9_]+(::[A-Za-z0-9_]+)?$": "an action, or a test case's name (with _ for spaces), :: and an action",
}


def describe_validation_error(
    error: ValidationError, model: type[BaseModel], tree: YamlTree, prefix: KeyPath
) -> Iterator[Callable[[], InputProblem]]:
    """Yield a function for each error that builds its problem: the place, what was expected, and the nearest name."""
    errors = [detail for detail in error.errors(include_url=False) if not _is_redundant(detail)]
    relevant = _select_relevant(errors, tree, prefix)
    unknown = [detail["loc"] for detail in relevant if detail["type"] == "extra_forbidden"][:_MAX_UNKNOWN_KEYS]
    missing = [detail["loc"] for detail in relevant if detail["type"] == "missing"]
    for detail in relevant:
        place = detail["loc"]
        if detail["type"] == "extra_forbidden" and _is_alone(place, unknown) and _is_alone(place, missing):
            named = next(each[-1] for each in missing if each[:-1] == place[:-1])
            yield partial(_build_problem, detail, model, tree, prefix, missing=str(named))
        elif detail["type"] != "missing" or not _is_misspelled(place, unknown):
            yield partial(_build_problem, detail, model, tree, prefix)


def _is_redundant(error: Any) -> bool:
    """Return whether a list is reported as too short only because some of its items are invalid."""
    return bool(error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"])


def _is_alone(place: Sequence[Any], places: Sequence[Sequence[Any]]) -> bool:
    """Return whether one of the places is in the same map as a place, and only one."""
    return sum(other[:-1] == place[:-1] for other in places) == 1


def _is_misspelled(missing: Sequence[Any], unknown: Sequence[Sequence[Any]]) -> bool:
    """Return whether a missing key was written with another name, which is reported already."""
    here = [str(other[-1]) for other in unknown if other[:-1] == missing[:-1]]
    return len(here) == 1 or any(find_nearest_name(name, [str(missing[-1])]) is not None for name in here)


def _build_problem(
    error: Any, model: type[BaseModel], tree: YamlTree, prefix: KeyPath, missing: str = ""
) -> InputProblem:
    location = list(_location(error))
    kind = error["type"]
    name = str(error["loc"][-1]) if error["loc"] else ""
    message, hint = describe_error(error)
    if kind == "extra_forbidden":
        known = _fields_at(model, location[:-1])
        message, hint = f"unknown key `{name[:60]}`", did_you_mean(name, known)
        if missing and find_nearest_name(name, known) is None:
            hint = f"did you mean `{missing}`, which is missing?"
        hint = hint or f"known: {', '.join(known[:_MAX_LISTED_KEYS])}"
    elif kind == "missing":
        message = f"`{name}` is missing"
    elif kind in _LIST_KINDS and isinstance(error["input"], str) and _is_list_of_text(model, location):
        hint = f"write {_write_list(error['input'])}"
    of_key = kind == "extra_forbidden" or error["loc"][-1:] == ("[key]",)
    return tree.locate([*prefix, *location], key=of_key).problem(message, hint)


def _is_list_of_text(model: type[BaseModel], location: Sequence[int | str]) -> bool:
    """Return whether the value at this path is a list of texts."""
    return any(
        get_origin(part) in (list, tuple) and str in get_args(part)
        for part in _list_alternatives(_find_type(model, location))
    )


def _list_alternatives(annotation: Any) -> list[Any]:
    """Return the types of a union; a type that is none, alone. `Annotated` is left out."""
    if get_origin(annotation) is Annotated:
        return _list_alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [part for argument in get_args(annotation) for part in _list_alternatives(argument)]
    return [annotation]


def _write_list(text: str) -> str:
    """Return a list in YAML with a text as its item; single words with commas between them are separate items."""
    words = [word.strip() for word in text.split(",")]
    items = words if all(_WORD.fullmatch(word) for word in words) else [text]
    written = [item if _WORD.fullmatch(item) else json.dumps(item[:_MAX_ITEM], ensure_ascii=False) for item in items]
    return f"[{', '.join(written)}]"


def _location(error: Any) -> tuple[int | str, ...]:
    """Return the path in the file that an error is about. For a missing key this is the map that lacks it."""
    location: tuple[int | str, ...] = tuple(part for part in error["loc"] if part != "[key]")
    return location[:-1] if error["type"] == "missing" else location


def describe_error(error: Any) -> tuple[str, str]:
    """Return in words what was expected, and a hint, for an error of pydantic."""
    kind, context, value = error["type"], error.get("ctx", {}), error["input"]
    if kind in _EXPECTED:
        quote = kind == "string_type" and isinstance(value, int | float)
        return f"expected {_EXPECTED[kind]}, not {describe_value(value)}", "quote it if it is text" if quote else ""
    if kind in _LIMITS:
        limit, words = _LIMITS[kind]
        return f"expected {words} {context[limit]:,g}, not {describe_value(value)}", ""
    if kind == "string_too_short":
        return "expected text that is not empty", ""
    if kind == "string_too_long":
        return f"it has {len(value)} characters; the limit is {context['max_length']}", "shorten it"
    if kind == "too_short":
        return f"expected a list with at least {context['min_length']} item{'s' * (context['min_length'] != 1)}", ""
    if kind == "string_pattern_mismatch":
        return f"expected {_PATTERNS.get(context['pattern'], context['pattern'])}, not {describe_value(value)}", ""
    if kind == "literal_error":
        known = [option.strip("'") for option in context["expected"].replace(" or ", ", ").split(", ")]
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        return f"expected {' or '.join(known)}, not {describe_value(value)}", hint if "mean" in hint else ""
    return error["msg"].removeprefix("Value error, ").replace("Input should", "it should"), ""


def _select_relevant(errors: Sequence[Any], tree: YamlTree, prefix: KeyPath, start: int = 0) -> list[Any]:
    """Reduce the errors of unions to those of one branch.

    For a union, pydantic reports the errors of every branch, and adds the branch to the path. Keep those of the
    branch that the author most likely meant: the one whose type (text, list, map) matches the data.
    """
    relevant: list[Any] = []
    forks: dict[tuple[Any, ...], dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for error in errors:
        location = _location(error)
        known = tree.find_existing([*prefix, *location])[len(prefix) :]
        fork = next((n for n, there in enumerate(known) if n >= start and not there), None)
        if fork is None:
            relevant.append(error)
        else:
            forks[location[:fork]][location[fork]].append(error)
    for place, branches in forks.items():
        fitting = [problems for branch, problems in branches.items() if not _is_wrong_type(problems, (*place, branch))]
        if fitting or len(branches) == 1:
            best = min(fitting, key=len) if fitting else next(iter(branches.values()))
            relevant += _select_relevant(best, tree, prefix, len(place) + 1)
        else:
            relevant.append(_merge_branches(place, [problems[0] for problems in branches.values()]))
    return relevant


def _is_wrong_type(errors: Sequence[Any], place: tuple[Any, ...]) -> bool:
    """Return whether a branch was rejected as a whole because of the type of the data."""
    return any(tuple(error["loc"]) == place and error["type"] in _EXPECTED for error in errors)


def _merge_branches(place: tuple[Any, ...], errors: Sequence[Any]) -> dict[str, Any]:
    expected = " or ".join(_EXPECTED[error["type"]] for error in errors)
    message = f"expected {expected}, not {describe_value(errors[0]['input'])}"
    return {"loc": place, "type": "union", "msg": message, "input": errors[0]["input"]}


def _fields_at(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the keys that a map at this path may have."""
    models = list(_find_models(_find_type(model, location)))
    return sorted({info.alias or name for inner in models for name, info in inner.model_fields.items()})


def _find_type(model: type[BaseModel], location: Sequence[int | str]) -> Any:
    """Return the type of the value at this path."""
    here: Any = model
    for part in location:
        here = _find_inner_type(here, part)
    return here


def _find_inner_type(annotation: Any, part: int | str) -> Any:
    for model in _find_models(annotation):
        if part in model.model_fields:
            return model.model_fields[str(part)].annotation
        if model.__name__ == part:
            return model
    arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    return Union[tuple(arguments)] if arguments else annotation  # noqa: UP007


def _find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    if get_origin(annotation) in (Union, types.UnionType) or get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from _find_models(argument)


def describe_value(value: Any) -> str:
    """Return a value for a message, shortened."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
