"""Run the trials of a run on Temporal: start batches, read the results from their histories, and save them here.

Only this process writes the run. So workers need no access to the store, and seals form one chain, as in a local run.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import orjson
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from clerkship.actors.isolation.contract import LEVELS
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.extras import find_used_extras
from clerkship.engine.spec import FinishedTrial, TrialSpec, build_unstarted
from clerkship.kit.stop_signals import handle_stop_signals
from clerkship.kit.wall import monotonic
from clerkship.model.errors import InputError
from clerkship.model.run import Attempt
from clerkship.service.planning.plan import RunPlan
from clerkship.service.resume import INTERRUPTED
from clerkship.service.running import BatchOutcome, TrialWork
from clerkship.service.temporal.address import CAPABILITIES, WORKFLOW_QUEUE, TemporalAddress, build_queue_name
from clerkship.service.temporal.connection import (
    MAX_OUTAGE_SECONDS,
    RETRY_SECONDS,
    TemporalFailed,
    connect,
    is_transient,
    retry_outage,
)
from clerkship.service.temporal.contents import load_content, save_content
from clerkship.service.temporal.finished import BY_DIGEST, INLINE, unpack_trial
from clerkship.service.temporal.frozen import save_frozen
from clerkship.service.temporal.workflows import BATCH, BatchInput, TrialInput
from clerkship.transports.network import LOCAL_NETWORK

Handle = WorkflowHandle[Any, Any]
BATCH_SIZE = 50
"""Trials of one workflow: the history of a workflow, which has their results, is limited to 50 MB."""
MAX_IN_FLIGHT = 2000
"""Trials that are given to Temporal and not finished, unless the run has a limit of its own."""
MAX_SAVED_AT_ONCE = 64
MAX_ATTEMPTS = 10
"""How often a trial is begun by workers that die. It may be the trial that kills them."""
MAX_CANCEL_SECONDS = 30.0
"""Time for workers to stop their trials, when the run is stopped."""
LOST = f"{MAX_ATTEMPTS} workers in a row died, or stopped answering, while they ran it"
_ENDS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
}


class TrialResult(NamedTuple):
    """What a history says of an activity that has ended."""

    key: Attempt
    attempts: int
    """How often it was begun."""
    data: bytes = b""
    """The result; empty if there is none."""
    error: str = ""


class BatchEnd(NamedTuple):
    """A batch has ended."""

    name: str
    unfinished: tuple[Attempt, ...]
    """Trials without a result, because it was cancelled."""


@dataclass(frozen=True)
class TemporalExecutor:
    """Runs trials on the workers of a Temporal server."""

    address: TemporalAddress
    catalog: RegisteredCatalog

    def check(self, plan: RunPlan) -> None:
        """Raise InputError for a run that needs one process, or files of this machine."""
        _require_possible(plan)

    @contextmanager
    def run(self, work: TrialWork) -> Iterator[BatchOutcome]:
        """Run the trials. Ctrl-C cancels them, and what is finished stays."""
        loop = asyncio.new_event_loop()
        trials = RemoteTrials(work, self.address, self.catalog)
        with handle_stop_signals(partial(_call_soon, loop, trials.stop)):
            try:
                loop.run_until_complete(trials.run())
            finally:
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()
                work.plan.models.close()
            yield BatchOutcome(trials.cancelled)


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(call)


def _require_possible(plan: RunPlan) -> None:
    """Raise InputError for a run that needs one process, or files of this machine."""
    limits = plan.call_limits
    refused = {
        "recordings are files of this machine": plan.run.asking.tape is not None,
        "a fork continues a log of this store": plan.prefix is not None,
        "sandboxes listen on the machine of the worker": plan.network != LOCAL_NETWORK,
        "the limit of a run needs one process; use --max-cost-per-trial and the like": bool(
            limits.max_cost or limits.max_calls or limits.max_total_tokens
        ),
    }
    for reason, is_refused in refused.items():
        if is_refused:
            raise InputError.of(f"this run cannot be on Temporal: {reason}", hint="run it without --on")


@dataclass
class RemoteTrials:
    """The trials of a run that are on Temporal."""

    work: TrialWork
    address: TemporalAddress
    catalog: RegisteredCatalog
    cancelled: bool = False
    _client: Client = field(init=False)
    _digest: str = ""
    _pending: dict[tuple[str, int], TrialSpec] = field(default_factory=dict)
    """Trials without a result."""
    _waiting: list[TrialSpec] = field(default_factory=list)
    """Those of them that are in no batch yet."""
    _repetitions: list[TrialSpec] = field(default_factory=list)
    """Trials to run again, each while nothing else runs."""
    _followed: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)
    """The batches that run, by the id of their workflow."""
    _results: "asyncio.Queue[TrialResult | BatchEnd | TemporalFailed | None]" = field(default_factory=asyncio.Queue)
    _batches: int = 0
    _stop_at: float = 0.0

    @property
    def _limit(self) -> int:
        return self.work.plan.run.concurrency or MAX_IN_FLIGHT

    def stop(self) -> None:
        """Ask to stop; called in the thread of the event loop."""
        self._stop_at = self._stop_at or monotonic() + MAX_CANCEL_SECONDS
        self._results.put_nowait(None)

    async def run(self) -> None:
        """Run until every trial has a result, or until it is stopped."""
        self._client = await connect(self.address)
        self._digest = await retry_outage(lambda: save_frozen(self.work.plan, self._save))
        first = self.work.schedule.first_trials()
        self._pending = {spec.key()[:2]: spec for spec in first}
        running = await self._find_earlier_batches()
        self._waiting = [spec for key, spec in self._pending.items() if key not in running]
        try:
            while self._pending and not self._stop_at:
                await self._start_batches()
                await self._save_results()
            if self._pending:
                self.cancelled = True
                await self._cancel()
        finally:
            for task in self._followed.values():
                task.cancel()
            await asyncio.gather(*self._followed.values(), return_exceptions=True)

    async def _save(self, data: bytes) -> str:
        return await save_content(self._client, data)

    async def _find_earlier_batches(self) -> set[tuple[str, int]]:
        """Save the results of batches that a killed process has started. Return the trials that still run in one."""
        running: set[tuple[str, int]] = set()
        while await self._exists(handle := self._handle(self._batches + 1)):
            self._batches += 1
            reader = HistoryReader(handle)
            await retry_outage(partial(self._read_once, reader))
            if not reader.has_ended:
                running |= {key[:2] for key in reader.unfinished if self._is_pending(key)}
                self._follow(handle)
        while not self._results.empty():
            await self._save_results()
        return running & self._pending.keys()

    async def _exists(self, handle: Handle) -> bool:
        try:
            await retry_outage(handle.describe)
        except TemporalFailed as error:
            if error.is_missing:
                return False
            raise
        return True

    async def _read_once(self, reader: "HistoryReader") -> None:
        async for result in reader.read(waits=False):
            self._results.put_nowait(result)

    def _handle(self, number: int) -> Handle:
        return self._client.get_workflow_handle(f"clerkship-{self.work.plan.run.id}-{number}")

    def _is_pending(self, key: Attempt) -> bool:
        spec = self._pending.get(key[:2])
        return spec is not None and key.attempt >= spec.attempt

    async def _start_batches(self) -> None:
        """Start batches, as far as there is room for their trials; a workflow for each trial would cost more."""
        smallest = min(BATCH_SIZE, self._limit) // 5
        while self._waiting:
            room = self._limit - (len(self._pending) - len(self._waiting))
            if room <= 0 or (room < min(smallest, len(self._waiting)) and self._followed):
                return
            size = min(BATCH_SIZE, room)
            specs, self._waiting = self._waiting[:size], self._waiting[size:]
            await self._start_batch(specs)

    async def _start_batch(self, specs: Sequence[TrialSpec]) -> None:
        self._batches += 1
        settings = self.work.plan.settings
        batch = BatchInput([self._build_input(spec) for spec in specs], settings.worker_timeout, MAX_ATTEMPTS)
        handle = self._handle(self._batches)
        await retry_outage(partial(self._start_workflow, batch, handle.id))
        self._follow(handle)

    async def _start_workflow(self, batch: BatchInput, name: str) -> None:
        with contextlib.suppress(WorkflowAlreadyStartedError):  # the answer to the first request was lost
            await self._client.start_workflow(BATCH, batch, id=name, task_queue=WORKFLOW_QUEUE)

    def _build_input(self, spec: TrialSpec) -> TrialInput:
        run, snapshot = self.work.plan.run, spec.built.snapshot
        needs = find_used_extras(snapshot, self.catalog) | ({"isolation"} if run.isolation in LEVELS else set())
        queue = build_queue_name(run.solver, needs & set(CAPABILITIES))
        place = snapshot.task.name, spec.trial, spec.attempt
        return TrialInput(self._digest, *place, alone=spec.alone, queue=queue, timeout=snapshot.timeout)

    def _follow(self, handle: Handle) -> None:
        self._followed[handle.id] = asyncio.create_task(self._read(handle))

    async def _read(self, handle: Handle) -> None:
        """Pass on the results of a batch until it has ended. After an outage, its history is read again."""
        deadline = monotonic() + MAX_OUTAGE_SECONDS
        while True:
            reader = HistoryReader(handle)
            try:
                async for result in reader.read(waits=True):
                    deadline = monotonic() + MAX_OUTAGE_SECONDS
                    self._results.put_nowait(result)
            except RPCError as error:
                if not is_transient(error) or monotonic() > deadline:
                    self._results.put_nowait(TemporalFailed(f"the Temporal server failed: {error.message}"))
                    return
            if reader.has_ended:
                self._results.put_nowait(BatchEnd(handle.id, tuple(reader.unfinished)))
                return
            await asyncio.sleep(RETRY_SECONDS)

    async def _save_results(self) -> None:
        """Wait for a result, and save it with those that are there."""
        results = [await self._results.get()]
        while len(results) < MAX_SAVED_AT_ONCE and not self._results.empty():
            results.append(self._results.get_nowait())
        finished: list[FinishedTrial] = []
        for result in results:
            if isinstance(result, TemporalFailed):
                raise result
            if isinstance(result, BatchEnd):
                self._followed.pop(result.name, None)
                if any(map(self._is_pending, result.unfinished)):
                    self.stop()  # it was cancelled by another program
            elif result is not None and self._is_pending(result.key):
                finished += await self._finish(result)
        if not finished:
            return
        self.work.save(finished)
        if not self._stop_at:
            self._add_trials(self.work.schedule.next_trials(finished))
            self._repeat_alone(finished)

    def _add_trials(self, specs: Iterable[TrialSpec]) -> None:
        for spec in specs:
            self._pending[spec.key()[:2]] = spec
            self._waiting.append(spec)

    def _repeat_alone(self, finished: Iterable[FinishedTrial]) -> None:
        """Repeat a trial that timed out of overload, once nothing else runs."""
        self._repetitions += [trial.retry for trial in finished if trial.retry is not None]
        if self._repetitions and not self._pending:
            self._add_trials([self._repetitions.pop(0)])

    async def _finish(self, result: "TrialResult") -> list[FinishedTrial]:
        """Return the trial of a result, after the attempts at it whose workers were lost."""
        spec = self._pending.pop(result.key[:2])
        if result.data:
            trial, is_repeated = unpack_trial(await self._load(result.data))
            again = spec._replace(attempt=trial.task_run.attempt + 1, alone=True)
            trial = trial._replace(task_run=trial.task_run.model_copy(update={"run": spec.run}))
            trial = trial._replace(retry=again if is_repeated else None)
        else:
            last = spec._replace(attempt=result.key.attempt + max(result.attempts, 1) - 1)
            trial = build_unstarted(last, result.error)
        attempts = range(spec.attempt, trial.task_run.attempt)
        lost = [build_unstarted(spec._replace(attempt=number), INTERRUPTED, "cancelled") for number in attempts]
        return [*lost, trial]

    async def _load(self, data: bytes) -> bytes:
        if data.startswith(INLINE):
            return data.removeprefix(INLINE)
        return await retry_outage(partial(load_content, self._client, data.removeprefix(BY_DIGEST).decode()))

    async def _cancel(self) -> None:
        """Cancel all batches, and save what their workers still send."""
        for name in list(self._followed):
            with contextlib.suppress(RPCError):  # it has ended
                await self._client.get_workflow_handle(name).cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(self._stop_at - monotonic(), 0.1)):
                while self._followed:
                    await self._save_results()


class HistoryReader:
    """Reads the history of a batch, from its beginning."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._scheduled: dict[int, Attempt] = {}
        self._attempts: dict[int, int] = {}
        self.unfinished: set[Attempt] = set()
        """Trials that have no result so far."""
        self.has_ended = False

    async def read(self, *, waits: bool) -> AsyncIterator["TrialResult"]:
        """Yield the results; with `waits` until the batch has ended, else those that are there."""
        async for event in self._handle.fetch_history_events(wait_new_event=waits):
            result = self._process(event)
            if result is not None:
                yield result

    def _process(self, event: HistoryEvent) -> "TrialResult | None":
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            [payload] = event.workflow_execution_started_event_attributes.input.payloads
            trials = orjson.loads(payload.data)["trials"]
            self.unfinished = {Attempt(each["task"], each["trial"], each["attempt"]) for each in trials}
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            task, trial, attempt = event.activity_task_scheduled_event_attributes.activity_id.rsplit(" ", 2)
            self._scheduled[event.event_id] = Attempt(task, int(trial), int(attempt))
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            started = event.activity_task_started_event_attributes
            self._attempts[started.scheduled_event_id] = started.attempt
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            completed = event.activity_task_completed_event_attributes
            return self._end(completed.scheduled_event_id, data=completed.result.payloads[0].data)
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED:
            failed = event.activity_task_failed_event_attributes
            return self._end(failed.scheduled_event_id, error=failed.failure.message)
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
            return self._end(event.activity_task_timed_out_event_attributes.scheduled_event_id, error=LOST)
        elif event.event_type in _ENDS:
            self.has_ended = True
        return None

    def _end(self, scheduled: int, *, data: bytes = b"", error: str = "") -> "TrialResult":
        key = self._scheduled[scheduled]
        self.unfinished.discard(key)
        return TrialResult(key, self._attempts.get(scheduled, 1), data, error)
