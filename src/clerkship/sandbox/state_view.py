"""What a reviewer is shown of a sandbox or a domain as it was at one moment of a trial.

A kind lists it by `view` of its SPEC. Of other kinds, the changed records and the public attributes are shown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from clerkship.events.event import Event
from clerkship.formats.fax_pages.page import PageWords
from clerkship.model.path import MISSING
from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.state import State

MAX_FACTS_SHOWN, MAX_FACT_SHOWN = 8, 80
"""How many fields of a record are facts if its kind has no view, and how long they may be."""
_TITLES = ("title", "name", "subject", "summary", "hook", "service", "transaction", "type", "user", "status", "id")


def _read_nothing() -> Any:
    return None


class StateRow(NamedTuple):
    """One record: a resource, a message, a call."""

    key: str
    """Unique in the sandbox. If events name the record by it, the last of them is shown as the cause of a change."""
    group: str
    title: str
    facts: Mapping[str, Any] = {}
    """Short values by name, in the order in which they are shown: time, sender, status."""
    read: Callable[[], Any] = _read_nothing
    """Returns the rest of the record as plain data. It is called before the state changes again."""
    seq: int | None = None
    """The event that changed it last, if the state knows."""

    def data(self) -> Any:
        """Return everything that is compared with the start of the trial."""
        return self.read() if self.read is not _read_nothing else dict(self.facts)


@dataclass(frozen=True)
class ViewedTrial:
    """The trial of which a state is shown, from the side of one sandbox."""

    start: State[Any]
    """The state before the first event."""
    events: Sequence[Event]
    """The events of the sandbox in the whole trial, so that the same patients are shown at every moment."""
    entities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The records that the task is about, by the name of their entity."""
    read_words: Callable[[PageWords], str] = lambda words: words.text
    """Returns the words of a fax page, without the values of variables."""
    cache: dict[str, Any] = field(default_factory=dict)
    """What a view keeps from one moment to the next."""


ListRows = Callable[[Any, ViewedTrial], Iterable[StateRow]]
"""Lists what is shown of a state."""


def list_any_rows(state: State[Any], trial: ViewedTrial) -> Iterator[StateRow]:
    """List the changed records of a state of any kind, and what its dump has beside them."""
    keys = trial.cache.setdefault("changed", {})  # also those that changed later are compared with the start
    keys.update(dict.fromkeys(state.record_changes()))
    for key in keys:
        if (record := state.records.get(key, MISSING)) is not MISSING:
            yield _build_row(key, "records", to_plain(record))
    dump = state.dump()
    for name, value in dump.items() if isinstance(dump, Mapping) else [("state", dump)]:
        if name == "records":
            continue
        group = str(name).replace("_", " ")
        if isinstance(value, Mapping | list):
            yield from _list_items(str(name), group, value)
        elif value not in (None, ""):
            yield StateRow(str(name), "state", group, {"value": value})


def _list_items(path: str, group: str, value: Mapping[str, Any] | list[Any]) -> Iterator[StateRow]:
    """List what a mapping or a list holds; of a list in a mapping, such as the calls of a table, each item."""
    if isinstance(value, list):
        yield from (_build_row(f"{path}/{place}", group, each, "") for place, each in enumerate(value, 1))
        return
    for key, each in value.items():
        if isinstance(each, list) and each and isinstance(each[0], Mapping):
            yield from _list_items(f"{path}/{key}", group, each)
        else:
            yield _build_row(f"{path}/{key}", group, each, str(key))


def _build_row(key: str, group: str, value: Any, id: str | None = None) -> StateRow:
    name = key if id is None else id
    if not isinstance(value, Mapping):
        return StateRow(key, group, name or str(value), {"value": value})
    short = {field: each for field, each in value.items() if isinstance(each, str | int | float) and each != ""}
    title = next((f"{short[field]}" for field in _TITLES if field in short), "")
    facts = {field: each for field, each in short.items() if len(str(each)) <= MAX_FACT_SHOWN and str(each) != title}
    label = f"{name}: {title}" if name and title and name != title else name or title or key
    return StateRow(key, group, label, dict(islice(facts.items(), MAX_FACTS_SHOWN)), lambda: value)
