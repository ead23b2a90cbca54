"""Find the fields of a step or assertion that hold names which an environment or a task defines."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clerkship.model.closed import ENTITY, NameOf
from clerkship.model.located_error import FieldPath


class NamedValue(NamedTuple):
    """A name in a model, with its path in the file."""

    path: FieldPath
    name: str
    marker: NameOf


class _FieldPlan(NamedTuple):
    """What to look at in a field: names among its values or keys, and models."""

    name: str
    key: str
    """Its key in a file."""
    marker: NameOf | None
    of_keys: bool
    """Whether the names are the keys of a map."""
    has_models: bool


def list_named_values(model: BaseModel) -> Iterator[NamedValue]:
    """Yield every name in a model, and in the models in it. Matchers and patterns are left out."""
    for plan in plan_fields(type(model)):
        value = getattr(model, plan.name)
        if plan.marker is not None:
            for path, name in _list_names(value, of_keys=plan.of_keys):
                if not plan.marker.is_pattern(name):
                    yield NamedValue((plan.key, *path), name, plan.marker)
        if plan.has_models:
            for path, inner in _list_models(value):
                yield from (named._replace(path=(plan.key, *path, *named.path)) for named in list_named_values(inner))


def _list_names(value: Any, *, of_keys: bool) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        if value:
            yield (), value
    elif isinstance(value, list | tuple):
        yield from (((number,), each) for number, each in enumerate(value) if isinstance(each, str))
    elif of_keys and isinstance(value, Mapping):
        yield from (((key,), key) for key in value)


def _list_models(value: Any) -> Iterator[tuple[FieldPath, BaseModel]]:
    if isinstance(value, BaseModel):
        yield (), value
    elif isinstance(value, list | tuple):
        yield from (((number,), each) for number, each in enumerate(value) if isinstance(each, BaseModel))
    elif isinstance(value, Mapping):
        yield from (((key,), each) for key, each in value.items() if isinstance(each, BaseModel))


@cache
def plan_fields(model: type[BaseModel]) -> tuple[_FieldPlan, ...]:
    """Return what to look at in each field of a model that has names, or models with names, in it."""
    plans = []
    for name, info in model.model_fields.items():
        marker, of_keys = (ENTITY, False) if name in getattr(model, "entity_fields", ()) else _find_marker(info)
        inner_models = list(find_inner_models(info.annotation))
        has_models = any(inner is model or _has_names(inner, frozenset({model})) for inner in inner_models)
        if marker is not None or has_models:
            plans.append(_FieldPlan(name, info.alias or name, marker, of_keys, has_models))
    return tuple(plans)


def _has_names(model: type[BaseModel], seen: frozenset[type[BaseModel]]) -> bool:
    if model in seen:
        return False
    inside = seen | {model}
    return any(
        _find_marker(info)[0] is not None
        or any(_has_names(inner, inside) for inner in find_inner_models(info.annotation))
        for info in model.model_fields.values()
    )


def find_inner_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from find_inner_models(argument)


def _find_marker(info: FieldInfo) -> tuple[NameOf | None, bool]:
    """Return the marker of a field, and whether it is about the keys of a map."""
    marker = next((each for each in info.metadata if isinstance(each, NameOf)), None)
    if marker is not None:
        return marker, False
    return _find_inner_marker(info.annotation, of_keys=False)


def _find_inner_marker(annotation: Any, *, of_keys: bool) -> tuple[NameOf | None, bool]:
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        marker = next((each for each in arguments[1:] if isinstance(each, NameOf)), None)
        if marker is not None:
            return marker, of_keys
    for number, argument in enumerate(arguments):
        found = _find_inner_marker(argument, of_keys=get_origin(annotation) is dict and number == 0)
        if found[0] is not None:
            return found
    return None, False
