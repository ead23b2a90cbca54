"""One trial: open a playground, set it up, run the agent, and grade what happened."""

import os
import threading
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson

from clerkship.actors.contract import (
    Agent,
    AgentError,
    AgentProgram,
    AgentStopped,
    AgentWithEnd,
    EntryPointName,
    SimulatedPerson,
)
from clerkship.actors.per_conversation import solver_for
from clerkship.actors.reply import LOG_FULL
from clerkship.by_name import load
from clerkship.engine.driver import AgentTime, ConversationDriver, TurnTimedOut, set_up
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec
from clerkship.engine.trial_grader import TrialGrader
from clerkship.events.lifecycle import AgentAnswered, AgentFailed, AgentStarted, RequestRefused
from clerkship.kit.text import replace_surrogates
from clerkship.kit.wall import time_ns
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.model.redaction import MIN_SECRET_LENGTH, build_redactor
from clerkship.model.run import Ending
from clerkship.playground.agent_clock import run_paced_clock
from clerkship.playground.failure import TRACEBACK
from clerkship.playground.in_process import build_services, open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.sandbox.handle import Sandboxes

if TYPE_CHECKING:
    from clerkship.model_proxy.trial_calls import TrialCalls
    from clerkship.sandbox.mcp_access import McpAddress
    from clerkship.sandbox.model_access import ModelAddress
    from clerkship.sandbox.trace_access import TraceAddress
    from clerkship.traces.exporter import TraceExporter
    from clerkship.traces.times import EventTimes

AGENT_STACK = "agent_stack"
"""The key in a trial's sidecar under which the stack of a stopped agent is stored."""
MAX_STACK_LENGTH = 20_000


class Trial:
    """A running trial. The first thread that claims it finishes it: its worker, or the thread that abandons it."""

    def __init__(self, spec: TrialSpec, context: BatchContext) -> None:
        self.spec = spec
        self._context = context
        built = spec.built
        self.timeout = built.snapshot.timeout
        self.playground = Playground(built.snapshot.environment, built.simulators, spec.playground_seed, built.options)
        if context.watch is not None:
            context.watch(self.playground)
        self._grader = TrialGrader(spec, context, self.playground)
        self.overload = self._grader.overload
        self._time = AgentTime(context.watchdog, self.playground)
        self.time = self._time.now
        self._claim = threading.Lock()
        self._agent_lock = threading.Lock()
        self._agent: Agent | None = None
        self._is_closed = False
        self._times = _record_times(self.playground) if context.exporter is not None else None
        self._trace_address: TraceAddress | None = None
        self._outage = ""
        """Why the agent failed, if a provider of models is the reason."""

    @property
    def turn_deadline(self) -> float:
        """The deadline of the current reply, in the agent's time."""
        return self._time.turn_deadline

    def seconds_left(self) -> float:
        """Return how many seconds the agent may still take for its reply."""
        return min(self._time.started_at + self.timeout, self.turn_deadline) - self.time()

    @property
    def person_check_failed(self) -> bool:
        """Whether the check of how a person was played failed."""
        return self._grader.person_check_failed

    def program_seconds(self) -> float | None:
        """Return the processor time of the agent's program, if it is one."""
        agent = self._agent
        is_program = agent is not None and _is_subclass(type(agent), AgentProgram)
        return cast(AgentProgram, agent).program_seconds() if is_program else None

    def claim(self) -> bool:
        """Claim the right to finish the trial; return false if another thread has claimed it."""
        return self._claim.acquire(blocking=False)

    def ending_if_stopped(self, ending: Ending) -> Ending:
        """Return the ending of a trial that is stopped now, given `timed_out` or `cancelled`.

        `timed_out` becomes `turn_timed_out` if only the time limit of the turn was reached.
        """
        is_early = self.time() < self._time.started_at + self.timeout
        return "turn_timed_out" if ending == "timed_out" and is_early else ending

    async def play(self) -> Ending:
        """Set up the scenario and run the agent until it is done, the people have left, or a limit is reached."""
        built, playground = self.spec.built, self.playground
        prompts = self._context.models.prompts
        people = built.build_people(playground.seed, self._grader.model_for("person"), prompts, self.spec.trial)
        if built.fork_point is None:
            set_up(playground, built, people)
            if playground.steps.errors:
                return "errored"
        try:
            with run_paced_clock(playground):
                ending = await self._work(people)
            if playground.log.overflowed:  # the agent caught the AgentError that this raised in it, and continued
                raise AgentError(LOG_FULL)
            return self._end_at_limit() or ending
        except (AgentError, ClerkshipError) as error:
            if playground.broken is not None:  # a simulator failed, and the agent failed because of that
                return "errored"
            if (at_limit := self._end_at_limit()) is not None:
                return at_limit  # the agent, or the model that is one, failed because its call was refused
            if not isinstance(error, AgentError):
                if self.playground.log.overflowed:  # the model that is the agent was refused for it
                    return self._agent_failed(LOG_FULL)
                raise
            calls = self._find_calls()
            if calls is not None and calls.outage:
                self._outage = f"{calls.outage}; the agent then failed: {error}"
                return "errored"
            trace = getattr(error, "trace", "")  # an agent may raise its own subclass
            if trace and isinstance(trace, str):
                playground.sidecar.facts["agent_traceback"] = self._redact_trace(trace)
            return self._agent_failed(str(error))

    def _find_calls(self) -> "TrialCalls | None":
        models = self._context.gateway.models
        return None if models is None else models.find_calls(self.playground)

    def _end_at_limit(self) -> Ending | None:
        """Return how the trial ends because of a limit of its model calls; None if none is reached."""
        calls = self._find_calls()
        if calls is None or (reached := calls.limits.reached) is None:
            return None
        return self._agent_failed(reached.message) if reached.ending == "agent_failed" else reached.ending

    def save_stack(self, stack: str) -> None:
        """Save the stack of the agent at the first attempt to stop it."""
        if stack:
            text = replace_surrogates(stack[-MAX_STACK_LENGTH:])
            self.playground.sidecar.facts.setdefault(AGENT_STACK, self._redact_trace(text))

    def save_traceback(self, trace: str) -> None:
        """Save the first traceback of a bug of the platform."""
        if trace:
            self.playground.sidecar.facts.setdefault(TRACEBACK, self.playground.redact(trace))

    def _redact_trace(self, trace: str) -> str:
        """Return a traceback without credentials.

        In a replay, the current folder is removed too: it differs between machines, and a replay must not.
        """
        folder = f"{Path.cwd()}{os.sep}"
        return self.playground.redact(trace.replace(folder, "") if self._context.models.replays else trace)

    async def _work(self, people: Mapping[str, SimulatedPerson]) -> Ending:
        built, playground, context = self.spec.built, self.playground, self._context
        starts = built.scenario.starts
        entry: EntryPointName = "on_turn" if starts == "person" else "on_task"
        proxy = context.gateway.models
        models = None
        if proxy is not None:
            recording = context.models.record_calls(built.snapshot.task.name, self.spec.trial, playground)
            models = proxy.open_trial(playground, context.base_url, recording)
            calls = self._find_calls()
            if calls is not None and (reached := calls.limits.check_run()) is not None:
                return reached.ending
        agent = self._keep_agent(self._open_agent(models))
        if entry not in agent.entries:
            raise InputError.of(f"{context.solver.name} has no {entry}, and this task starts with the {starts}")
        open_mcp = partial(self._open_mcp, entry)
        open_traces = self._open_traces if context.accepts_traces else None
        services = build_services(context.gateway, context.base_url, self.seconds_left, models, open_mcp, open_traces)
        sandboxes = open_sandboxes(context.gateway, playground, context.base_url, context.listeners, services)
        if built.fork_point is None:
            self._emit(AgentStarted(entry=entry, task_item=built.task.task_item))
        if entry == "on_task":
            playground.people.listening = True
            answer = await agent.on_task(orjson.loads(built.task_item) or {}, sandboxes)
            answer = context.gateway.choose_answer(playground, answer)
            self._grader.answers.append(answer)
            self._emit(AgentAnswered(answer=answer))
            await _check_end(agent)
            return "agent_done"
        if built.scenario.stubs and "on_start" not in agent.entries:
            raise InputError.of(f"{context.solver.name} has no on_start, which is needed to pass the stubs of actions")
        driver = ConversationDriver(built, playground, agent, sandboxes, self._time)
        try:
            if built.fork_point is not None:
                ending = await driver.resume(built.fork_point, people, self.spec.trial)
            else:
                ending = await driver.begin()
        except TurnTimedOut:
            return "turn_timed_out"
        await _check_end(agent)
        return ending

    def _open_mcp(self, entry: EntryPointName, sandboxes: Sandboxes) -> "McpAddress":
        """Offer the sandboxes over MCP, without tools for a conversation in which the agent replies."""
        gateway, playground, is_work = self._context.gateway, self.playground, entry == "on_task"
        chats = [name for name, sandbox in playground.sandboxes.items() if sandbox.spec.converses and not is_work]
        served = load("clerkship.mcp.task:McpTask")(self.spec.built.task.task_item, is_work, tuple(chats))
        return gateway.tools.open(playground, self._context.base_url, served, sandboxes)

    def _open_traces(self) -> "TraceAddress":
        """Return where the agent sends its spans, which are accepted from the first call on."""
        if self._trace_address is None:
            context, trial = self._context, (self.spec.run, *self.spec.key())
            open_traces = load("clerkship.playground.traces:open_traces")  # few agents send spans
            self._trace_address = open_traces(context.gateway, self.playground, context.base_url, trial, self._times)
        return self._trace_address

    def _export_trace(
        self, exporter: "TraceExporter", times: "EventTimes", finished: FinishedTrial, agent_ended: int
    ) -> None:
        playground, spec = self.playground, self.spec
        hide, variables = playground.redactor(), build_redactor(spec.built.variables, shortest=MIN_SECRET_LENGTH)
        build = load("clerkship.traces.trial_trace:TracedTrial")
        ids = load("clerkship.traces.trace_ids:derive_trace_ids")(spec.run, *spec.key())
        log, sidecar, solver = playground.log.events, playground.sidecar, self._context.solver.name
        record = (finished.task_run, log, sidecar, times, agent_ended, time_ns())
        exporter.add(build(ids, spec.run, solver, *record, lambda text: variables.text(hide(text))))

    def _open_agent(self, models: "Mapping[str, ModelAddress] | None") -> Agent:
        context, spec = self._context, self.spec
        subscribe = partial(context.gateway.subscribe_requests, self.playground)
        solver = solver_for(context.solver, conversations=len(spec.built.people))
        open_traces = self._open_traces if context.accepts_traces else None
        return context.models.open_agent(solver, spec.built.snapshot, spec.trial, subscribe, models, open_traces)

    def _keep_agent(self, agent: Agent) -> Agent:
        """Store the agent, to close it later. If the trial was abandoned meanwhile, close it and raise AgentStopped."""
        with self._agent_lock:
            if not self._is_closed:
                self._agent = agent
                return agent
        agent.close()
        raise AgentStopped

    def _close_agent(self) -> None:
        """Close the agent once, and store the facts that it returns beside the log."""
        with self._agent_lock:
            agent, self._agent, self._is_closed = self._agent, None, True
        if agent is not None:
            for name, fact in agent.close().items():
                self.playground.sidecar.facts[name] = self.playground.redact(fact) if isinstance(fact, str) else fact

    def _emit(self, payload: Any) -> None:
        with self.playground.lock:
            self.playground.emit("run", payload, "agent")

    def _agent_failed(self, error: str) -> Ending:
        first_line, newline, more = error.partition("\n")
        text = self.playground.redact(replace_surrogates(first_line + self._last_refusal(error) + newline + more))
        self._grader.agent_error = text
        self._emit(AgentFailed(error=text))
        return "agent_failed"

    def _last_refusal(self, error: str) -> str:
        """Describe the refusal of a request right before the agent failed.

        Most HTTP clients omit the reason of a refusal. Empty if there was none, or if the error has the reason.
        """
        last = self.playground.log.events[-1] if self.playground.log.events else None
        if last is None or last.actor != "agent" or not isinstance(last.payload, RequestRefused):
            return ""
        if last.payload.reason in error:
            return ""
        return f"; {last.source} had refused its last request: {last.payload.status} {last.payload.reason}"

    def finish(self, ending: Ending, error: str = "") -> FinishedTrial:
        """Close the agent, grade what happened, and send the trace of it, if that is asked for."""
        self._close_agent()
        agent_ended = 0 if self._times is None else time_ns()
        if self._context.gateway.models is not None:
            calls = self._find_calls()
            reached = None if calls is None else calls.limits.reached
            self._context.gateway.models.end_trial(self.playground)
            if reached is not None and reached.ending != "agent_failed" and not error:  # also if the agent went on
                ending, error = reached.ending, reached.message
        if self._context.gateway.traces is not None:
            self._context.gateway.traces.end_trial(self.playground)
        error = error or self._outage
        if self.spec.built.fork_point is not None:
            self.spec.built.fork_point.rewind_unfinished(self.playground)
        finished = self._grader.finish(ending, error)
        if self._context.exporter is not None and self._times is not None:
            self._export_trace(self._context.exporter, self._times, finished, agent_ended)
        return finished

    def build_errored(self, error: str) -> FinishedTrial:
        """Build the record of a trial that could not be finished."""
        return self._grader.build_errored(error)


def _record_times(playground: Playground) -> "EventTimes":
    """Record from now on when events are logged."""
    is_paced = playground.environment.time == "paced"
    times: EventTimes = load("clerkship.traces.times:EventTimes")(playground.now, is_paced=is_paced)
    playground.subscribe(times.record)
    return times


async def _check_end(agent: Agent) -> None:
    if _is_subclass(type(agent), AgentWithEnd):
        await cast(AgentWithEnd, agent).check_end()


@cache
def _is_subclass(agent: type[Agent], protocol: type[Any]) -> bool:
    """Return whether agents of a class have a protocol; kept, because Python takes long to tell."""
    return issubclass(agent, protocol)
