"""Task runs: what an agent works on, and the results."""

from typing import Annotated

import orjson
from fastapi import Depends, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from clerkship.actors.contract import AgentError
from clerkship.api.dependencies import Caller, ServerPart
from clerkship.api.event_stream import EventStream
from clerkship.api.models.runs import CompletionRequest, ReplyRequest, SandboxRequest, StartRequest
from clerkship.api.routes.benchmark_runs import require_run
from clerkship.api.routing import build_router
from clerkship.model.server_objects import (
    CriterionResult,
    CriterionResults,
    Heartbeat,
    SandboxAnswer,
    StartedTask,
    TaskResult,
    Transcript,
)
from clerkship.service.serving.keys import Principal
from clerkship.service.serving.refusals import ActionForbidden, ObjectNotFound
from clerkship.service.serving.results import EventChoice, get_task_id, is_hidden
from clerkship.service.serving.run_table import ServedRun, ServedTask
from clerkship.service.serving.server import Server

router = build_router("task runs")
MAX_EVENTS_AT_ONCE = 1000
HIDDEN = "log and criteria of a scored run are hidden from its agent"


async def _read_choice(
    after: Annotated[int, Query(description="Only events after this number.", ge=0, le=2**31)] = 0,
    kind: Annotated[str | None, Query(description="Only events of this kind.", max_length=200)] = None,
    source: Annotated[str | None, Query(description="Only events of this sandbox.", max_length=200)] = None,
    limit: Annotated[int, Query(description="How many events.", ge=1, le=MAX_EVENTS_AT_ONCE)] = 100,
    last_event_id: Annotated[int, Header(description="`after`, of a stream that goes on.", ge=0, le=2**31)] = 0,
) -> EventChoice:
    return EventChoice(max(after, last_event_id), kind, source, limit)


EventChoicePart = Annotated[EventChoice, Depends(_read_choice)]


def require_task(server: Server, caller: Principal, id: str) -> tuple[ServedTask, ServedRun]:
    """Return a task run that the caller may know of, and its run. Raise ObjectNotFound for others."""
    task = server.live.table.task(id)
    try:
        return task, require_run(server, caller, task.run)
    except ObjectNotFound:  # the same words as for an id that does not exist
        raise ObjectNotFound(f"there is no task run {id[:100]}") from None


def require_open_task(server: Server, caller: Principal, id: str) -> ServedTask:
    """Return a task run whose log and criteria the caller may read. Raise ObjectNotFound or ActionForbidden."""
    task, run = require_task(server, caller, id)
    if is_hidden(run, caller):
        raise ActionForbidden(HIDDEN)
    return task


@router.get("/task-runs/{task_run_id}")
def get_task_run(server: ServerPart, caller: Caller, task_run_id: str) -> TaskResult:
    """Return a task run; once it has ended, with its criterion runs unless they are hidden."""
    task, run = require_task(server, caller, task_run_id)
    return server.results.task(task, hidden=is_hidden(run, caller))


@router.post("/task-runs/{task_run_id}/start")
def start_task_run(
    server: ServerPart, caller: Caller, task_run_id: str, body: StartRequest | None = None
) -> StartedTask:
    """Run the scenario, and return the task with the addresses and credentials of all sandboxes.

    A task run that is started already is returned as it stands.
    """
    task, run = require_task(server, caller, task_run_id)
    server.live.start(task.id)
    if body is not None and body.heartbeat_within is not None:
        server.live.hear(task.id, body.heartbeat_within)
    return _describe(server, task.id, run, caller)


@router.post("/task-runs/{task_run_id}/sandbox-requests", response_model=SandboxAnswer)
def send_sandbox_request(server: ServerPart, caller: Caller, task_run_id: str, body: SandboxRequest) -> Response:
    """Send a request to a sandbox or the clock, as the handles of an agent written in Python do.

    Other agents use the addresses of the sandboxes. It is not repeated under an Idempotency-Key.
    """
    task, _ = require_task(server, caller, task_run_id)
    answer = server.live.request(task.id, body.model_dump())
    return Response(orjson.dumps({"value": None, "error": None, **answer}), media_type="application/json")


@router.post("/task-runs/{task_run_id}/messages")
def send_message(server: ServerPart, caller: Caller, task_run_id: str, body: ReplyRequest) -> StartedTask:
    """Reply to the message of a person. The answer has the next message, or the end of the conversation."""
    task, run = require_task(server, caller, task_run_id)
    server.live.answer(task.id, body.model_dump())
    return _describe(server, task.id, run, caller)


@router.post("/task-runs/{task_run_id}/complete")
def complete_task_run(
    server: ServerPart, caller: Caller, task_run_id: str, body: CompletionRequest | None = None
) -> TaskResult:
    """Say that the task is done, and return the verdict. It is graded before the answer is sent."""
    task, run = require_task(server, caller, task_run_id)
    body = body or CompletionRequest()
    failure = None if body.error is None else AgentError(body.error)
    server.live.answer(task.id, failure or body.model_dump(exclude={"error"}))
    return server.results.task(server.live.table.task(task.id), hidden=is_hidden(run, caller))


@router.post("/task-runs/{task_run_id}/cancel")
def cancel_task_run(server: ServerPart, caller: Caller, task_run_id: str) -> TaskResult:
    """Cancel a task run, started or not. It gets no verdict."""
    task, run = require_task(server, caller, task_run_id)
    server.live.cancel(task.id)
    return server.results.task(server.live.table.task(task.id), hidden=is_hidden(run, caller))


@router.post("/task-runs/{task_run_id}/heartbeat")
def send_heartbeat(server: ServerPart, caller: Caller, task_run_id: str) -> Heartbeat:
    """Say that the agent is still at work, and return how much time is left."""
    task, _ = require_task(server, caller, task_run_id)
    trial = server.live.hear(task.id)
    return Heartbeat(task_run_id=task.id, seconds_left=trial.seconds_left)


@router.get("/task-runs/{task_run_id}/events", responses={200: {"content": {"text/event-stream": {}}}})
async def list_events(
    server: ServerPart, caller: Caller, request: Request, task_run_id: str, choice: EventChoicePart
) -> Response:
    """Return events of the log in their order. With `Accept: text/event-stream`, they are sent as they happen."""
    task = await run_in_threadpool(require_open_task, server, caller, task_run_id)
    if "text/event-stream" in request.headers.get("accept", ""):
        return EventStream(server, request.app.state.streams, caller.key_id, task, choice)
    return Response(await run_in_threadpool(server.results.page, task, choice), media_type="application/json")


@router.get("/task-runs/{task_run_id}/transcript")
def get_transcript(server: ServerPart, caller: Caller, task_run_id: str) -> Transcript:
    """Return what people and the agent said to each other, in order."""
    task = require_open_task(server, caller, task_run_id)
    return Transcript(messages=server.results.transcript(task))


@router.get("/task-runs/{task_run_id}/artifacts/{sha256}", response_class=Response)
def get_artifact(server: ServerPart, caller: Caller, task_run_id: str, sha256: str) -> Response:
    """Return a body that the log refers to: a page of a fax, a file, a page of a portal."""
    task = require_open_task(server, caller, task_run_id)
    headers = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
    return Response(server.results.artifact(task, sha256), media_type="application/octet-stream", headers=headers)


@router.get("/criterion-runs")
def list_criterion_runs(
    server: ServerPart, caller: Caller, task_run_id: Annotated[str, Query(max_length=100)]
) -> CriterionResults:
    """Return the criterion runs of a task run that has ended."""
    task = require_open_task(server, caller, task_run_id)
    return CriterionResults(data=list(server.results.task(task, hidden=False).checks or ()))


@router.get("/criterion-runs/{criterion_run_id}")
def get_criterion_run(server: ServerPart, caller: Caller, criterion_run_id: str) -> CriterionResult:
    """Return one criterion run with its evidence."""
    task = require_open_task(server, caller, get_task_id(criterion_run_id))
    return server.results.check(task, criterion_run_id)


def _describe(server: Server, id: str, run: ServedRun, caller: Principal) -> StartedTask:
    task = server.live.table.task(id)
    trial = server.live.get_trial(task)
    if trial is not None and trial.question is not None:
        return StartedTask(
            task_run_id=id,
            attempt=task.attempt,
            phase=task.phase,
            seconds_left=trial.seconds_left,
            **{key: value for key, value in trial.question.items() if key != "history"},
        )
    result = server.results.task(task, hidden=is_hidden(run, caller))
    return StartedTask(task_run_id=id, attempt=task.attempt, phase=task.phase, seconds_left=0.0, result=result)
