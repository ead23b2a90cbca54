"""`${NAME}` in a file: what differs between machines, put in when a task is built. What is said and set is in the log
as it was; nothing else of ours has the value."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_NAME = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")


class UnknownVariable(Exception):
    """A variable that is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name} is not set")
        self.name = name
        self.hint = f"set it, or write $${{{name}}} if the text itself is meant"


class Used(Mapping[str, str]):
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


SHORTEST = 4
"""Of a value that is put back: shorter ones stand in too much that has nothing to do with them."""


def put_back(data: Any, values: Mapping[str, str]) -> Any:
    """The same data with each value that was put in replaced, wherever a text has it, by the name it stands for."""
    if isinstance(data, str):
        for name, value in sorted(values.items(), key=lambda pair: -len(pair[1])):
            if len(value) >= SHORTEST:
                data = data.replace(value, f"${{{name}}}")
        return data
    if isinstance(data, dict):
        return {key: put_back(value, values) for key, value in data.items()}
    return [put_back(value, values) for value in data] if isinstance(data, list | tuple) else data


def expand_text(text: str, values: Mapping[str, str]) -> str:
    """The text with every `${NAME}` replaced; `$${NAME}` stands for `${NAME}` itself."""
    if "${" not in text:
        return text

    def value(found: "re.Match[str]") -> str:
        escaped, name = found.groups()
        if escaped:
            return found[0][1:]
        if name not in values:
            raise UnknownVariable(name)
        return values[name]

    return _NAME.sub(value, text)


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
