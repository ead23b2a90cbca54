"""Templates: `{{ patient.name }}`, with a few filters. A language too small to run away.

No loops, no calls, no arithmetic: an expression is a path into the values at hand and some filters, so it
ends, and its output is capped. What is not such an expression is refused when the file is read.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from clerkship.model.duration import parse_duration
from clerkship.model.matcher import as_instant
from clerkship.model.names import did_you_mean
from clerkship.model.path import MISSING, lookup, split

OUTPUT_LIMIT = 1_000_000
MOST_EXPRESSIONS = 10_000
_MARK = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATH = re.compile(rf"{_NAME}(?:\.(?:{_NAME}|\d+)|\[\d+\])*")
_FILTER = re.compile(rf"({_NAME})(?:\(\s*(?:\"([^\"]*)\"|'([^']*)'|(-?\d+))?\s*\))?")


class BadTemplate(Exception):
    """An expression that is not one, names what is not there, or writes too much."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message, self.hint = message, hint


def _shift(sign: int) -> Callable[[Any, str], str]:
    def shift(value: Any, by: str) -> str:
        instant = as_instant(value)
        if instant is None:
            raise BadTemplate(f"{value!r} is not a date")
        moved = instant + sign * parse_duration(by)
        return moved.date().isoformat() if len(str(value)) == 10 else moved.isoformat()

    return shift


def _date(value: Any, form: str) -> str:
    instant = as_instant(value)
    if instant is None:
        raise BadTemplate(f"{value!r} is not a date")
    return instant.strftime(form or "%Y-%m-%d")


FILTERS: dict[str, Callable[[Any, str], Any]] = {
    "upper": lambda value, _: str(value).upper(),
    "lower": lambda value, _: str(value).lower(),
    "title": lambda value, _: str(value).title(),
    "trim": lambda value, _: str(value).strip(),
    "first": lambda value, _: value[0] if value else None,
    "last": lambda value, _: value[-1] if value else None,
    "length": lambda value, _: len(value),
    "join": lambda value, by: by.join(map(str, value)),
    "default": lambda value, other: other if value is None else value,
    "date": _date,
    "plus": _shift(1),
    "minus": _shift(-1),
}


def render(template: Any, values: Mapping[str, Any]) -> Any:
    """The same data with every expression replaced; a text that is one expression takes its value's type."""
    return walk(template, lambda text: _render_text(text, values))


def walk(data: Any, visit: Callable[[str], Any]) -> Any:
    """Apply to every text in plain data, keys left alone."""
    if isinstance(data, str):
        return visit(data) if "{{" in data or "{%" in data else data
    if isinstance(data, Mapping):
        return {key: walk(value, visit) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [walk(value, visit) for value in data]
    return data


def _render_text(text: str, values: Mapping[str, Any]) -> Any:
    if "{%" in text:
        raise BadTemplate("statements ({% … %}) are not templates here", "only {{ name.path | filter }}")
    whole = _MARK.fullmatch(text.strip())
    if whole is not None and "{{" not in whole[1]:
        return _evaluate(whole[1], values)
    parts: list[str] = []
    size = end = 0
    for count, found in enumerate(_MARK.finditer(text)):
        if count >= MOST_EXPRESSIONS:
            raise BadTemplate(f"more than {MOST_EXPRESSIONS:,} expressions in one text")
        parts += [text[end : found.start()], _as_text(_evaluate(found[1], values))]
        size += len(parts[-1]) + len(parts[-2])
        if size > OUTPUT_LIMIT:
            raise BadTemplate(f"writes more than {OUTPUT_LIMIT:,} characters")
        end = found.end()
    rest = text[end:]
    if "{{" in rest:
        raise BadTemplate("`{{` without `}}`")
    return "".join([*parts, rest])


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)


def _evaluate(expression: str, values: Mapping[str, Any]) -> Any:
    path, *filters = [part.strip() for part in expression.split("|")]
    if not _PATH.fullmatch(path):
        raise BadTemplate(
            f"`{expression.strip()[:60]}` is not an expression",
            "write a name with dots and filters, such as {{ patient.name | upper }}",
        )
    value = _find(path, values)
    for text in filters:
        value = _apply(text, value)
    return value


def _find(path: str, values: Mapping[str, Any]) -> Any:
    value = lookup(values, path)
    if value is not MISSING:
        return value
    here: Any = values
    for part in split(path):
        inner = lookup(here, part)
        if inner is MISSING:
            known = here.keys() if isinstance(here, Mapping) else ()
            raise BadTemplate(f"unknown name `{part}` in `{path}`", did_you_mean(part, known))
        here = inner
    raise AssertionError(path)


def _apply(text: str, value: Any) -> Any:
    found = _FILTER.fullmatch(text)
    if found is None:
        raise BadTemplate(f"`{text[:60]}` is not a filter", 'write a name, or a name with one "text"')
    name = found[1]
    if name not in FILTERS:
        raise BadTemplate(f"unknown filter `{name}`", did_you_mean(name, FILTERS))
    try:
        return FILTERS[name](value, next((group for group in found.groups()[1:] if group is not None), ""))
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise BadTemplate(f"`{name}` does not fit {value!r}: {error}") from None
