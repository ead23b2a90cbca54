"""One step of a sequence: an event by kind and payload, or by its name in a scenario file."""

from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from clerkship.assertions import skills
from clerkship.assertions.occurrence import HappenedAssertion
from clerkship.assertions.tools import ToolExecutedAssertion
from clerkship.assertions.utterances import BotUttered
from clerkship.events import agent
from clerkship.events.event import Event, Utterance, is_done_by_agent
from clerkship.events.query import describe_fields, describe_match, matches
from clerkship.model.duration import Duration
from clerkship.model.names import did_you_mean, find_nearest_name
from clerkship.model.scenario import EventMatch

_SLOT_WAS_SET = "slot_was_set"
_NAMED_EVENTS: dict[str, tuple[str, str]] = {
    "flow_started": (agent.FlowStarted.kind, "flow_id"),
    "flow_completed": (agent.FlowCompleted.kind, "flow_id"),
    "flow_cancelled": (agent.FlowCancelled.kind, "flow_id"),
    "flow_interrupted": (agent.FlowInterrupted.kind, "flow_id"),
    "action_executed": (agent.ActionExecuted.kind, "name"),
    _SLOT_WAS_SET: (agent.SlotSet.kind, "name"),
    "memory_was_set": (agent.MemorySet.kind, "name"),
    "memory_was_cleared": (agent.MemoryCleared.kind, "name"),
}
_NESTED_ASSERTIONS: dict[str, type[HappenedAssertion]] = {check.name: check for check in skills.ALL}
_NESTED_ASSERTIONS[ToolExecutedAssertion.name] = ToolExecutedAssertion
_CONVERSATION_EVENTS = {kind for kind, _ in _NAMED_EVENTS.values()}
_CONVERSATION_EVENTS |= {check.event.kind for check in _NESTED_ASSERTIONS.values() if check.name != "tool_executed"}
_UTTERED, _SEQUENCE = BotUttered.name, "sequencing"
STEP_NAMES = (*_NAMED_EVENTS, _UTTERED, *_NESTED_ASSERTIONS)
_NAME_BY_KIND = {kind: (name, field) for name, (kind, field) in _NAMED_EVENTS.items()}


def _allow_bare(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    named = {name: {"type": "string", "minLength": 1} for name in _NAMED_EVENTS}
    named |= {name: {"type": ["string", "object"]} for name in (_UTTERED, *_NESTED_ASSERTIONS)}
    bare = {"type": "object", "properties": named, "maxProperties": 1}
    schema.clear()
    schema.update({"anyOf": [whole, bare | {"additionalProperties": False, "minProperties": 1}]})


class SequenceStep(EventMatch):
    """One event of the sequence: a map with `event` and what it must look like (ours), or a map with one key. The keys
    `flow_started`, `flow_completed`, `flow_cancelled`, `flow_interrupted`, `action_executed`, `slot_was_set`,
    `memory_was_set` and `memory_was_cleared` take a name. `slot_was_set` does not match a value that `initial_slots`
    replace; `event: agent.slot.set` matches every one. `bot_uttered` takes the name of a response, or its usual fields
    (ours). The `skill_…` and `ordered_block_…` assertions and `tool_executed` take their usual fields. No key
    takes `count` or `turn`.
    """

    model_config = ConfigDict(json_schema_extra=_allow_bare)
    within: Annotated[Duration | None, Field(description="the longest simulated time since the step before (ours)")] = (
        None
    )
    until: Annotated[EventMatch | None, Field(description="must happen before the next event like this (ours)")] = None
    _utterance: BotUttered | None = PrivateAttr(default=None)
    _is_slot_name: bool = PrivateAttr(default=False)

    @cached_property
    def utterance(self) -> BotUttered | None:
        """What the agent says in this step; None if the step is another event."""
        return self._utterance

    @property
    def is_of_conversation(self) -> bool:
        """Whether the step is an utterance of the agent, or an event of its flows, slots, skills or memory."""
        return self._utterance is not None or self.event in _CONVERSATION_EVENTS

    @cached_property
    def is_slot_name(self) -> bool:
        """Whether it is `slot_was_set` with a name, for which not every event of the log counts as set."""
        return self._is_slot_name

    @cached_property
    def is_limited(self) -> bool:
        """Whether `within` or `until` limits the gap to the step before."""
        return self.within is not None or self.until is not None

    def accepts(self, event: Event) -> bool:
        """Return whether an event is this step."""
        utterance, payload = self.utterance, event.payload
        if utterance is None:
            return matches(event, self)
        if not isinstance(payload, Utterance) or not is_done_by_agent(event):
            return False
        return utterance.sandbox in (None, event.source) and all(utterance.match_properties(event).values())

    @cached_property
    def description(self) -> str:
        """The step in words; in those of the file if it has a name for it. Cached, since every trial uses it."""
        if self._utterance is not None:
            return _describe_utterance(self._utterance)
        name, field = _NAME_BY_KIND.get(self.event, ("", ""))
        argument = self.where.get(field)
        plain = (
            self.where.keys() == {field} and isinstance(argument, str) and self.sandbox is None and self.actor is None
        )
        return f"{name} {argument}" if name and plain else describe_match(self)

    @model_validator(mode="wrap")
    @classmethod
    def _from_bare(cls, value: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(value, list):
            raise ValueError(_NO_NESTING)
        if not isinstance(value, dict) or "event" in value:
            return build(value)
        name, argument = _get_only_key(value)
        if name == _UTTERED:
            utterance = _build_utterance(argument)
            step = build({"event": "*", "actor": "agent", "where": utterance.expected()})
            step._utterance = utterance
            return step
        step = build(_build_named(name, argument) if name in _NAMED_EVENTS else _build_from_assertion(name, argument))
        step._is_slot_name = name == _SLOT_WAS_SET
        return step


def _describe_utterance(utterance: BotUttered) -> str:
    """Describe a step in which the agent says something: the name of its response, then its other properties."""
    expected = utterance.expected()
    named = f" {expected.pop('utter_name')}" if utterance.utter_name is not None else ""
    fields = f" where {describe_fields(expected)}" if expected else ""
    return f"{_UTTERED}{named}{fields}"


_NO_NESTING = "a sequence cannot contain another: write all steps in one list, in their order"


def _get_only_key(step: dict[Any, Any]) -> tuple[str, Any]:
    """Return the key of a step, and its value. Raise ValueError with the reason if there is no such step."""
    if len(step) > 1 and any(key in STEP_NAMES for key in step):
        limits = [f"`{key}`" for key in ("within", "until") if key in step]
        hint = f"{' and '.join(limits)} can only stand beside `event: …`" if limits else "put `-` before each step"
        raise ValueError(f"a step has one key, not {len(step)} ({', '.join(map(str, step))}); {hint}")
    if len(step) == 1:
        [(name, value)] = step.items()
        if name in STEP_NAMES:
            return name, value
        if name == _SEQUENCE:
            raise ValueError(_NO_NESTING)
        if name in _ABSENCES:
            reason = "says that something did not happen, which has no place in an order"
            raise ValueError(f"`{name}` cannot be a step: it {reason}; put it beside the sequence, as an assertion")
    nearest = next(
        (name for name in (find_nearest_name(str(key), ("event", *STEP_NAMES)) for key in step) if name), None
    )
    suggestion = f"did you mean `{nearest}`? " if nearest is not None and nearest not in step else ""
    raise ValueError(f"{suggestion}expected {{event: kind, …}}, or one of {', '.join(STEP_NAMES)} with a name")


_ABSENCES = {"bot_did_not_utter", "slot_was_not_set", "memory_was_not_set", "flow_not_started", "flow_not_completed"}
_ABSENCES |= {"flow_not_cancelled", "action_not_executed", "never"}


def _build_named(name: str, argument: Any) -> dict[str, Any]:
    kind, field = _NAMED_EVENTS[name]
    if not isinstance(argument, str) or not argument.strip():
        written_name = _find_name(argument)
        example = f": write `{name}: {written_name}`" if written_name else ""
        raise ValueError(f"`{name}` in a sequence takes a name, as text{example}")
    return {"event": kind, "where": {field: argument}}


def _find_name(argument: Any) -> str:
    """Return the name in the arguments of the assertion; empty if there is not exactly one."""
    if isinstance(argument, list):
        return _find_name(argument[0]) if len(argument) == 1 else ""
    if isinstance(argument, dict):
        names = [argument[key] for key in ("name", "flow_id", "flow_ids") if key in argument]
        return _find_name(names[0]) if len(names) == 1 else ""
    return argument if isinstance(argument, str) else ""


def _build_utterance(argument: Any) -> BotUttered:
    try:
        utterance = BotUttered.model_validate({"utter_name": argument} if isinstance(argument, str) else argument)
    except ValidationError as error:
        raise ValueError(_describe_error(_UTTERED, error)) from None
    if utterance.count is not None or utterance.turn is not None:
        raise ValueError(f"`{_UTTERED}` in a sequence takes no `count` and no `turn`")
    return utterance


def _build_from_assertion(name: str, argument: Any) -> dict[str, Any]:
    """Return the event that an assertion looks for."""
    try:
        assertion = _NESTED_ASSERTIONS[name].model_validate(argument)
    except ValidationError as error:
        raise ValueError(_describe_error(name, error)) from None
    if assertion.count is not None or assertion.turn is not None:
        raise ValueError(f"`{name}` in a sequence takes no `count` and no `turn`")
    where = {key: value for key, value in assertion.expected_fields.items() if key != "arguments"}
    for key, value in assertion.expected_fields.get("arguments", {}).items():
        if not key or any(sign in key for sign in ".[*"):
            raise ValueError(f"{name}: an argument named `{key}` cannot be looked for in a sequence")
        where[f"arguments.{key}"] = value
    return {"event": assertion.event.kind, "where": where}


def _describe_error(name: str, error: ValidationError) -> str:
    """Describe the first mistake in a step, unknown keys before missing ones."""
    first = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")[0]
    key = str(first["loc"][-1]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return f"{name}: unknown key `{key}`; {did_you_mean(key, _list_fields(name))}"
    if first["type"] == "missing":
        return f"{name}: `{key}` is missing"
    return ".".join(map(str, (name, *first["loc"]))) + f": {first['msg'].removeprefix('Value error, ')}"


def _list_fields(name: str) -> list[str]:
    assertion = BotUttered if name == _UTTERED else _NESTED_ASSERTIONS[name]
    return [field for field in assertion.model_fields if field not in ("count", "turn")]
