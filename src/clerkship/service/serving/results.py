"""What the API shows of benchmark runs, and what it hides from the agent of a scored run."""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

import orjson

from clerkship.events.query import matches_kind
from clerkship.model.run import TaskRun
from clerkship.model.server_objects import BenchmarkRunSummary, CriterionResult, TaskResult, TaskRunSummary
from clerkship.report.gates import GatedComparison
from clerkship.service.comparing import compare_runs
from clerkship.service.exporting import render_report
from clerkship.service.serving.keys import Principal
from clerkship.service.serving.live_runs import LiveRuns
from clerkship.service.serving.refusals import ObjectNotFound
from clerkship.service.serving.run_table import ServedRun, ServedTask
from clerkship.service.task_view import load_task_view

SHA256 = re.compile(r"[0-9a-f]{64}")
TASK_STATES = {
    "completed": "completed",
    "timed_out": "timed_out",
    "cancelled": "cancelled",
    "errored": "failed",
    "invalid_person": "failed",
}
"""The status of a task run by that of the stored trial. Only the fault of the platform makes it `failed`."""


_RECORDED = ("name", "seed", "trials", "criteria", "grading", "clerkship")
"""What is shown of the stored record of a run."""
_SHOWN = ("ending", "answer", "error", "agent_error", "head", "events", "timeout", "tags", "template", "models")
"""What is shown of the stored record of a task run to all who may read it."""


def is_hidden(run: ServedRun, reader: Principal) -> bool:
    """Return whether criteria and evidence are hidden from a reader: those of a scored run from its agent, for good."""
    return run.scored and reader.kind != "person"


class EventChoice(NamedTuple):
    """Which events of a log are asked for."""

    after: int = 0
    kind: str | None = None
    source: str | None = None
    limit: int = 100

    def at(self, after: int) -> "EventChoice":
        """Return the same choice after another position."""
        return self._replace(after=after)

    def matches(self, numbered: tuple[int, bytes]) -> bool:
        """Return whether an event is chosen, given its number and its line."""
        if self.kind is None and self.source is None:
            return True
        event = orjson.loads(numbered[1])
        is_kind = self.kind is None or matches_kind(event["kind"], self.kind)
        return is_kind and self.source in (None, event["source"])


class NewEvents(NamedTuple):
    """Events that a stream sends next."""

    numbered: list[tuple[int, bytes]]
    place: int
    """The number of the last event that was looked at."""
    has_ended: bool
    """Whether nothing more is added to the log."""


class RunResults:
    """Reads benchmark runs, those under way and those that have ended."""

    def __init__(self, live: LiveRuns) -> None:
        self._live = live

    def run(self, run: ServedRun) -> BenchmarkRunSummary:
        """Return a run with all its task runs."""
        with self._live.reading() as store:
            stored = {(each.task, each.trial): each for each in store.each(run.id)}
            record = store.run(run.id)
        tasks = self._live.table.tasks(run.id)
        # Of a task run that goes on, the store may have an attempt that was cut off.
        records = [stored.get((task.task, task.trial)) if task.phase == "completed" else None for task in tasks]
        summary = _summarize(run, tuple(map(summarize_task, tasks, records)))
        return summary.model_copy(update={name: getattr(record, name) for name in _RECORDED})

    def run_line(self, run: ServedRun) -> BenchmarkRunSummary:
        """Return a run without its task runs, for a list."""
        return _summarize(run)

    def task(self, task: ServedTask, *, hidden: bool) -> TaskResult:
        """Return a task run; with its criterion runs if it has ended and they are not hidden."""
        stored = self._live.find_result(task)
        summary = summarize_task(task, stored)
        if stored is None:
            return TaskResult(**summary.__dict__)
        checks = None if hidden else tuple(build_checks(task.id, stored))
        shown = {name: getattr(stored, name) for name in _SHOWN}
        return TaskResult(**summary.__dict__, **shown, checks=checks)

    def check(self, task: ServedTask, id: str) -> CriterionResult:
        """Return one criterion run of a task run. Raise ObjectNotFound."""
        stored = self._live.find_result(task)
        checks = [] if stored is None else list(build_checks(task.id, stored))
        found = next((each for each in checks if each.id == id), None)
        if found is None:
            raise ObjectNotFound(f"there is no criterion run {id[:100]}")
        return found

    def select(self, task: ServedTask, choice: EventChoice) -> list[tuple[int, bytes]]:
        """Return the chosen lines of a task run's log, each with its number."""
        numbered = enumerate(self._lines(task, choice.after), choice.after + 1)
        return list(islice(filter(choice.matches, numbered), choice.limit))

    def page(self, task: ServedTask, choice: EventChoice) -> bytes:
        """Return the chosen events as JSON, with the number after which the next ones are."""
        selected = self.select(task, choice)
        following = selected[-1][0] if len(selected) == choice.limit else None
        meta = orjson.dumps({"next": following, "limit": choice.limit})
        return b'{"data":[%b],"_meta":%b}' % (b",".join(line for _, line in selected), meta)

    def read_on(self, task: ServedTask, choice: EventChoice) -> NewEvents:
        """Return the chosen events after a position, as far as there are any."""
        if (trial := self._live.get_trial(task)) is not None and len(trial.lines) <= choice.after:
            return NewEvents([], choice.after, has_ended=False)
        has_ended = self._live.table.task(task.id).phase == "completed"  # before reading: nothing is written after it
        numbered, place = [], choice.after
        for place, line in enumerate(self._lines(task, choice.after), choice.after + 1):
            if choice.matches((place, line)):
                numbered.append((place, line))
            if len(numbered) == choice.limit:
                break
        return NewEvents(numbered, place, has_ended)

    def transcript(self, task: ServedTask) -> list[dict[str, str]]:
        """Return actor and text of what was said in a task run, as far as it went."""
        stored = self._live.find_result(task)
        if stored is None:
            return []
        with self._live.reading() as store:
            return [{"actor": actor, "text": text} for actor, text in load_task_view(store, stored).utterances]

    def report(self, run_id: str) -> bytes:
        """Return the HTML report of a run."""
        with self._live.reading() as store:
            return render_report(store, run_id, "html")

    def compare(self, before: str, after: str) -> dict[str, Any]:
        """Compare two runs, as `clerkship compare --json` does."""
        for run_id in (before, after):
            self._live.table.run(run_id)
        with self._live.reading() as store:
            return GatedComparison.of(compare_runs(store, before, after)).data()

    def _lines(self, task: ServedTask, after: int) -> Iterator[bytes]:
        """Yield the lines of a task run's log after a position, as far as there are any."""
        trial = self._live.get_trial(task)
        if trial is not None:
            yield from trial.lines[after:]
            return
        stored = self._live.find_result(self._live.table.task(task.id))
        if stored is not None:
            with self._live.reading() as store:
                yield from store.log(stored, after)

    def artifact(self, task: ServedTask, digest: str) -> bytes:
        """Return a body that the log of a task run refers to by its hash. Raise ObjectNotFound."""
        is_digest = SHA256.fullmatch(digest) is not None
        if is_digest and any(_refers_to(line, digest) for line in self._lines(task, 0)):
            trial = self._live.get_trial(task)
            if trial is not None and digest in trial.blobs:
                return trial.blobs[digest]
            with self._live.reading() as store:
                return store.blob(digest)
        raise ObjectNotFound(f"the log of {task.id} refers to no such body")


def summarize_task(task: ServedTask, stored: TaskRun | None) -> TaskRunSummary:
    """Return what is shown of a task run."""
    fields: dict[str, Any] = {"status": "active"}
    if stored is not None:
        fields = {
            "status": TASK_STATES[stored.status],
            "verdict": stored.verdict,
            "score": stored.score,
            "axes": stored.axes,
            "reason": stored.error or stored.agent_error,
        }
    elif task.attempt > 1:
        fields["reason"] = f"the server stopped during attempt {task.attempt - 1}; start the task run again"
    return TaskRunSummary(
        id=task.id,
        benchmark_run_id=task.run,
        name=task.task,
        trial=task.trial,
        attempt=task.attempt,
        phase=task.phase,
        start_url=f"/v1/task-runs/{task.id}/start",
        complete_url=f"/v1/task-runs/{task.id}/complete",
        started_at=task.started_at,
        completed_at=task.completed_at,
        **fields,
    )


def get_task_id(criterion_run_id: str) -> str:
    """Return the id of the task run that a criterion run belongs to, by its id."""
    return f"tr_{criterion_run_id.removeprefix('crun_').rpartition('_')[0]}"


def _refers_to(line: bytes, digest: str) -> bool:
    """Return whether an event has a body of this hash. The agent may also have written the hash of another body."""
    if digest.encode() not in line:
        return False
    return any(blob["sha256"] == digest for blob in orjson.loads(line).get("blobs", {}).values())


def build_checks(task_id: str, stored: TaskRun) -> Iterator[CriterionResult]:
    """Yield the criterion runs of a trial with their ids."""
    for number, criterion in enumerate(stored.criteria, 1):
        id = f"crun_{task_id.removeprefix('tr_')}_{number}"
        yield CriterionResult(id=id, task_run_id=task_id, **criterion.__dict__)


def _summarize(run: ServedRun, tasks: tuple[TaskRunSummary, ...] = ()) -> BenchmarkRunSummary:
    slug, _, version = run.benchmark.partition("@")
    return BenchmarkRunSummary(
        id=run.id,
        benchmark={"slug": slug, "version": version, "digest": run.digest},
        solver_id=run.solver,
        agent=run.agent,
        scored=run.scored,
        phase=run.phase,
        status=run.status,
        verdict=run.verdict,
        score=run.score,
        created_at=datetime.fromisoformat(run.created_at),
        expires_at=datetime.fromisoformat(run.expires_at),
        task_runs=tasks,
    )
