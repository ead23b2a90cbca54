"""Render a run as the folder that Rasa's evaluation writes: a summary of all scenarios, and two files for each trial.

Sections, labels and keys are the same as Rasa's, so that tools for such folders work. Further data of Clerkship has
its own keys in the JSON: `detail` and `rationale`, `status`, `verdict`, `score`, `error`, `quality`, `transcript`,
`events`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from clerkship.model.duration import describe_duration
from clerkship.model.quality import TASK_COMPLETION, Quality
from clerkship.model.run import BenchmarkRun, CriterionRun, TaskRun
from clerkship.model.scenario_file import build_label, build_plain_label
from clerkship.model.snapshot import Snapshot
from clerkship.rasa.layout import TEMPLATES
from clerkship.report.detail import StoredTrial
from clerkship.report.outcome import outcome, split_criteria
from clerkship.report.plain_text import to_one_line

JUDGED_ASSERTION = "judged"
"""The assertion that a model judges. Scenario files call it a criterion."""
MAX_EVENTS = 10_000
"""Maximum number of events in the file of a trial. The store has all of them."""
FOLDER_NAME_FORMAT = "%Y-%m-%d_%H-%M-%S"
_MAX_NAME_LENGTH = 100
_MAX_LINE_LENGTH = 2000
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\<>:"|?*\s]+')
_INSPECTOR_PATH = "webhooks/inspector/inspect.html"


@dataclass
class ScenarioSummary:
    """The result of one scenario over all its trials."""

    name: str
    slug: str
    passed: int = 0
    total: int = 0
    errored: int = 0
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether every trial passed."""
        return self.passed == self.total

    def data(self) -> dict[str, Any]:
        """Return the entry for the summary."""
        return {
            "scenario_name": self.name,
            "scenario_slug": self.slug,
            "runs_passed": self.passed,
            "runs_total": self.total,
            "duration_s": round(self.seconds, 3),
            "runs_errored": self.errored,
        }


@dataclass
class RasaResults:
    """One folder of results, file by file."""

    run: BenchmarkRun
    snapshots: Mapping[str, Snapshot]
    """Snapshots by task."""
    place: str
    """The path of the folder for the summary."""
    entries: dict[str, ScenarioSummary] = field(default_factory=dict)

    def render(self, trials: Iterable[StoredTrial], blob: Callable[[str], bytes]) -> Iterator[tuple[str, bytes]]:
        """Yield every file with its path in the folder; the summaries are last."""
        sources = {task: snapshot.source for task, snapshot in self.snapshots.items()}
        self.entries = {task: ScenarioSummary(task, slug) for task, slug in build_slugs(sources).items()}
        for stored in trials:
            entry = self.entries[stored.task_run.task]
            trial = _TrialResult(self.run, entry.slug, self._relabel(stored), blob)
            entry.total += 1
            entry.passed += trial.passed
            entry.errored += is_errored(stored.task_run)
            entry.seconds += trial.seconds
            name = f"{entry.slug}/run_{stored.task_run.trial}"
            yield f"{name}.txt", trial.text().encode()
            yield f"{name}.json", trial.json()
        seconds = _get_duration(self.run)
        entries = [entry for entry in self.entries.values() if entry.total]
        summary = {"wall_clock_s": round(seconds, 3), "entries": [entry.data() for entry in entries]}
        yield "summary.json", orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n"
        text = TEMPLATES.get_template("summary.txt.jinja2")
        yield "summary.txt", text.render(entries=entries, seconds=seconds, place=self.place).encode()

    def _relabel(self, trial: StoredTrial) -> StoredTrial:
        """Return the trial with Rasa's labels in place of Clerkship's longer ones.

        A trial that ended before it was graded has no criteria.
        """
        written = self.snapshots[trial.task_run.task].task.criteria
        own, checks = split_criteria(trial.task_run.criteria)
        if len(own) != len(written):
            return trial
        criteria = tuple(
            graded.model_copy(update={"label": build_plain_label(criterion.assertion)})
            if criterion.label == build_label(criterion.assertion)
            else graded
            for graded, criterion in zip(own, written, strict=True)
        )
        return trial._replace(task_run=trial.task_run.model_copy(update={"criteria": (*criteria, *checks)}))


def is_passed(task_run: TaskRun) -> bool:
    """Return whether the trial passed. An ungraded one passes if no gate failed."""
    ungraded = task_run.verdict == "ungraded" and not any(criterion.gate for criterion in task_run.criteria)
    return task_run.verdict == "pass" or ungraded


def is_errored(task_run: TaskRun) -> bool:
    """Return whether the trial has no usable result for a reason other than the agent."""
    return outcome(task_run) in ("errored", "invalid_person", "cancelled", "inconclusive")


def build_slugs(sources: Mapping[str, str]) -> dict[str, str]:
    """Return a unique folder name for each task: the name of its file, with the task's name if ambiguous."""
    stems = {task: to_path_component(PurePosixPath(source).stem or task) for task, source in sources.items()}
    count = Counter(stem.lower() for stem in stems.values())
    slugs: dict[str, str] = {}
    taken: set[str] = set()
    for task, stem in stems.items():
        slug = plain = stem if count[stem.lower()] == 1 else f"{stem}-{to_path_component(task)}"[:_MAX_NAME_LENGTH]
        number = 1
        while slug.lower() in taken:  # some file systems ignore case
            number += 1
            slug = f"{plain}-{number}"
        taken.add(slug.lower())
        slugs[task] = slug
    return slugs


def to_path_component(name: str) -> str:
    """Return a name that is valid as a file name on every system."""
    return _UNSAFE.sub("_", name.strip()).strip(". ")[:_MAX_NAME_LENGTH].strip(". ") or "scenario"


def find_results_folder(path: str) -> Path:
    """Return the folder for results: in the `eval` folder of the run, or in that of the working folder."""
    folder = Path(path) if not path.endswith((".yml", ".yaml")) else Path(path).parent
    whole = folder.resolve()
    if whole.name == "eval":
        return folder / "results"
    return (
        (folder.parent if folder.name else whole.parent) / "results" if whole.name == "scenarios" else _DEFAULT_FOLDER
    )


_DEFAULT_FOLDER = Path("eval") / "results"


class _TrialResult:
    """One trial, as text and as JSON."""

    def __init__(self, run: BenchmarkRun, slug: str, trial: StoredTrial, blob: Callable[[str], bytes]) -> None:
        self._run, self._slug = run, slug
        self.task_run = trial.task_run
        self._sidecar: dict[str, Any] = orjson.loads(trial.sidecar) if trial.sidecar else {}
        self.seconds = float(self._sidecar.get("wall_ms", 0.0)) / 1000
        self.messages: list[tuple[str, str]] = []
        self._events: list[bytes] = []
        for line in trial.lines:
            if len(self._events) < MAX_EVENTS:
                self._events.append(line)
            if b'"turn":' in line:
                self._add_message(orjson.loads(line), blob)
        criteria, checks = split_criteria(self.task_run.criteria)
        self.judged = [c for c in criteria if c.assertion == JUDGED_ASSERTION]
        others = [c for c in criteria if c.assertion != JUDGED_ASSERTION and (c.gate or c.weight)]
        self.asserted = [c for c in others if c.status != "skipped"]
        self.failed_gates = [c for c in checks if c.gate and not c.passed]
        """Checks of every task that failed the trial; Rasa's format has no place for them."""
        self.passed = is_passed(self.task_run)
        self.timestamp = _to_utc(run.started_at)

    def _add_message(self, event: dict[str, Any], blob: Callable[[str], bytes]) -> None:
        payload, large = event["payload"], event.get("blobs", {}).get("text")
        text = payload.get("text") if large is None else blob(large["sha256"]).decode(errors="replace")
        if "turn" in payload and isinstance(text, str):
            self.messages.append(("agent" if event["actor"] == "agent" else "user", text))

    @property
    def conversation(self) -> str:
        """The conversation id on the agent's server, or one made up from the run."""
        task_run, known = self.task_run, self._sidecar.get("conversation_id")
        return str(known) if known else f"{self._run.id}-{self._slug}-{task_run.trial}"

    @property
    def error(self) -> str:
        """The error of the trial; empty if there is none."""
        task_run = self.task_run
        error = task_run.error or task_run.agent_error
        if not error and task_run.status == "timed_out":
            limit = "" if task_run.timeout is None else f" after {describe_duration(task_run.timeout)}"
            error = f"timed out{limit}"
        if not error and is_errored(task_run):
            broken = [f"{c.label}: {c.detail}" for c in task_run.criteria if c.status == "error"]
            error = "; ".join(broken) or outcome(task_run)
        return error

    @property
    def judge_error(self) -> str:
        """The reasons why criteria have no verdict; empty if all have one."""
        return "; ".join(dict.fromkeys(c.detail or c.status for c in self.judged if c.status == "error"))

    def text(self) -> str:
        """Return the file for readers."""
        return TEMPLATES.get_template("run.txt.jinja2").render(trial=self)

    @property
    def inspector(self) -> str:
        """The address at which a Rasa server shows the conversation; empty for other agents."""
        sort, _, address = self._run.solver.partition(":")
        if sort != "rasa" or not self._sidecar.get("conversation_id"):
            return ""
        return f"{address.rstrip('/')}/{_INSPECTOR_PATH}?sender={self.conversation}"

    @property
    def _completed(self) -> bool | None:
        """Whether the user's task was completed; None if that was not rated."""
        quality = self.task_run.quality
        rating = quality.ratings.get(TASK_COMPLETION) if quality is not None else None
        return rating.passed if rating is not None else None

    def json(self) -> bytes:
        """Return the file for programs."""
        task_run = self.task_run
        data: dict[str, Any] = {
            "scenario_slug": self._slug,
            "run_index": task_run.trial,
            "timestamp": self.timestamp,
            "conversation_id": self.conversation,
            "task_completion": self._completed,
            "eval_passed": self.passed,
            "criteria": [
                {"index": n, "criterion": c.label, "passed": c.passed, "rationale": c.detail}
                for n, c in enumerate(self.judged)
                if c.status == "judged"
            ],
        }
        if data["criteria"]:
            data["criteria_summary"] = _count_passed([c for c in self.judged if c.status != "skipped"])
        if self.judge_error:
            data["criteria_error"] = self.judge_error
        if self.asserted:
            data["assertions"] = [
                {"index": n, "assertion": c.label, "passed": c.passed, "detail": c.detail, "status": c.status}
                for n, c in enumerate(self.asserted)
            ]
            data["assertions_summary"] = _count_passed(self.asserted)
        if self.failed_gates:
            data["checks"] = [{"check": c.label, "passed": False, "detail": c.detail} for c in self.failed_gates]
        data |= _build_metrics(task_run.quality)
        data |= {"scenario_name": task_run.task, "run": task_run.run, "status": task_run.status}
        data |= {"verdict": task_run.verdict, "score": task_run.score, "ending": task_run.ending}
        data |= {"error": self.error or None}
        data["transcript"] = [{"index": n, "who": who, "text": text} for n, (who, text) in enumerate(self.messages, 1)]
        data["events"] = [orjson.Fragment(line) for line in self._events]
        data["events_total"] = task_run.events
        return orjson.dumps(data) + b"\n"


def _count_passed(criteria: list[CriterionRun]) -> dict[str, Any]:
    good = sum(criterion.passed for criterion in criteria)
    return {"passed": good, "total": len(criteria), "all_passed": good == len(criteria)}


def _build_metrics(quality: Quality | None) -> dict[str, Any]:
    """Return the metrics: the scores as in Rasa's format, and Clerkship's ratings with their reasons."""
    if quality is None:
        return {}
    scores = {name: rating.score for name, rating in quality.ratings.items() if rating.score is not None}
    return {"scale_metrics": scores, "bot_quality": quality.bot_quality, "quality": quality.model_dump(mode="json")}


def _to_utc(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _get_duration(run: BenchmarkRun) -> float:
    if run.completed_at is None:
        return 0.0
    return (datetime.fromisoformat(run.completed_at) - datetime.fromisoformat(run.started_at)).total_seconds()


TEMPLATES.filters["line"] = partial(to_one_line, limit=_MAX_LINE_LENGTH)
TEMPLATES.filters["verdict"] = lambda passed: "PASS" if passed else "FAIL"
