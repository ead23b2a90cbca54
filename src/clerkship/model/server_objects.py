"""Objects of a server as its interface returns them: runs, task runs, keys, solvers, problems.

The client reads the same. Importing this must stay quick: the client needs no engine.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from clerkship.model.frozen import Frozen
from clerkship.model.run import AxisScore, CriterionRun, Ending, Verdict
from clerkship.model.usage import Role, Usage

T = TypeVar("T")
KeyKind = Literal["person", "solver", "run"]
DraftKind = Literal["benchmark", "environment", "simulator", "dataset", "task", "criterion"]
COLLECTIONS: Mapping[DraftKind, str] = {
    "environment": "environments",
    "simulator": "simulators",
    "dataset": "datasets",
    "benchmark": "benchmarks",
    "task": "tasks",
    "criterion": "criteria",
}
"""The address of each kind of object, below `/v1`."""
Phase = Literal["created", "started", "completed"]
RunState = Literal["active", "completed", "cancelled", "failed"]


class ListMeta(BaseModel):
    """Where the next part of a list begins."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    next: str | None
    """The `cursor` of the next part; null at the end."""
    limit: int


class ObjectList(BaseModel, Generic[T]):
    """A part of a list, newest first."""

    model_config = ConfigDict(populate_by_name=True)

    data: list[T]
    meta: ListMeta = Field(alias="_meta")


class InvalidField(BaseModel):
    """A mistake in one field of a request."""

    field: str
    """The path of the field, such as `criteria.0.label`; empty if it concerns all."""
    message: str
    hint: str
    place: str
    """The file with line and column, if the mistake is in a file of a benchmark; else empty."""


class DraftObject(BaseModel):
    """An object of a benchmark that is being written. Its other keys are those of its definition in a file."""

    model_config = ConfigDict(extra="allow")

    id: str
    benchmark_id: str
    created_at: str
    updated_at: str


class DraftWarning(BaseModel):
    """Something in the files that may be a mistake."""

    place: str
    """The file and the line."""
    message: str
    hint: str


class PushedDraft(BaseModel):
    """A benchmark whose files were sent, and the warnings about them."""

    benchmark: DraftObject
    is_new: bool
    warnings: list[DraftWarning]


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[InvalidField]


class ApiKey(Frozen):
    """A key, without its secret."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    kind: KeyKind
    name: str
    prefix: str
    suffix: str
    """The last four characters of the secret."""
    solver_id: str | None
    run_id: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class NewApiKey(ApiKey):
    """A new key, with its secret, which is not shown again."""

    key: str
    """The secret."""


class RegisteredSolver(Frozen):
    """The identity of one agent under test."""

    id: str
    alias: str
    real_name: str
    agent_description: str
    contact_email: str
    created_at: datetime
    updated_at: datetime


class TaskRunSummary(Frozen):
    """A task run without its criteria."""

    id: str
    benchmark_run_id: str
    name: str
    """The name of the task."""
    trial: int
    attempt: int
    phase: Phase
    status: str
    verdict: Verdict | None = None
    score: float | None = None
    axes: dict[str, AxisScore] = {}
    reason: str = ""
    """Why it has no verdict, or why the agent failed."""
    start_url: str
    complete_url: str
    started_at: str | None = None
    completed_at: str | None = None


class BenchmarkRunSummary(Frozen):
    """A benchmark run with its task runs."""

    id: str
    benchmark: dict[str, str]
    """Slug, version and digest."""
    solver_id: str | None
    agent: str
    scored: bool
    phase: Phase
    status: RunState
    verdict: Verdict | None
    score: float | None
    created_at: datetime
    expires_at: datetime
    name: str | None = None
    """The name of the run. This and what follows is left out of lists."""
    seed: int | None = None
    trials: int | None = None
    """Trials of each task."""
    criteria: int | None = None
    """The number of criteria that decide verdicts."""
    grading: str | None = None
    """The version of the rules by which it is graded."""
    clerkship: str | None = None
    """The version of the program that grades it."""
    task_runs: tuple[TaskRunSummary, ...] = ()


class CriterionResult(CriterionRun):
    """A criterion run, with the id under which it can be read."""

    id: str
    task_run_id: str


class TaskResult(TaskRunSummary):
    """A task run that has ended, with its criterion runs unless they are hidden."""

    ending: Ending | None = None
    """How it ended; None if it has not."""
    answer: JsonValue = None
    error: str = ""
    """Why it has no verdict."""
    agent_error: str = ""
    """Why the agent failed."""
    head: str = ""
    """The hash of the last line of its log."""
    events: int = 0
    """The number of events in its log."""
    timeout: float | None = None
    """Its limit in wall seconds."""
    tags: tuple[str, ...] = ()
    template: str = ""
    """The name of the task in the file, if one task was made for each record."""
    models: dict[Role, Usage] = {}
    """What models used, by role."""
    checks: tuple[CriterionResult, ...] | None = None
    """None if they are hidden."""


class StartedBenchmarkRun(BenchmarkRunSummary):
    """A new benchmark run, with its token. The token is shown in this answer alone."""

    benchmark_run_id: str
    bearer_token: str
    bearer_token_expires_at: str


class StartedTask(BaseModel):
    """A started task run: what the agent is asked, and how it reaches the sandboxes."""

    task_run_id: str
    attempt: int
    phase: str
    seconds_left: float
    """Wall seconds until the task run times out, if nothing is answered."""
    type: str | None = None
    """`task`: do the task and complete it. `turn`: reply to the message. Null: the task run has ended."""
    task_item: dict[str, JsonValue] | None = None
    text: str | None = None
    """The message of a person, if the type is `turn`."""
    turn: int | None = None
    sandbox: str | None = None
    channel: str | None = None
    address: str | None = None
    subject: str | None = None
    slots: dict[str, JsonValue] | None = None
    metadata: dict[str, JsonValue] | None = None
    sandboxes: dict[str, dict[str, JsonValue]] = {}
    """Kind, address and credentials of each sandbox."""
    clock: dict[str, str] | None = None
    """The simulated clock, at which the agent can wait."""
    now: str | None = None
    """The simulated time."""
    result: TaskResult | None = None
    """The result, if the task run has ended."""


class SandboxError(BaseModel):
    """An exception to raise in the agent."""

    type: str
    """Module and class, such as `builtins:ValueError`."""
    message: str


class SandboxAnswer(BaseModel):
    """What a request to a sandbox returned, or the exception that it raised."""

    value: JsonValue = None
    error: SandboxError | None = None


class Heartbeat(BaseModel):
    """How much time is left."""

    task_run_id: str
    seconds_left: float


class CriterionResults(BaseModel):
    """The criterion runs of one task run."""

    data: list[CriterionResult]


class SpokenMessage(BaseModel):
    """One message of a conversation."""

    actor: str
    """Who said it: `agent`, `person` and so on, with the place if there are several."""
    text: str


class Transcript(BaseModel):
    """The messages of a task run, in order."""

    messages: list[SpokenMessage]


class LoggedEvent(BaseModel):
    """An event of a log, as it is stored."""

    model_config = ConfigDict(extra="allow")

    seq: int
    at: datetime
    """The simulated time at which it happened."""
    source: str
    """The sandbox, `agent` or `run`."""
    kind: str
    actor: str
    cause: int | None = None
    payload: dict[str, JsonValue] = {}


class EventMeta(BaseModel):
    """Where the next events are."""

    next: int | None
    """`after` of the next part; null at the end."""
    limit: int


class EventList(BaseModel):
    """A part of a log, in its order."""

    model_config = ConfigDict(populate_by_name=True)

    data: list[LoggedEvent]
    meta: EventMeta = Field(alias="_meta")
