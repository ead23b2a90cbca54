"""Inspect a playground in another process: read its events, and grade it with a task's criteria."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from clerkship.engine.build import build_task
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.grader import Grader
from clerkship.engine.models import NO_JUDGE
from clerkship.engine.regrade import grade_log, parse_log
from clerkship.engine.score import Score
from clerkship.events.event import Event
from clerkship.events.lifecycle import AgentAnswered
from clerkship.events.log import compute_head
from clerkship.events.query import matches_kind
from clerkship.events.sidecar import read_measurements
from clerkship.model.errors import InputError, PlatformError
from clerkship.model.names import did_you_mean
from clerkship.model.redaction import MIN_SECRET_LENGTH, NO_REDACTION, Redactor, build_redactor
from clerkship.model.run import CriterionRun, Ending
from clerkship.service.up import find_task, hash_environment, hash_setup
from clerkship.service.up_registry import PlaygroundRegistration, RemotePlayground
from clerkship.settings import Settings, get_template_variables
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.library import LoadedTask
from clerkship.suite_files.load import load_library


class StatedAnswer(NamedTuple):
    """The agent's answer as given on the command line. The playground does not run the agent, so it has no answer."""

    value: Any


@dataclass(frozen=True)
class LiveCheck:
    """The result of grading a running playground."""

    task: str
    criteria: tuple[CriterionRun, ...]
    score: Score
    error: str
    notes: tuple[str, ...]
    events: int
    head: str

    @property
    def outcome(self) -> str:
        """The verdict, or `errored` if there is none."""
        return self.score.verdict or "errored"

    def exit_code(self) -> int:
        """Return the exit code of a run with this one trial."""
        return {"pass": 0, "ungraded": 0, "partial": 1, "fail": 1}.get(self.outcome, 2)


def check_kinds(kinds: Iterable[str], catalog: RegisteredCatalog) -> None:
    """Raise InputError for a kind that no event has."""
    for kind in kinds:
        if not any(matches_kind(known, kind) for known in catalog.events):
            families = {f"{known.split('.')[0]}.*" for known in catalog.events}
            hint = did_you_mean(kind, catalog.events) or f"expected one of {', '.join(sorted(families))}"
            raise InputError.of(f"no event kind matches `{kind}`", hint=hint)


def matches_any_kind(event: dict[str, Any], kinds: Sequence[str]) -> bool:
    """Return whether an event is of one of these kinds; True if none is given."""
    return not kinds or any(matches_kind(event["kind"], kind) for kind in kinds)


def read_events(remote: RemotePlayground, after: int = 0, by: Redactor = NO_REDACTION) -> Iterator[dict[str, Any]]:
    """Yield the events of a log after a sequence number, up to the current end, redacted."""
    return (by.event(orjson.loads(line)) for line in remote.lines(after))


def build_remote_redactor(remote: RemotePlayground) -> Redactor:
    """Return a redactor for the variables of a playground's task, if they are set in this process."""
    known = get_template_variables()
    names = remote.about().get("variables", ())
    return build_redactor({name: known[name] for name in names if name in known}, shortest=MIN_SECRET_LENGTH)


def check_now(
    where: PlaygroundRegistration,
    settings: Settings,
    catalog: RegisteredCatalog,
    *,
    task: str | None = None,
    path: Path | None = None,
    answer: StatedAnswer | None = None,
) -> LiveCheck:
    """Grade the events so far with a task's criteria, as the files define them now."""
    with RemotePlayground(where.url, where.token) as remote:
        about = remote.about()
        name = _choose_task_name(task, about["task"])
        library = load_library(path or Path(where.path), catalog, tasks=TaskSelection((name,)), cache=settings.cache)
        loaded = find_task(library, name)
        if about["place"] != hash_environment(loaded.environment, library.datasets):
            raise InputError.of(
                _describe_mismatch(loaded, where), hint="only criteria can be edited while a playground runs"
            )
        lines = list(islice(remote.lines(), about["events"]))
        if compute_head(lines) != about["head"]:
            raise PlatformError(f"the log of `{where.name}` was damaged in transfer; try again")
        events = parse_log(lines, catalog.events, remote.blob)
    if answer is not None:
        events.append(_build_answer_event(events[-1], answer))
    built = build_task(library.snapshot(loaded, settings.timeout), library.datasets, catalog)
    ending = "errored" if about["error"] else next(iter(about["left"].values()), "agent_done")
    grader, measured = Grader(built, NO_JUDGE, 1), read_measurements(about)
    grade = grade_log(grader, built, events, cast(Ending, ending), measured)
    notes = (*grade.notes, *_list_notes(loaded, about, catalog, answered=_has_answer(events)))
    return LiveCheck(loaded.task.name, grade.criteria, grade.score, about["error"], notes, len(lines), about["head"])


def _choose_task_name(task: str | None, set_up: str | None) -> str:
    if task is None and set_up is None:
        raise InputError.of("name the task whose criteria to check", hint="the playground was started without one")
    return task or set_up or ""


def _describe_mismatch(loaded: LoadedTask, where: PlaygroundRegistration) -> str:
    if loaded.environment.name != where.environment:
        message = f"`{loaded.task.name}` belongs to environment {loaded.environment.name}"
        return f"{message}, but the playground `{where.name}` runs {where.environment}"
    return f"{where.environment} has changed since `{where.name}` was started; stop it and start it again"


def _has_answer(events: Iterable[Event]) -> bool:
    return any(isinstance(event.payload, AgentAnswered) for event in events)


def _build_answer_event(last: Event, answer: StatedAnswer) -> Event:
    """Return the event that a run logs for the agent's answer."""
    payload = AgentAnswered(answer=answer.value)
    return Event(last.seq + 1, last.at, "run", payload.kind, "agent", None, payload)


def _list_notes(
    loaded: LoadedTask, about: dict[str, Any], catalog: RegisteredCatalog, *, answered: bool
) -> Iterator[str]:
    """Yield remarks that help to interpret the verdict."""
    task = loaded.task
    if about["task"] != task.name:
        if task.scenario is not None:
            yield f"the scenario of this task was not run: the playground was started for {about['task'] or 'no task'}"
    elif about["scene"] != hash_setup(task):
        yield "the scenario or the task item was edited after the start; the playground still has the old one"
    if any(catalog.assertion(call.name).judged for call in task.assertions()):
        yield "criteria that a model must judge are skipped here; `clerkship run` judges them"
    if not answered and any(call.name == "answer_matches" for call in task.assertions()):
        yield "the agent's answer is unknown; give it with --answer"
