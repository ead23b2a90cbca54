"""Find the names of an agent's slots, actions, responses and flows in an assertion, and the agent events it needs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from clerkship.model.path import MISSING
from clerkship.suite_files.yaml import KeyPath

NameKind = Literal["slot", "action", "response", "flow"]
FindEvents = Callable[[str], frozenset[str]]
"""Return the agent events that an assertion of a name looks for."""


class Mention(NamedTuple):
    """A name in the arguments of an assertion, and its path there. For a slot also the value it is compared with."""

    kind: NameKind
    name: str
    path: KeyPath
    value: Any = MISSING


class EventNeed(NamedTuple):
    """The kinds of agent event of which a part of the arguments needs at least one, and the path of that part."""

    kinds: frozenset[str]
    path: KeyPath


_STEP_KINDS: Mapping[str, NameKind] = {
    "flow_started": "flow",
    "flow_completed": "flow",
    "flow_cancelled": "flow",
    "flow_interrupted": "flow",
    "action_executed": "action",
    "slot_was_set": "slot",
}
"""Steps of a sequence whose value is a name, and the kind of that name."""
_INTERRUPTED = frozenset({"agent.flow.interrupted"})
"""The event of the only step that is not also an assertion."""
_UTTERANCE_ASSERTIONS = (
    "bot_uttered",
    "bot_did_not_utter",
    "generative_response_is_relevant",
    "generative_response_is_grounded",
)
_EVENT_ASSERTIONS = ("sequencing", "event_occurred", "event_count")


def find_mentions(name: str, args: Any) -> Iterator[Mention]:
    """Yield the names in the arguments of an assertion. Malformed parts are skipped; they are reported elsewhere."""
    if name.startswith("slot_"):
        yield from _find_slots(args, [])
    elif name.startswith("flow_") or name == "pattern_clarification_contains":
        yield from _find_flows(name, args)
    elif name.startswith("action_"):
        yield from _find_named("action", args, "name")
    elif name in _UTTERANCE_ASSERTIONS:
        yield from _find_named("response", args if isinstance(args, dict) else None, "utter_name")
    elif name == "sequencing":
        for path, key, value in _find_bare_steps(args):
            if key in _STEP_KINDS and isinstance(value, str):
                yield Mention(_STEP_KINDS[key], value, path)
            elif key == "bot_uttered":
                for mention in _find_named("response", value, "utter_name"):
                    yield mention._replace(path=[*path, *mention.path])


def find_event_needs(name: str, args: Any, find_events: FindEvents) -> Iterator[EventNeed]:
    """Yield the agent events that each part of an assertion needs."""
    whole = find_events(name)
    if whole:
        yield EventNeed(whole, [])
    for path, key, _ in _find_bare_steps(args) if name == "sequencing" else ():
        kinds = _INTERRUPTED if key == "flow_interrupted" else find_events(key)
        if kinds:
            yield EventNeed(kinds, path)
    for path, kind in _find_events(args, []) if name in _EVENT_ASSERTIONS else ():
        yield EventNeed(frozenset({kind}), path)


def _find_slots(args: Any, path: KeyPath) -> Iterator[Mention]:
    """Find slots in a list of maps with `name` and perhaps `value`, in one such map, or in such a list below a key."""
    if isinstance(args, list):
        for number, item in enumerate(args):
            yield from _find_slots(item, [*path, number])
    elif isinstance(args, dict) and isinstance(args.get("name"), str):
        yield Mention("slot", args["name"], [*path, "name"], args.get("value", MISSING))
    elif isinstance(args, dict):
        for key, value in args.items():
            if isinstance(value, list):
                yield from _find_slots(value, [*path, key])


def _find_flows(name: str, args: Any) -> Iterator[Mention]:
    if isinstance(args, str) and name != "pattern_clarification_contains":
        yield Mention("flow", args, [])
    elif isinstance(args, dict):
        yield from _find_named("flow", args, "flow_id")
        listed = args.get("flow_ids")
        for number, flow in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(flow, str):
                yield Mention("flow", flow, ["flow_ids", number])


def _find_named(kind: NameKind, args: Any, key: str) -> Iterator[Mention]:
    if isinstance(args, str):
        yield Mention(kind, args, [])
    elif isinstance(args, dict) and isinstance(args.get(key), str):
        yield Mention(kind, args[key], [key])


def _find_bare_steps(args: Any) -> Iterator[tuple[KeyPath, str, Any]]:
    path: KeyPath = ["steps"] if isinstance(args, dict) else []
    steps = args.get("steps") if isinstance(args, dict) else args
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict) and len(step) == 1:
            key, value = next(iter(step.items()))
            yield [*path, number, key], key, value


def _find_events(args: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yield kinds of agent events that are named in full, each with its path."""
    if isinstance(args, dict):
        event = args.get("event")
        if isinstance(event, str) and event.startswith("agent.") and "*" not in event:
            yield [*path, "event"], event
        steps = args.get("steps")
        yield from _find_events(steps, [*path, "steps"]) if isinstance(steps, list) else ()
    elif isinstance(args, list):
        for number, item in enumerate(args):
            yield from _find_events(item, [*path, number])
