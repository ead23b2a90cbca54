"""One trial: fork, set up, let the agent work, seal, grade. The only loop of the whole is in here."""

import math
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import orjson

from clerkship.actors.contract import (
    Agent,
    AgentError,
    AgentStopped,
    Entry,
    Message,
    OutOfRole,
    RunsProgram,
    Say,
    SimulatedPerson,
    Solver,
    Start,
    Starting,
)
from clerkship.actors.reply import LOG_FULL
from clerkship.engine.build import BuiltTask
from clerkship.engine.fork_point import ForkPoint
from clerkship.engine.models import ALONE, ModelSelection
from clerkship.engine.person_check import Unchecked, check_person
from clerkship.engine.quality import rate
from clerkship.engine.score import Score, fold, implied_checks, is_crash, judge, status_of
from clerkship.engine.setup import open_conversations, set_up
from clerkship.engine.watchdog import Crowding, Watchdog
from clerkship.events.event import Event, Payload, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import (
    AgentAnswered,
    AgentFailed,
    AgentStarted,
    PersonBrokeContract,
    PersonChecked,
    RequestRefused,
)
from clerkship.events.log import Log, Subscriber
from clerkship.events.named import VariableNames
from clerkship.kit.rng import derive
from clerkship.kit.text import writable
from clerkship.kit.wall import perf_counter
from clerkship.llm.asker import Asker, Tally
from clerkship.model.problem import InputError, PlatformError
from clerkship.model.quality import Quality
from clerkship.model.run import Attempt, CriterionRun, Ending, TaskRun
from clerkship.model.scenario import MAX_TURNS, TURN_TIMEOUT, Person, Scenario
from clerkship.model.usage import Role
from clerkship.playground.conversation import INVALID
from clerkship.playground.doors import open_doors
from clerkship.playground.failure import TRACEBACK
from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.pacer import paced
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.playground.waiting import skip
from clerkship.sandbox.door import Sandboxes
from clerkship.sandbox.state import Conversation

LOCK_LIMIT = 2.0
T = TypeVar("T")
CROWDED = "it timed out while more agents were computing than there are cores, and was repeated alone"
STACK = "agent_stack"
"""Name of the fact in a run's sidecar that says where a hung agent was."""
MAX_STACK = 20_000
WORDS = 200
"""Characters of what a person would have said, in a sentence about it; the log has all of it."""


@dataclass(frozen=True)
class TrialSpec:
    """A trial to be done: which task, which repetition, which attempt at it."""

    built: BuiltTask
    run: str
    seed: int
    trial: int = 1
    attempt: int = 1
    alone: bool = False
    """Whether nothing else runs beside it: an earlier attempt timed out while agents held each other up."""

    def key(self) -> Attempt:
        """Which it is, in its run."""
        return Attempt(self.built.snapshot.task.name, self.trial, self.attempt)


@dataclass(frozen=True)
class BatchContext:
    """What all trials of a batch share."""

    solver: Solver
    gateway: Gateway
    base_url: Callable[[], str]
    begin: Callable[[Attempt], None] = lambda attempt: None
    """Told of each attempt before its agent is."""
    subscribers: tuple[Subscriber, ...] = ()
    models: ModelSelection = ALONE
    """Who is asked what no rule decides."""
    lines: ListenerPool | None = None
    """The ways in beside HTTP."""
    watchdog: Watchdog = field(default_factory=Watchdog)


@dataclass(frozen=True)
class Finished:
    """A trial with its verdict, and all that is kept of it."""

    task_run: TaskRun
    log: bytes
    blobs: dict[str, bytes]
    sidecar: bytes
    again: TrialSpec | None = None
    """What to do in its place, where it does not count."""


class TurnTimedOut(Exception):
    """An agent took longer than an answer may."""


class TurnState(NamedTuple):
    """How far a conversation is: turns the agent has had, messages it knows of, turns it said nothing in."""

    turns: int = 0
    heard: int = 0
    silent: int = 0


class Trial:
    """One trial under way. Whoever claims it first finishes it: its own thread, or the one that gave it up."""

    def __init__(self, job: TrialSpec, setting: BatchContext) -> None:
        self.job = job
        self._setting = setting
        snapshot = job.built.snapshot
        self.timeout = snapshot.timeout
        self._began = perf_counter()
        prefix = job.built.fork_point
        seed = derive(job.seed, snapshot.task.name, job.trial) if prefix is None else prefix.seed
        built = job.built
        options = PlaygroundOptions(VariableNames(built.variables), built.reactions, built.domains, built.agent_events)
        self.playground = Playground(snapshot.environment, built.rooms, seed, options)
        self._began_at = self.time()
        self._subscribe()
        self._tally = Tally()
        self._answer: Any = None
        self._answered = False
        self._quality: Quality | None = None
        self._agent_error = ""
        self._claim = threading.Lock()
        self._gate = threading.Lock()
        self._agent: Agent | None = None
        self._over = False
        self.crowding = Crowding()
        self.unchecked = False
        """Whether nobody could say how the person was played."""
        self.turn_deadline = math.inf
        """When the answer that is waited for must be there, in the agent's time."""

    def _subscribe(self) -> None:
        for subscriber in self._setting.subscribers:
            self.playground.log.subscribe(subscriber)

    def time(self) -> float:
        """Return wall seconds as the agent has them, without those in which this process or a person held it up."""
        time, playground = self._setting.watchdog.time(), self.playground
        return time - playground.people.thought.seconds if playground.people.thinks else time

    def program_seconds(self) -> float | None:
        """Return the processor time of the agent's program, where it is one."""
        agent = self._agent
        return agent.program_seconds() if isinstance(agent, RunsProgram) else None

    def claim(self) -> bool:
        """True for the first who asks."""
        return self._claim.acquire(blocking=False)

    def out_of_time(self, ending: Ending) -> Ending:
        """What it is to be stopped now: by the limit of a turn, unless the run's own limit or somebody ends it."""
        early = self.time() < self._began_at + self.timeout
        return "turn_timed_out" if ending == "timed_out" and early else ending

    async def play(self) -> Ending:
        """Set the scene and let the agent work until it is done, the person leaves, or a limit is reached."""
        person = self.job.built.person(self._asker("person"), self._setting.models.prompts, self.job.trial)
        if self.job.built.fork_point is None:
            set_up(self.playground, self.job.built, person)
            if self.playground.steps.errors:
                return "errored"
        try:
            with paced(self.playground):
                ending = await self._work(person)
            if self.playground.log.overflowed:  # it caught the error and went on
                raise AgentError(LOG_FULL)
            return ending
        except AgentError as error:
            if self.playground.broken is not None:  # it only passed on what a simulator raised
                return "errored"
            trace = getattr(error, "trace", "")  # an agent may raise a class of its own
            if trace and isinstance(trace, str):
                self.playground.sidecar.facts["agent_traceback"] = self._trace(trace)
            return self._agent_failed(str(error))

    def keep_stack(self, stack: str) -> None:
        """Keep where the agent was when it was stopped; the first time counts."""
        if stack:
            self.playground.sidecar.facts.setdefault(STACK, self._trace(writable(stack[-MAX_STACK:])))

    def keep_traceback(self, trace: str) -> None:
        """Keep the traceback of a bug of ours, unless one is kept already."""
        if trace:
            self.playground.sidecar.facts.setdefault(TRACEBACK, self.playground.redacted(trace))

    def _trace(self, trace: str) -> str:
        """Where an agent failed; in a replay without the place that its files have on this machine."""
        here = f"{Path.cwd()}{os.sep}"
        return self.playground.redacted(trace.replace(here, "") if self._setting.models.replays else trace)

    async def _work(self, person: SimulatedPerson | None) -> Ending:
        starts = self.job.built.scenario.starts
        entry: Entry = "on_turn" if starts == "person" else "on_task"
        agent = self._hold(self._open())
        if entry not in agent.entries:
            raise InputError.of(f"{self._setting.solver.name} has no {entry}, and this task starts with the {starts}")
        sandboxes = open_doors(self._setting.gateway, self.playground, self._setting.base_url, self._setting.lines)
        task_item = orjson.loads(self.job.built.task_item)  # a copy of its own: what it does to it is its business
        if self.job.built.fork_point is not None and person is not None:
            return await self._go_on(self.job.built.fork_point, agent, sandboxes, person)
        self._emit(AgentStarted(entry=entry, task_item=self.job.built.task.task_item))
        if entry == "on_task":
            self.playground.people.listening = True
        if entry == "on_turn":
            return await self._converse(agent, sandboxes, task_item)
        self._answer = await agent.on_task(task_item or {}, sandboxes)
        self._answered = True
        self._emit(AgentAnswered(answer=self._answer))
        return "agent_done"

    def _asker(self, role: Role) -> Asker | None:
        job = self.job
        return self._setting.models.asker(role, job.built.snapshot, job.trial, self._tally)

    def _open(self) -> Agent:
        setting, job = self._setting, self.job
        overhear = partial(setting.gateway.overhear, self.playground)
        return setting.models.agent(setting.solver, job.built.snapshot, job.trial, overhear)

    def _hold(self, agent: Agent) -> Agent:
        """Keep it for closing; one that comes when the trial was given up already is closed at once."""
        with self._gate:
            if not self._over:
                self._agent = agent
                return agent
        agent.close()
        raise AgentStopped

    def _let_go(self) -> None:
        """Close the agent, once, and keep what it leaves beside the log."""
        with self._gate:
            agent, self._agent, self._over = self._agent, None, True
        if agent is not None:
            for name, fact in agent.close().items():
                self.playground.sidecar.facts[name] = self.playground.redacted(fact) if isinstance(fact, str) else fact

    async def _converse(self, agent: Agent, sandboxes: Sandboxes, task_item: dict[str, Any] | None) -> Ending:
        """The person speaks, the agent answers, until one of them has had enough."""
        built, playground = self.job.built, self.playground
        if "on_start" in agent.entries:
            if not await self._begin(agent, sandboxes, task_item):
                return "turn_timed_out"
        elif built.scenario.stubs:
            raise InputError.of(f"{self._setting.solver.name} has no on_start to be told which actions are stubbed")
        open_conversations(playground, built, cast(str, built.person_at))
        return await self._talk(agent, sandboxes, task_item, TurnState())

    async def _go_on(self, prefix: ForkPoint, agent: Agent, sandboxes: Sandboxes, person: SimulatedPerson) -> Ending:
        """Take a conversation up where it was left, once the agent knows of it."""
        playground, built = self.playground, self.job.built
        try:
            await prefix.tell(agent, sandboxes, playground, self._start(), self._patiently)
        except TurnTimedOut:
            return "turn_timed_out"
        finally:  # one that fails to hear of it fails in that conversation
            prefix.take_up(playground, agent, built.steps, person, self.job.trial)
            self._subscribe()
        stand = TurnState(prefix.fork.turn - 1, prefix.heard, prefix.silent)
        return await self._talk(agent, sandboxes, self._start().task_item, stand)

    async def _patiently(self, doing: Awaitable[T]) -> T:
        """Wait for an agent as long as an answer may take."""
        self.turn_deadline = self.time() + _limits(self.job.built.scenario)[1]
        done = await doing
        if self.time() > self.turn_deadline:
            raise TurnTimedOut
        self.turn_deadline = math.inf
        return done

    async def _talk(
        self, agent: Agent, sandboxes: Sandboxes, task_item: Mapping[str, Any] | None, stand: "TurnState"
    ) -> Ending:
        """From where it stands to its end."""
        built, playground = self.job.built, self.playground
        place = cast(str, built.person_at)
        state = cast(Conversation, playground.sandboxes[place].state)
        slots, most, patience = orjson.loads(built.slots), *_limits(built.scenario)
        turns, heard, silent = stand
        time = self.time
        while state.open:
            message, heard = _next_of_person(state, heard)
            if message is None:
                if skip(playground):
                    continue
                return "turn_limit" if turns >= most and playground.people.thinks else "nothing_left"
            if turns >= most:
                return "turn_limit"
            turns += 1
            playground.sidecar.handed.append(len(playground.log.events))
            said = cast(Utterance, message.payload)
            self.turn_deadline = time() + patience
            metadata = deepcopy(said.metadata)  # the agent may change its copy
            turn = await agent.on_turn(Message(said.text, said.turn, place, task_item, metadata, slots), sandboxes)
            if time() > self.turn_deadline:
                return "turn_timed_out"
            self.turn_deadline = math.inf
            silent += not any(isinstance(part, Say) for part in turn)
            if state.open and not playground.people.deliver(place, turn, last=turns >= most):
                return "agent_silent"
        if turns and silent == turns:
            return "agent_silent"  # they went through all their lines, and never got a word
        return cast(Ending, playground.people.left.get(place, "person_done"))

    async def _begin(self, agent: Agent, sandboxes: Sandboxes, task_item: dict[str, Any] | None) -> bool:
        """Let the agent get ready; what the scenario sets comes on top of what it does by itself. False if it took
        longer than an answer may."""
        try:
            greeting = await self._patiently(cast(Starting, agent).on_start(self._start(task_item), sandboxes))
        except TurnTimedOut:
            return False
        self.playground.people.greet(cast(str, self.job.built.person_at), greeting)
        return True

    def _start(self, task_item: dict[str, Any] | None = None) -> Start:
        """What holds from the start; all of it a copy, for whoever is handed it."""
        built = self.job.built
        return Start(orjson.loads(built.slots), task_item or orjson.loads(built.task_item), orjson.loads(built.stubs))

    def _emit(self, payload: Any) -> None:
        with self.playground.lock:
            self.playground.emit("run", payload, "agent")

    def _agent_failed(self, error: str) -> Ending:
        first, end, rest = error.partition("\n")
        self._agent_error = self.playground.redacted(writable(first + self._last_refusal(error) + end + rest))
        self._emit(AgentFailed(error=self._agent_error))
        return "agent_failed"

    def _last_refusal(self, error: str) -> str:
        """Name the refusal that an agent failed right after, unless its error does: most HTTP clients drop it."""
        last = self.playground.log.events[-1] if self.playground.log.events else None
        if last is None or not isinstance(last.payload, RequestRefused) or last.payload.reason in error:
            return ""
        return f"; {last.source} had refused its last request: {last.payload.status} {last.payload.reason}"

    def finish(self, ending: Ending, error: str = "") -> Finished:
        """Close the agent, seal what happened and grade it. Every criterion is checked, whatever the ending."""
        self._let_go()
        playground = self.playground
        if self.job.built.fork_point is not None:
            self.job.built.fork_point.settle(playground)
        error = error or playground.broken or "; ".join(playground.steps.errors)
        if error and ending != "cancelled":
            ending = "errored"
        elif playground.people.out_of_role is not None and ending != "cancelled":  # whatever the agent made of it
            ending, error = INVALID, _told(playground.people.out_of_role)
        elif self._to_be_checked(ending):
            ending, error = self._check_person(ending)
        if not playground.lock.acquire(timeout=LOCK_LIMIT):
            raise PlatformError("the playground never came to rest")
        try:
            playground.end(ending)
        finally:
            playground.lock.release()
        return self._grade(ending, error)

    def _to_be_checked(self, ending: Ending) -> bool:
        """Whether a judge is to look at how the person was played; not where no verdict hangs on it."""
        person, models = self.job.built.script(self.job.trial), self._setting.models
        if person is None or not person.needs_model or models.skips_judged or status_of(ending) != "completed":
            return False
        return models.checks(person)

    def _check_person(self, ending: Ending) -> tuple[Ending, str]:
        person = cast(Person, self.job.built.script(self.job.trial))
        try:
            found = check_person(person, replace(self._evidence(ending), model=self._asker("person_check")))
        except Unchecked as error:
            self.unchecked = True
            return "errored", str(error)
        said: dict[str, Any] = {"lines": found.lines, "model": found.model, "prompt": found.prompt}
        if found.kept:
            self._emit_of_run(PersonChecked(reason=found.reason, **said))
            return ending, ""
        broken = OutOfRole("model_check", found.reason, "")
        self._emit_of_run(PersonBrokeContract(rule=broken.rule, reason=broken.reason, **said))
        return INVALID, _told(broken)

    def _emit_of_run(self, payload: Payload) -> None:
        with self.playground.lock:
            self.playground.people.listening = False
            self.playground.emit("run", payload, "run")

    def errored(self, error: str) -> Finished:
        """What is left of a trial that could not even be sealed: its log so far, and why."""
        self.playground.close()
        return self._keep("errored", error, (), Score(None, None, {}))

    def _grade(self, ending: Ending, error: str) -> Finished:
        status = status_of(ending)
        built, skips = self.job.built, self._setting.models.skips_judged
        evidence = self._evidence(ending)
        checks = (*built.checks, *implied_checks(evidence))
        criteria = judge(checks, evidence, skip_judged=skips, variables=built.variables)
        if self._setting.models.rates(built.task) and status == "completed":
            self._quality = rate(evidence, self._asker("metrics"), built.variables)
        return self._keep(ending, error, criteria, fold(criteria, status, crashed=is_crash(ending)))

    def _keep(self, ending: Ending, error: str, criteria: tuple[CriterionRun, ...], folded: Score) -> Finished:
        self._setting.gateway.dismiss(self.playground)
        playground, snapshot, log = self.playground, self.job.built.snapshot, self.playground.log
        models = self._setting.models
        missed = models.missed(snapshot.task.name, self.job.trial)
        if missed and ending != "cancelled":  # whoever asked may have made the best of it; there is nothing to go by
            ending, error, criteria, folded = "errored", missed, (), Score(None, None, {})
            self._quality = None
        if not models.replays:
            playground.sidecar.facts["wall_ms"] = round((perf_counter() - self._began) * 1000, 3)
        task_run = TaskRun(
            run=self.job.run,
            task=snapshot.task.name,
            trial=self.job.trial,
            attempt=self.job.attempt,
            status=status_of(ending),
            verdict=folded.verdict,
            score=folded.score,
            axes=folded.axes,
            criteria=criteria,
            ending=ending,
            timeout=self.timeout,
            error=writable(error),
            agent_error=writable(self._agent_error),
            answer=self._answer,
            head=log.head,
            events=len(log.events),
            snapshot=snapshot.hash,
            template=snapshot.template,
            tags=snapshot.task.tags,
            models=self._tally.used(),
            quality=self._quality,
        )
        sidecar = orjson.dumps(playground.sidecar.data(timed=not models.replays))
        finished = Finished(task_run, log.data(), log.blobs, sidecar)
        is_repeated = task_run.status == "timed_out" and self.crowding and not self.job.alone
        return set_aside(finished, self.job) if is_repeated else finished

    def _evidence(self, ending: Ending) -> Evidence:
        snapshot = self.job.built.snapshot
        return Evidence(
            task=self.job.built.task,
            events=self.playground.log.ordered(),
            states={name: component.state for name, component in self.playground.components.items()},
            ending=ending,
            answer=self._answer,
            answered=self._answered,
            entities=snapshot.entities,
            model=self._asker("judge"),
            prompts=self._setting.models.prompts,
            parameters=self._setting.models.parameters,
            votes=self._setting.models.asking.votes,
            observers=self.job.built.observers,
        )


def set_aside(finished: Finished, job: TrialSpec) -> Finished:
    """A trial that timed out while agents held each other up: kept with its log, and done again alone."""
    again = replace(job, attempt=job.attempt + 1, alone=True)
    stopped = cancelled(finished)
    task_run = stopped.task_run.model_copy(update={"error": CROWDED})
    return replace(stopped, task_run=task_run, again=again)


def cancelled(finished: Finished) -> Finished:
    """A trial that was played to its end and not graded to its end: kept with its log, and to be done again."""
    unjudged: dict[str, Any] = {"verdict": None, "score": None, "axes": {}, "criteria": (), "quality": None}
    unjudged |= {"status": "cancelled", "ending": "cancelled"}
    return replace(finished, task_run=finished.task_run.model_copy(update=unjudged))


def not_started(
    job: TrialSpec, error: str, ending: Literal["errored", "cancelled"] = "errored", *, traceback: str = ""
) -> Finished:
    """A trial of which there is nothing: its playground could not be made, or its process died."""
    snapshot = job.built.snapshot
    task_run = TaskRun(
        run=job.run,
        task=snapshot.task.name,
        trial=job.trial,
        attempt=job.attempt,
        status=ending,
        ending=ending,
        error=writable(error),
        head=Log().head,
        events=0,
        snapshot=snapshot.hash,
        template=snapshot.template,
        tags=snapshot.task.tags,
    )
    return Finished(task_run, b"", {}, orjson.dumps({TRACEBACK: traceback} if traceback else {}))


def _told(broken: OutOfRole) -> str:
    said = broken.would_have_said
    instead = f"; they would have said {said[:WORDS]!r}{'…' * (len(said) > WORDS)}" if said else ""
    return f"the person did not keep to their role ({broken.rule}): {broken.reason}{instead}"


def _limits(scenario: Scenario) -> tuple[int, float]:
    """Turns, and wall seconds for each."""
    return scenario.max_turns or MAX_TURNS, scenario.turn_timeout or TURN_TIMEOUT


def _next_of_person(state: Conversation, heard: int) -> tuple[Event | None, int]:
    """The next message the agent has not had, and where to look from then on."""
    while heard < len(state.messages):
        heard += 1
        if state.messages[heard - 1].actor != "agent":
            return state.messages[heard - 1], heard
    return None, heard
