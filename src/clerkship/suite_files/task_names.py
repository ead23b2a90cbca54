"""The names that a task defines itself: its entities, its people, what its steps create, and what its texts mention."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from clerkship.model.closed import ENTITY, PERSON
from clerkship.model.conversation_key import normalise_address
from clerkship.suite_files.shape import as_list, as_map

TASK_SORTS = (ENTITY.sort, PERSON.sort)
"""Sorts of names that only tasks define."""
_PHONE = re.compile(r"\+?\d[\d ().-]{5,}\d")
_WORD = re.compile(r"[^\s,;:\"'<>()\[\]{}]+")
_SORT_OF_CHANNEL = {"phone": "phone number", "sms": "address", "email": "address", "portal": "address"}


@runtime_checkable
class NamingStep(Protocol):
    """A step that defines names, such as the nodes of a new phone tree."""

    def list_names(self) -> Iterable[tuple[str, str]]:
        """Return the names with their sorts."""


@dataclass(frozen=True)
class TaskNames:
    """The names that a task defines, by sort, and its texts."""

    by_sort: Mapping[str, frozenset[str]] = field(default_factory=dict)
    parts: tuple[Any, ...] = ()
    """The parts of the task that are not criteria, as data."""

    def find(self, sort: str) -> frozenset[str]:
        """Return the names of a sort."""
        return self.by_sort.get(sort, frozenset())

    def with_steps(self, steps: Iterable[Any]) -> "TaskNames":
        """Return a copy that also has the names that steps define."""
        named = [pair for step in steps if isinstance(step, NamingStep) for pair in step.list_names()]
        return replace(self, by_sort=_group([*self._list_pairs(), *named])) if named else self

    def _list_pairs(self) -> Iterator[tuple[str, str]]:
        return ((sort, name) for sort, names in self.by_sort.items() for name in names)

    def mentions(self, name: str, normalize: Callable[[str], str]) -> bool:
        """Return whether a text of the task has a name, in any notation."""
        wanted = normalize(name)
        return name in self._text or any(normalize(each) == wanted for each in self._candidates)

    @cached_property
    def _text(self) -> str:
        return "\n".join(_list_texts(self.parts))

    @cached_property
    def _candidates(self) -> frozenset[str]:
        words = (word.rstrip(".!?") for word in _WORD.findall(self._text))
        return frozenset((*_PHONE.findall(self._text), *words))


def collect_task_names(data: Mapping[str, Any], people: Iterable[Mapping[str, Any]]) -> TaskNames:
    """Return the names that a task or scenario file defines, without those of its steps."""
    entities = [data.get("for_each"), *as_list(data.get("entities"))]
    pairs = [(ENTITY.sort, as_map(entity).get("id")) for entity in entities]
    for person in people:
        pairs.append((PERSON.sort, person.get("name", "person")))
        channel, address = person.get("channel"), person.get("address")
        if isinstance(channel, str) and isinstance(address, str) and channel in _SORT_OF_CHANNEL:
            pairs.append((_SORT_OF_CHANNEL[channel], normalise_address(channel, address)))
    parts = tuple(data.get(key) for key in ("task_item", "scenario", "setup", "simulation_context"))
    return TaskNames(_group((sort, name) for sort, name in pairs if isinstance(name, str)), parts)


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    by_sort: dict[str, set[str]] = {}
    for sort, name in pairs:
        by_sort.setdefault(sort, set()).add(name)
    return {sort: frozenset(names) for sort, names in by_sort.items()}


def _list_texts(data: Any) -> Iterator[str]:
    """Yield every text in some data, and every number: YAML reads a phone number without `+` as one."""
    if isinstance(data, Mapping):
        for value in data.values():
            yield from _list_texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _list_texts(value)
    elif isinstance(data, str | int) and not isinstance(data, bool):
        yield str(data)
