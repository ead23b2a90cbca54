"""Which of an agent's own names an assertion mentions, and which of the agent's events it can be met by."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from clerkship.library.note import Path
from clerkship.model.path import MISSING

Sort = Literal["slot", "action", "response", "flow"]


class Mention(NamedTuple):
    """A name in the arguments of an assertion, and where in them; of a slot also what it is compared with."""

    sort: Sort
    name: str
    path: Path
    value: Any = MISSING


class Reading(NamedTuple):
    """Events that something in the arguments can be met by, any of them, and where in them that is."""

    kinds: frozenset[str]
    path: Path


_STEPS: Mapping[str, tuple[Sort, str]] = {
    "flow_started": ("flow", "agent.flow.started"),
    "flow_completed": ("flow", "agent.flow.completed"),
    "flow_cancelled": ("flow", "agent.flow.cancelled"),
    "flow_interrupted": ("flow", "agent.flow.interrupted"),
    "action_executed": ("action", "agent.action.executed"),
    "slot_was_set": ("slot", "agent.slot.set"),
}
_WORDED = (
    "bot_uttered",
    "bot_did_not_utter",
    "generative_response_is_relevant",
    "generative_response_is_grounded",
)
_BY_EVENT = ("sequencing", "event_occurred", "event_count")
READS: Mapping[str, frozenset[str]] = {
    "flow_started": frozenset({"agent.flow.started"}),
    "flow_completed": frozenset({"agent.flow.completed"}),
    "flow_cancelled": frozenset({"agent.flow.cancelled"}),
    "pattern_clarification_contains": frozenset({"agent.clarification.offered"}),
    "action_executed": frozenset({"agent.action.executed"}),
    "slot_was_set": frozenset({"agent.slot.set"}),
    "slot_was_not_set": frozenset({"agent.slot.set"}),
    "skill_activated": frozenset({"agent.skill.activated"}),
    "skill_completed": frozenset({"agent.skill.completed"}),
    "skill_cancelled": frozenset({"agent.skill.cancelled"}),
    "skill_interrupted": frozenset({"agent.skill.interrupted"}),
    "skill_resumed": frozenset({"agent.skill.resumed"}),
    "ordered_block_entered": frozenset({"agent.block.entered"}),
    "ordered_block_completed": frozenset({"agent.block.completed"}),
    "ordered_block_cancelled": frozenset({"agent.block.cancelled"}),
    "ordered_block_interrupted": frozenset({"agent.block.interrupted"}),
    "ordered_block_resumed": frozenset({"agent.block.resumed"}),
    "memory_was_set": frozenset({"agent.memory.set"}),
    "memory_was_not_set": frozenset({"agent.memory.set"}),
    "memory_was_cleared": frozenset({"agent.memory.cleared"}),
    "tool_executed": frozenset({"agent.tool.executed"}),
    "tools_within_one_turn": frozenset({"agent.tool.executed"}),
    "tool_called": frozenset({"agent.tool.executed", "agent.action.executed"}),
    "tool_group": frozenset({"agent.tool.executed", "agent.action.executed"}),
}
"""Assertions about what an agent did inside itself, and what must be in the log for them."""


def mentions(name: str, args: Any) -> Iterator[Mention]:
    """The names in some arguments; what is not of the right shape is passed over, for others have complained of it."""
    if name.startswith("slot_"):
        yield from _slots(args, [])
    elif name.startswith("flow_") or name == "pattern_clarification_contains":
        yield from _flows(name, args)
    elif name.startswith("action_"):
        yield from _named("action", args, "name")
    elif name in _WORDED:
        yield from _named("response", args if isinstance(args, dict) else None, "utter_name")
    elif name == "sequencing":
        for path, key, value in _bare_steps(args):
            if isinstance(value, str):
                yield Mention(_STEPS[key][0], value, path)


def readings(name: str, args: Any) -> Iterator[Reading]:
    """Which events of the agent's each part of an assertion can be met by."""
    if name in READS:
        yield Reading(READS[name], [])
    for path, key, _ in _bare_steps(args) if name == "sequencing" else ():
        yield Reading(frozenset({_STEPS[key][1]}), path)
    for path, kind in _events(args, []) if name in _BY_EVENT else ():
        yield Reading(frozenset({kind}), path)


def _slots(args: Any, path: Path) -> Iterator[Mention]:
    """A list of maps with `name` and perhaps `value`, or one such map; or such a list under a key of its own."""
    if isinstance(args, list):
        for number, item in enumerate(args):
            yield from _slots(item, [*path, number])
    elif isinstance(args, dict) and isinstance(args.get("name"), str):
        yield Mention("slot", args["name"], [*path, "name"], args.get("value", MISSING))
    elif isinstance(args, dict):
        for key, value in args.items():
            if isinstance(value, list):
                yield from _slots(value, [*path, key])


def _flows(name: str, args: Any) -> Iterator[Mention]:
    if isinstance(args, str) and name != "pattern_clarification_contains":
        yield Mention("flow", args, [])
    elif isinstance(args, dict):
        yield from _named("flow", args, "flow_id")
        listed = args.get("flow_ids")
        for number, flow in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(flow, str):
                yield Mention("flow", flow, ["flow_ids", number])


def _named(sort: Sort, args: Any, key: str) -> Iterator[Mention]:
    if isinstance(args, str):
        yield Mention(sort, args, [])
    elif isinstance(args, dict) and isinstance(args.get(key), str):
        yield Mention(sort, args[key], [key])


def _bare_steps(args: Any) -> Iterator[tuple[Path, str, Any]]:
    path: Path = ["steps"] if isinstance(args, dict) else []
    steps = args.get("steps") if isinstance(args, dict) else args
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict) and len(step) == 1:
            key, value = next(iter(step.items()))
            if key in _STEPS:
                yield [*path, number, key], key, value


def _events(args: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Events of the agent's named in full."""
    if isinstance(args, dict):
        event = args.get("event")
        if isinstance(event, str) and event.startswith("agent.") and "*" not in event:
            yield [*path, "event"], event
        steps = args.get("steps")
        yield from _events(steps, [*path, "steps"]) if isinstance(steps, list) else ()
    elif isinstance(args, list):
        for number, item in enumerate(args):
            yield from _events(item, [*path, number])
