"""Write a run that is kept to files: for people a page and a summary, for machines JUnit XML and JSON Lines."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from clerkship.model.problem import InputError, PlatformError
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.report.budget import BUDGET
from clerkship.report.detail import TaskDetail, parse_detail
from clerkship.report.html import render_html
from clerkship.report.jsonl import Kept, render_jsonl
from clerkship.report.junit import Case, render_junit
from clerkship.report.markdown import SUMMARY, render_markdown
from clerkship.report.outcome import urgency
from clerkship.store.contract import Store

STDOUT = Path("-")


class ReportFailed(PlatformError):
    """A report could not be written; the run is kept all the same."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Which reports are wanted, and where; `-` is standard output."""

    html: Path | None = None
    junit: Path | None = None
    jsonl: Path | None = None
    markdown: Path | None = None
    markdown_limit: int = SUMMARY

    def __post_init__(self) -> None:
        """Two reports on one stream are none."""
        if list(self.wanted().values()).count(STDOUT) > 1:
            raise InputError.of("only one report can go to standard output", hint="name a file for the others")

    def wanted(self) -> dict[str, Path]:
        """The files by what is in them."""
        named = {"html": self.html, "junit": self.junit, "jsonl": self.jsonl, "markdown": self.markdown}
        return {sort: target for sort, target in named.items() if target is not None}

    def to_stdout(self) -> bool:
        """Whether one of them goes there, so that nothing else may."""
        return STDOUT in self.wanted().values()


def write_reports(store: Store, reference: str, targets: Targets) -> dict[str, Path]:
    """Every report that is wanted. One that cannot be written keeps no other from it, and is told in the end."""
    wanted, failed = targets.wanted(), []
    for sort, target in wanted.items():
        try:
            with _opened(target) as file:
                for piece in _render(sort, store, reference, targets):
                    file.write(piece)
        except OSError as error:
            failed.append(f"the report {target} cannot be written: {error.strerror}; choose a file elsewhere")
    if failed:
        raise ReportFailed("\n".join(failed))
    return wanted


@contextmanager
def _opened(target: Path) -> Iterator[BinaryIO]:
    if target == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        yield file


def _render(sort: str, store: Store, reference: str, targets: Targets) -> Iterator[bytes]:
    run = store.run(reference)
    counts = store.counts(run.id)
    match sort:
        case "html":
            yield render_html(run, counts, _details(store, store.task_runs(run.id))).encode()
        case "junit":
            for piece in render_junit(run, counts, lambda: _cases(store, run.id)):
                yield piece.encode()
        case "jsonl":
            yield from render_jsonl(run, counts, _kept(store, run.id), store.blob)
        case "markdown":
            yield render_markdown(run, counts, lambda: store.each(run.id), targets.markdown_limit).encode()


def _details(store: Store, task_runs: list[TaskRun]) -> Iterator[TaskDetail]:
    """The most urgent first, with their logs for as long as a page could hold them: the rest is not even read."""
    room = BUDGET
    for task_run in sorted(task_runs, key=urgency):
        if room <= 0:
            yield TaskDetail(task_run, [], None, {})
            continue
        lines = list(store.log(task_run))
        room -= sum(map(len, lines))
        yield parse_detail(task_run, lines, store.sidecar(task_run), store.blob)


def _cases(store: Store, run_id: str) -> Iterable[Case]:
    sources: dict[str, str] = {}
    for task_run in store.each(run_id):
        if task_run.snapshot not in sources:
            sources[task_run.snapshot] = Snapshot.model_validate_json(store.blob(task_run.snapshot)).source
        sidecar = store.sidecar(task_run)
        wall = orjson.loads(sidecar).get("wall_ms", 0.0) if sidecar else 0.0
        yield Case(task_run, sources[task_run.snapshot], wall / 1000)


def _kept(store: Store, run_id: str) -> Iterable[Kept]:
    for task_run in store.each(run_id, attempts=True):
        yield Kept(task_run, store.log(task_run), store.sidecar(task_run))
