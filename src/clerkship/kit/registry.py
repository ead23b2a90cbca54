"""A registry of names. Duplicate and unknown names are errors, with the nearest known name as a hint."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from clerkship.model.errors import ClerkshipError
from clerkship.model.names import canonical_name, did_you_mean

T = TypeVar("T")


class NameTaken(ClerkshipError):
    """A name is registered twice."""


class UnknownName(ClerkshipError):
    """A name is not registered."""

    def __init__(self, what: str, name: str, known: Iterable[str], reason: str = "") -> None:
        super().__init__(what, name)
        self.what, self.name = what, name
        self._known, self._reason = tuple(known), reason

    @cached_property
    def hint(self) -> str:
        """What to write instead. Many lookups only ask whether a name exists, so it is searched on first use."""
        return self._reason or did_you_mean(self.name, self._known)

    def __str__(self) -> str:
        return f"unknown {self.what} `{self.name}`" + (f"; {self.hint}" if self.hint else "")


@dataclass(frozen=True)
class Deferred(Generic[T]):
    """A value that is loaded when it is first used."""

    load: Callable[[], T]


class Registry(Generic[T]):
    """Values by name; `-` and `_` are equivalent in names."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._things: dict[str, T | Deferred[T]] = {}
        self._aliases: dict[str, str] = {}
        self.missing: Callable[[str], str] = lambda name: ""
        """Returns why a name is not registered, if that is known; otherwise the nearest name is suggested."""

    def add(self, name: str, thing: T | Deferred[T], aliases: Iterable[str] = ()) -> None:
        """Register a value under a name and aliases; raise NameTaken. A deferred value is loaded on first use."""
        for taken in (canonical_name(name), *map(canonical_name, aliases)):
            if taken in self._things or taken in self._aliases:
                raise NameTaken(f"two {self.what}s are called `{taken}`")
        self._things[canonical_name(name)] = thing
        self._aliases.update({canonical_name(alias): canonical_name(name) for alias in aliases})

    def get(self, name: str) -> T:
        """Return the value of a name or alias; raise UnknownName."""
        key = canonical_name(name)
        key = self._aliases.get(key, key)
        if key not in self._things:
            raise UnknownName(self.what, name, self._things, self.missing(name))
        thing = self._things[key]
        if isinstance(thing, Deferred):
            thing = self._things[key] = thing.load()
        return thing

    def __contains__(self, name: str) -> bool:
        return canonical_name(name) in self._things or canonical_name(name) in self._aliases

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in order."""
        return iter(sorted(self._things))

    def items(self) -> list[tuple[str, T]]:
        """Return names and values, sorted by name."""
        return [(name, self.get(name)) for name in self]
