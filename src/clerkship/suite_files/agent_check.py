"""Check what files say about the agent: its slots and their values, its other names, and the events it reports.

A slot that is not in the domain, or a value of another type, is a mistake; in a test file of another tool it is a
warning. A value that a categorical slot does not list is a warning. So is an action, response or flow that is not in
the domain, because the agent may have more of them.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

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
from clerkship.suite_files.agent_mentions import EventNeed, FindEvents, Mention, find_event_needs, find_mentions
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.foreign import built_in_slots, is_built_in
from clerkship.suite_files.validation_message import describe_value
from clerkship.suite_files.yaml import KeyPath

_TEST_KIND = "e2e"
"""The kind of definitions in test files of another tool."""
_ANY_OTHER = "__other__"
"""Rasa's name for every value that a categorical slot does not list."""


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
