"""The stored runs as a list: which are chosen, what they are of, and how they are labelled and deleted."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import orjson

from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, Counts
from clerkship.store.contract import Store, StoreFailed

MAX_LABEL_LENGTH = 200
MAX_LISTED_RUNS = 100_000
"""Runs of one store that are looked through."""
MAX_KNOWN_PLANS = 1000
"""Plans whose tags are kept in memory."""


class ListedRun(NamedTuple):
    """A run of the list."""

    run: BenchmarkRun
    counts: Counts
    label: str = ""


@dataclass(frozen=True)
class RunFilter:
    """Which runs are chosen; an empty text chooses all."""

    agent: str = ""
    benchmark: str = ""
    """A published version such as `chart@1`, or the name of a suite."""
    tag: str = ""
    """A tag that one of its tasks has."""
    verdict: str = ""
    """A verdict or status that one of its trials has, such as `fail` or `errored`."""
    label: str = ""

    def matches(self, store: Store, listed: ListedRun) -> bool:
        """Return whether a run is chosen."""
        run, counts, label = listed
        outcomes = counts.verdicts | counts.statuses
        return (
            self.agent in ("", run.solver)
            and self.benchmark in ("", name_benchmark(run))
            and self.label in ("", label)
            and (not self.verdict or outcomes.get(self.verdict, 0) > 0)
            and (not self.tag or self.tag in list_tags(store, run))
        )

    def options(self) -> str:
        """Return the options of `clerkship list` that choose the same, each after a space."""
        chosen = ((field.name, getattr(self, field.name)) for field in fields(self))
        return "".join(f" --{name} {shlex.quote(text)}" for name, text in chosen if text)


ALL_RUNS = RunFilter()


def select_runs(store: Store, choice: RunFilter = ALL_RUNS, damaged: list[str] | None = None) -> Iterator[ListedRun]:
    """Yield the chosen runs, newest first. For `damaged` see `Store.task_runs`."""
    labels = store.labels()
    for run, counts in store.runs(MAX_LISTED_RUNS, damaged):
        listed = ListedRun(run, counts, labels.get(run.id, ""))
        if choice.matches(store, listed):
            yield listed


def read_chosen(store: Store, limit: int, chosen: Mapping[str, str], damaged: list[str]) -> list[ListedRun]:
    """Return the newest runs that are chosen by some fields of a filter."""
    return list(islice(select_runs(store, RunFilter(**chosen), damaged), limit))


def name_benchmark(run: BenchmarkRun) -> str:
    """Return what a run is of: the published version, or the name of the suite."""
    return run.published.name if run.published is not None and run.changed_tasks is None else run.name


def list_tags(store: Store, run: BenchmarkRun) -> tuple[str, ...]:
    """Return the tags of a run's tasks, in order."""
    return _list_tags(_Plan(run.plan, store.blob)) if run.plan else ()


@dataclass(frozen=True)
class _Plan:
    """A plan, known by its hash, and how it is read."""

    address: str
    read: Callable[[str], bytes]

    def __hash__(self) -> int:
        return hash(self.address)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Plan) and other.address == self.address


@lru_cache(MAX_KNOWN_PLANS)
def _list_tags(plan: _Plan) -> tuple[str, ...]:
    try:
        snapshots = orjson.loads(plan.read(plan.address))["snapshots"]
        tags = {tag for address in snapshots for tag in orjson.loads(plan.read(address))["task"].get("tags", ())}
    except (StoreFailed, ValueError, KeyError):  # a damaged run has no tags; the check of its seals says so
        return ()
    return tuple(sorted(tags))


def label_run(store: Store, reference: str, label: str) -> str:
    """Label a run, or remove its label if the text is empty; return its id. Raise InputError for an unusable text."""
    text = " ".join(label.split())
    if len(text) > MAX_LABEL_LENGTH or not text.isprintable():
        raise InputError.of(f"a label has at most {MAX_LABEL_LENGTH} printable characters")
    run_id = store.run(reference).id
    store.save_label(run_id, text)
    return run_id
