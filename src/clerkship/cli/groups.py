"""Turn typed groups of options into the options of a command."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from clerkship.by_name import load
from clerkship.kit.command_option import Option
from clerkship.model.errors import InputError

_PLAIN = (bool, int, float, Path, str)
_REQUIRED = inspect.Parameter.empty


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a group by the options of its fields.

    Typer reads the new signature. The command is called with the groups, built from the given options. A parameter
    annotated with an `Option` becomes that option; others are unchanged.
    """
    hints = get_type_hints(command, include_extras=True)
    declared = inspect.signature(command).parameters
    parameters = {
        parameter.name: parameter
        for name in declared
        for parameter in _expand_parameter(name, hints[name], declared[name].default)
    }

    @wraps(command)
    def call(**given: Any) -> None:
        command(**{name: _collect_value(name, hints[name], given) for name in declared})

    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return call


def _expand_parameter(name: str, hint: Any, default: object) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a field: one, those of a group, or an option and its flags."""
    option = _find_option(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        for field_name, (inner, field_default) in _option_fields(hint).items():
            yield from _expand_parameter(field_name, inner, field_default)
        return
    if option is None:
        yield _build_parameter(name, hint, default)
        return
    plain = _plain_type(get_args(hint)[0])
    if option.switch[0]:
        yield _build_flag(option.switch, option.panel)
        yield _build_parameter(
            _parameter_name(option.names[0]), Annotated[plain, _typer_info(option)], option.switch_value
        )
    elif option.names or not option.flags:
        yield _build_parameter(name, Annotated[plain, _typer_info(option)], None if default == () else default)
    for flag, (_, text) in option.flags.items():
        yield _build_flag((flag, text), option.panel)


@cache
def _option_fields(group: type) -> dict[str, tuple[Any, object]]:
    """Return the annotation and the default of each field of a group that is for the command line."""
    hints = get_type_hints(group, include_extras=True)
    annotated = {item.name: (hints[item.name], item.default) for item in fields(group)}
    return {name: field for name, field in annotated.items() if get_origin(field[0]) is Annotated}


def _build_parameter(name: str, hint: Any, default: object) -> inspect.Parameter:
    default = _REQUIRED if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _build_flag(flag: tuple[str, str], panel: str | None) -> inspect.Parameter:
    info = typer.Option(flag[0], help=flag[1], rich_help_panel=panel)
    return _build_parameter(_parameter_name(flag[0]), Annotated[bool, info], False)


def _typer_info(option: Option) -> Any:
    options: dict[str, Any] = {"help": option.help, "metavar": option.metavar, "rich_help_panel": option.panel}
    options |= {"parser": _parse_seconds} if option.is_duration else {"min": option.min, "max": option.max}
    return typer.Option(*option.names, **options) if option.names else typer.Argument(**options)


def _parse_seconds(text: str) -> float:
    """Return the seconds of a duration; its module, with pydantic, is imported for a value only."""
    return load("clerkship.model.duration:parse_seconds")(text)  # type: ignore[no-any-return]


def _plain_type(hint: Any) -> Any:
    """Return the type that Typer parses: a plain type or a list of texts, with None if it is optional."""
    if get_origin(hint) is tuple:
        return list[str] | None
    choices = get_args(hint) or (hint,)
    plain = next((kind for kind in _PLAIN if kind in choices), str)
    return plain | None if type(None) in choices else plain


def _collect_value(name: str, hint: Any, given: Mapping[str, Any]) -> Any:
    """Return the value of a field or group; raise InputError if options exclude each other."""
    option = _find_option(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        group = _option_fields(hint)
        return hint(**{field: _collect_value(field, inner, given) for field, (inner, _) in group.items()})
    if option is None:
        return given[name]
    if option.switch[0]:
        return given[_parameter_name(option.names[0])] if given[_parameter_name(option.switch[0])] else None
    values = {flag: value for flag, (value, _) in option.flags.items() if given[_parameter_name(flag)]}
    if given.get(name) is not None:
        values = {(option.names or (name,))[0]: given[name], **values}
    if len(values) > 1:
        raise InputError.of(f"{' and '.join(values)} exclude each other", hint="give one of them")
    value: Any = next(iter(values.values()), None)
    return tuple(value or ()) if get_origin(get_args(hint)[0]) is tuple else value


def _find_option(hint: Any) -> Option | None:
    return next((item for item in get_args(hint)[1:] if isinstance(item, Option)), None)


def _parameter_name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
