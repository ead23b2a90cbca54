"""The sandboxes of a stored trial as they were at any moment, rebuilt from its log.

A moment is the number of an event: what was logged up to it has happened. See docs/decisions/0045-moments.md.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import accumulate, islice
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from clerkship.by_name import load
from clerkship.engine.build import prepare_domains, prepare_simulators
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.regrade import parse_log
from clerkship.events.agent import SlotSet
from clerkship.events.event import Event, Payload
from clerkship.events.log import compute_head
from clerkship.formats.fax_pages.page import PageWords
from clerkship.model.errors import PlatformError
from clerkship.model.run import BenchmarkRun, TaskRun, find_differences
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import replay
from clerkship.sandbox.state import State
from clerkship.sandbox.state_view import ListRows, StateRow, ViewedTrial, list_any_rows
from clerkship.service.log_redaction import find_hidden_words, replace_words
from clerkship.service.redacting import build_run_redactor
from clerkship.service.stored_runs import load_datasets, load_snapshot
from clerkship.store.contract import Store, StoreDamaged

MAX_ROWS_SHOWN = 400
"""Records that are returned of one sandbox: those that changed last, then the first of the others."""
MAX_TEXT_SHOWN = 300
"""Characters of a title or a fact."""
MAX_VALUE_SHOWN, MAX_ITEMS_SHOWN = 20_000, 500
"""Characters of a text, and items of a list or map, of one record."""
AGENT = "agent"
"""The source of the slots that the agent set, which are shown like the records of a sandbox."""


class UnknownRecord(PlatformError):
    """There is no such sandbox, record or moment."""


class ComparedRow(NamedTuple):
    """A record at the start and now; None where it does not exist."""

    before: StateRow | None
    after: StateRow | None

    @property
    def row(self) -> StateRow:
        """The record now, or as it was before it was deleted."""
        row = self.after or self.before
        assert row is not None
        return row

    def find_change(self) -> str | None:
        """Return how the record differs from the start; None if it does not."""
        before, after = self
        if before is None or after is None:
            return "created" if before is None else "deleted"
        return None if before is after or before.data() == after.data() else "updated"


class ComponentView:
    """What is shown of one sandbox or domain, and how it differs from the start."""

    def __init__(self, component: PreparedComponent, trial: ViewedTrial) -> None:
        self.kind = component.spec.kind
        self._trial = trial
        self._list: ListRows = load(component.spec.view) if component.spec.view else list_any_rows
        self._start: dict[str, StateRow] | None = None
        self._causes: dict[str, list[int]] | None = None
        self._reads: dict[str, list[int]] = defaultdict(list)

    def compare(self, state: State[Any]) -> Iterator[ComparedRow]:
        """Yield each record at the start and now, those that are gone last."""
        now = {row.key: row for row in self._list(state, self._trial)}
        if self._start is None:
            self._start = {row.key: row for row in self._list(self._trial.start, self._trial)}
        start = self._start
        yield from (ComparedRow(start.get(key), row) for key, row in now.items())
        yield from (ComparedRow(row, None) for key, row in start.items() if key not in now)

    def find_cause(self, row: StateRow, seq: int) -> int | None:
        """Return the last event up to a moment that names a record, preferably one that has an effect."""
        if row.seq is not None:
            return row.seq
        if self._causes is None:
            self._causes = defaultdict(list)
            for event in self._trial.events:
                index = self._reads if event.payload.effect == "none" else self._causes
                for name in _list_names(event.payload):
                    index[name].append(event.seq)
        for name in (row.key, row.key.partition("/")[2]):
            for index in (self._causes, self._reads):
                places = index.get(name, ())
                count = bisect_right(places, seq)
                if count:
                    return places[count - 1]
        return None


def _list_names(payload: Payload) -> Iterator[str]:
    """Yield what may be the key of the record that an event is about."""
    fields = payload.__dict__
    for value in fields.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, BaseModel):
            yield from (each for name in ("id", "key", "number") if isinstance(each := getattr(value, name, None), str))
    kind = fields.get("type") or fields.get("table")
    if kind and "id" in fields:
        yield f"{kind}/{fields['id']}"


class TrialMoments:
    """One trial, with the states of its sandboxes and domains at the moment that was asked for last.

    Raises a ClerkshipError if they cannot be rebuilt: a variable is not set, a plug-in or a dataset is missing.
    """

    def __init__(self, store: Store, run: BenchmarkRun, task_run: TaskRun, catalog: RegisteredCatalog) -> None:
        snapshot = load_snapshot(store, task_run.snapshot)
        datasets = load_datasets(store, [snapshot])
        environment = snapshot.environment
        self._components: Mapping[str, PreparedComponent] = {
            **prepare_simulators(environment, datasets, catalog),
            **prepare_domains(environment, datasets, catalog),
        }
        lines = list(store.log(task_run))
        if task_run.head and compute_head(lines) != task_run.head:
            raise StoreDamaged("the stored log is not the one that was graded: the hash of its lines differs")
        self._redactor = build_run_redactor(store, run)
        self.size, own = 0, list[bytes]()
        times, self._slots = list[datetime](), list[StateRow]()
        for line in lines:
            record = orjson.loads(line)
            self.size += len(line) + sum(body["size"] for body in record.get("blobs", {}).values())
            times.append(datetime.fromisoformat(record["at"]))
            if record["source"] in self._components:
                own.append(line)
            elif record["kind"] == SlotSet.kind and "value" in (slot := record["payload"]):
                facts = {"value": slot["value"]}
                self._slots.append(StateRow(slot["name"], "slots", slot["name"], facts, seq=record["seq"]))
        self._times = list(accumulate(times, max))
        try:
            self._events = parse_log(own, catalog.events, store.blob)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise StoreDamaged(f"an event of the log has another form than today: {place}: {first['msg']}") from None
        starts = replay(self._components, ())
        by_source: dict[str, list[Event]] = {name: [] for name in starts}
        for event in self._events:
            by_source[event.source].append(event)
        self._views = {
            name: ComponentView(
                component, ViewedTrial(starts[name], by_source[name], snapshot.entities, self._read_words)
            )
            for name, component in self._components.items()
        }
        self._states = replay(self._components, ())
        self._applied = self._seq = 0

    def _read_words(self, words: PageWords) -> str:
        return replace_words(words, find_hidden_words(words, self._redactor)).text if self._redactor else words.text

    def rebuild(self, seq: int) -> Mapping[str, State[Any]]:
        """Return the states after an event: from the moment of the last call, or from the start if that was later."""
        if not 0 <= seq <= len(self._times):
            raise UnknownRecord(f"there is no event {seq} (expected: 0 for the start, to {len(self._times)})")
        if seq < self._seq:
            self._states, self._applied = replay(self._components, ()), 0
        events, place = self._events, self._applied
        while place < len(events) and events[place].seq <= seq:
            self._states[events[place].source].apply(events[place])
            place += 1
        self._applied, self._seq = place, seq
        return self._states

    def show(self, seq: int) -> dict[str, Any]:
        """Return all sandboxes and domains after an event, each with its records and what changed since the start."""
        states = self.rebuild(seq)
        sandboxes = {
            name: self._bound(name, view.kind, list(view.compare(states[name])), seq)
            for name, view in self._views.items()
        }
        if self._slots:
            rows = {row.key: ComparedRow(None, row) for row in self._slots if (row.seq or 0) <= seq}
            sandboxes[AGENT] = self._bound(AGENT, AGENT, list(rows.values()), seq)
        at = self._times[max(seq, 1) - 1].isoformat() if self._times else None
        return {"seq": seq, "at": at, "total": len(self._times), "sandboxes": sandboxes}

    def read_record(self, seq: int, sandbox: str, key: str) -> dict[str, Any]:
        """Return one record at the start and after an event, in full up to the limits of texts and lists."""
        states = self.rebuild(seq)
        for compared in self._views[sandbox].compare(states[sandbox]) if sandbox in self._views else ():
            if self._redactor.text(compared.row.key) == key:
                return {
                    name: None if row is None else clip(self._redactor.data(row.data()), MAX_VALUE_SHOWN)
                    for name, row in compared._asdict().items()
                }
        raise UnknownRecord(f"{sandbox} has no record {key[:80]} at this moment")

    def _bound(self, name: str, kind: str, compared: list[ComparedRow], seq: int) -> dict[str, Any]:
        """Return the records that changed last, and of the others the first, in their order, with what is left out."""
        view = self._views.get(name)
        changes = [each.find_change() for each in compared]
        causes = {
            place: view.find_cause(each.row, seq) if view is not None else each.row.seq
            for place, each in enumerate(compared)
            if changes[place] is not None
        }
        last = sorted(causes, key=lambda place: (causes[place] or 0, place))[-MAX_ROWS_SHOWN:]
        others = [place for place, change in enumerate(changes) if change is None][: MAX_ROWS_SHOWN - len(last)]
        return {
            "kind": kind,
            "counts": {
                change or "unchanged": changes.count(change) for change in ("created", "updated", "deleted", None)
            },
            "left_out": len(compared) - len(last) - len(others),
            "records": [
                self._describe(compared[place], changes[place]) | {"cause_seq": causes.get(place)}
                for place in sorted((*last, *others))
            ],
        }

    def _describe(self, compared: ComparedRow, change: str | None) -> dict[str, Any]:
        before, after = compared
        row, redact = compared.row, self._redactor.data
        shown = clip(redact({"group": row.group, "title": row.title, "facts": row.facts}), MAX_TEXT_SHOWN)
        record: dict[str, Any] = {"key": redact(row.key), **shown, "change": change}
        if before is not None and after is not None and change:
            found = find_differences(redact(before.data()), redact(after.data()))
            rows = [{"path": each.path, "before": each.expected, "after": each.actual} for each in found.first]
            record |= {"differences": rows, "differences_left_out": found.left_out}
        return record


def clip(data: Any, length: int) -> Any:
    """Return plain data without the ends of long texts, lists and maps. Values must be redacted before."""
    if isinstance(data, str):
        return data if len(data) <= length else f"{data[:length]}… ({len(data) - length:,} more characters)"
    if isinstance(data, Mapping):
        more = {"…": f"{len(data) - MAX_ITEMS_SHOWN:,} more"} if len(data) > MAX_ITEMS_SHOWN else {}
        return {key: clip(value, length) for key, value in islice(data.items(), MAX_ITEMS_SHOWN)} | more
    if isinstance(data, list | tuple):
        rest = [f"… ({len(data) - MAX_ITEMS_SHOWN:,} more)"] if len(data) > MAX_ITEMS_SHOWN else []
        return [*(clip(value, length) for value in data[:MAX_ITEMS_SHOWN]), *rest]
    return data
