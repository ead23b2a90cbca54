"""A copy-on-write view of a dataset: forking costs the same for ten records and for a million."""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

_GONE = object()


class Overlay(MutableMapping[str, Any]):
    """Changes over an immutable base."""

    __slots__ = ("_changes", "_size", "base")

    def __init__(self, base: Mapping[str, Any]) -> None:
        self.base = base
        self._changes: dict[str, Any] = {}
        self._size = len(base)

    def __getitem__(self, key: str) -> Any:
        """What is there now."""
        value = self._changes.get(key, self)
        if value is self:
            return self.base[key]
        if value is _GONE:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        """Put something over what was there."""
        self._size += key not in self
        self._changes[key] = value

    def __delitem__(self, key: str) -> None:
        """Hide what was there."""
        if key not in self:
            raise KeyError(key)
        self._size -= 1
        if key in self.base:
            self._changes[key] = _GONE
        else:
            del self._changes[key]

    def __iter__(self) -> Iterator[str]:
        """The base's keys that are not hidden, then the new ones."""
        changes = self._changes
        yield from (key for key in self.base if changes.get(key) is not _GONE)
        yield from (key for key, value in changes.items() if value is not _GONE and key not in self.base)

    def __len__(self) -> int:
        """How many there are."""
        return self._size

    def __contains__(self, key: object) -> bool:
        """Whether it is there now."""
        value = self._changes.get(key, self)  # type: ignore[call-overload]
        return key in self.base if value is self else value is not _GONE

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Before and after of everything that differs from the base; None where there was, or is, nothing."""
        now = {key: None if value is _GONE else value for key, value in self._changes.items()}
        return {key: (self.base.get(key), value) for key, value in now.items() if self.base.get(key) != value}
