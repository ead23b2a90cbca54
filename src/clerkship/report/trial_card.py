"""The data of one trial in the HTML report: a row for the list, a body, and its events."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from clerkship.events.event import Payload
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.events.request_line import describe_unauthenticated_requests
from clerkship.kit.zone import name_zone
from clerkship.model.environment import utc_offset_minutes
from clerkship.model.quality import Quality
from clerkship.model.run import CriterionRun, FieldCheck, TaskRun
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.model.usage import MODEL_USAGE
from clerkship.report.calls import build_calls, find_phone_names
from clerkship.report.costs import render_used, total_cost
from clerkship.report.detail import TaskDetail
from clerkship.report.fax_pages import StoredPage
from clerkship.report.judge_evidence import is_citation
from clerkship.report.judging_summary import is_judged_by_model
from clerkship.report.labels import ATTACHED_FACTS, list_attachments
from clerkship.report.outcome import (
    CriteriaCount,
    describe_ending,
    describe_reason,
    describe_status,
    is_not_recorded,
    why_undecided,
)
from clerkship.report.page_images import build_cited_pages
from clerkship.report.pages import clip
from clerkship.report.plain_text import failed_criteria
from clerkship.simulators.registry import DOMAINS, KINDS, SpecEntry

MAX_VALUE_LENGTH = 4_000
MAX_EVIDENCE = 100
MAX_NAME_LENGTH = 400
"""Characters of the name of a task or the label of a criterion."""
MAX_TAGS = 20
_HIDDEN_FACTS = ATTACHED_FACTS | {"handed", "handed_from", "unauthenticated", "model_calls", "spans", MODEL_USAGE}
"""Facts of the sidecar that are shown elsewhere, or not at all."""


def build_row(detail: TaskDetail) -> dict[str, Any]:
    """Return the row in the list of trials."""
    run = detail.task_run
    return {
        "task": clip(run.task, MAX_NAME_LENGTH),
        "trial": run.trial,
        "attempt": run.attempt,
        "outcome": detail.outcome,
        **({"changed": clip(detail.changed, MAX_VALUE_LENGTH)} if detail.changed else {}),
        "timed_out": run.status == "timed_out",
        "crashed": bool(run.agent_error),
        "score": None if detail.changed else run.score,
        "failed_criteria": len(failed_criteria(run)) if detail.outcome == "pass" else 0,
        "tags": run.tags[:MAX_TAGS],
        **({"template": run.template} if run.template else {}),
        **_build_measures(detail),
    }


def _build_measures(detail: TaskDetail) -> dict[str, float]:
    """Return the wall seconds and the cost in dollars, as far as they are known."""
    wall = detail.sidecar.get("wall_ms")
    cost = total_cost(detail.task_run.models)
    return {
        **({"seconds": round(wall / 1000, 3)} if isinstance(wall, int | float) else {}),
        **({"cost": cost} if cost is not None else {}),
    }


def build_body(detail: TaskDetail, *, replayed: bool = False) -> dict[str, Any]:
    """Return the verdict with its reasons."""
    run = detail.task_run
    judged = () if why_undecided(run) else run.criteria
    return {
        "status": describe_status(run),
        "verdict": run.verdict,
        "reason": clip(describe_reason(run), MAX_VALUE_LENGTH),
        "ending": describe_ending(run),
        "axes": [{"name": name, "score": axis.score, "weight": axis.weight} for name, axis in run.axes.items()],
        "criteria": [_build_criterion(criterion, detail.pages) for criterion in run.criteria],
        "criteria_count": CriteriaCount.of(run.criteria).sentence(),
        "marks": [mark for c in judged for mark in _build_marks(c)],
        "error": clip(run.error, MAX_VALUE_LENGTH),
        "agent_error": clip(run.agent_error, MAX_VALUE_LENGTH),
        "answer": clip(run.answer, MAX_VALUE_LENGTH),
        "head": run.head,
        "events": run.events,
        "zone": _build_zone(detail.snapshot),
        "brief": _build_brief(detail.snapshot, detail.task_run.trial) if detail.snapshot else None,
        "attachments": [
            {"title": attachment.title, "text": attachment.text[-MAX_VALUE_LENGTH:]}
            for attachment in list_attachments(detail.sidecar)
        ],
        "unauthenticated": [clip(line, 400) for line in describe_unauthenticated_requests(detail.sidecar)],
        "facts": {
            name: clip(fact, 400)
            for name, fact in detail.sidecar.items()
            if not name.startswith("touches") and name not in _HIDDEN_FACTS
        },
        **build_calls(detail.events, judged, find_phone_names(detail.snapshot, run.trial)),
    } | _build_model_facts(run, replayed)


def _build_zone(snapshot: Snapshot | None) -> dict[str, Any]:
    """Return the zone of the environment, in which the page shows times."""
    minutes = utc_offset_minutes(snapshot.environment.now) if snapshot is not None else 0
    return {"minutes": minutes, "name": name_zone(minutes)}


def _build_model_facts(run: TaskRun, replayed: bool) -> dict[str, Any]:
    """Return ratings and usage of models, and who is at fault if there is no verdict; empty for most trials."""
    used = render_used(run.models, sum(map(is_judged_by_model, run.criteria)), as_recorded=replayed)
    return {
        **({"quality": _build_quality(run.quality)} if run.quality is not None else {}),
        **({"models": used} if used else {}),
        **({"undecided": why_undecided(run)} if why_undecided(run) else {}),
        **({"missed": True} if is_not_recorded(run) else {}),
        **({"notes": run.notes} if run.notes else {}),
    }


def _build_criterion(criterion: CriterionRun, pages: dict[str, StoredPage]) -> dict[str, Any]:
    evidence = [
        {
            "path": clip(check.path, 400),
            "expected": clip(check.expected, MAX_VALUE_LENGTH),
            "actual": _clip_votes(check.actual) if check.path == "votes" else clip(check.actual, MAX_VALUE_LENGTH),
            "passed": check.passed,
            "seq": check.seq,
            **_differences(check),
        }
        for check in _select_evidence(criterion.evidence)
    ]
    return {
        **criterion.model_dump(mode="json", exclude={"evidence", "detail", "label", "pictures"}),
        "label": clip(criterion.label, MAX_NAME_LENGTH),
        "implied": criterion.is_implied,
        "detail": clip(criterion.detail, MAX_VALUE_LENGTH),
        "traceback": clip(criterion.traceback, MAX_VALUE_LENGTH),
        "evidence": evidence,
        "evidence_left_out": len(criterion.evidence) - len(evidence),
        **build_cited_pages(criterion.pictures, pages),
    }


def _differences(check: FieldCheck) -> dict[str, Any]:
    """Return where two nested values differ; empty for most comparisons."""
    if not check.differences:
        return {}
    differences = [one.model_dump(mode="json") for one in check.differences]
    return {"differences": differences, "differences_left_out": check.differences_left_out}


def _build_marks(criterion: CriterionRun) -> Iterator[dict[str, Any]]:
    """Yield a mark for each event that a failed criterion cites, and whether the evidence there holds.

    What a judge cites for its verdict is what failed.
    """
    if criterion.status != "judged" or criterion.passed:
        return
    marks: dict[tuple[int, str, bool], None] = {}
    for check in _select_evidence(criterion.evidence):
        if check.seq:
            held = check.passed and not is_citation(check)
            text = f"{criterion.label}: {check.path}" if held else criterion.label
            marks[check.seq, clip(text, 400), held] = None
    yield from ({"seq": seq, "text": text, "passed": held} for seq, text, held in marks)


def _select_evidence(evidence: tuple[FieldCheck, ...]) -> tuple[FieldCheck, ...]:
    """Return the first rows of evidence, and of a long list also the last two, which name the judge and the votes."""
    if len(evidence) <= MAX_EVIDENCE:
        return evidence
    return (*evidence[: MAX_EVIDENCE - 2], *evidence[-2:])


def _clip_votes(counted: Any) -> Any:
    """Cut the reason of each vote separately, so that all votes stay readable."""
    if not isinstance(counted, dict) or not isinstance(counted.get("each"), list):
        return clip(counted, MAX_VALUE_LENGTH)
    cut = [{key: clip(value, 800) for key, value in vote.items()} for vote in counted["each"] if isinstance(vote, dict)]
    return counted | {"each": cut}


def _build_quality(quality: Quality) -> dict[str, Any]:
    ratings = [
        {"name": name, "score": rating.score, "passed": rating.passed, "reason": clip(rating.reason, MAX_VALUE_LENGTH)}
        for name, rating in quality.ratings.items()
    ]
    return {
        "ratings": ratings,
        "summary": clip(quality.summary, MAX_VALUE_LENGTH),
        "error": clip(quality.error, MAX_VALUE_LENGTH),
        "model": quality.model,
    }


def _build_brief(snapshot: Snapshot, trial: int) -> dict[str, Any]:
    """Return what the agent was told, its environment, and the people of this trial."""
    task, environment = snapshot.task, snapshot.environment
    scenario = task.scenario
    people = [(written, written.for_trial(trial)) for written in task.people]
    lines = [person.first_line for _, person in people if person.first_line]
    return {
        "task_item": {name: clip(value, MAX_VALUE_LENGTH) for name, value in (task.task_item or {}).items()},
        "file": snapshot.source,
        "environment": environment.name,
        "description": clip(environment.description, 400),
        "sandboxes": {name: simulator.kind for name, simulator in environment.simulators.items()},
        "people": [
            {
                "name": person.name,
                "sandbox": person.sandbox if len(people) > 1 else None,
                "reached": f"{person.channel} {person.address}" if person.channel else None,
                "variant": describe_variant(written, trial),
                "context": clip(person.simulation_context, MAX_VALUE_LENGTH),
            }
            for written, person in people
        ],
        "opening": clip(lines[0], MAX_VALUE_LENGTH) if lines else None,
        "slots": {name: clip(value, 400) for name, value in (scenario.initial_slots if scenario else {}).items()},
        "compat": task.compat,
        "starts": scenario.starts if scenario else "agent",
    }


def describe_variant(person: ScenarioPerson, trial: int) -> str:
    """Return which variant of a person a trial had; empty if the person is the same in every trial."""
    number = person.variant_number(trial)
    return f"variant {number} of {len(person.by_trial)}" if number is not None else ""


def sort_events(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort events by (at, seq): an event that arrived late stands where it happened. Mark those of the agent itself."""
    marked = (event | {"by_agent": True} if is_by_agent_itself(event) else event for event in events)
    return sorted(marked, key=lambda event: (datetime.fromisoformat(event["at"]), event["seq"]))


def list_cited_events(detail: TaskDetail) -> set[int]:
    """Return the numbers of the events that the evidence cites."""
    return {check.seq for criterion in detail.task_run.criteria for check in criterion.evidence if check.seq}


def find_payload(kind: str) -> type[Payload]:
    """Return the payload of a kind; `Payload` for a kind of a plug-in, because reports do not import plug-ins."""
    return _load_payloads(kind.partition(".")[0]).get(kind, Payload)


def is_by_agent_itself(event: Mapping[str, Any]) -> bool:
    """Return whether the agent did what a parsed event tells. An event of a plug-in counts as done by its actor."""
    return event["actor"] == "agent" and not find_payload(event["kind"]).is_by_sandbox


@cache
def _load_payloads(family: str) -> Mapping[str, type[Payload]]:
    """Return the payloads of the kinds of events with a first part, which is that of the simulator or domain."""
    entries: tuple[SpecEntry[Any], ...] = (*KINDS, *DOMAINS)
    entry = next((entry for entry in entries if entry.kind == family), None)
    return {each.kind: each for each in (LIFECYCLE_EVENTS if entry is None else entry.load().events)}
