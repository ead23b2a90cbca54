"""What the page knows of one trial: a row for the list, a body for reading, and its events."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from clerkship.events.request_line import describe_unauthenticated_requests
from clerkship.model.quality import Quality
from clerkship.model.run import CriterionRun, FieldCheck, TaskRun
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.report.costs import render_used
from clerkship.report.detail import TaskDetail
from clerkship.report.embed import clip
from clerkship.report.failure import FACTS, attachments
from clerkship.report.judged import by_model
from clerkship.report.outcome import ended, is_missed, reason, status_words, undecided
from clerkship.report.plain import unmet
from clerkship.report.reliance import is_cite

VALUE_LIMIT = 4_000
EVIDENCE_LIMIT = 100
_NO_FACTS = FACTS | {"handed", "handed_from", "unauthenticated"}
"""What of the sidecar is shown elsewhere, or not at all."""


def row(detail: TaskDetail) -> dict[str, Any]:
    """As it stands in the list."""
    run = detail.task_run
    return {
        "task": clip(run.task, 400),
        "trial": run.trial,
        "attempt": run.attempt,
        "outcome": detail.outcome,
        **({"changed": clip(detail.changed, VALUE_LIMIT)} if detail.changed else {}),
        "timed_out": run.status == "timed_out",
        "crashed": bool(run.agent_error),
        "score": None if detail.changed else run.score,
        "failed_criteria": len(unmet(run)) if detail.outcome == "pass" else 0,
        "tags": run.tags[:20],
        **({"template": run.template} if run.template else {}),
    }


def body(detail: TaskDetail, *, replayed: bool = False) -> dict[str, Any]:
    """The verdict with its reasons; what models took in a replay was spent before."""
    run = detail.task_run
    return {
        "status": status_words(run),
        "verdict": run.verdict,
        "reason": clip(reason(run), VALUE_LIMIT),
        "ending": ended(run),
        "axes": [{"name": name, "score": axis.score, "weight": axis.weight} for name, axis in run.axes.items()],
        "criteria": [_criterion(criterion) for criterion in run.criteria],
        "marks": [] if undecided(run) else [mark for c in run.criteria for mark in _marks(c)],
        "error": clip(run.error, VALUE_LIMIT),
        "agent_error": clip(run.agent_error, VALUE_LIMIT),
        "answer": clip(run.answer, VALUE_LIMIT),
        "head": run.head,
        "events": run.events,
        "brief": _brief(detail.snapshot, detail.task_run.trial) if detail.snapshot else None,
        "attachments": [
            {"title": attachment.title, "text": attachment.text[-VALUE_LIMIT:]}
            for attachment in attachments(detail.sidecar)
        ],
        "unauthenticated": [clip(line, 400) for line in describe_unauthenticated_requests(detail.sidecar)],
        "facts": {
            name: clip(fact, 400)
            for name, fact in detail.sidecar.items()
            if not name.startswith("touches") and name not in _NO_FACTS
        },
    } | _of_models(run, replayed)


def _of_models(run: TaskRun, replayed: bool) -> dict[str, Any]:
    """What models rated and took, and whose fault it is that there is no verdict; nothing in most trials."""
    used = render_used(run.models, sum(map(by_model, run.criteria)), as_recorded=replayed)
    return {
        **({"quality": _quality(run.quality)} if run.quality is not None else {}),
        **({"models": used} if used else {}),
        **({"undecided": undecided(run)} if undecided(run) else {}),
        **({"missed": True} if is_missed(run) else {}),
    }


def _criterion(criterion: CriterionRun) -> dict[str, Any]:
    evidence = [
        {
            "path": clip(check.path, 400),
            "expected": clip(check.expected, VALUE_LIMIT),
            "actual": _votes(check.actual) if check.path == "votes" else clip(check.actual, VALUE_LIMIT),
            "passed": check.passed,
            "seq": check.seq,
            **_differences(check),
        }
        for check in _shown(criterion.evidence)
    ]
    return {
        **criterion.model_dump(mode="json", exclude={"evidence", "detail", "label"}),
        "label": clip(criterion.label, 400),
        "implied": criterion.is_implied,
        "detail": clip(criterion.detail, VALUE_LIMIT),
        "traceback": clip(criterion.traceback, VALUE_LIMIT),
        "evidence": evidence,
        "evidence_left_out": len(criterion.evidence) - len(evidence),
    }


def _differences(check: FieldCheck) -> dict[str, Any]:
    """Where two nested values differ; nothing for most comparisons."""
    if not check.differences:
        return {}
    found = [one.model_dump(mode="json") for one in check.differences]
    return {"differences": found, "differences_left_out": check.differences_left_out}


def _marks(criterion: CriterionRun) -> Iterator[dict[str, Any]]:
    """For each event that a failed criterion cites: whether the evidence there holds. What a judge cites for its
    verdict is what failed."""
    if criterion.status != "judged" or criterion.passed:
        return
    marks: dict[tuple[int, str, bool], None] = {}
    for check in _shown(criterion.evidence):
        if check.seq:
            held = check.passed and not is_cite(check)
            text = f"{criterion.label}: {check.path}" if held else criterion.label
            marks[check.seq, clip(text, 400), held] = None
    yield from ({"seq": seq, "text": text, "passed": held} for seq, text, held in marks)


def _shown(evidence: tuple[FieldCheck, ...]) -> tuple[FieldCheck, ...]:
    """The first of them, and of a long list the last: there a judge says who it was, and how it voted."""
    if len(evidence) <= EVIDENCE_LIMIT:
        return evidence
    return (*evidence[: EVIDENCE_LIMIT - 2], *evidence[-2:])


def _votes(counted: Any) -> Any:
    """Each vote's reason cut by itself, so that all of them are still votes."""
    if not isinstance(counted, dict) or not isinstance(counted.get("each"), list):
        return clip(counted, VALUE_LIMIT)
    cut = [{key: clip(value, 800) for key, value in vote.items()} for vote in counted["each"] if isinstance(vote, dict)]
    return counted | {"each": cut}


def _quality(quality: Quality) -> dict[str, Any]:
    ratings = [
        {"name": name, "score": rating.score, "passed": rating.passed, "reason": clip(rating.reason, VALUE_LIMIT)}
        for name, rating in quality.ratings.items()
    ]
    return {
        "ratings": ratings,
        "summary": clip(quality.summary, VALUE_LIMIT),
        "error": clip(quality.error, VALUE_LIMIT),
        "model": quality.model,
    }


def _brief(snapshot: Snapshot, trial: int) -> dict[str, Any]:
    """What the agent was told, where, and who talked to it in this trial."""
    task, environment = snapshot.task, snapshot.environment
    scenario = task.scenario
    people = [(written, written.for_trial(trial)) for written in task.people]
    lines = [person.first_line for _, person in people if person.first_line]
    return {
        "task_item": {name: clip(value, VALUE_LIMIT) for name, value in (task.task_item or {}).items()},
        "file": snapshot.source,
        "environment": environment.name,
        "description": clip(environment.description, 400),
        "sandboxes": {name: simulator.kind for name, simulator in environment.simulators.items()},
        "people": [
            {
                "name": person.name,
                "sandbox": person.sandbox if len(people) > 1 else None,
                "variant": variant_words(written, trial),
                "context": clip(person.simulation_context, VALUE_LIMIT),
            }
            for written, person in people
        ],
        "opening": clip(lines[0], VALUE_LIMIT) if lines else None,
        "slots": {name: clip(value, 400) for name, value in (scenario.initial_slots if scenario else {}).items()},
        "compat": task.compat,
        "starts": scenario.starts if scenario else "agent",
    }


def variant_words(person: ScenarioPerson, trial: int) -> str:
    """Say which variant of a person a trial had; empty if they are the same in every trial."""
    number = person.variant_number(trial)
    return f"variant {number} of {len(person.by_trial)}" if number is not None else ""


def in_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By (at, seq): what arrived late stands where it happened."""
    return sorted(events, key=lambda event: (datetime.fromisoformat(event["at"]), event["seq"]))


def cited(detail: TaskDetail) -> set[int]:
    """The events that the evidence points at."""
    return {check.seq for criterion in detail.task_run.criteria for check in criterion.evidence if check.seq}
