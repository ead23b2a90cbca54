"""One step of a sequence: an event by its kind and payload, or by the name a scenario file has for it."""

from functools import cached_property
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from clerkship.assertions.occurrence import Happened
from clerkship.assertions.ordered_block_cancelled import OrderedBlockCancelled
from clerkship.assertions.ordered_block_completed import OrderedBlockCompleted
from clerkship.assertions.ordered_block_entered import OrderedBlockEntered
from clerkship.assertions.ordered_block_interrupted import OrderedBlockInterrupted
from clerkship.assertions.ordered_block_resumed import OrderedBlockResumed
from clerkship.assertions.skill_activated import SkillActivated
from clerkship.assertions.skill_cancelled import SkillCancelled
from clerkship.assertions.skill_completed import SkillCompleted
from clerkship.assertions.skill_interrupted import SkillInterrupted
from clerkship.assertions.skill_resumed import SkillResumed
from clerkship.assertions.tool_executed import ToolExecuted
from clerkship.events import agent
from clerkship.events.query import describe_match
from clerkship.model.duration import Duration
from clerkship.model.names import did_you_mean
from clerkship.model.names import find_nearest_name as nearest_name
from clerkship.model.scenario import EventMatch

_BARE: dict[str, tuple[str, str]] = {
    "flow_started": (agent.FlowStarted.kind, "flow_id"),
    "flow_completed": (agent.FlowCompleted.kind, "flow_id"),
    "flow_cancelled": (agent.FlowCancelled.kind, "flow_id"),
    "flow_interrupted": (agent.FlowInterrupted.kind, "flow_id"),
    "action_executed": (agent.ActionExecuted.kind, "name"),
    "slot_was_set": (agent.SlotSet.kind, "name"),
    "memory_was_set": (agent.MemorySet.kind, "name"),
    "memory_was_cleared": (agent.MemoryCleared.kind, "name"),
}
_WHOLE: dict[str, type[Happened]] = {
    check.name: check
    for check in (
        SkillActivated,
        SkillCompleted,
        SkillCancelled,
        SkillInterrupted,
        SkillResumed,
        OrderedBlockEntered,
        OrderedBlockCompleted,
        OrderedBlockCancelled,
        OrderedBlockInterrupted,
        OrderedBlockResumed,
        ToolExecuted,
    )
}
NAMES = (*_BARE, *_WHOLE)
_NAMES = {kind: (name, field) for name, (kind, field) in _BARE.items()}


def _or_bare(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    named = {name: {"type": "string", "minLength": 1} for name in _BARE}
    named |= {name: {"type": ["string", "object"]} for name in _WHOLE}
    bare = {"type": "object", "properties": named, "maxProperties": 1}
    schema.clear()
    schema.update({"anyOf": [whole, bare | {"additionalProperties": False, "minProperties": 1}]})


class SequenceStep(EventMatch):
    """One event of the sequence: an object with what it must look like (ours), or a map with one key. Of these
    `flow_started`, `flow_completed`, `flow_cancelled`, `flow_interrupted`, `action_executed`, `slot_was_set`,
    `memory_was_set` and `memory_was_cleared` take a name; the `skill_…` and `ordered_block_…` assertions and
    `tool_executed` take what they take elsewhere, but for `count` and `turn`."""

    model_config = ConfigDict(json_schema_extra=_or_bare)
    within: Annotated[Duration | None, Field(description="simulated time since the step before (ours)")] = None
    until: Annotated[EventMatch | None, Field(description="must happen before the next event like this (ours)")] = None

    @cached_property
    def words(self) -> str:
        """The step in words: the file's own, where it has a name for it. Asked for in every trial, always the same."""
        name, field = _NAMES.get(self.event, ("", ""))
        argument = self.where.get(field)
        plain = (
            self.where.keys() == {field} and isinstance(argument, str) and self.sandbox is None and self.actor is None
        )
        return f"{name} {argument}" if name and plain else describe_match(self)

    @model_validator(mode="before")
    @classmethod
    def _from_bare(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "event" in value:
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name in _BARE:
                return _named(name, argument)
            if name in _WHOLE:
                return _whole(name, argument)
        close = next((name for name in (nearest_name(str(key), ("event", *NAMES)) for key in value) if name), None)
        meant = f"did you mean `{close}`? " if close is not None and close not in value else ""
        raise ValueError(f"{meant}expected {{event: kind, …}}, or one of {', '.join(NAMES)} with a name")


def _named(name: str, argument: Any) -> dict[str, Any]:
    kind, field = _BARE[name]
    if not isinstance(argument, str) or not argument.strip():
        raise ValueError(f"`{name}` in a sequence takes a name, as text")
    return {"event": kind, "where": {field: argument}}


def _whole(name: str, argument: Any) -> dict[str, Any]:
    """What an assertion would look for, as an event."""
    try:
        meant = _WHOLE[name].model_validate(argument)
    except ValidationError as error:
        raise ValueError(_complaint(name, error)) from None
    if meant.count is not None or meant.turn is not None:
        raise ValueError(f"`{name}` in a sequence takes no `count` and no `turn`")
    where = {key: value for key, value in meant.wanted.items() if key != "arguments"}
    for key, value in meant.wanted.get("arguments", {}).items():
        if not key or any(sign in key for sign in ".[*"):
            raise ValueError(f"{name}: an argument named `{key}` cannot be looked for in a sequence")
        where[f"arguments.{key}"] = value
    return {"event": meant.event.kind, "where": where}


def _complaint(name: str, error: ValidationError) -> str:
    """What is wrong in a step, in one line; a key that is not known before one that is missing."""
    found = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")[0]
    key = str(found["loc"][-1]) if found["loc"] else ""
    if found["type"] == "extra_forbidden":
        return f"{name}: unknown key `{key}`; {did_you_mean(key, _WHOLE[name].model_fields)}"
    if found["type"] == "missing":
        return f"{name}: `{key}` is missing"
    return ".".join(map(str, (name, *found["loc"]))) + f": {found['msg'].removeprefix('Value error, ')}"
