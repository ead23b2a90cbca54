"""Convert one E2E test case to a task: the user's lines in order, and each assertion on the turn of its step.

The n-th user step is turn n. Events before the first are turn 0; slot, action and bot assertions of the first step
include that turn. A case without a user step only starts a session, and its steps are checked on what follows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import regex
from pydantic import BaseModel, Field, JsonValue, model_validator

from clerkship.model.call import AssertionCall
from clerkship.model.environment import CONVERSATION_KIND
from clerkship.model.frozen import Flag, Frozen
from clerkship.model.matcher import is_matcher
from clerkship.model.scenario import Scenario, ScenarioPerson, ScriptLine
from clerkship.model.scenario_file import build_label
from clerkship.model.task import Criterion, Task
from clerkship.rasa.names import SESSION_START_MESSAGE
from clerkship.settings import DEFAULT_MAX_TURNS

FixtureName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]
MetadataName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
StubName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+(::[A-Za-z0-9_]+)?$")]
LegacySlots = Annotated[
    tuple[Annotated[str, Field(min_length=1)] | dict[str, JsonValue], ...],
    Field(min_length=1, description="names, or `{name: value}`"),
]
_STEP_KINDS = ("user", "bot", "utter", "slot_was_set", "slot_was_not_set")
_USER_STEP_KEYS = ("metadata", "assertions", "assertion_order_enabled")
TurnScope = int | dict[str, JsonValue]
E2E_TAG = "e2e"
ASSERTIONS_FROM_START = ("slot_was_set", "slot_was_not_set", "action_executed", "bot_uttered", "bot_did_not_utter")
"""Assertions that, in the first step, also look at turn 0."""
E2E_ASSERTIONS = (
    *ASSERTIONS_FROM_START,
    "flow_started",
    "flow_completed",
    "flow_cancelled",
    "pattern_clarification_contains",
    "generative_response_is_relevant",
    "generative_response_is_grounded",
)
_MAX_TEXT_LENGTH = 60
_UP_TO_TURN_1: TurnScope = {"lte": 1}
_EVENT_KINDS = {
    "flow_started": "agent.flow.started",
    "flow_completed": "agent.flow.completed",
    "flow_cancelled": "agent.flow.cancelled",
    "pattern_clarification_contains": "agent.clarification.offered",
    "action_executed": "agent.action.executed",
    "slot_was_set": "agent.slot.set",
    "bot_uttered": f"{CONVERSATION_KIND}.message.sent",
}
"""Assertions that can be ordered, with the kind of their event."""


class ActionStub(Frozen):
    """What to use instead of running an action."""

    events: Annotated[tuple[dict[str, JsonValue], ...], Field(description="events of the tracker")] = ()
    responses: Annotated[tuple[dict[str, JsonValue], ...], Field(description="responses of the agent, each a map")] = ()


class E2eStep(Frozen):
    """A line of the user with its assertions; or, without assertions, one expected effect."""

    user: Annotated[str | None, Field(min_length=1, description="what the user says")] = None
    metadata: Annotated[
        str | None, Field(description="of a `user` step: name of the metadata to send; overrides that of the test case")
    ] = None
    assertions: Annotated[
        tuple[AssertionCall, ...] | None, Field(description="of a `user` step: checked against the events of its turn")
    ] = None
    assertion_order_enabled: Annotated[
        Flag, Field(description="whether the asserted events must have happened in this order")
    ] = False
    bot: Annotated[str | None, Field(min_length=1, description="the agent says exactly this")] = None
    utter: Annotated[str | None, Field(min_length=1, description="the agent says the response with this name")] = None
    slot_was_set: LegacySlots | None = None
    slot_was_not_set: LegacySlots | None = None

    @model_validator(mode="after")
    def _check_one_kind(self) -> "E2eStep":
        kinds = [kind for kind in _STEP_KINDS if kind in self.model_fields_set]
        if len(kinds) > 1:
            raise ValueError(f"a step has one key, not {len(kinds)} ({', '.join(kinds)}); put `-` before each step")
        if not kinds or getattr(self, kinds[0]) is None:
            raise ValueError(f"expected one of {', '.join(f'`{kind}`' for kind in _STEP_KINDS)}")
        misplaced = [key for key in _USER_STEP_KEYS if key in self.model_fields_set]
        if self.user is None and misplaced:
            raise ValueError(f"`{misplaced[0]}` belongs to a `user` step")
        if "assertion_order_enabled" in self.model_fields_set and not self.assertions:
            raise ValueError("`assertion_order_enabled` needs `assertions`")
        return self


class E2eCase(Frozen):
    """One conversation."""

    test_case: Annotated[str, Field(min_length=1, description="name of the test case; cut after 150 characters")]
    fixtures: Annotated[
        tuple[str, ...],
        Field(description="names of fixtures, whose slots are set first; later ones override earlier ones"),
    ] = ()
    metadata: Annotated[str | None, Field(description="name of the metadata to send with every line of the user")] = (
        None
    )
    steps: Annotated[
        tuple[E2eStep, ...], Field(description="the conversation; without a `user` step, only its start is checked")
    ]


class E2eFile(Frozen):
    """Test cases and what they share. A `conftest.yml` has everything but test cases, for files in its folder and
    below.
    """

    fixtures: Annotated[
        tuple[dict[FixtureName, tuple[dict[str, JsonValue], ...]], ...],
        Field(description="items of the form `{name: [{slot: value}, …]}`"),
    ] = ()
    metadata: Annotated[
        tuple[dict[MetadataName, dict[str, JsonValue]], ...],
        Field(description="items of the form `{name: {key: value}}`"),
    ] = ()
    stub_custom_actions: Annotated[
        dict[StubName, ActionStub],
        Field(description="stubs of actions, by name; `test_name::action` applies to that test case only"),
    ] = {}
    llm_judge: Annotated[
        dict[str, JsonValue] | None, Field(description="accepted, but not used: the judge is set for a run")
    ] = None
    test_cases: tuple[E2eCase, ...] = ()


@dataclass(frozen=True)
class CaseFixtures:
    """The values of the fixtures, metadata and stubs that a test case refers to."""

    slots: Mapping[str, JsonValue] = field(default_factory=dict)
    metadata: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    stubs: Mapping[str, JsonValue] = field(default_factory=dict)


def build_task(case: E2eCase, name: str, fixtures: CaseFixtures, model: Callable[[str], type[BaseModel]]) -> Task:
    """Return the task for a test case; `model` returns the model of an assertion by name. Every criterion gates."""
    lines = tuple(_build_line(step.user, case, step, fixtures) for step in case.steps if step.user is not None)
    lines = lines or (_build_line(SESSION_START_MESSAGE, case, None, fixtures),)
    return Task(
        name=name,
        scenario=Scenario(
            person=ScenarioPerson(lines=lines),
            starts="person",
            max_turns=len(lines) if len(lines) > DEFAULT_MAX_TURNS else None,
            initial_slots=dict(fixtures.slots),
            stubs=dict(fixtures.stubs),
        ),
        criteria=tuple(_build_criteria(case, model)),
        tags=(E2E_TAG,),
    )


def has_assertions(case: E2eCase) -> bool:
    """Return whether a test case has assertions. Then nothing else in it is checked."""
    return any(step.assertions for step in case.steps)


def _build_line(text: str, case: E2eCase, step: E2eStep | None, fixtures: CaseFixtures) -> ScriptLine:
    metadata: dict[str, JsonValue] = {}
    for name in (case.metadata, step.metadata if step is not None else None):
        metadata |= fixtures.metadata[name] if name is not None else {}
    return ScriptLine(say=text, metadata=metadata or None)


def _build_criteria(case: E2eCase, model: Callable[[str], type[BaseModel]]) -> Iterator[Criterion]:
    turn, asserts = 0, has_assertions(case)
    start: TurnScope = 0 if any(step.user is not None for step in case.steps) else _UP_TO_TURN_1
    for step in case.steps:
        if step.user is not None:
            turn += 1
            for call in step.assertions or ():
                yield _build_criterion(
                    turn, _build_short_label(call), scope_call(call, get_turn_scope(call.name, turn), model(call.name))
                )
            if step.assertion_order_enabled:
                yield from _build_order_criterion(step.assertions or (), turn)
        elif not asserts:
            words, call = _convert_legacy_step(step)
            yield _build_criterion(turn, words, scope_call(call, turn or start, model(call.name)))


def _build_criterion(turn: int, words: str, call: AssertionCall) -> Criterion:
    when = f"turn {turn}" if turn else "before turn 1"
    return Criterion(label=f"{when}: {words}", assertion=call, gate=True)


def get_turn_scope(name: str, turn: int) -> TurnScope:
    """Return the turns that an assertion of a step looks at."""
    return _UP_TO_TURN_1 if turn == 1 and name in ASSERTIONS_FROM_START else turn


def scope_call(call: AssertionCall, turn: TurnScope, model: type[BaseModel]) -> AssertionCall:
    """Return the assertion limited to a turn: as a whole, or for each entry if its arguments are a list."""
    args: Any = call.args
    if "turn" in model.model_fields:
        whole = args if isinstance(args, dict) else {getattr(model, "shorthand", None) or "name": args}
        return _build_call(call.name, {**whole, "turn": turn})
    return _build_call(call.name, [{**entry, "turn": turn} for entry in _list_slot_entries(args)])


def _list_slot_entries(args: Any) -> list[dict[str, Any]]:
    """Return the entries of a list of slots, each as a map."""
    listed = args if isinstance(args, list) else [args]
    return [{"name": entry} if isinstance(entry, str) else entry for entry in listed]


def _build_call(name: str, args: Any) -> AssertionCall:
    return AssertionCall.model_validate({name: args})


def _build_short_label(call: AssertionCall) -> str:
    return _shorten(build_label(call))


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT_LENGTH else f"{line[: _MAX_TEXT_LENGTH - 1]}…"


def _convert_legacy_step(step: E2eStep) -> tuple[str, AssertionCall]:
    """Return a label and an assertion for a step of the older format without assertions."""
    if step.bot is not None:
        exactly = rf"\A{regex.escape(step.bot, special_only=True, literal_spaces=True)}\Z"
        return f"bot({_shorten(step.bot)})", _build_call("bot_uttered", {"text_matches": exactly})
    if step.utter is not None:
        return f"utter({step.utter})", _build_call("bot_uttered", {"utter_name": step.utter})
    name = "slot_was_set" if step.slot_was_set is not None else "slot_was_not_set"
    call = _build_call(name, [entry for slot in getattr(step, name) for entry in _convert_legacy_slots(slot)])
    return build_label(call), call


def _convert_legacy_slots(slot: str | dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
    return [{"name": slot}] if isinstance(slot, str) else [{"name": name, "value": slot[name]} for name in slot]


def _build_order_criterion(calls: tuple[AssertionCall, ...], turn: int) -> Iterator[Criterion]:
    """Yield a criterion that the asserted events happened in order. Other assertions are ignored."""
    ordered = [call for call in calls if call.name in _EVENT_KINDS]
    if len(ordered) > 1:
        widest = next((wide for call in ordered if (wide := get_turn_scope(call.name, turn)) != turn), turn)
        yield _build_criterion(
            turn,
            "in order",
            _build_call("sequencing", {"steps": [*map(_build_sequence_step, ordered)], "turn": widest}),
        )


def _build_sequence_step(call: AssertionCall) -> dict[str, Any]:
    step = {"event": _EVENT_KINDS[call.name], "where": _build_where(call)}
    return step | {"actor": "agent"} if call.name == "bot_uttered" else step  # messages of the user have the same kind


def _build_where(call: AssertionCall) -> dict[str, Any]:
    """Return the conditions that identify the event of an assertion, whose arguments are checked separately."""
    args: Any = call.args
    match call.name:
        case "flow_started":
            return {"flow_id": {"in": list_flow_ids(args)}}
        case "pattern_clarification_contains":
            ids = list_flow_ids(args) if isinstance(args, dict) else []
            return {"flow_ids": {"contains": ids[0]}} if len(ids) == 1 else {}
        case "slot_was_set":
            last = _list_slot_entries(args)[-1]
            where: dict[str, Any] = {"name": {"equals": last["name"]}}
            if "value" in last:
                where["value"] = last["value"] if is_matcher(last["value"]) else {"equals": last["value"]}
            return where
        case "bot_uttered":
            return _build_utterance_where(args)
    named = {"name": args} if call.name == "action_executed" else {"flow_id": args}
    return named if isinstance(args, str) else {key: args[key] for key in _NAME_FIELDS if args.get(key) is not None}


_NAME_FIELDS = ("name", "flow_id", "flow_step_id")


def _build_utterance_where(args: dict[str, Any]) -> dict[str, Any]:
    where: dict[str, Any] = {"utter_name": args["utter_name"]} if args.get("utter_name") else {}
    if args.get("text_matches"):
        where["text"] = {"matches": args["text_matches"]}
    for number, button in enumerate(args.get("buttons") or ()):
        where[f"buttons.{number}.title"] = {"equals": button.get("title")}
    return where


def list_flow_ids(args: Any) -> list[str]:
    """Return the flows that an assertion names, in any of its forms."""
    ids = args.get("flow_ids") if isinstance(args, dict) else args
    return [ids] if isinstance(ids, str) else list(ids or ())
