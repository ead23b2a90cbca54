"""Let a person do a task by hand: the plan of its run, and what their page shows and does.

The run is an ordinary one, whose agent is the person. See docs/decisions/0046-play-by-hand.md.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import orjson

from clerkship.actors.contract import AgentError
from clerkship.actors.human import GAVE_UP, HumanSolver, NothingAsked, PersonQuestion
from clerkship.actors.reply import parse_report
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import Payload, Utterance
from clerkship.events.request_line import render_logged_request
from clerkship.kit.command_option import Option
from clerkship.kit.wall import monotonic
from clerkship.model.errors import InputError
from clerkship.model.redaction import Redactor
from clerkship.model.run import TaskRun
from clerkship.playground.failure import SimulatorBroken, guard
from clerkship.playground.playground import Playground
from clerkship.report.labels import rerun_command
from clerkship.report.outcome import OUTCOMES, describe_ending, outcome
from clerkship.sandbox.handle import Dropped, Incomplete
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.tools import BadArguments, Tool
from clerkship.service.planning.freeze import freeze_tasks
from clerkship.service.planning.load import load_suite
from clerkship.service.planning.options import Judge, PersonModel, Seed
from clerkship.service.planning.plan import RunPlan, build_plan, choose_models
from clerkship.service.planning.request import RunRequest
from clerkship.service.planning.select import select_tasks
from clerkship.service.up import find_task
from clerkship.settings import Settings

DEFAULT_TIME_LIMIT = 8 * 3600.0
"""Seconds that a person has, if they set no limit."""
MAX_EVENTS_SHOWN = 500
"""Events in one reply; the page asks for the rest."""
MAX_TASKS_LISTED = 8
WAIT_TOOL = "wait"
_BROKEN = "the simulator failed; the trial is errored"


@dataclass(frozen=True, kw_only=True)
class PlayRequest:
    """Which task a person does, and within which limits."""

    task: Annotated[
        str | None, Option(help="Name of a task, or a part of it; optional if there is only one.", metavar="TASK")
    ] = None
    path: Annotated[
        Path, Option(("--from",), "Folder of YAML files, one file of it, or a published version.", "PATH")
    ] = Path()
    timeout: Annotated[
        float | None,
        Option(
            ("--timeout",),
            "Your time limit, instead of the task's: seconds, or such as 90m. [default: 8h]",
            "TIME",
            is_duration=True,
        ),
    ] = None
    seed: Seed = None
    judge: Judge = None
    person: PersonModel = None


class PlaySession:
    """One trial by a person, used by the threads of their page. The run itself is executed elsewhere."""

    def __init__(self, time_limit: float | None = None) -> None:
        self.time_limit = DEFAULT_TIME_LIMIT if time_limit is None else time_limit
        self.solver = HumanSolver(self.time_limit, self._watch)
        self.task = self.command = ""
        self._agent = self.solver.agent
        self._playground: Playground | None = None
        self._redactor = Redactor({})
        self._deadline = 0.0
        self._last: PersonQuestion | None = None
        self._result: dict[str, Any] | None = None
        self.has_page = False
        """Whether a page has ever asked for the state."""
        self.is_told = False
        """Whether the page has got the result."""

    def _watch(self, playground: Playground) -> None:
        self._playground, self._deadline = playground, monotonic() + self.time_limit

    def begin(self, plan: RunPlan, redactor: Redactor) -> None:
        """Take the name of the task, and what hides the values of its variables."""
        self.task, self._redactor = plan.snapshots[0].task.name, redactor
        self.command = redactor.text(rerun_command(plan.run))

    def finish(self, task_run: TaskRun) -> None:
        """Take the graded trial, to be shown."""
        self._result = describe_result(task_run)

    def describe(self, after: int) -> dict[str, Any]:
        """Return the state of the trial, and what the person did and heard after an event.

        All other events are left out: they show what the systems hide, such as the menus of a phone line.
        """
        question, playground, result = self._agent.question, self._playground, self._result
        if question is not None:
            self._last = question
        state = "over" if result else "starting" if self._last is None else "busy"
        if question is not None:
            state = "turn" if question.is_turn else "task"
        events = self._list_events(playground, after) if playground is not None else []
        data = {
            "state": state,
            "task": self.task,
            "command": self.command,
            "time_limit": self.time_limit,
            "seconds_left": max(self._deadline - monotonic(), 0.0) if playground is not None else self.time_limit,
            "now": playground.now.astimezone(playground.zone).isoformat() if playground is not None else None,
            "question": _describe_question(self._last),
            "events": events,
            "result": result,
        }
        self.has_page, self.is_told = True, result is not None
        return data

    def _list_events(self, playground: Playground, after: int) -> list[dict[str, Any]]:
        lines, talks = playground.log.lines, self._last is not None and self._last.is_turn
        shown = (
            event
            for event in islice(playground.log.events, after, len(lines))
            if event.actor == "agent" or (talks and isinstance(event.payload, Utterance))
        )
        return [self._describe_event(playground, lines[event.seq - 1]) for event in islice(shown, MAX_EVENTS_SHOWN)]

    def _describe_event(self, playground: Playground, line: bytes) -> dict[str, Any]:
        event = self._redactor.event(orjson.loads(line))
        fields = ("seq", "source", "kind", "actor", "payload")
        at = datetime.fromisoformat(event["at"]).astimezone(playground.zone).isoformat()
        return {name: event[name] for name in fields} | {"at": at, "request": render_logged_request(event) or ""}

    def describe_tools(self) -> dict[str, Any]:
        """Return the sandboxes with their tools, and the events that an agent may report. Empty before it starts."""
        question = self._last
        if question is None:
            return {"sandboxes": [], "reports": []}
        tools = question.toolbox.tools.items()
        sandboxes = [
            {
                "name": name,
                "kind": connection["kind"],
                "tools": [_describe_tool(key, tool) for key, tool in tools if tool.sandbox == name],
                "connection": connection,
            }
            for name, connection in question.message["sandboxes"].items()
        ]
        reports = question.sandboxes.agent_events.items()
        return {"sandboxes": sandboxes, "reports": [_describe_report(kind, event) for kind, event in reports]}

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a tool as that of any agent, and return the reply. Raises Refusal."""
        playground = self._playground
        assert playground is not None  # else there is no question
        try:
            outcome: dict[str, Any] | Refusal = self._agent.use(
                lambda question: guard(playground, "a call by hand", lambda: _call(name, arguments, question))
            )
        except SimulatorBroken:
            self.answer(AgentError(_BROKEN))
            raise Refusal(500, "broken", _BROKEN) from None
        except NothingAsked:
            raise _refuse_now() from None
        if isinstance(outcome, Refusal):
            raise outcome
        return outcome

    def answer(self, reply: Mapping[str, Any] | AgentError) -> None:
        """Take the answer to the task, the reply to a message, or a failure. Raises Refusal."""
        try:
            self._agent.answer(reply)
        except NothingAsked:
            raise _refuse_now() from None
        except AgentError as error:
            raise Refusal(400, "invalid", str(error)) from None

    def give_up(self) -> None:
        """End the trial as one whose agent failed: it is graded as it stands, and does not pass. Raises Refusal."""
        self.answer(AgentError(GAVE_UP))


def _refuse_now() -> Refusal:
    return Refusal(409, "not_your_turn", "the task does not wait for you now: it has ended, or someone else is acting")


def _describe_tool(name: str, tool: Tool) -> dict[str, Any]:
    operation, route = tool.operation, tool.route
    return {
        "name": name,
        "operation": operation.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "reads": route is not None and route.method == "GET",
    }


def _describe_report(kind: str, event: type[Payload]) -> dict[str, Any]:
    """Return an event that an agent may report, as a tool."""
    parameters = event.model_json_schema()
    description = str(parameters.pop("description", ""))
    return {"name": kind, "operation": kind, "description": description, "parameters": parameters, "reads": False}


def _call(name: str, arguments: Mapping[str, Any], question: PersonQuestion) -> dict[str, Any] | Refusal:
    """Return what a tool replied, or why it was not called."""
    toolbox = question.toolbox
    try:
        if name == WAIT_TOOL:
            return {"status": 200, "media": "text/plain", "text": toolbox.wait(dict(arguments))}
        if name in question.sandboxes.agent_events:
            question.sandboxes.report(parse_report({**arguments, "kind": name}, question.sandboxes.agent_events))
            return {"status": 200, "media": "text/plain", "text": "reported"}
        toolbox.check_name(name)
        return render_reply(toolbox.use_tool(name, arguments))
    except BadArguments as error:
        return Refusal(400, "invalid", str(error))
    except Incomplete as incomplete:
        return render_reply(incomplete.reply) | {"problem": str(incomplete)}
    except Dropped as dropped:
        return {"status": 0, "media": "text/plain", "text": "", "problem": str(dropped)}
    except AgentError as error:
        return Refusal(400, "invalid", str(error))


def render_reply(reply: Reply) -> dict[str, Any]:
    """Return a reply with its body as text, or in base64 if it is none."""
    try:
        return {"status": reply.status, "media": reply.media, "text": reply.body.decode()}
    except UnicodeDecodeError:
        return {"status": reply.status, "media": reply.media, "data": base64.b64encode(reply.body).decode()}


def _describe_question(question: PersonQuestion | None) -> dict[str, Any] | None:
    if question is None:
        return None
    fields = ("type", "task_item", "text", "turn", "sandbox", "channel", "address", "subject")
    return {name: question.message[name] for name in fields if name in question.message}


def describe_result(task_run: TaskRun) -> dict[str, Any]:
    """Return the verdict of a trial with its criteria."""
    name = outcome(task_run)
    fields = {"label", "assertion", "status", "passed", "score", "weight", "gate", "axis", "detail", "monitor"}
    return {
        "run": task_run.run,
        "outcome": name,
        "word": OUTCOMES.get(name, (name, ""))[0],
        "ending": describe_ending(task_run),
        "score": task_run.score,
        "error": task_run.error or task_run.agent_error,
        "criteria": [each.model_dump(mode="json", include=fields) for each in task_run.criteria],
    }


def plan_play(request: PlayRequest, session: PlaySession, settings: Settings, catalog: RegisteredCatalog) -> RunPlan:
    """Plan a run of one task by a person. Raise InputError if the name is not that of one task."""
    run_request = RunRequest(
        path=request.path,
        agent=session.solver,
        tasks=(request.task,) if request.task else (),
        timeout=request.timeout,
        seed=request.seed,
        judge=request.judge,
        person=request.person,
    )
    loaded = load_suite(run_request, settings, catalog)
    names = tuple(loaded.library.tasks)
    wanted = next(iter(loaded.request.tasks[::-1]), names[0] if len(names) == 1 else None)
    if wanted is None:
        listed = "; ".join(names[:MAX_TASKS_LISTED]) + ("; …" if len(names) > MAX_TASKS_LISTED else "")
        raise InputError.of(f"name one of the {len(names):,} tasks in {request.path}", hint=f"such as {listed}")
    only = frozenset({find_task(loaded.library, wanted).task.name})
    selected = select_tasks(replace(loaded, request=replace(loaded.request, tasks=(), only=only)))
    frozen = freeze_tasks(selected)
    return build_plan(frozen, choose_models(frozen))
