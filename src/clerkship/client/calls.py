"""Every call of a server's interface: how its request is built, and how its answer is read.

Both clients share these; they differ only in how they wait.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import orjson
from pydantic import JsonValue, TypeAdapter

from clerkship.model.server_objects import (
    COLLECTIONS,
    ApiKey,
    BenchmarkRunSummary,
    CriterionResult,
    CriterionResults,
    DraftKind,
    DraftObject,
    EventList,
    Heartbeat,
    KeyKind,
    LoggedEvent,
    NewApiKey,
    ObjectList,
    PushedDraft,
    RegisteredSolver,
    SandboxAnswer,
    StartedBenchmarkRun,
    StartedTask,
    TaskResult,
    Transcript,
)
from clerkship.suite_files.published.card import PublishedCard, PublishedSummary

T = TypeVar("T")
Fields = Mapping[str, Any]
JSON = "application/json"
ARCHIVE = "application/zip"
FOLDER = "application/gzip"
MAX_PAGE = 100
MAX_EVENT_PAGE = 1000


_OPEN = (DraftObject, ObjectList[DraftObject], PushedDraft)
"""Answers with objects that have other fields than those that are known."""


@dataclass(frozen=True)
class ServerCall(Generic[T]):
    """A request to a server, and how its answer is read."""

    method: str
    path: str
    parse: Callable[[bytes], T]
    query: Fields = field(default_factory=dict)
    body: bytes = b""
    media: str = JSON
    is_repeatable: bool = True
    """Whether it may be sent again if no answer arrived. A POST then has an idempotency key."""


@dataclass(frozen=True)
class ListCall(ServerCall[tuple[list[T], Any]]):
    """A request for a part of a list. Its answer is read as objects, and the position of the next part or None."""

    position: str = "cursor"
    """The parameter that has the position."""

    def at(self, position: Any) -> "ListCall[T]":
        """Return the request for another part."""
        return replace(self, query={**self.query, self.position: position})


def read_as(kind: type[T]) -> Callable[[bytes], T]:
    """Return a function that reads an answer. Fields that a newer server added are ignored."""
    return lambda body: TypeAdapter(kind).validate_json(body, extra=None if kind in _OPEN else "ignore")


def _nothing(body: bytes) -> None:
    return None


def _get(path: str, kind: type[T], /, **query: Any) -> ServerCall[T]:
    return ServerCall("GET", path, read_as(kind), _without_none(query))


def _send(method: str, path: str, kind: type[T], fields: Fields | None = None) -> ServerCall[T]:
    body = b"" if fields is None else orjson.dumps(_without_none(fields))
    return ServerCall(method, path, read_as(kind), body=body)


def _list(path: str, kind: type[T], /, **query: Any) -> ListCall[T]:
    def read(body: bytes) -> tuple[list[T], str | None]:
        page = read_as(ObjectList[kind])(body)  # type: ignore[valid-type]
        return page.data, page.meta.next

    return ListCall("GET", path, read, _without_none({"limit": MAX_PAGE, **query}))


def _without_none(fields: Fields) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _path(kind: str, id: str, what: str = "") -> str:
    return f"/v1/{kind}/{quote(id, safe='@')}{what}"


class RunOptions(TypedDict, total=False):
    """How to run a benchmark."""

    scored: bool
    """Whether criteria and evidence are hidden from the agent, for good."""
    agent: str | None
    """The name of the agent; by default that of the solver."""
    tasks: Sequence[str]
    """Parts of the names of the tasks to run."""
    tags: Sequence[str]
    trials: int
    seed: int | None


def start_benchmark_run(benchmark: str, **options: Unpack[RunOptions]) -> ServerCall[StartedBenchmarkRun]:
    """Start a run of a published version, such as `chart@1`. The answer has the token with which the agent works."""
    return _send("POST", "/v1/benchmark-runs", StartedBenchmarkRun, {"benchmark": benchmark, **options})


def get_benchmark_run(run_id: str) -> ServerCall[BenchmarkRunSummary]:
    """Return a run with its task runs."""
    return _get(_path("benchmark-runs", run_id), BenchmarkRunSummary)


def list_benchmark_runs(*, benchmark: str | None = None, solver_id: str | None = None) -> ListCall[BenchmarkRunSummary]:
    """Iterate over runs without their task runs, newest first. A solver key lists its own."""
    return _list("/v1/benchmark-runs", BenchmarkRunSummary, benchmark=benchmark, solver_id=solver_id)


def cancel_benchmark_run(run_id: str) -> ServerCall[BenchmarkRunSummary]:
    """Cancel a run. Task runs that have ended keep their results."""
    return _send("POST", _path("benchmark-runs", run_id, "/cancel"), BenchmarkRunSummary)


def rescore_benchmark_run(run_id: str) -> ServerCall[BenchmarkRunSummary]:
    """Grade a run that has ended again, with the rules of the server. The result is another run."""
    return _send("POST", _path("benchmark-runs", run_id, "/rescore"), BenchmarkRunSummary)


def compare_benchmark_runs(run_id: str, other_id: str) -> ServerCall[dict[str, Any]]:
    """Compare a run with a later one, as `clerkship compare --json` does."""
    return _get(_path("benchmark-runs", run_id, f"/compare/{quote(other_id)}"), dict[str, Any])


def get_report(run_id: str) -> ServerCall[bytes]:
    """Return the report of a run, an HTML page."""
    return ServerCall("GET", _path("benchmark-runs", run_id, "/report"), bytes)


def get_task_run(task_run_id: str) -> ServerCall[TaskResult]:
    """Return a task run; once it has ended, with its criterion runs unless they are hidden."""
    return _get(_path("task-runs", task_run_id), TaskResult)


def start_task_run(task_run_id: str, *, heartbeat_within: float | None = None) -> ServerCall[StartedTask]:
    """Run the scenario, and return the task with the addresses and credentials of all sandboxes.

    With `heartbeat_within`, it ends if the agent is not heard of within so many seconds.
    """
    return _send("POST", _path("task-runs", task_run_id, "/start"), StartedTask, {"heartbeat_within": heartbeat_within})


def send_message(
    task_run_id: str, say: JsonValue, *, report: list[dict[str, JsonValue]] | None = None
) -> ServerCall[StartedTask]:
    """Reply to the message of a person; None is silence. The answer has the next message, or the result."""
    body = orjson.dumps({"say": say, "report": report or []})
    return ServerCall("POST", _path("task-runs", task_run_id, "/messages"), read_as(StartedTask), body=body)


def complete_task_run(
    task_run_id: str,
    answer: JsonValue = None,
    *,
    report: list[dict[str, JsonValue]] | None = None,
    error: str | None = None,
) -> ServerCall[TaskResult]:
    """Say that the task is done, and return the verdict. `error` says why the agent failed, if it did."""
    fields = {"answer": answer, "report": report, "error": error}
    return _send("POST", _path("task-runs", task_run_id, "/complete"), TaskResult, fields)


def cancel_task_run(task_run_id: str) -> ServerCall[TaskResult]:
    """Cancel a task run, started or not. It gets no verdict."""
    return _send("POST", _path("task-runs", task_run_id, "/cancel"), TaskResult)


def send_heartbeat(task_run_id: str) -> ServerCall[Heartbeat]:
    """Say that the agent is still at work, and return how much time is left."""
    return _send("POST", _path("task-runs", task_run_id, "/heartbeat"), Heartbeat)


def send_sandbox_request(task_run_id: str, request: str, **details: Any) -> ServerCall[SandboxAnswer]:
    """Send a request to a sandbox, as a handle does. It is not sent again if the connection breaks."""
    path = _path("task-runs", task_run_id, "/sandbox-requests")
    return replace(_send("POST", path, SandboxAnswer, {"request": request, **details}), is_repeatable=False)


def list_events(
    task_run_id: str, *, after: int = 0, kind: str | None = None, source: str | None = None
) -> ListCall[LoggedEvent]:
    """Iterate over the events of the log so far, in their order."""

    def read(body: bytes) -> tuple[list[LoggedEvent], int | None]:
        page = EventList.model_validate_json(body)
        return page.data, page.meta.next

    query = _without_none({"after": after, "kind": kind, "source": source, "limit": MAX_EVENT_PAGE})
    return ListCall("GET", _path("task-runs", task_run_id, "/events"), read, query, position="after")


def get_transcript(task_run_id: str) -> ServerCall[Transcript]:
    """Return what people and the agent said to each other, in order."""
    return _get(_path("task-runs", task_run_id, "/transcript"), Transcript)


def get_artifact(task_run_id: str, sha256: str) -> ServerCall[bytes]:
    """Return a body that the log refers to: a page of a fax, a file."""
    return ServerCall("GET", _path("task-runs", task_run_id, f"/artifacts/{quote(sha256)}"), bytes)


def list_criterion_runs(task_run_id: str) -> ServerCall[CriterionResults]:
    """Return the criterion runs of a task run that has ended."""
    return _get("/v1/criterion-runs", CriterionResults, task_run_id=task_run_id)


def get_criterion_run(criterion_run_id: str) -> ServerCall[CriterionResult]:
    """Return one criterion run with its evidence."""
    return _get(_path("criterion-runs", criterion_run_id), CriterionResult)


def list_objects(
    kind: DraftKind, *, benchmark_id: str | None = None, name: str | None = None, **filters: str
) -> ListCall[DraftObject]:
    """Iterate over objects of the benchmarks that are being written.

    Other filters are `tag` of tasks, `environment_id` of simulators and `task_id` of criteria.
    """
    path = f"/v1/{COLLECTIONS[kind]}"
    return _list(path, DraftObject, benchmark_id=benchmark_id, name=name, **filters)


def get_object(kind: DraftKind, object_id: str) -> ServerCall[DraftObject]:
    """Return an object. A benchmark may be named by its slug."""
    return _get(_path(COLLECTIONS[kind], object_id), DraftObject)


def create_object(kind: DraftKind, definition: Fields) -> ServerCall[DraftObject]:
    """Create an object: the keys of its definition in a file, and the id of what it is a part of."""
    return ServerCall("POST", f"/v1/{COLLECTIONS[kind]}", read_as(DraftObject), body=orjson.dumps(definition))


def update_object(kind: DraftKind, object_id: str, changes: Fields) -> ServerCall[DraftObject]:
    """Change keys of an object. None removes a key."""
    path = _path(COLLECTIONS[kind], object_id)
    return ServerCall("PATCH", path, read_as(DraftObject), body=orjson.dumps(changes))


def delete_object(kind: DraftKind, object_id: str) -> ServerCall[None]:
    """Delete an object with everything in it."""
    return ServerCall("DELETE", _path(COLLECTIONS[kind], object_id), _nothing)


def download_files(benchmark: str) -> ServerCall[bytes]:
    """Return all files of a benchmark that is being written, a gzipped tar archive."""
    return ServerCall("GET", _path("benchmarks", benchmark, "/files"), bytes)


def upload_files(benchmark: str, archive: bytes) -> ServerCall[PushedDraft]:
    """Replace all files of a benchmark. A slug that no benchmark has begins a new one."""
    path = _path("benchmarks", benchmark, "/files")
    return ServerCall("PUT", path, read_as(PushedDraft), body=archive, media=FOLDER)


def publish_benchmark(benchmark: str, *, version: int | None = None) -> ServerCall[PublishedSummary]:
    """Publish a benchmark as `slug@version`. The same content again is the same version."""
    return _send("POST", _path("benchmarks", benchmark, "/publish"), PublishedSummary, {"version": version})


def list_published(*, slug: str | None = None) -> ListCall[PublishedSummary]:
    """Iterate over the published versions of the server."""
    return _list("/v1/published", PublishedSummary, slug=slug)


def get_published(name: str) -> ServerCall[PublishedCard]:
    """Return what a version tests and needs, and who scored what on it. `name` is such as `chart@1`."""
    return _get(_path("published", name), PublishedCard)


def download_archive(name: str) -> ServerCall[bytes]:
    """Return the archive of a version; for agents, the form without criteria and solutions."""
    return ServerCall("GET", _path("published", name, "/archive"), bytes)


def upload_archive(name: str, archive: bytes) -> ServerCall[PublishedCard]:
    """Publish an archive under its name. A name that is used keeps its content."""
    path = _path("published", name, "/archive")
    return ServerCall("PUT", path, read_as(PublishedCard), body=archive, media=ARCHIVE)


def withdraw_version(name: str, reason: str) -> ServerCall[PublishedSummary]:
    """Withdraw a version: no run of it can be started by its name."""
    return _send("POST", _path("published", name, "/withdraw"), PublishedSummary, {"reason": reason})


def restore_version(name: str) -> ServerCall[PublishedSummary]:
    """Undo the withdrawal of a version."""
    return _send("POST", _path("published", name, "/restore"), PublishedSummary)


def list_solvers(*, alias: str | None = None) -> ListCall[RegisteredSolver]:
    """Iterate over the solvers."""
    return _list("/v1/solvers", RegisteredSolver, alias=alias)


def get_solver(solver_id: str) -> ServerCall[RegisteredSolver]:
    """Return a solver. A solver key returns its own."""
    return _get(_path("solvers", solver_id), RegisteredSolver)


def create_solver(
    alias: str, *, real_name: str = "", agent_description: str = "", contact_email: str = ""
) -> ServerCall[RegisteredSolver]:
    """Register a solver. Create a key for it next."""
    fields = {"real_name": real_name, "agent_description": agent_description, "contact_email": contact_email}
    return _send("POST", "/v1/solvers", RegisteredSolver, {"alias": alias, **fields})


def create_solver_key(solver_id: str, *, name: str = "", expires_at: str | None = None) -> ServerCall[NewApiKey]:
    """Create a key for a solver. `key` is in this answer alone."""
    return _send("POST", _path("solvers", solver_id, "/api-keys"), NewApiKey, {"name": name, "expires_at": expires_at})


def list_solver_keys(solver_id: str) -> ListCall[ApiKey]:
    """Iterate over the keys of a solver."""
    return _list(_path("solvers", solver_id, "/api-keys"), ApiKey)


def list_keys(*, kind: KeyKind | None = None) -> ListCall[ApiKey]:
    """Iterate over all keys, without their secrets."""
    return _list("/v1/keys", ApiKey, kind=kind)


def create_key(name: str, *, expires_at: str | None = None) -> ServerCall[NewApiKey]:
    """Create the key of a person. `key` is in this answer alone."""
    return _send("POST", "/v1/keys", NewApiKey, {"name": name, "expires_at": expires_at})


def revoke_key(key_id: str) -> ServerCall[None]:
    """Revoke a key: it is not valid from now on."""
    return ServerCall("DELETE", _path("keys", key_id), _nothing)
