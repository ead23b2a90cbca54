"""Requests about benchmark runs and task runs."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from clerkship.api.dependencies import RequestBody

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


class StartRequest(RequestBody):
    """How to start a task run."""

    heartbeat_within: Annotated[
        float | None,
        Field(description="Seconds within which the agent must be heard of.", gt=0, le=86400),
    ] = None


class CompletionRequest(RequestBody):
    """What the agent answers at the end of a task."""

    answer: JsonValue = None
    error: Annotated[
        str | None,
        Field(description="Why the agent failed, instead of an answer or a reply.", min_length=1, max_length=20_000),
    ] = None
    report: Annotated[list[dict[str, JsonValue]], Field(description="Events that the agent reports of itself.")] = []


class ReplyRequest(RequestBody):
    """What the agent replies to a message."""

    say: Annotated[Any, Field(description="A text, a map with `text`, `buttons` and so on, a list of those, or null.")]
    report: Annotated[list[dict[str, JsonValue]], Field(description="Events that the agent reports of itself.")] = []


RequestName = Literal[
    "send", "call", "url", "token", "credentials", "lines", "toolset", "mcp", "now", "advance", "skip", "report"
]


class SandboxRequest(RequestBody):
    """A request of the agent to a sandbox or to the clock, as the handles of Python agents send it."""

    request: Annotated[RequestName, Field(description="`send`: an HTTP request. `call`: an operation by its name.")]
    sandbox: Annotated[str, Field(description="Name of the sandbox; none for the clock.", max_length=200)] = ""
    method: str = "GET"
    path: str = "/"
    query: dict[str, str] | list[list[str]] = {}
    headers: dict[str, str] = {}
    body: Annotated[str, Field(description="The body in base64.")] = ""
    operation: str = ""
    input: dict[str, JsonValue] = {}
    days: Annotated[int, Field(description="With `advance`: how much time passes.", ge=0, le=10_000)] = 0
    seconds: Annotated[int, Field(ge=0, lt=86_400)] = 0
    microseconds: Annotated[int, Field(ge=0, lt=1_000_000)] = 0
    event: Annotated[dict[str, JsonValue], Field(description="With `report`: an event of the agent.")] = {}
