"""`${NAME}` in a file: what differs between machines, put in when it is needed and never kept."""

import re
from collections.abc import Callable, Mapping
from typing import Any

_NAME = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")


class UnknownVariable(Exception):
    """A variable that is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name} is not set")
        self.name = name
        self.hint = f"set it, or write $${{{name}}} if the text itself is meant"


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
