"""What monitors do in an environment, a task or a scenario file: whether each gates or warns, and what it allows."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, WithJsonSchema

from clerkship.model.located_error import build_located_error

MonitorMode = Literal["gate", "warn", "off"]
"""Whether a monitor that finds something fails the trial, is only shown, or does not run."""
MODES: tuple[MonitorMode, ...] = get_args(MonitorMode)
DEFAULT_MODE: MonitorMode = "warn"
ALL = "all"
"""The key that sets the mode of every monitor that has none of its own."""


def _from_mode(value: Any) -> Any:
    return {ALL: value} if isinstance(value, str) else {} if value is None else value


def _check_values(settings: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Check that each value is a mode, or for one monitor a map of its options."""
    expected = ", ".join(MODES)
    mistakes = [
        ((name,), f"expected {'one of' if name == ALL else 'a map of options, or one of'} {expected}")
        for name, value in settings.items()
        if value not in MODES and (name == ALL or not isinstance(value, dict))
    ]
    if mistakes:
        raise build_located_error(mistakes)
    return settings


_MODE = {"enum": list(MODES)}
MonitorSettings = Annotated[
    dict[str, JsonValue],
    BeforeValidator(_from_mode),
    AfterValidator(_check_values),
    WithJsonSchema(
        {"anyOf": [_MODE, {"type": "object", "additionalProperties": {"anyOf": [_MODE, {"type": "object"}]}}]}
    ),
    Field(
        description="`gate`, `warn` or `off` for all monitors; or a map with `all` and the names of monitors, "
        "each with a mode or its options"
    ),
]


def merge_options(name: str, *settings: Mapping[str, JsonValue], ignores_all: bool = False) -> dict[str, JsonValue]:
    """Return the options of a monitor with its mode. Of several settings, such as those of the environment and of the
    task, the later ones win; a mode that names the monitor wins over `all`, which some monitors ignore.
    """
    options: dict[str, JsonValue] = {"mode": DEFAULT_MODE}
    for each in settings:
        options |= {"mode": each[ALL]} if ALL in each and not ignores_all else {}
    for each in settings:
        value = each.get(name)
        options |= value if isinstance(value, dict) else {"mode": value} if value is not None else {}
    return options
