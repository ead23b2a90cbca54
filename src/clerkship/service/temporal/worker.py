"""A worker: runs trials that it gets from Temporal, with its own agent and keys, and sends the results back.

Runs are built from what the client has frozen, as `resume` builds them from a store.
"""

import asyncio
import queue
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from clerkship import __version__
from clerkship.actors.contract import Solver
from clerkship.actors.isolation.contract import LEVELS, offered
from clerkship.engine.build import BuiltTask, build_agent
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.open_batch import OpenBatch
from clerkship.engine.spec import FinishedTrial, TrialSpec
from clerkship.kit.descriptors import limit_agents
from clerkship.kit.extras import is_installed
from clerkship.kit.stop_signals import STOP_SIGNALS
from clerkship.kit.wall import monotonic
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.model.run import Attempt, BenchmarkRun, TaskRun
from clerkship.service.planning.plan import RunPlan
from clerkship.service.resume import plan_trials_left
from clerkship.service.running import open_context
from clerkship.service.temporal.address import CAPABILITIES, WORKFLOW_QUEUE, TemporalAddress, list_queue_names
from clerkship.service.temporal.connection import connect, retry_outage
from clerkship.service.temporal.contents import load_content, save_content
from clerkship.service.temporal.finished import BY_DIGEST, INLINE, pack_trial
from clerkship.service.temporal.frozen import load_frozen
from clerkship.service.temporal.workflows import TRIAL, BatchWorkflow, ContentWorkflow, TrialInput
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

MAX_INLINE = 256 << 10
"""Bytes of a packed trial that are sent as the result of the activity; larger ones travel by digest."""
MAX_IDLE_SECONDS = 60.0
"""How long a run without trials stays open."""
BEATS = 4
"""Signs of life in the time after which a worker counts as dead."""


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """What a worker takes, and how much of it."""

    agents: tuple[str, ...]
    """The agents that it runs; trials of others go to other workers."""
    concurrency: int
    rate: float | None = None
    """Trials of each of its task queues that may begin in a second, on all workers."""
    grace: float = 30.0
    """Seconds that trials get to finish when the worker is stopped."""


def find_capabilities() -> set[str]:
    """Return what this machine has of the things that only some have."""
    has_isolation = offered()[0] in LEVELS
    found = {name for name in CAPABILITIES if name != "isolation" and is_installed(name)}
    return found | ({"isolation"} if has_isolation else set())


class OpenRun:
    """A run of which this worker runs trials: its tasks, models and listeners, and a batch in a thread."""

    def __init__(self, plan: RunPlan, built: Iterable[BuiltTask], folder: Path, concurrency: int) -> None:
        self.plan = plan
        self._built = {task.snapshot.task.name: task for task in built}
        self._folder, self._concurrency = folder, concurrency
        self._futures: dict[Attempt, Future[FinishedTrial]] = {}
        self._gate = threading.Lock()
        self._batch: queue.Queue[OpenBatch | BaseException] = queue.Queue(1)
        self._thread = threading.Thread(target=self._work, name="clerkship-run", daemon=True)
        self._thread.start()
        started = self._batch.get()
        if isinstance(started, BaseException):
            raise started
        self.batch = started
        self.used_at = monotonic()
        self.active = 0

    def submit(self, trial: TrialInput, attempt: int) -> "Future[FinishedTrial]":
        """Run a trial; the future has its result."""
        future: Future[FinishedTrial] = Future()
        built = self._built[trial.task]
        spec = TrialSpec(built, self.plan.run.id, self.plan.run.seed, trial.trial, attempt, trial.alone)
        with self._gate:
            if not self._thread.is_alive():
                future.cancel()
                return future
            self._futures[spec.key()] = future
        self.batch.add(spec)
        return future

    def stop(self) -> None:
        """Cancel the trials that run."""
        self.batch.stop()

    def close(self) -> None:
        """Wait until the last trial is done."""
        self.batch.close()
        self._thread.join()

    def _work(self) -> None:
        try:
            with open_context(self.plan, lambda attempt: None, self._folder / "store.db") as context:
                batch = OpenBatch([], context, limit_agents(self._concurrency), self._deliver)
                self._batch.put(batch)
                batch.run()
        except BaseException as error:
            with suppress(queue.Full):
                self._batch.put_nowait(error)
            self._fail(error)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._fail(None)

    def _deliver(self, finished: list[FinishedTrial]) -> None:
        for trial in finished:
            with self._gate:
                future = self._futures.pop(Attempt(*trial.task_run.outcome()[:3]), None)
            if future is not None and not future.done():
                future.set_result(trial)

    def _fail(self, error: BaseException | None) -> None:
        """End the futures of trials that have no result."""
        with self._gate:
            left, self._futures = self._futures, {}
        for future in left.values():
            if error is None:
                future.cancel()
            else:
                future.set_exception(error)


@dataclass
class TrialWorker:
    """Carries out the activities of a worker."""

    client: Client
    options: WorkerOptions
    settings: Settings
    catalog: RegisteredCatalog
    solvers: dict[str, str]
    """What each agent was named by on the command line, by its own name."""
    on_result: Callable[[TaskRun], None] = lambda task_run: None
    _runs: "dict[str, asyncio.Task[OpenRun]]" = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.options.concurrency)

    @activity.defn(name=TRIAL)
    async def run_trial(self, trial: TrialInput) -> bytes:
        """Run one attempt at a trial, and return what is saved of it."""
        beats = asyncio.create_task(self._beat())
        try:
            async with self._slots:
                return await self._run(trial)
        finally:
            beats.cancel()

    async def _beat(self) -> None:
        """Send signs of life."""
        limit = activity.info().heartbeat_timeout or timedelta(seconds=self.settings.worker_timeout)
        while True:
            await asyncio.sleep(limit.total_seconds() / BEATS)
            activity.heartbeat()

    async def _run(self, trial: TrialInput) -> bytes:
        try:
            run = await self._open(trial.run)
        except ClerkshipError as error:
            raise ApplicationError(str(error), non_retryable=True) from None
        run.active += 1
        future = asyncio.wrap_future(run.submit(trial, trial.attempt + activity.info().attempt - 1))
        try:
            finished = await self._wait(run, future)
        finally:
            run.active -= 1
            run.used_at = monotonic()
        self.on_result(finished.task_run)
        packed = pack_trial(finished)
        if len(packed) <= MAX_INLINE:
            return INLINE + packed
        return BY_DIGEST + (await retry_outage(lambda: save_content(self.client, packed))).encode()

    async def _wait(self, run: OpenRun, future: "asyncio.Future[FinishedTrial]") -> FinishedTrial:
        """Wait for a trial. If it is cancelled, stop it, and return what there is of it.

        A worker that is stopped gives its trials back: others run them again.
        """
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if activity.is_worker_shutdown():
                raise ApplicationError("the worker was stopped") from None
            run.stop()
            return await future

    async def _open(self, digest: str) -> OpenRun:
        """Return an open run; the first trial opens it."""
        task = self._runs.get(digest)
        if task is not None and task.done() and (task.exception() or not task.result()._thread.is_alive()):
            task = None
        if task is None:
            task = self._runs[digest] = asyncio.create_task(self._build(digest))
        return await asyncio.shield(task)

    async def _build(self, digest: str) -> OpenRun:
        record = await retry_outage(lambda: load_frozen(digest, self._load))
        return await asyncio.to_thread(self._open_run, record.run, record.frozen)

    async def _load(self, digest: str) -> bytes:
        return await load_content(self.client, digest)

    def _open_run(self, run: BenchmarkRun, frozen: dict[str, bytes]) -> OpenRun:
        if run.clerkship != __version__:
            raise InputError.of(f"{run.id} was started by version {run.clerkship}; this worker has {__version__}")
        folder = Path(tempfile.mkdtemp(prefix="clerkship-worker-"))
        try:
            with SqliteStore(folder / "store.db") as store:
                store.open_run(run, frozen)
                settings = self.settings
                plan = plan_trials_left(store, run, self.catalog, settings, agent=self.solvers.get(run.solver))
                built = plan.build(self.catalog)
            return OpenRun(plan, built, folder, self.options.concurrency)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    async def close_idle(self) -> None:
        """Close runs that have had no trial for a while, for ever."""
        while True:
            await asyncio.sleep(MAX_IDLE_SECONDS / 4)
            for digest, task in list(self._runs.items()):
                if not task.done():
                    continue
                run = None if task.exception() else task.result()
                if run is None or (not run.active and monotonic() - run.used_at > MAX_IDLE_SECONDS):
                    del self._runs[digest]
                    if run is not None:
                        await asyncio.to_thread(run.close)

    async def close(self) -> None:
        """Stop all runs."""
        for task in self._runs.values():
            if task.done() and not task.exception():
                task.result().stop()
                await asyncio.to_thread(task.result().close)


def name_agents(options: WorkerOptions, settings: Settings, catalog: RegisteredCatalog) -> dict[str, str]:
    """Return what each agent was named by, by its own name. Raise InputError for one that cannot be built."""
    solvers: dict[str, Solver] = {text: build_agent(text, settings, catalog) for text in options.agents}
    return {solver.name: text for text, solver in solvers.items()}


async def serve_trials(
    address: TemporalAddress,
    options: WorkerOptions,
    settings: Settings,
    catalog: RegisteredCatalog,
    on_ready: Callable[[Sequence[str]], None],
    on_result: Callable[[TaskRun], None],
) -> None:
    """Run trials until a stop signal. Then take no more, and let those that run finish for a while."""
    solvers = name_agents(options, settings, catalog)
    client = await connect(address)
    worker = TrialWorker(client, options, settings, catalog, solvers, on_result)
    capabilities = find_capabilities()
    queues = [name for agent in solvers for name in list_queue_names(agent, capabilities)]
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stopped.set)
    idle = asyncio.create_task(worker.close_idle())
    try:
        async with AsyncExitStack() as stack:
            workflows = [BatchWorkflow, ContentWorkflow]
            runner = UnsandboxedWorkflowRunner()
            await stack.enter_async_context(
                Worker(client, task_queue=WORKFLOW_QUEUE, workflows=workflows, workflow_runner=runner)
            )
            for name in queues:
                await stack.enter_async_context(_build_worker(client, name, worker))
            on_ready(queues)
            await stopped.wait()
    finally:
        idle.cancel()
        await worker.close()


def _build_worker(client: Client, name: str, worker: TrialWorker) -> Worker:
    options = worker.options
    return Worker(
        client,
        task_queue=name,
        activities=[worker.run_trial],
        max_concurrent_activities=options.concurrency,
        max_task_queue_activities_per_second=options.rate,
        graceful_shutdown_timeout=timedelta(seconds=options.grace),
        max_heartbeat_throttle_interval=timedelta(seconds=3),
        default_heartbeat_throttle_interval=timedelta(seconds=3),
    )
