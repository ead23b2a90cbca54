"""Made-up trials over several sandboxes: a request for authorization, with a call, a website and a fax."""

from dataclasses import replace
from typing import Any

from clerkship.assertions.sequencing import Sequencing
from clerkship.events.lifecycle import AgentAnswered, AgentStarted, ClockAdvanced, RequestRefused, RunEnded, RunStarted
from clerkship.model.environment import Environment
from clerkship.model.run import CriterionRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task
from clerkship.report.detail import TaskDetail
from clerkship.simulators.fax.events import FaxQueued
from clerkship.simulators.fhir.events import ResourceRead
from clerkship.simulators.portal.events import PageViewed, PortalSessionEnded, RequestFiled, SignedIn
from tests.assertions.log_builder import START
from tests.report import made_up, made_up_calls, made_up_faxes
from tests.simulators.voice.call_log_builder import CallLogBuilder

CHART_READ = {"event": "fhir.resource.read", "where": {"type": "Patient"}}
CALLED = {"event": "voice.call.ended", "where": {"outcome": "completed"}}
FILED = {"event": "portal.request.filed"}
FAXED = {"event": "fax.queued"}
SANDBOXES = {"ehr": "fhir", "phone": "voice", "portal": "portal", "fax": "fax", "drop": "files"}
PAGE = b"<!doctype html><html><body><h1>Request an authorization</h1></body></html>"


def four_sandboxes(*, calls: bool = True, reads: int = 3) -> CallLogBuilder:
    """Return the log of an agent that reads the chart, calls, files a request, waits for hours, and sends a fax."""
    log = CallLogBuilder()
    log.add_event(RunStarted(task="t", environment="clinic", seed="00"), source="run", actor="run", at=0)
    log.add_event(AgentStarted(entry="on_task"), source="run", actor="run", at=0)
    for number in range(reads):
        kind = "Coverage" if number else "Patient"
        log.now += 1
        log.add_event(ResourceRead(type=kind, id=f"r{number}", version="1"), source="ehr", at=log.now)
    if calls:
        made_up_calls.queue_call(log, announcements=5)
    _use_portal(log)
    log.add_event(ClockAdvanced(seconds=4 * 3600), source="run", at=log.now)
    log.now += 4 * 3600
    _send_fax(log)
    log.now += 1
    log.add_event(AgentAnswered(answer="done"), source="run", at=log.now)
    log.add_event(RunEnded(ending="agent_done"), source="run", actor="run", at=log.now)
    return log


def _use_portal(log: CallLogBuilder) -> None:
    def emit(payload: Any) -> None:
        log.now += 1
        log.add_event(payload, source="portal", at=log.now)

    emit(SignedIn(session=1, user="m.okafor", status="active"))
    emit(PageViewed(session=1, page="request", title="Request an authorization", html=PAGE))
    emit(RequestRefused(operation="submit", status=422, code="missing", reason="A date is missing."))
    emit(RequestFiled(session=1, user="m.okafor", draft="d1", reference="R1", status="pended", member_key="CM1"))
    emit(PortalSessionEnded(session=1, reason="signed_out"))


def _send_fax(log: CallLogBuilder) -> None:
    page = made_up_faxes.page(1)
    log.add_event(made_up_faxes.stored(page, "Clinical notes"), source="fax", at=log.now)
    log.now += 1
    log.add_event(FaxQueued(header=made_up_faxes.header([page], arrived=False)), source="fax", at=log.now)


def sequence(log: CallLogBuilder, label: str, *steps: Any) -> CriterionRun:
    """Return the criterion that checks these steps, with the evidence of the real assertion."""
    check = Sequencing.model_validate(list(steps)).check(log.evidence())
    return made_up.criterion(
        label,
        assertion="sequencing",
        passed=check.passed,
        score=float(check.passed),
        detail=check.detail,
        evidence=check.evidence,
    )


def trial(log: CallLogBuilder, *criteria: CriterionRun) -> TaskDetail:
    """Return a trial with a log and criteria."""
    passed = all(criterion.passed for criterion in criteria)
    changes = {} if passed else {"verdict": "fail", "score": 0.0}
    shown = made_up_calls.trial(log, criteria, **changes)
    simulators = {name: {"kind": kind} for name, kind in SANDBOXES.items()}
    environment = Environment.model_validate({"name": "clinic", "now": START, "simulators": simulators})
    task = Task(name="A task", task_item={"instruction": "Request an authorization."})
    return replace(shown, snapshot=Snapshot(task=task, environment=environment, timeout=60))
