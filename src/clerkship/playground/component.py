"""Simulators and domains: prepared once, then running in each playground over the records of their datasets."""

import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from dataclasses import dataclass, field, is_dataclass
from datetime import datetime
from typing import Any, Protocol
from weakref import proxy

from clerkship.events.event import Event, Payload
from clerkship.events.log import Log
from clerkship.kit.clock import Clock
from clerkship.kit.rng import Rng
from clerkship.model.freeze import IMMUTABLE, CannotFreeze, freeze, freeze_fields, freeze_or_copy
from clerkship.model.frozen import Frozen
from clerkship.sandbox.component import ComponentSpec
from clerkship.sandbox.state import ActionContext, State
from clerkship.sandbox.steps.contract import StepHost

_DELETED = object()
_IDENTITY: Any = object.__eq__
"""The `__eq__` of a class that does not define one."""


class Overlay(MutableMapping[str, Any]):
    """The records of one playground: its changes over a base that all playgrounds share.

    Records are frozen when they are read or stored, so a record can only be changed by storing another one. An
    object that is not plain data cannot be frozen: the playground gets its own deep copy on first access.
    """

    __slots__ = ("_changes", "_copies", "_size", "base")

    def __init__(self, base: Mapping[str, Any]) -> None:
        self.base = base
        self._changes: dict[str, Any] = {}
        self._copies: dict[str, Any] = {}
        self._size = len(base)

    def __getitem__(self, key: str) -> Any:
        if key in self._changes:
            value = self._changes[key]
            if value is _DELETED:
                raise KeyError(key)
            return value
        value = self.base[key]
        if type(value) is bytes:  # the usual kind of record
            return value
        return value if type(value) in IMMUTABLE else self._isolate(key, value)

    def _isolate(self, key: str, value: Any) -> Any:
        """Return a record of the base in a form that cannot affect other playgrounds."""
        if key in self._copies:
            return self._copies[key]
        try:
            frozen = freeze(value)
        except CannotFreeze:
            return self._copies.setdefault(key, deepcopy(value))
        if isinstance(self.base, dict):
            self.base[key] = frozen  # equal to the record, so that no playground has to freeze it again
        return frozen

    def __setitem__(self, key: str, value: Any) -> None:
        self._size += key not in self
        self._changes[key] = value if type(value) in IMMUTABLE else freeze_or_copy(value)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._size -= 1
        if key in self.base:
            self._changes[key] = _DELETED
        else:
            del self._changes[key]

    def __iter__(self) -> Iterator[str]:
        changes = self._changes
        yield from (key for key in self.base if changes.get(key) is not _DELETED)
        yield from (key for key, value in changes.items() if value is not _DELETED and key not in self.base)

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: object) -> bool:
        value = self._changes.get(key, self)  # type: ignore[call-overload]
        return key in self.base if value is self else value is not _DELETED

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a record, storing the default first if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Return each record that differs from the base, as a pair of the old and the new value; None for no record."""
        now = {key: None if value is _DELETED else value for key, value in self._changes.items()}
        changed = {key: value for key, value in now.items() if self.base.get(key) != value}
        copies = {key: own for key, own in self._copies.items() if key not in now}
        changed |= {key: own for key, own in copies.items() if not _is_same(self.base[key], own, set())}
        return {key: (freeze_or_copy(self.base.get(key)), value) for key, value in changed.items()}


def _is_same(original: Any, copy: Any, compared: set[tuple[int, int]]) -> bool:
    """Return whether a copy equals its original. Objects without `__eq__` are compared by their state."""
    if original == copy or (id(original), id(copy)) in compared:
        return True
    if type(original) is not type(copy):
        return False
    if isinstance(original, dict):
        return original.keys() == copy.keys() and all(_is_same(original[key], copy[key], compared) for key in original)
    if isinstance(original, list | tuple):
        return len(original) == len(copy) and all(
            _is_same(*items, compared) for items in zip(original, copy, strict=True)
        )
    if type(original).__eq__ is not _IDENTITY and not is_dataclass(original):
        return False
    compared.add((id(original), id(copy)))  # it may refer to itself
    return _is_same(original.__getstate__(), copy.__getstate__(), compared)


@dataclass(frozen=True)
class PreparedComponent:
    """A simulator or domain with its config parsed and its datasets loaded, once for all playgrounds."""

    spec: ComponentSpec
    config: Frozen
    base: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze_fields(self.config)  # every playground has the same config

    def new_state(self) -> State[Any]:
        """Build the state before any event."""
        return self.spec.state(self.config, Overlay(self.base))


class RunningComponent:
    """A simulator or domain in one playground."""

    __slots__ = ("has_due_work", "name", "prepared", "spec", "state")

    def __init__(self, name: str, prepared: PreparedComponent) -> None:
        self.name = name
        self.prepared = prepared
        self.spec = prepared.spec
        self.has_due_work = self.spec.state.next_due is not State.next_due
        """Whether its state may have work for later."""
        self.state: State[Any]
        """Built when the playground starts, and again when it is rewound."""


class PlaygroundHost(StepHost, Protocol):
    """What the parts of a playground need of it."""

    lock: threading.RLock  # type: ignore[valid-type, unused-ignore]
    started_at: datetime
    clock: Clock
    rng: Rng
    log: Log
    components: Mapping[str, RunningComponent]
    broken: str | None

    def emit(self, source: str, payload: Payload, actor: str, cause: int | None = None) -> Event:
        """Append an event to the log and apply it."""

    def context_for(self, sandbox: str, actor: str, cause: int | None = None) -> ActionContext:
        """Build the context in which an actor changes a sandbox or domain."""

    def build_copy(self, events: Iterable[Event]) -> StepHost:
        """Return a new playground whose states are rebuilt from the datasets and these events."""


def weak_host(host: PlaygroundHost) -> PlaygroundHost:
    """Return a weak reference to a playground, for the parts that it owns.

    This avoids a reference cycle, so that the memory of a playground is freed as soon as its trial is over.
    """
    weak: PlaygroundHost = proxy(host)
    return weak
