"""Environment variables in YAML files: `${NAME}` is replaced when a task is built, in the author's text only.

Text from other sources (records, files, template values) is escaped when it is inserted into the author's text, so
that the two can be told apart in the frozen task: `$${NAME}` stands for the text `${NAME}`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from clerkship.model.errors import InputError

_ESCAPABLE_REFERENCE = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
DOLLAR = "CLERKSHIP_DOLLAR"
"""Stands for `$` where a value that ends in `$` directly precedes the author's `${NAME}`. Variables whose names begin
with CLERKSHIP_ are never expanded, so no file can use it for anything else."""
NOT_EXPANDED = frozenset({"name", "entities", "for_each"})
"""Keys of a task without variables: they identify it and its records, and may contain data."""


class UnknownVariable(Exception):
    """The environment variable is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name} is not set")
        self.name = name
        self.hint = f"set it, or write $${{{name}}} to keep the text as it is"


class TrackedVariables(Mapping[str, str]):
    """A mapping of variables that records which ones were read."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.used: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        self.used[name] = self._values[name]
        return self.used[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def find_variable_names(text: str) -> set[str]:
    """Return the names of the variables that are needed to expand this text."""
    return {name for escaped, name in _ESCAPABLE_REFERENCE.findall(text) if not escaped and name != DOLLAR}


def expand_text(text: str, values: Mapping[str, str]) -> str:
    """Return the text with every `${NAME}` replaced. `$${NAME}` stands for `${NAME}` itself. Raise UnknownVariable."""
    if "${" not in text:
        return text

    def replace(match: "re.Match[str]") -> str:
        escaped, name = match.groups()
        if escaped:
            return match[0][1:]
        if name == DOLLAR:
            return "$"
        if name not in values:
            raise UnknownVariable(name)
        return values[name]

    return _ESCAPABLE_REFERENCE.sub(replace, text)


def escape_text(text: str) -> str:
    """Return the text that `expand_text` turns back into this one."""
    return _REFERENCE.sub(lambda match: f"${match[0]}", text) if "${" in text else text


def unescape_text(text: str) -> str:
    """Return the text for display: with the names of variables, and without escapes."""
    if "${" not in text:
        return text
    return _ESCAPABLE_REFERENCE.sub(lambda match: "$" if match[2] == DOLLAR else match[0][len(match[1]) :], text)


def escape(data: Any) -> Any:
    """Escape every text in the data. Keys are not expanded, so they stay."""
    if isinstance(data, str):
        return escape_text(data)
    if isinstance(data, dict):
        return {key: escape(value) for key, value in data.items()}
    return [escape(value) for value in data] if isinstance(data, list | tuple) else data


def join_escaped(parts: Sequence[str]) -> str:
    """Join an author's texts (at even positions) with values from other sources (at odd positions).

    Expanding the result expands each of the author's texts and keeps each value as it is, even where joining a text
    and a value creates a new `${NAME}`.
    """
    text = "".join(parts)
    if "${" not in text:
        return text
    ends = list(accumulate(map(len, parts)))
    authored = [(end - len(part), end) for part, end in zip(parts[::2], ends[::2], strict=True)]
    joined: list[str] = []
    done = 0
    for match in _REFERENCE.finditer(text):
        start = next((start for start, end in authored if start <= match.start() and match.end() <= end), None)
        before = text[done : match.start()]
        if start is None:
            before += "$"
        elif start == match.start():
            bare = before.rstrip("$")
            before = bare + f"${{{DOLLAR}}}" * (len(before) - len(bare))
        joined += [before, match[0]]
        done = match.end()
    return "".join([*joined, text[done:]])


def refuse_unset(subject: str) -> Callable[[list[int | str], UnknownVariable], None]:
    """Return a callback for `expand` and `expand_task` that raises InputError for a variable that is not set."""

    def refuse(path: list[int | str], unknown: UnknownVariable) -> None:
        raise InputError.of(f"{subject}: {unknown}", hint=unknown.hint)

    return refuse


def expand_task(
    data: Any, values: Mapping[str, str], report: Callable[[list[int | str], UnknownVariable], None]
) -> Any:
    """Expand the parts of a task that may have variables."""
    if not isinstance(data, dict):
        return data
    return {key: value if key in NOT_EXPANDED else _expand(value, values, report, [key]) for key, value in data.items()}


def expand(data: Any, values: Mapping[str, str], report: Callable[[list[int | str], UnknownVariable], None]) -> Any:
    """Return the data with every variable replaced. Call `report` for each variable that is not set; its text stays."""
    return _expand(data, values, report, [])


def _expand(data: Any, values: Mapping[str, str], report: Callable[..., None], path: list[int | str]) -> Any:
    if isinstance(data, str):
        try:
            return expand_text(data, values)
        except UnknownVariable as unknown:
            report(path, unknown)
            return data
    if isinstance(data, dict):
        return {key: _expand(value, values, report, [*path, key]) for key, value in data.items()}
    if isinstance(data, list):
        return [_expand(value, values, report, [*path, number]) for number, value in enumerate(data)]
    return data
