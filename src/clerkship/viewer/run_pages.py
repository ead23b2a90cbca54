"""The page of a run, and the data that its script reads: the rows, each trial when it is opened, and further events."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from urllib.parse import quote

import orjson

from clerkship.model.redaction import redact_task_run
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.report.detail import TaskDetail
from clerkship.report.html import LinkedPage, RunSummary, render_run_page
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.page_images import build_page_images
from clerkship.report.site_pages import build_site_pages, list_styles
from clerkship.report.trial_card import MAX_NAME_LENGTH, build_body, build_row, sort_events
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.service.exporting import load_detail
from clerkship.service.log_redaction import LogRedactor
from clerkship.service.reading import find_snapshots_with_played_people, load_judge_calibrations
from clerkship.store.contract import Store
from clerkship.viewer.answering import reply_with_page
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.static import link

JSON = "application/json"
MAX_EVENTS = 2_000
"""Events that come with a trial, so that it is shown soon; the others follow."""
MAX_MORE_EVENTS = 50_000
"""Events in one further reply."""
_SPANNING = (b'"kind":"voice.', b'"kind":"fax.')
"""Events of which the body of a trial shows what belongs together: calls, and pages of faxes."""


@dataclass(frozen=True)
class _ShownRun:
    """A run that the reader may see."""

    store: Store
    run: BenchmarkRun

    @cached_property
    def redactor(self) -> LogRedactor:
        return LogRedactor(self.store, self.run)

    @property
    def is_active(self) -> bool:
        """Whether trials are still added to it."""
        return self.run.status == "active" and self.store.held(self.run.id)

    def summarize(self) -> RunSummary:
        """Return its trials without their logs."""
        by = self.redactor.by
        # Whether a trial was changed is checked when it is opened.
        seals = self.store.check_head(self.run.id)
        judged = JudgingSummary.of(
            self.run,
            known=load_judge_calibrations(self.store, self.run),
            played_in=find_snapshots_with_played_people(self.store, self.run),
        )
        details = (
            TaskDetail(redact_task_run(task_run, by), [], None, _read_facts(self.store.sidecar(task_run)))
            for task_run in self.store.each(self.run.id)
        )
        summary = RunSummary.of(self.run, self.store.counts(self.run.id), details, judged, seals)
        return replace(summary, label=self.store.labels().get(self.run.id, ""))

    def find_trial(self, query: Mapping[str, str]) -> TaskRun:
        """Return the last attempt of the trial that a query names, by the name of its task as the rows have it."""
        task, number = query.get("task", ""), query.get("trial", "1")
        if not number.isdecimal():
            raise Refusal(400, "invalid_trial", f"`trial` must be a number, not {number!r:.40}")
        found = self.store.task_run(self.run.id, task, int(number)) or self._find_redacted(task, int(number))
        if found is None:
            raise Refusal(404, "no_such_trial", f"the run has no trial {number} of the task {task!r:.200}")
        return found

    def _find_redacted(self, task: str, number: int) -> TaskRun | None:
        """Return a trial whose name has a value of a variable, which the rows do not have."""
        by = self.redactor.by
        names = {outcome[0] for outcome in self.store.outcomes(self.run.id)} if by else ()
        name = next((name for name in names if by.text(name) == task), None)
        return self.store.task_run(self.run.id, name, number) if name is not None else None

    def load_begin(self, task_run: TaskRun) -> TaskDetail:
        """Load a trial with the first of its events; with all if those belong to the body, too."""
        lines = list(self.store.log(task_run))
        if len(lines) > MAX_EVENTS and not any(kind in line for line in lines for kind in _SPANNING):
            lines = lines[:MAX_EVENTS]
        return load_detail(self.store, task_run, self.redactor, list(map(self.redactor.line, lines)))

    def load_part(self, task_run: TaskRun, after: int, limit: int) -> TaskDetail:
        """Load a trial with some events behind a number.

        Where values are redacted, what was said before them is read, too: a part of it may be said again.
        """
        begin = 0 if self.redactor.by else after
        lines = map(self.redactor.line, islice(self.store.log(task_run, begin), after - begin + limit))
        return load_detail(self.store, task_run, self.redactor, list(islice(lines, after - begin, None)))


def _read_facts(sidecar: bytes) -> dict[str, object]:
    """Return the facts of a sidecar of which a row shows some."""
    facts: dict[str, object] = orjson.loads(sidecar) if sidecar else {}
    return facts


@contextmanager
def _open_run(context: ViewerContext, run: str) -> Iterator[_ShownRun]:
    with context.open_store() as store:
        yield _ShownRun(store, store.run(run))


def show_run(context: ViewerContext, request: Request, run: str) -> Reply:
    """Answer with the page of a run."""
    with _open_run(context, run) as shown:
        linked = LinkedPage(
            style=link("viewer.css", context.prefix),
            script=link("viewer.js", context.prefix),
            prefix=context.prefix,
            signs_out=context.signs_out,
            is_active=shown.is_active,
            store_option=context.store_option,
        )
        data = {"run": shown.run.id, "data": f"{context.prefix}/data/runs/{quote(shown.run.id, safe='')}"}
        page = render_run_page(shown.summarize(), data, linked)
    # The pages of websites are in frames, which have the policy of this page.
    return reply_with_page(page, list_styles())


def read_rows(context: ViewerContext, request: Request, run: str) -> Reply:
    """Answer with the rows of the list, as a report has them, and whether trials are still added."""
    with _open_run(context, run) as shown:
        summary, is_active = shown.summarize(), shown.is_active
    rows = [build_row(detail) for detail in summary.details]
    for row, detail in zip(rows, summary.details, strict=True):
        if len(detail.task_run.task) > MAX_NAME_LENGTH:
            row["task_name"] = detail.task_run.task
    if not is_active:
        summary.add_facets(rows)
    progress = {"done": summary.counts.done, "total": summary.run.total}
    commands = {"store_option": context.store_option or ""} | ({"command": ""} if context.store_option is None else {})
    state = {"is_active": is_active, "progress": progress, "can_change": context.can_change}
    return _reply(summary.describe() | commands | {"trials": rows} | state)


def read_trial(context: ViewerContext, request: Request, run: str) -> Reply:
    """Answer with the body of a trial, the first of its events, and their pictures and pages."""
    with _open_run(context, run) as shown:
        task_run = shown.find_trial(request.query)
        changes = shown.store.check_seals(shown.run.id, task=task_run.task).changed_trials()
        detail = replace(shown.load_begin(task_run), changed=changes.get(task_run.outcome()[:3], ""))
        events = sort_events(detail.events[:MAX_EVENTS])
        body = build_body(detail, replayed=shown.run.is_replayed)
        parts = [{"body": body, "log": events}]
        assets = build_page_images([detail], parts) | build_site_pages([detail], parts)
    return _reply({"body": body, "log": events, "log_total": task_run.events, "changed": detail.changed} | assets)


def read_events(context: ViewerContext, request: Request, run: str) -> Reply:
    """Answer with the events of a trial behind one of them."""
    after = _read_number(request.query, "after", 0)
    limit = min(_read_number(request.query, "limit", MAX_MORE_EVENTS), MAX_MORE_EVENTS)
    with _open_run(context, run) as shown:
        detail = shown.load_part(shown.find_trial(request.query), after, limit)
        parts = [{"log": detail.events}]
        assets = build_page_images([detail], parts) | build_site_pages([detail], parts)
    return _reply({"events": sort_events(detail.events)} | assets)


def _read_number(query: Mapping[str, str], name: str, default: int) -> int:
    given = query.get(name, str(default))
    if not given.isdecimal():
        raise Refusal(400, f"invalid_{name}", f"`{name}` must be a number, not {given!r:.40}")
    return int(given)


def _reply(data: Mapping[str, object] | Sequence[object]) -> Reply:
    return Reply(200, orjson.dumps(data, default=str, option=orjson.OPT_NON_STR_KEYS), JSON)
