"""Check what files say about the agent: its slots and their values, its other names, and the events it reports.

A slot that is not in the domain, or a value of another type, is a mistake; in a test file of another tool it is a
warning. A value that a categorical slot does not list is a warning. So is an action, response or flow that is not in
the domain, because the agent may have more of them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from clerkship.model.agent_domain import (
    CATEGORICAL_TYPES,
    AgentCapabilities,
    AgentDomain,
    describe_slot_mismatch,
    event_family,
)
from clerkship.model.errors import InputProblem
from clerkship.model.matcher import is_matcher
from clerkship.model.names import did_you_mean
from clerkship.model.path import MISSING
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.foreign import built_in_slots, is_built_in
from clerkship.suite_files.validation_message import describe_value
from clerkship.suite_files.yaml import KeyPath

NameKind = Literal["slot", "action", "response", "flow"]
FindEvents = Callable[[str], frozenset[str]]
"""Return the agent events that an assertion of a name looks for."""
_TEST_KIND = "e2e"
"""The kind of definitions in test files of another tool."""
_ANY_OTHER = "__other__"
"""Rasa's name for every value that a categorical slot does not list."""


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


class AgentCheck:
    """Checks names against what is known about the agent, and remembers whether slots could not be checked."""

    def __init__(self, capabilities: AgentCapabilities | None, find_events: FindEvents) -> None:
        self.capabilities = capabilities
        self._find_events = find_events
        self._unchecked = False

    @property
    def domain(self) -> AgentDomain | None:
        """The names that the agent has; None if they are unknown."""
        return self.capabilities.domain if self.capabilities is not None else None

    def find_unchecked(self) -> Iterator[InputProblem]:
        """Yield one warning if there are slots that could not be checked because no domain is known."""
        if self._unchecked:
            message = "slot names and types were not checked, because no domain is known"
            yield InputProblem(message=message, hint="use --domain, or an agent `rasa:…`")

    def check_slots(self, slots: Any, path: KeyPath, definition: Definition) -> None:
        """Check the names and values of slots that are set before the conversation begins."""
        for name, value in slots.items() if isinstance(slots, Mapping) else ():
            if self._check_name(name, [*path, name], definition, key=True):
                self._check_value(name, value, [*path, name], definition)
                self._check_choice(name, value, [*path, name], definition)

    def check_assertion(self, name: str, args: Any, path: KeyPath, definition: Definition) -> None:
        """Check the names in an assertion, and that the agent's engine reports the events that it needs."""
        for mention in find_mentions(name, args):
            here = [*path, *mention.path]
            if mention.kind != "slot":
                self._check_other_name(mention, here, definition)
            elif self._check_name(mention.name, here, definition) and mention.value is not MISSING:
                place = [*here[:-1], "value"]
                self._check_value(mention.name, mention.value, place, definition)
                self._check_choice(mention.name, mention.value, place, definition)
        for need in find_event_needs(name, args, self._find_events):
            self._check_event_need(name, need, [*path, *need.path], definition)

    def _check_name(self, name: str, path: KeyPath, definition: Definition, *, key: bool = False) -> bool:
        """Return whether the slot is in the domain, so that its value can be checked."""
        if self.domain is None:
            self._unchecked = True
            return False
        if name in self.domain.slots or name in built_in_slots():
            return True
        hint = did_you_mean(name, self.domain.slots) or ("" if self.domain.slots else "the domain has no slots")
        _report(definition, path, f"no slot `{name[:60]}` in {self.domain.source}", hint, key=key)
        return False

    def _check_value(self, name: str, value: Any, path: KeyPath, definition: Definition) -> None:
        if self.domain is None or is_matcher(value):
            return
        slots = self.domain.slots if name in self.domain.slots else built_in_slots()
        kind = slots[name]
        expected = describe_slot_mismatch(value, kind)
        if expected and not _is_choice(value, self._list_choices(name)):
            hint = "quote it" if expected == "text" and isinstance(value, int | float) else ""
            if isinstance(value, str) and kind in ("bool", "float"):
                hint = "write it without quotes" if kind == "float" else "write true or false, without quotes"
            _report(
                definition,
                path,
                f"the slot `{name[:60]}` is of type {kind}: expected {expected}, not {describe_value(value)}",
                hint,
            )

    def _list_choices(self, name: str) -> tuple[Any, ...]:
        """Return the values of a categorical slot; none for other slots."""
        is_categorical = self.domain is not None and self.domain.slots.get(name) in CATEGORICAL_TYPES
        return self.domain.choices.get(name, ()) if self.domain is not None and is_categorical else ()

    def _check_choice(self, name: str, value: Any, path: KeyPath, definition: Definition) -> None:
        """Warn about text that is not among the values of a categorical slot."""
        choices = self._list_choices(name)
        if choices and isinstance(value, str) and not _is_choice(value, choices) and _ANY_OTHER not in choices:
            message = f"{describe_value(value)} is not one of the values of the slot `{name[:60]}`"
            definition.warning(path, message, did_you_mean(value, map(str, choices)))

    def _check_other_name(self, mention: Mention, path: KeyPath, definition: Definition) -> None:
        if self.domain is None:
            return
        known: frozenset[str] | None = getattr(self.domain, f"{mention.kind}s")
        name = mention.name
        if known is None or name in known or is_built_in(mention.kind, name):
            return
        definition.warning(path, f"no {mention.kind} `{name[:60]}` in {self.domain.source}", did_you_mean(name, known))

    def _check_event_need(self, name: str, need: EventNeed, path: KeyPath, definition: Definition) -> None:
        emits = self.capabilities.emits if self.capabilities is not None else None
        if self.capabilities is None or emits is None or not emits.isdisjoint(need.kinds):
            return
        missing = " or ".join(dict.fromkeys(_describe_missing_event(kind, emits) for kind in sorted(need.kinds)))
        definition.warning(path, f"`{name}`: {self.capabilities.engine} reports no {missing}")


def _report(definition: Definition, path: KeyPath, message: str, hint: str, *, key: bool = False) -> None:
    """Report a mistake about a slot; a warning in a test file, because the tool it is from accepts it."""
    report = definition.warning if definition.kind == _TEST_KIND else definition.problem
    report(path, message, hint, key=key)


def _is_choice(value: Any, choices: Collection[Any]) -> bool:
    """Return whether a value is one of the values of a categorical slot, which ignores case and types."""
    return str(value).lower() in {str(choice).lower() for choice in choices}


def _describe_missing_event(kind: str, emits: Collection[str]) -> str:
    """Return the family of an event, such as `flows`, if the agent reports none of that family; otherwise the kind."""
    family = event_family(kind)
    whole = all(event_family(other) != family for other in emits)
    return (family or kind) if whole else f"`{kind}`"
