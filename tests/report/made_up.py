"""Made-up trials: one of every outcome, hostile ones, and any number of them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.run import AxisScore, BenchmarkRun, Counts, CriterionRun, FieldCheck, TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task
from clerkship.report.detail import TaskDetail

RUN = BenchmarkRun(
    id="run-20260302-090000-abc123",
    name="made up",
    solver="python:desk:Agent",
    seed=7,
    trials=1,
    started_at="2026-03-02T09:00:00+00:00",
    completed_at="2026-03-02T09:00:04+00:00",
    status="completed",
    total=8,
    grading="1",
    clerkship="0.1.0",
)
SCRIPT = "</script><script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
COMMENT = "<!-- <script> -->"


def criterion(label: str = "Books it", **changes: Any) -> CriterionRun:
    """Return a criterion, failed by default."""
    evidence = (FieldCheck(path="status", expected={"in": ["booked"]}, actual="cancelled", passed=False, seq=3),)
    given = {"label": label, "assertion": "file_present", "status": "judged", "evidence": evidence, "gate": True}
    return CriterionRun.model_validate(given | changes)


def task_run(task: str, **changes: Any) -> TaskRun:
    """Return a completed trial, passed by default."""
    given = {
        "run": RUN.id,
        "task": task,
        "status": "completed",
        "verdict": "pass",
        "score": 1.0,
        "axes": {"safety": AxisScore(score=1.0, weight=1.0)},
        "criteria": (criterion(passed=True, score=1.0, evidence=(), axis="safety"),),
        "ending": "agent_done",
        "head": "ab" * 32,
        "events": 5,
        "snapshot": "cd" * 32,
        "tags": ("made-up",),
    }
    return TaskRun.model_validate(given | changes)


def event(seq: int, source: str, kind: str, actor: str = "agent", **payload: Any) -> dict[str, Any]:
    """Return a parsed log line."""
    at = f"2026-03-02T{14 + seq // 3600}:{seq % 3600 // 60:02}:{seq % 60:02}Z"
    return {"seq": seq, "at": at, "source": source, "kind": kind, "actor": actor, "cause": None, "payload": payload}


def log(said: str = "Good morning.") -> list[dict[str, Any]]:
    """Return a short conversation with a refused request and a fault."""
    return [
        event(1, "run", "run.started", "run", task="t", environment="conversation", seed="00"),
        event(2, "chat", "chat.message.sent", "person", text="Hello?", turn=1, buttons=[]),
        event(3, "chat", "chat.message.sent", text=said, turn=1, buttons=[{"title": said}]) | {"cause": 2},
        event(4, "drop", "sandbox.refused", operation="read_file", status=404, code="not_found", reason=said),
        event(5, "drop", "fault.injected", "scenario", fault="error", operation="list_files"),
    ]


def detail(run: TaskRun, events: list[dict[str, Any]] | None = None) -> TaskDetail:
    """Return a trial to render."""
    task = Task(name=run.task[:200], task_item={"instruction": f"Do this: {run.task}"})
    snapshot = Snapshot(task=task, environment=CONVERSATION_ENVIRONMENT, timeout=60)
    return TaskDetail(run, log() if events is None else events, snapshot, {"wall_ms": 12.5, "touches": []})


def counts(trials: Sequence[TaskDetail | TaskRun]) -> Counts:
    """Return the counts that a store would return."""
    runs = [item.task_run if isinstance(item, TaskDetail) else item for item in trials]
    return Counts(
        verdicts=dict(Counter(run.verdict for run in runs if run.verdict)),
        statuses=dict(Counter(run.status for run in runs)),
        agent_errors=sum(bool(run.agent_error) for run in runs),
    )


def every_outcome() -> list[TaskDetail]:
    """Return one trial for each outcome, and one whose agent crashed."""
    none: dict[str, Any] = {"verdict": None, "score": None, "axes": {}}
    error = criterion("Judged by a model", status="error", detail="ModelDown: no reply", evidence=())
    skipped = criterion("Sounds kind", status="skipped", evidence=(), gate=False)
    runs = [
        task_run("it passes"),
        task_run("it is partial", verdict="partial", score=0.5, criteria=(criterion(gate=False, score=0.5), skipped)),
        task_run("it fails", verdict="fail", score=0.0, criteria=(criterion(detail="#3 is not it"),)),
        task_run("it times out", status="timed_out", verdict="fail", score=0.0, ending="timed_out"),
        task_run("it is ungraded", verdict="ungraded", score=None, axes={}, criteria=()),
        task_run("it is inconclusive", verdict="inconclusive", score=None, criteria=(error,)),
        task_run("it errs", status="errored", ending="errored", error="StepFailed: no such file", **none),
        task_run("its person errs", status="invalid_person", ending="errored", error="the person went off", **none),
        task_run("it is cancelled", status="cancelled", ending="cancelled", criteria=(), **none),
        task_run(
            "its agent crashes", verdict="fail", ending="agent_failed", agent_error="KeyError: 'mrn'\n  in on_turn"
        ),
    ]
    return [detail(run) for run in runs]


def hostile() -> list[TaskDetail]:
    """Return a trial with hostile strings in every text field."""
    bad = f"{SCRIPT}{IMAGE}{COMMENT}\u2028'\"&"
    checks = (FieldCheck(path=bad, expected={"contains": bad}, actual=bad, passed=False, seq=3),)
    failed = criterion(bad, detail=bad, evidence=checks, axis=bad, input_entity_id=bad, assertion=bad)
    run = task_run(
        bad, verdict="fail", score=0.0, criteria=(failed,), error=bad, agent_error=bad, answer={bad: bad}, tags=(bad,)
    )
    return [detail(run, log(bad))]


def many(number: int, events: int = 14) -> list[TaskDetail]:
    """Return a large run: every tenth trial fails, every fiftieth is errored."""
    return [detail(_one_of_many(place), chatter(events)) for place in range(number)]


def _one_of_many(place: int) -> TaskRun:
    name = f"Call {place:05} about the referral"
    if place % 50 == 7:
        return task_run(name, status="errored", verdict=None, score=None, ending="errored", error="the disk was full")
    if place % 10 == 3:
        return task_run(name, verdict="fail", score=0.0, criteria=tuple(criterion(f"Rule {n}") for n in range(5)))
    return task_run(name)


def chatter(number: int) -> list[dict[str, Any]]:
    """Return a long conversation."""
    text = "I would like to move my appointment to the week after, if that is possible at all. " * 8
    return [
        event(n, "chat", "chat.message.sent", "agent" if n % 2 else "person", text=text, turn=n)
        for n in range(1, number + 1)
    ]
