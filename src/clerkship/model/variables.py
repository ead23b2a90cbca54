"""Environment variables in YAML files: `${NAME}` is replaced when a task is built, in the author's text only.

Text from elsewhere (records, files, template values) is escaped when it is put into the author's text, so that the
frozen task says which is which: `$${NAME}` stands for the text `${NAME}`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

_ESCAPABLE_REFERENCE = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
DOLLAR = "CLERKSHIP_DOLLAR"
"""Name that stands for `$` where a value that ends in one comes directly before the author's `${NAME}`. Variables whose
names begin with CLERKSHIP_ are never expanded, so no file can use it for anything else."""
NOT_EXPANDED = frozenset({"name", "entities", "for_each"})
"""Keys of a task that have no variables: they identify it and its records, and may be made of data."""


class UnknownVariable(Exception):
    """A variable that is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name} is not set")
        self.name = name
        self.hint = f"set it, or write $${{{name}}} if the text itself is meant"


class TrackedVariables(Mapping[str, str]):
    """Variables, remembering which were asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.found: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """The value of one."""
        self.found[name] = self._values[name]
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        """All there are."""
        return iter(self._values)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._values)


def find_variable_names(text: str) -> set[str]:
    """Return the names of the variables that expanding this text would ask for."""
    return {name for escaped, name in _ESCAPABLE_REFERENCE.findall(text) if not escaped and name != DOLLAR}


def expand_text(text: str, values: Mapping[str, str]) -> str:
    """The text with every `${NAME}` replaced; `$${NAME}` stands for `${NAME}` itself."""
    if "${" not in text:
        return text

    def value(found: "re.Match[str]") -> str:
        escaped, name = found.groups()
        if escaped:
            return found[0][1:]
        if name == DOLLAR:
            return "$"
        if name not in values:
            raise UnknownVariable(name)
        return values[name]

    return _ESCAPABLE_REFERENCE.sub(value, text)


def escape_text(text: str) -> str:
    """Return the text that `expand_text` turns back into this one."""
    return _REFERENCE.sub(lambda found: f"${found[0]}", text) if "${" in text else text


def unescape_text(text: str) -> str:
    """Return the text as it is shown: with the names of variables, and without escapes."""
    if "${" not in text:
        return text
    return _ESCAPABLE_REFERENCE.sub(lambda found: "$" if found[2] == DOLLAR else found[0][len(found[1]) :], text)


def escape(data: Any) -> Any:
    """Escape every text in the data. Keys stay as they are: they are not expanded."""
    if isinstance(data, str):
        return escape_text(data)
    if isinstance(data, dict):
        return {key: escape(value) for key, value in data.items()}
    return [escape(value) for value in data] if isinstance(data, list | tuple) else data


def join_escaped(parts: Sequence[str]) -> str:
    """Join an author's texts (at even places) with values from elsewhere (at odd places).

    Expanding the result gives each of the author's texts expanded, and each value as it is, also where a `${NAME}`
    only comes about by joining.
    """
    text = "".join(parts)
    if "${" not in text:
        return text
    ends = list(accumulate(map(len, parts)))
    authored = [(end - len(part), end) for part, end in zip(parts[::2], ends[::2], strict=True)]
    joined: list[str] = []
    done = 0
    for found in _REFERENCE.finditer(text):
        start = next((start for start, end in authored if start <= found.start() and found.end() <= end), None)
        before = text[done : found.start()]
        if start is None:
            before += "$"
        elif start == found.start():
            bare = before.rstrip("$")
            before = bare + f"${{{DOLLAR}}}" * (len(before) - len(bare))
        joined += [before, found[0]]
        done = found.end()
    return "".join([*joined, text[done:]])


def expand_task(data: Any, values: Mapping[str, str], told: Callable[[list[int | str], UnknownVariable], None]) -> Any:
    """Expand the parts of a task that may have variables."""
    if not isinstance(data, dict):
        return data
    kept = {key: value for key, value in data.items() if key in NOT_EXPANDED}
    return {key: kept[key] if key in kept else _expand(value, values, told, [key]) for key, value in data.items()}


def expand(data: Any, values: Mapping[str, str], told: Callable[[list[int | str], UnknownVariable], None]) -> Any:
    """The same data with every variable put in; each that is not set is told of with its path, and left as it is."""
    return _expand(data, values, told, [])


def _expand(data: Any, values: Mapping[str, str], told: Callable[..., None], path: list[int | str]) -> Any:
    if isinstance(data, str):
        try:
            return expand_text(data, values)
        except UnknownVariable as unknown:
            told(path, unknown)
            return data
    if isinstance(data, dict):
        return {key: _expand(value, values, told, [*path, key]) for key, value in data.items()}
    if isinstance(data, list):
        return [_expand(value, values, told, [*path, number]) for number, value in enumerate(data)]
    return data
