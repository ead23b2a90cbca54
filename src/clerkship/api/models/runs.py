"""Requests about benchmark runs, and answers to agents."""

from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue

from clerkship.api.dependencies import RequestBody
from clerkship.service.serving.results import BenchmarkRunSummary, CriterionResult, TaskResult

Name = Annotated[str, Field(min_length=1, max_length=200)]


class BenchmarkRunRequest(RequestBody):
    """A benchmark run to start."""

    benchmark: Annotated[str, Field(description="Slug and version: `chart@1`, `chart@latest`.", max_length=200)]
    scored: Annotated[bool, Field(description="Hide criteria and evidence from the agent for good.")] = False
    agent: Annotated[str | None, Field(description="Name of the agent; default: the solver's.", max_length=200)] = None
    tasks: Annotated[list[Name], Field(description="Only tasks whose name contains one of these.", max_length=100)] = []
    tags: Annotated[list[Name], Field(description="Only tasks with one of these tags.", max_length=100)] = []
    trials: Annotated[int, Field(description="Trials of each task.", ge=1, le=100)] = 1
    seed: Annotated[int | None, Field(description="Seed of all random choices.", ge=-(2**63), lt=2**63)] = None


class StartedBenchmarkRun(BenchmarkRunSummary):
    """A new benchmark run, with its token. The token is shown in this answer alone."""

    benchmark_run_id: str
    bearer_token: str
    bearer_token_expires_at: str


class StartRequest(RequestBody):
    """How to start a task run."""

    heartbeat_within: Annotated[
        float | None,
        Field(description="Seconds within which the agent must be heard of.", gt=0, le=86400),
    ] = None


class CompletionRequest(RequestBody):
    """What the agent answers at the end of a task."""

    answer: JsonValue = None
    report: Annotated[list[dict[str, JsonValue]], Field(description="Events that the agent reports of itself.")] = []


class ReplyRequest(RequestBody):
    """What the agent replies to a message."""

    say: Annotated[Any, Field(description="A text, a map with `text`, `buttons` and so on, a list of those, or null.")]
    report: Annotated[list[dict[str, JsonValue]], Field(description="Events that the agent reports of itself.")] = []


class StartedTask(BaseModel):
    """A started task run: what the agent is asked, and how it reaches the sandboxes."""

    task_run_id: str
    attempt: int
    phase: str
    seconds_left: float
    """Wall seconds until the task run times out."""
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
