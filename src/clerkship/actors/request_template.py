"""JSON bodies, addresses and headers with variables such as `{{ text }}`, which are replaced by values.

Values are put into the parsed JSON, so that no text of a person can change its structure.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import orjson
from pydantic import JsonValue

from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.path import MISSING, lookup, split_path
from clerkship.model.variables import UnknownVariable, expand_text

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}")
_STRAY_MARKS = re.compile(r"\{\{.*|\}\}|\{%.*", re.DOTALL)
_OMITTED: Final = object()
"""The result for a value that is not known yet: its entry is left out."""


class RequestTemplate:
    """A template of plain data. `environment` has the values for `${NAME}` in the author's text."""

    def __init__(self, data: JsonValue, environment: Mapping[str, str]) -> None:
        self._data, self._environment = data, environment

    @property
    def names(self) -> set[str]:
        """The variables that it uses."""
        return {split_path(name)[0] for text in _list_texts(self._data) for name in _VARIABLE.findall(text)}

    def check(self, option: str, known: Collection[str], unavailable: Collection[str] = ()) -> None:
        """Raise InputError for a mistake; `option` names where the template comes from.

        `unavailable` are variables that have no value in this request.
        """
        for key in _list_keys(self._data):
            if "{{" in key:
                raise InputError.of(
                    f"{option}: a key has a variable: {key[:60]!r}", hint="use variables in values only"
                )
        for text in _list_texts(self._data):
            self._check_text(text, option, known, unavailable)

    def _check_text(self, text: str, option: str, known: Collection[str], unavailable: Collection[str]) -> None:
        stray = _STRAY_MARKS.search(_VARIABLE.sub("", text))
        if stray:
            raise InputError.of(
                f"{option}: {stray[0][:60]!r} is not a variable",
                hint="write {{ name }} or {{ name.key }}; filters, conditions and loops are not available",
            )
        for name in _VARIABLE.findall(text):
            root = split_path(name)[0]
            if root in unavailable:
                raise InputError.of(f"{option}: `{root}` is not known before the first message", hint="leave it out")
            if root not in known:
                hint = did_you_mean(root, known) or f"available: {', '.join(known)}"
                raise InputError.of(f"{option}: unknown variable `{root}`", hint=hint)
        try:
            expand_text(_VARIABLE.sub("", text), self._environment)
        except UnknownVariable as error:
            raise InputError.of(f"{option}: {error}", hint=error.hint) from None

    def fill(self, values: Mapping[str, Any]) -> JsonValue:
        """Return the data with values. A text that is only a variable becomes its value, with its type."""
        filled = self._fill(self._data, values)
        return None if filled is _OMITTED else filled

    def fill_text(self, values: Mapping[str, Any], *, quoted: bool = False) -> str:
        """Return the text with values; `quoted` for an address."""
        return self._join(str(self._data), values, quoted=quoted)

    def _fill(self, data: Any, values: Mapping[str, Any]) -> Any:
        if isinstance(data, str):
            alone = _VARIABLE.fullmatch(data.strip())
            return _get_value(alone[1], values) if alone else self._join(data, values)
        if isinstance(data, dict):
            entries = {key: self._fill(value, values) for key, value in data.items()}
            return {key: value for key, value in entries.items() if value is not _OMITTED}
        if isinstance(data, list):
            return [value for value in (self._fill(item, values) for item in data) if value is not _OMITTED]
        return data

    def _join(self, text: str, values: Mapping[str, Any], *, quoted: bool = False) -> str:
        parts = _VARIABLE.split(text)
        parts[::2] = [expand_text(part, self._environment) for part in parts[::2]]
        parts[1::2] = [_to_text(_get_value(name, values)) for name in parts[1::2]]
        if quoted:
            parts[1::2] = [quote(value, safe="") for value in parts[1::2]]
        return "".join(parts)


def _get_value(name: str, values: Mapping[str, Any]) -> Any:
    root, *rest = split_path(name)
    value = values.get(root)
    if not rest:
        return _OMITTED if value is None and root == "session" else value
    found = lookup(value, ".".join(rest))
    return None if found is MISSING else found


def _to_text(value: Any) -> str:
    if value is None or value is _OMITTED:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _list_texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _list_texts(item)


def _list_keys(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        yield from data
    if isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _list_keys(item)
