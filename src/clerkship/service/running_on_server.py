"""Play a published version of a server with an agent here.

The server runs the scenario and the sandboxes, and grades.
"""

import asyncio
import math
import queue
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from clerkship.actors.contract import (
    Agent,
    AgentError,
    AgentWithEnd,
    AgentWithStart,
    Message,
    Solver,
    SolverWithPreflight,
    SolverWithSnapshot,
    Start,
)
from clerkship.actors.messages import render_reply_part
from clerkship.actors.per_conversation import solver_for
from clerkship.actors.registry import RecordedSolver
from clerkship.client import Client
from clerkship.client.errors import ConflictError
from clerkship.engine.build import build_agent
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.score import status_of
from clerkship.engine.worker import THREAD_NAME, describe_failure
from clerkship.kit.command_option import options_of
from clerkship.kit.stop_signals import StopFlag, handle_stop_signals
from clerkship.kit.wall import monotonic, sleep
from clerkship.model.errors import InputError, InputProblem, PlatformError
from clerkship.model.published import REFERENCE, PublishedVersion
from clerkship.model.run import Attempt, BenchmarkRun, Counts, TaskRun
from clerkship.model.server_objects import (
    BenchmarkRunSummary,
    StartedBenchmarkRun,
    StartedTask,
    TaskResult,
    TaskRunSummary,
)
from clerkship.sandbox.handle import Sandboxes
from clerkship.service.isolating import choose_level, isolate_solver
from clerkship.service.planning.load import build_run_settings, load_suite
from clerkship.service.planning.options import BotOptions
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView
from clerkship.service.running import TrialObserver, TrialStartObserver
from clerkship.service.server_link import open_server_sandboxes
from clerkship.settings import Settings
from clerkship.suite_files.published.archive import open_archive

WATCH_INTERVAL = 0.1
GRACE_SECONDS = 2.0
"""How much longer than the server this side waits for an agent: the server ends and grades a task run at its limit."""
MAX_GRADING_SECONDS = 60.0
"""How long the result of a task run may take whose time is over."""
MAX_ERROR_LENGTH = 20_000
_USABLE = {"path", "agent", "tasks", "tags", "trials", "seed", "concurrency", "isolate", "agent_process"}
_USABLE |= {"max_tokens", "model_timeout", *(item.name for item in fields(BotOptions))}
"""Options that choose tasks, or concern the agent. The version and the server decide all others."""


@dataclass(frozen=True)
class ServerAgent:
    """An agent here, with the solutions of tasks if it runs them."""

    solver: Solver
    solutions: Mapping[str, str | None]
    catalog: RegisteredCatalog

    def open(self, task_run: TaskRunSummary, started: StartedTask) -> Agent:
        """Return a new agent for a task run."""
        conversations = 2 if started.type == "turn" else 1  # there may be several
        solver = solver_for(self.solver, conversations=conversations)
        return solver.open(self.solutions.get(task_run.name), task_run.trial)


def check_options(request: RunRequest) -> None:
    """Raise InputError unless the path is the name of a published version, and all options can be used."""
    defaults = {item.name: item.default for item in fields(RunRequest) if item.default is not MISSING}
    given = {
        name: " ".join(next(option.words(getattr(request, name))))
        for name, (_, option) in options_of(RunRequest).items()
        if name not in _USABLE and getattr(request, name) != defaults[name]
    }
    hint = "the published version and the server decide this; leave it out, or run the version without --on"
    problems = [InputProblem(message=f"{typed} has no effect with --on", hint=hint) for typed in given.values()]
    if REFERENCE.fullmatch(str(request.path)) is None:
        hint = "name a published version of the server, such as chart@1 or chart@latest"
        problems.append(InputProblem(message=f"--on runs no files: `{request.path}` is not a version", hint=hint))
    if problems:
        raise InputError(problems)
    request.check()


def load_agent(request: RunRequest, client: Client, settings: Settings, catalog: RegisteredCatalog) -> ServerAgent:
    """Build the agent of a request. For one that runs solutions, download the version, which needs a person's key."""
    settings = build_run_settings(request, settings, catalog)
    solver = build_agent(request.agent, settings, catalog)
    if isinstance(solver, RecordedSolver | SolverWithSnapshot):
        raise InputError.of(f"agent {solver.name} cannot be used with --on", hint="run the version without --on")
    if isinstance(solver, SolverWithPreflight):
        solver.preflight()
    if not getattr(solver, "takes_solution", False):
        return ServerAgent(solver, {}, catalog)
    card = client.get_published(str(request.path))
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "version.clerkship")  # its name would have to say whether it is for agents
        archive.write_bytes(client.download_archive(card.id))
        if open_archive(archive).manifest.for_agents:
            message = f"agent {solver.name} runs the solutions of {card.id}, which a solver key does not get"
            raise InputError.of(message, hint="use the key of a person")
        library = load_suite(RunRequest(path=archive, agent=solver), settings, catalog).library
    return ServerAgent(solver, {name: task.solution for name, task in library.tasks.items()}, catalog)


@dataclass(frozen=True)
class ServerRun:
    """A run at a server with an agent here."""

    client: Client
    request: RunRequest
    settings: Settings
    agent: ServerAgent
    hidden: tuple[Path, ...] = ()
    """Paths that an isolated agent must not see."""

    def start(self, *, scored: bool) -> StartedBenchmarkRun:
        """Start the run at the server."""
        request = self.request
        return self.client.start_benchmark_run(
            str(request.path),
            scored=scored,
            agent=self.agent.solver.name,
            tasks=request.tasks,
            tags=request.tags,
            trials=request.trial_count,
            seed=request.seed,
        )

    def play(self, started: StartedBenchmarkRun, watch: TrialObserver) -> RunView:
        """Play all task runs, and return the run as a local one is shown. Ctrl-C cancels it."""
        solver, settings = self.agent.solver, self.settings
        level = choose_level(solver, self.request.isolate or settings.isolate)
        client = self.client.with_key(started.bearer_token)
        players = TaskPlayers(client, self.agent, self.request.concurrency or settings.concurrency)
        with isolate_solver(solver, level, self.hidden, settings.store):
            task_runs = players.run(started, watch)
        run = build_record(client.get_benchmark_run(started.id)).model_copy(update={"isolation": level})
        return RunView(run, count_outcomes(task_runs), task_runs)


def build_record(summary: BenchmarkRunSummary) -> BenchmarkRun:
    """Return the record of a run as a local run has it."""
    version, grading = summary.benchmark, summary.grading or ""
    published = PublishedVersion(
        slug=version["slug"],
        version=int(version["version"]),
        digest=version["digest"].removeprefix("sha256:"),
        grading=grading,
    )
    return BenchmarkRun(
        id=summary.id,
        name=summary.name or published.name,
        solver=summary.agent,
        seed=summary.seed or 0,
        trials=summary.trials or 1,
        started_at=summary.created_at.isoformat(),
        status="completed" if summary.status == "failed" else summary.status,
        total=len(summary.task_runs),
        criteria=summary.criteria or 0,
        grading=grading,
        clerkship=summary.clerkship or "",
        published=published,
    )


def count_outcomes(task_runs: Iterable[TaskRun]) -> Counts:
    """Count how task runs came out."""
    verdicts: dict[str, int] = {}
    statuses: dict[str, int] = {}
    errors = 0
    for task_run in task_runs:
        statuses[task_run.status] = statuses.get(task_run.status, 0) + 1
        errors += bool(task_run.agent_error)
        if task_run.verdict is not None:
            verdicts[task_run.verdict] = verdicts.get(task_run.verdict, 0) + 1
    return Counts(verdicts=verdicts, statuses=statuses, agent_errors=errors)


class TaskPlayers:
    """Plays task runs, several at a time, each in a thread of its own."""

    def __init__(self, client: Client, agent: ServerAgent, concurrency: int) -> None:
        self._client, self._agent, self._concurrency = client, agent, concurrency
        self._ended: queue.SimpleQueue[TaskPlayer] = queue.SimpleQueue()
        self._playing: list[TaskPlayer] = []
        self._task_runs: list[TaskRun] = []

    def run(self, run: StartedBenchmarkRun, watch: TrialObserver) -> list[TaskRun]:
        """Play all task runs, and return their records, ordered as a store does."""
        stop, waiting = StopFlag(), iter(run.task_runs)
        begin = watch.trial_started if isinstance(watch, TrialStartObserver) else lambda attempt: None
        with handle_stop_signals(stop.set):
            self._start(waiting, begin)
            while self._playing and not stop.is_set:
                for player in self._collect():
                    self._playing.remove(player)
                    self._task_runs.append(player.task_run)
                    watch(player.task_run)
                self._start(waiting, begin)
            if stop.is_set:
                self._stop(run)
        return sorted(self._task_runs, key=lambda each: (each.task, each.trial))

    def _start(self, waiting: Iterator[TaskRunSummary], begin: Callable[[Attempt], None]) -> None:
        while len(self._playing) < self._concurrency and (task_run := next(waiting, None)) is not None:
            begin(Attempt(task_run.name, task_run.trial, task_run.attempt))
            self._playing.append(TaskPlayer(self._client, self._agent, task_run, self._ended.put))

    def _collect(self) -> Iterator["TaskPlayer"]:
        """Yield the players that have ended, and those whose agent does not return though its time is over."""
        with suppress(queue.Empty):
            player = self._ended.get(timeout=WATCH_INTERVAL)
            while True:
                yield player
                player = self._ended.get_nowait()
        for player in list(self._playing):
            if monotonic() > player.deadline and player.abandon():
                yield player

    def _stop(self, run: StartedBenchmarkRun) -> None:
        """Cancel the run at the server, and end the agents."""
        with suppress(ConflictError):  # it has just ended
            self._client.cancel_benchmark_run(run.id)
        for player in self._playing:
            if player.abandon():
                self._task_runs.append(player.task_run)


class TaskPlayer:
    """Plays one task run in a thread."""

    def __init__(
        self, client: Client, agent: ServerAgent, summary: TaskRunSummary, on_end: Callable[["TaskPlayer"], None]
    ) -> None:
        self._client, self._solver, self._summary, self._on_end = client, agent, summary, on_end
        self._claim = threading.Lock()
        self._agent: Agent | None = None
        self._started_conversations: set[str] = set()
        self.deadline = math.inf
        """When the agent must have answered, or is abandoned."""
        self.task_run: TaskRun
        """The result, once it has ended."""
        threading.Thread(target=self._run, name=THREAD_NAME, daemon=True).start()

    def abandon(self) -> bool:
        """End the agent without waiting for it, and fetch the result. Return whether it had not ended yet."""
        if not self._claim.acquire(blocking=False):
            return False
        self._close()
        self.task_run = self._describe(self._fetch)
        return True

    def _run(self) -> None:
        task_run = self._describe(lambda: asyncio.run(self._play()))
        if self._claim.acquire(blocking=False):
            self.task_run = task_run
            self._close()
            self._on_end(self)

    def _describe(self, play: Callable[[], TaskResult]) -> TaskRun:
        """Return the record of a task run. A failure of this side or of the server makes it errored."""
        try:
            return build_task_run(play())
        except Exception as error:  # any error becomes the result of the trial
            with suppress(Exception):
                self._client.cancel_task_run(self._summary.id)
            return build_errored(self._summary, describe_failure(error))

    async def _play(self) -> TaskResult:
        started = self._client.start_task_run(self._summary.id)
        try:
            if started.type is not None:
                self._agent = agent = self._solver.open(self._summary, started)
                sandboxes = open_server_sandboxes(self._client, started, self._solver.catalog)
                _check_entry(agent, started, self._solver.solver.name)
            while started.type == "turn":
                say = await self._reply(agent, started, sandboxes)
                started = self._client.send_message(self._summary.id, say)
            if started.type == "task":
                return await self._do_task(agent, started, sandboxes)
        except AgentError as error:
            return self._complete(error=str(error) or "it failed")
        except (ConflictError, TimeoutError):  # the server has ended it
            return self._fetch()
        return self._fetch() if started.result is None else started.result

    async def _do_task(self, agent: Agent, started: StartedTask, sandboxes: Sandboxes) -> TaskResult:
        async with self._limit(started):
            answer = await agent.on_task(started.task_item or {}, sandboxes)
            if isinstance(agent, AgentWithEnd):
                await agent.check_end()
        return self._client.complete_task_run(self._summary.id, answer)

    async def _reply(self, agent: Agent, started: StartedTask, sandboxes: Sandboxes) -> list[JsonValue]:
        place = {name: getattr(started, name) for name in ("sandbox", "channel", "address")}
        slots, task_item = started.slots or {}, started.task_item
        message = Message(
            started.text or "",
            started.turn or 1,
            task_item=task_item,
            slots=slots,
            metadata=started.metadata,
            subject=started.subject,
            **place,
        )
        async with self._limit(started):
            if "on_start" in agent.entries and message.conversation not in self._started_conversations:
                self._started_conversations.add(message.conversation)
                starting = cast(AgentWithStart, agent).on_start(Start(slots, task_item, **place), sandboxes)
                if await starting:
                    raise AgentError("its on_start greets the person, who has begun to speak already")
            reply = await agent.on_turn(message, sandboxes)
        return [render_reply_part(part) for part in reply]

    @asynccontextmanager
    async def _limit(self, started: StartedTask) -> AsyncIterator[None]:
        """Limit the time of the agent: it is cancelled a little later than the server ends the task run."""
        seconds = started.seconds_left + GRACE_SECONDS
        self.deadline = monotonic() + seconds + GRACE_SECONDS
        try:
            async with asyncio.timeout(seconds):
                yield
        finally:
            self.deadline = math.inf  # what the server does has no limit here

    def _complete(self, error: str) -> TaskResult:
        try:
            return self._client.complete_task_run(self._summary.id, error=error[:MAX_ERROR_LENGTH])
        except ConflictError:  # its time was over before
            return self._fetch()

    def _fetch(self) -> TaskResult:
        """Wait for the result of a task run that the server ends."""
        deadline = monotonic() + MAX_GRADING_SECONDS
        while (result := self._client.get_task_run(self._summary.id)).phase != "completed":
            if monotonic() > deadline:
                return self._client.cancel_task_run(self._summary.id)
            sleep(WATCH_INTERVAL)
        return result

    def _close(self) -> None:
        if self._agent is not None:
            self._agent.close()


def _check_entry(agent: Agent, started: StartedTask, name: str) -> None:
    entry, starter = ("on_task", "agent") if started.type == "task" else ("on_turn", "person")
    if entry not in agent.entries:
        raise InputError.of(f"{name} has no {entry}, and this task starts with the {starter}")


def build_task_run(result: TaskResult) -> TaskRun:
    """Return the record of a task run as a store has it, with what the server shows of it."""
    if result.ending is None:
        raise PlatformError(f"the task run {result.id} has no result")
    shown = {name: getattr(result, name) for name in TaskRun.model_fields.keys() & TaskResult.model_fields.keys()}
    own = {"run": result.benchmark_run_id, "task": result.name, "snapshot": "", "criteria": result.checks or ()}
    return TaskRun(**{**shown, **own, "status": status_of(result.ending)})


def build_errored(summary: TaskRunSummary, error: str) -> TaskRun:
    """Return the record of a task run that could not be played."""
    return TaskRun(
        run=summary.benchmark_run_id,
        task=summary.name,
        trial=summary.trial,
        attempt=summary.attempt,
        status="errored",
        ending="errored",
        error=error,
        head="",
        events=0,
        snapshot="",
    )
