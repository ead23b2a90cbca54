"""References between resources (R4 §2.3.0)."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_RELATIVE = re.compile(r"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/([A-Za-z0-9\-.]{1,64}))?")


class ReferenceTarget(NamedTuple):
    """The target of a relative reference."""

    type: str
    id: str
    version: str | None = None

    @property
    def key(self) -> str:
        """The key, such as `Patient/42`."""
        return f"{self.type}/{self.id}"


def parse_reference(text: str, base: str = "") -> ReferenceTarget | None:
    """Parse `Patient/42`, with or without the base URL of this server; None for a reference to anything else."""
    if base and text.startswith(base):
        text = text[len(base) :].lstrip("/")
    match = _RELATIVE.fullmatch(text)
    return ReferenceTarget(match[1], match[2], match[3]) if match is not None else None


def iter_references(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every Reference in the data with its path: `subject`, `participant[0].actor`."""
    if isinstance(data, dict):
        if isinstance(data.get("reference"), str):
            yield path, data
        for name, value in data.items():
            if isinstance(value, dict | list):
                yield from iter_references(value, f"{path}.{name}" if path else name)
    elif isinstance(data, list):
        for number, item in enumerate(data):
            if isinstance(item, dict | list):
                yield from iter_references(item, f"{path}[{number}]")
