"""Templates: `{{ patient.name }}`, with a few filters.

The language has no loops, calls or arithmetic. An expression is a path into the given values, followed by filters,
so it always terminates, and its output is limited. Anything else is rejected when the file is read. A record can
define how it is written into a text: see RecordView. Simulators can add filters: see Spec.

See docs/decisions/0011-task-files-and-datasets.md.
"""

import base64
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.kit.registry import Registry, UnknownName
from clerkship.model.dataset import RecordView, to_text
from clerkship.model.duration import parse_duration
from clerkship.model.matcher import to_datetime
from clerkship.model.names import did_you_mean
from clerkship.model.path import MISSING, lookup, split_path
from clerkship.model.variables import escape_text

MAX_OUTPUT_LENGTH = 1_000_000
MAX_EXPRESSIONS = 10_000
MAX_FILTERS = 20
MAX_LISTED_NAMES = 30
MAX_DATE_FORMAT_LENGTH = 100
# All repeats are possessive (`++`, `*+`, `?+`), so that a mismatch fails at once, without backtracking.
_QUOTED = r"\"[^\"]*\"|'[^']*'"
_BODY = re.compile(rf"((?:[^\"'}}]++|{_QUOTED}|\}}(?!\}}))*+)\}}\}}")
_OPENING = re.compile(r"\{\{|\{%")
_LITERAL = re.compile(rf"\s*+({_QUOTED})\s*+")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_PATH = re.compile(rf"{_NAME}(?:\.(?:{_NAME}|[0-9]++)|\[[0-9]++\])*+")
_FILTER = re.compile(
    rf"\s*+\|\s*+({_NAME}(?:\.{_NAME})*+)(?:\(\s*+(?:\"([^\"]*+)\"|'([^']*+)'|(-?[0-9]{{1,15}}))?+\s*+\))?+\s*+(?=\||$)"
)


class BadTemplate(Exception):
    """The expression is invalid, uses an unknown name, or writes too much."""

    def __init__(self, message: str, hint: str = "", *, unknown: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message, self.hint, self.unknown = message, hint, unknown
        self.offset = 0
        """The offset of its opening braces in the text."""


FormatText = Callable[[Any], str]
Filter = Callable[[Any, Any, FormatText], Any]
"""A function of a value, an argument, and a function that converts such values to text."""


def _shift(sign: int) -> Filter:
    def shift(value: Any, by: Any, _: FormatText) -> str:
        moved = _to_datetime(value) + sign * parse_duration(by)
        return moved.date().isoformat() if len(str(value)) == 10 else moved.isoformat()

    return shift


def _format_date(value: Any, form: Any, _: FormatText) -> str:
    if len(str(form)) > MAX_DATE_FORMAT_LENGTH:
        raise ValueError(f"a date format may have at most {MAX_DATE_FORMAT_LENGTH} characters")
    return _to_datetime(value).strftime(str(form) or "%Y-%m-%d")


def _to_datetime(value: Any) -> datetime:
    instant = to_datetime(value)
    if instant is None:
        raise ValueError("it is not a date")
    return instant


def _join(value: Any, by: Any, text: FormatText) -> str:
    parts = [text(item) for item in value]
    if sum(map(len, parts)) + len(str(by)) * len(parts) > MAX_OUTPUT_LENGTH:
        raise ValueError(f"it writes more than {MAX_OUTPUT_LENGTH:,} characters")
    return str(by).join(parts)


def _to_base64(value: Any, more: Any, text: FormatText) -> str:
    """Return a text, and more lines if they are given, in base64, as an attachment of a chart has it."""
    lines = text(value) if not more else f"{text(value)}\n{more}"
    return base64.b64encode(lines.encode()).decode()


def _item_at(number: int) -> Filter:
    def end(value: Any, _: Any, __: FormatText) -> Any:
        if not isinstance(value, list | tuple | str):
            raise ValueError("it is not a list")
        return value[number] if value else None

    return end


FILTERS: dict[str, Filter] = {
    "upper": lambda value, _, text: text(value).upper(),
    "lower": lambda value, _, text: text(value).lower(),
    "title": lambda value, _, text: text(value).title(),
    "trim": lambda value, _, text: text(value).strip(),
    "words": lambda value, _, text: text(value),
    "first": _item_at(0),
    "last": _item_at(-1),
    "length": lambda value, _, __: len(value),
    "join": _join,
    "default": lambda value, other, _: other if value is None else value,
    "date": _format_date,
    "plus": _shift(1),
    "minus": _shift(-1),
    "base64": _to_base64,
}
FindFilter = Callable[[str], Filter]
"""Return the filter with a name. Raise UnknownName."""


def build_filter_registry() -> Registry[Filter]:
    """Return a registry with the built-in filters."""
    table: Registry[Filter] = Registry("filter")
    for name, apply in FILTERS.items():
        table.add(name, apply)
    return table


find_built_in_filter = build_filter_registry().get


class SingleValue(NamedTuple):
    """The value of a text that consists of one expression."""

    value: Any


def render(text: str, values: Mapping[str, Any], find: FindFilter = find_built_in_filter, *, alone: bool = True) -> Any:
    """Return a text with every expression replaced.

    With `alone`, a text that consists of one expression gives the expression's value, which need not be text.
    """
    rendered = render_parts(text, values, find, alone=alone)
    return rendered.value if isinstance(rendered, SingleValue) else "".join(rendered)


def render_parts(
    text: str, values: Mapping[str, Any], find: FindFilter = find_built_in_filter, *, alone: bool = True
) -> SingleValue | list[str]:
    """Evaluate every expression. Return the author's texts (at even positions) and the values (at odd positions)."""
    parts: list[str] = []
    size = end = start = 0
    try:
        for count in range(MAX_EXPRESSIONS + 1):
            opening = _OPENING.search(text, end)
            if opening is None:
                return [*parts, text[end:]]
            start = opening.start()
            if opening[0] == "{%":
                raise BadTemplate("statements ({% … %}) are not supported", "use only {{ name.path | filter }}")
            expression, after = _read_expression(text, start + 2)
            literal = _LITERAL.fullmatch(expression)
            value = TemplateValue(literal[1][1:-1]) if literal else _evaluate(expression, values, find)
            if alone and count == 0 and not literal and not text[:start].strip() and not text[after:].strip():
                return SingleValue(value.plain())
            parts += [text[end:start], value.text()]
            size += len(parts[-1]) + len(parts[-2])
            if size > MAX_OUTPUT_LENGTH:
                raise BadTemplate(f"writes more than {MAX_OUTPUT_LENGTH:,} characters")
            end = after
        raise BadTemplate(f"more than {MAX_EXPRESSIONS:,} expressions in one text")
    except BadTemplate as bad:
        bad.offset = start
        raise


def find_template_mistakes(
    text: str, values: Mapping[str, Any], find: FindFilter = find_built_in_filter
) -> Iterator[BadTemplate]:
    """Yield the mistake of each invalid expression in a text, in order."""
    end = 0
    for _ in range(MAX_EXPRESSIONS):
        opening = _OPENING.search(text, end)
        if opening is None:
            return
        start = opening.start()
        end = _find_end(text, opening)
        try:
            render_parts(text[start:end], values, find)
        except BadTemplate as bad:
            bad.offset = start
            yield bad


def _find_end(text: str, opening: "re.Match[str]") -> int:
    """Return the end of the expression or statement with these opening braces; of the text if it is not closed."""
    if opening[0] == "{%":
        close = text.find("%}", opening.end())
        return len(text) if close < 0 else close + 2
    try:
        return _read_expression(text, opening.end())[1]
    except BadTemplate:
        return len(text)


def _read_expression(text: str, start: int) -> tuple[str, int]:
    """Return the expression that starts here, and the end of its braces. Braces in quotes do not close it."""
    body = _BODY.match(text, start)
    if body is not None:
        return body[1], body.end()
    close = text.find("}}", start)
    if close < 0:
        raise BadTemplate("`{{` without `}}`")
    return text[start:close], close + 2


class TemplateValue(NamedTuple):
    """The value of an expression, and the RecordView that it comes from, if any."""

    value: Any
    record: RecordView | None = None
    field: str = ""

    def text(self) -> str:
        return self.as_text(self.value)

    def as_text(self, value: Any) -> str:
        """Return the value, or a part of it, as text."""
        return to_text(value) if self.record is None else self.record.text(value, self.field)

    def plain(self) -> Any:
        """Return the value as JSON data."""
        return self.value if self.record is None else self.record.plain(self.value)


def _evaluate(expression: str, values: Mapping[str, Any], find: FindFilter) -> TemplateValue:
    text = expression.strip()
    path = _PATH.match(text)
    if path is None or not re.match(r"\s*+(\||$)", text[path.end() :]):
        raise BadTemplate(
            f"`{_shorten(text)}` is not an expression" if text else "there is nothing between `{{` and `}}`",
            "write a name with dots and filters, such as {{ patient.name | upper }}",
        )
    evaluated = TemplateValue(_find_value(path[0], values), *_find_record(path[0], values))
    end = path.end()
    for _ in range(MAX_FILTERS):
        if end == len(text):
            return evaluated
        match = _FILTER.match(text, end)
        if match is None:
            rest = text[end:].lstrip(" \n\t|")
            raise BadTemplate(
                f"`{_shorten(rest)}` is not a filter", 'write a name, or a name with one "text" or number'
            )
        evaluated = evaluated._replace(value=_apply_filter(match, evaluated, find))
        end = match.end()
    raise BadTemplate(f"more than {MAX_FILTERS} filters in one expression")


def _find_record(path: str, values: Mapping[str, Any]) -> tuple[RecordView | None, str]:
    """Return the RecordView that a path starts at, if any, and the field that the path ends at."""
    first, *rest = split_path(path)
    record = values.get(first)
    if not isinstance(record, RecordView):
        return None, ""
    return record, next((part for part in reversed(rest) if not part.isdigit()), "")


def _find_value(path: str, values: Mapping[str, Any]) -> Any:
    value = lookup(values, path)
    if value is not MISSING:
        return value
    current: Any = values
    for number, part in enumerate(split_path(path)):
        inner = lookup(current, part)
        if inner is MISSING:
            known = (
                current.names()
                if isinstance(current, RecordView)
                else current.keys()
                if isinstance(current, Mapping)
                else ()
            )
            within = f" in `{_shorten(path)}`" if part != path else ""
            unknown = part if number == 0 else ""
            hint = did_you_mean(part, known) or _list_names(known)
            raise BadTemplate(f"unknown name `{_shorten(part)}`{within}", hint, unknown=unknown)
        current = inner
    raise AssertionError(path)


def _list_names(names: Collection[str]) -> str:
    listed = sorted(names)
    more = ", …" if len(listed) > MAX_LISTED_NAMES else ""
    return f"known: {', '.join(listed[:MAX_LISTED_NAMES])}{more}" if listed else ""


def _apply_filter(match: "re.Match[str]", evaluated: TemplateValue, find: FindFilter) -> Any:
    name, double, single, number = match.groups()
    try:
        apply = find(name)
    except UnknownName as unknown:
        raise BadTemplate(f"unknown filter `{_shorten(name)}`", unknown.hint) from None
    argument = int(number) if number is not None else double or single or ""
    if isinstance(argument, str) and escape_text(argument) != argument:
        raise BadTemplate("`${NAME}` is not replaced in the argument of a filter", "write it outside {{ }}")
    try:
        return apply(evaluated.value, argument, evaluated.as_text)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise BadTemplate(f"`{name}` cannot be applied to {_shorten(repr(evaluated.value))}: {error}") from None


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
