"""`slot_was_set`, `memory_was_set` and their kin: what became of the slots and memories of an agent."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from clerkship.assertions.occurrence import (
    EQUALITY_DIFFERENCE,
    MATCHER_DIFFERENCE,
    CountedScope,
    Name,
    NotEmptyTuple,
    TurnScope,
    describe_done,
    describe_not_done,
    find_closest,
    get_event_subject,
    join_first,
    values_equal,
)
from clerkship.events.agent import FlowCompleted, FlowStarted, MemoryCleared, MemorySet, SkillActivated, SlotSet
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import to_evidence_value
from clerkship.model.matcher import describe_expected, is_matcher
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine

UNREPORTED_DIFFERENCE = Difference("an agent that reports nothing of the kind", "not judged", "passes")
LAST_WRITE_DIFFERENCE = Difference("which writes count", "all of them; with `at: end` the last", "the last")
REPLACED_DIFFERENCE = Difference("a value that `initial_slots` replaces", "does not count as set", "counts as set")


def is_replaced(event: Event, evidence: Evidence) -> bool:
    """Return whether an event set a slot before `initial_slots` put another value on top.

    What an agent does before that is set-up, such as the start of a session. What it leaves in place counts.
    """
    if not isinstance(event.payload, SlotSet):
        return False
    return event.seq < evidence.cached(_find_initial_slots).get(event.payload.name, 0)


def _find_initial_slots(evidence: Evidence) -> Mapping[str, int]:
    """Return the number of the event that set each slot of the scenario, by name."""
    return {
        event.payload.name: event.seq
        for event in evidence.of_kind(SlotSet.kind)
        if event.actor == "scenario" and isinstance(event.payload, SlotSet)
    }


class NamedEntry(TurnScope):
    """A slot or memory, by name."""

    name: Annotated[Name, Field(description="its name")]

    @model_validator(mode="before")
    @classmethod
    def _check_map(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"expected a map such as {{name: {value}}}")
        return value


class ValueEntry(NamedEntry):
    """A name and a value. Without a value, any matches; `null` is a value."""

    value: Annotated[Expected, Field(description="its value; a matcher too (ours); any if not given")] = None
    at: Annotated[
        Literal["end"] | None,
        Field(description="`end`: check the last value only; the whole history if not given (ours)"),
    ] = None

    @property
    def has_value(self) -> bool:
        """Whether a value is given, which may be `null`."""
        return "value" in self.model_fields_set

    @property
    def expects_null(self) -> bool:
        """Whether the given value is `null`, or a matcher that lists it."""
        if not is_matcher(self.value) or not isinstance(self.value, dict):
            return self.has_value and self.value is None
        allowed = self.value.get("in")
        return self.value.get("equals", "") is None or (isinstance(allowed, list) and None in allowed)

    def matches(self, event: Event, *, rasa: bool) -> bool:
        """Return whether an event sets the given value; any if none is given."""
        return not self.has_value or values_equal(self.value, get_value(event), rasa=rasa)

    @property
    def value_text(self) -> str:
        """The value, as the end of a sentence."""
        return f" to {describe_expected(self.value)}" if self.has_value else ""


class CountedValueEntry(ValueEntry, CountedScope):
    """A name, a value, and how often it was set."""

    @model_validator(mode="after")
    def _check_count_or_end(self) -> Self:
        if self.at == "end" and self.count is not None:
            raise ValueError(
                "`count` counts the whole history, and `at: end` checks the last value only; leave one out"
            )
        return self


class EntryResult(NamedTuple):
    """The result for one entry: a row of evidence, and a sentence."""

    row: FieldCheck
    description: str


def get_value(event: Event) -> Any:
    """Return the value that an event sets; None if it has none."""
    return getattr(event.payload, "value", None)


class WriteAssertion(Assertion):
    """Checks each entry of a list; all must hold."""

    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    shorthand: ClassVar[str | None] = "entries"
    event: ClassVar[type[Payload]]
    cleared: ClassVar[type[Payload] | None] = None
    """The event that clears the value, if there is one."""
    null_is_set: ClassVar[bool] = True
    """Whether setting `null` counts if the entry does not expect `null`."""
    entries: Sequence[NamedEntry]

    @classmethod
    def reads(cls) -> frozenset[str]:
        return frozenset({cls.event.kind})

    @model_validator(mode="before")
    @classmethod
    def _check_list(cls, value: Any) -> Any:
        if isinstance(value, dict) and "name" in value:
            raise ValueError("expected a list: put a `-` before `name`")
        return value

    def check(self, evidence: Evidence) -> Check:
        """Check each entry; on failure, show what was set instead."""
        results = [self.check_entry(entry, evidence) for entry in self.entries]
        failed = [result.description for result in results if not result.row.passed]
        return Check.of_fields(
            [result.row for result in results], "; ".join(failed or [result.description for result in results])
        )

    @abstractmethod
    def check_entry(self, entry: Any, evidence: Evidence) -> EntryResult:
        """Check one entry."""

    def find_writes(self, entry: NamedEntry, evidence: Evidence) -> Sequence[Event]:
        """Return the events that set the entry, in the selected turns; with `compat: rasa` also what was replaced."""
        writes = entry.select_turns(evidence, self._find_events(entry, evidence))
        if evidence.is_rasa_compatible and getattr(entry, "count", None) is None:
            return writes
        return [event for event in writes if not is_replaced(event, evidence)]

    def _find_events(self, entry: NamedEntry, evidence: Evidence, *kinds: str) -> list[Event]:
        events = evidence.of_kind(*(kinds or (self.event.kind,)))
        return [event for event in events if getattr(event.payload, "name", None) == entry.name]

    def find_last(self, entry: NamedEntry, evidence: Evidence) -> Event | None:
        """Return the last event that set or cleared the entry, in the selected turns."""
        kinds = [self.event.kind] + ([self.cleared.kind] if self.cleared is not None else [])
        return next(reversed(entry.select_turns(evidence, self._find_events(entry, evidence, *kinds))), None)

    def sets(self, entry: ValueEntry, event: Event, *, rasa: bool) -> bool:
        """Return whether an event sets what an entry expects.

        A reset to `null` does so only if the entry expects `null`, or if `null_is_set`.
        """
        if event.kind != self.event.kind:
            return False
        if get_value(event) is None and not (self.null_is_set or entry.expects_null):
            return False
        return entry.matches(event, rasa=rasa)

    def describe_last(self, entry: NamedEntry, evidence: Evidence, last: Event) -> str:
        """Describe what the last event about an entry did."""
        if last.kind != self.event.kind:
            return f"{self.describe_entry(entry)} {describe_done(last.kind)} {evidence.when(last)}"
        return f"{self.describe_entry(entry)} was last set to {_shorten_value(last)} {evidence.when(last)}"

    def describe_entry(self, entry: NamedEntry) -> str:
        return f"{get_event_subject(self.event.kind)} {entry.name}"

    def describe_miss(self, entry: NamedEntry, evidence: Evidence) -> str:
        """Describe, for a failure, what was set instead, or the entry of similar name that was set."""
        kind = self.event.kind
        writes = self._find_events(entry, evidence)
        if writes and hasattr(writes[-1].payload, "value"):
            return "it got " + join_first(writes[::-1], lambda event: _describe_write(event, evidence))
        if writes:
            return f"it {describe_done(kind)} " + join_first(writes[::-1], evidence.when)
        other = find_closest(entry.name, evidence.of_kind(kind), "name")
        if other is None:
            return f"no {get_event_subject(kind)} {describe_done(kind)}"
        return f"nearest: {getattr(other.payload, 'name', '')} {describe_done(kind)} {evidence.when(other)}"


def _describe_write(event: Event, evidence: Evidence) -> str:
    replaced = ", which `initial_slots` replaced" if is_replaced(event, evidence) else ""
    return f"{_shorten_value(event)} {evidence.when(event)}{replaced}"


def _shorten_value(event: Event) -> str:
    text = describe_expected(get_value(event))
    return text if len(text) <= 80 else f"{text[:79]}…"


class WasWrittenAssertion(WriteAssertion):
    """Each entry was set at some time; with `at: end`, it has the value at the end."""

    def check_entry(self, entry: Any, evidence: Evidence) -> EntryResult:
        """Look for an event that sets the entry."""
        if getattr(entry, "at", None) == "end":
            return self._check_at_end(entry, evidence)
        hits = self._find_hits(entry, evidence)
        return (
            self._check_counted(entry, evidence, hits)
            if entry.count is not None
            else self._check_ever(entry, evidence, hits)
        )

    def _find_hits(self, entry: Any, evidence: Evidence) -> Sequence[Event]:
        writes, rasa = self.find_writes(entry, evidence), evidence.is_rasa_compatible
        if not isinstance(entry, ValueEntry) or (
            rasa and not entry.has_value and getattr(entry, "count", None) is None
        ):
            return writes
        return [event for event in writes if self.sets(entry, event, rasa=rasa)]

    def _check_counted(self, entry: Any, evidence: Evidence, hits: Sequence[Event]) -> EntryResult:
        kind, to = self.event.kind, getattr(entry, "value_text", "")
        done, undone = (
            f"{describe_done(kind)}{to}{entry.scope_text}",
            f"{describe_not_done(kind)}{to}{entry.scope_text}",
        )
        row = FieldCheck(
            path=entry.name, expected={"count": entry.count}, actual=len(hits), passed=entry.is_satisfied(hits)
        )
        return EntryResult(
            row, f"{self.describe_entry(entry)} {entry.describe_occurrences(evidence, hits, done, undone)}"
        )

    def _check_ever(self, entry: Any, evidence: Evidence, hits: Sequence[Event]) -> EntryResult:
        kind, to = self.event.kind, getattr(entry, "value_text", "")
        shown = hits[0] if hits else _find_last_value(self.find_writes(entry, evidence))
        row = FieldCheck(
            path=entry.name,
            expected=entry.value if to else describe_done(kind).removeprefix("was "),
            actual=f"({describe_not_done(kind).removeprefix('was ')})" if shown is None else _to_actual(shown),
            passed=bool(hits),
            seq=None if shown is None else shown.seq,
        )
        if hits:
            return EntryResult(row, f"{self.describe_entry(entry)} {describe_done(kind)}{to} {evidence.when(hits[0])}")
        return EntryResult(
            row,
            f"{self.describe_entry(entry)} {describe_not_done(kind)}{to}{entry.scope_text}"
            f"; {self.describe_miss(entry, evidence)}",
        )

    def _check_at_end(self, entry: ValueEntry, evidence: Evidence) -> EntryResult:
        expected = entry.value if entry.has_value else "set"
        last = self.find_last(entry, evidence)
        if last is None:
            row = FieldCheck(path=entry.name, expected=expected, actual="(never set)", passed=False)
            return EntryResult(row, f"{self.describe_entry(entry)} was never set{entry.scope_text}")
        passed = self.sets(entry, last, rasa=evidence.is_rasa_compatible)
        row = FieldCheck(path=entry.name, expected=expected, actual=_to_actual(last), passed=passed, seq=last.seq)
        row = row if passed else row.with_differences(expected, get_value(last))
        words = self.describe_last(entry, evidence, last)
        expected_text = describe_expected(entry.value) if entry.has_value else "a value"
        return EntryResult(row, words if passed else f"{words}; expected {expected_text} at the end")


def _find_last_value(writes: Sequence[Event]) -> Event | None:
    """Return the last event that set a value other than `null`, since many agents reset values they no longer need."""
    valued = (event for event in reversed(writes) if get_value(event) is not None)
    return next(valued, writes[-1] if writes else None)


def _to_actual(event: Event) -> object:
    return to_evidence_value(get_value(event)) if hasattr(event.payload, "value") else event.kind.rpartition(".")[2]


class WasNotWrittenAssertion(WriteAssertion):
    """No entry was ever set; with `at: end`, none has the value at the end. The negation of `WasWrittenAssertion`."""

    def needs(self) -> Sequence[frozenset[str]]:
        """Return nothing: it passes without reports. Initial slots of a scenario can fail it."""
        return ()

    def check_entry(self, entry: Any, evidence: Evidence) -> EntryResult:
        """Look for an event that sets the entry."""
        rasa, writes = evidence.is_rasa_compatible, self.find_writes(entry, evidence)
        if entry.at == "end":
            return self._check_at_end(entry, evidence, self.find_last(entry, evidence))
        if rasa:
            return self._check_at_end(entry, evidence, next(reversed(writes), None))
        hit = next((event for event in writes if self.sets(entry, event, rasa=rasa)), None)
        shown = hit or next(reversed(writes), None)
        row = self._row(entry, shown, passed=hit is None)
        if hit is None:
            words = f"{self.describe_entry(entry)} was never set{entry.value_text}{entry.scope_text}"
            return EntryResult(row, words + self._note_replaced(entry, evidence))
        words = f"{self.describe_entry(entry)} was set to {_shorten_value(hit)} {evidence.when(hit)}"
        return EntryResult(
            row, f"{words}; expected never set{entry.value_text}{entry.scope_text}{self._hint(entry, evidence)}"
        )

    def _check_at_end(self, entry: ValueEntry, evidence: Evidence, last: Event | None) -> EntryResult:
        passed = last is None or not self.sets(entry, last, rasa=evidence.is_rasa_compatible)
        row = self._row(entry, last, passed=passed)
        if last is None:
            return EntryResult(row, f"{self.describe_entry(entry)} was never set{entry.scope_text}")
        words = self.describe_last(entry, evidence, last)
        unwanted = f"not {describe_expected(entry.value)}" if entry.has_value else "no value"
        return EntryResult(row, words if passed else f"{words}; expected {unwanted} at the end")

    def _note_replaced(self, entry: ValueEntry, evidence: Evidence) -> str:
        """Name a value that would count, had the scenario not replaced it."""
        writes = entry.select_turns(evidence, self._find_events(entry, evidence))
        replaced = (event for event in writes if is_replaced(event, evidence) and self.sets(entry, event, rasa=False))
        first = next(replaced, None)
        return "" if first is None else f"; `initial_slots` replaced {_shorten_value(first)} {evidence.when(first)}"

    def _hint(self, entry: ValueEntry, evidence: Evidence) -> str:
        """Return a hint to `at: end` if that would have passed."""
        last = self.find_last(entry, evidence)
        taken_back = last is not None and not self.sets(entry, last, rasa=False)
        return " (`at: end` checks the last value only)" if taken_back else ""

    def _row(self, entry: ValueEntry, event: Event | None, *, passed: bool) -> FieldCheck:
        expected = {"not": entry.value} if entry.has_value else "(never set)"
        actual = "(never set)" if event is None else _to_actual(event)
        seq = None if event is None else event.seq
        return FieldCheck(path=entry.name, expected=expected, actual=actual, passed=passed, seq=seq)


EMPTY_LIST_DIFFERENCE = Difference("an empty list", "refused: it checks nothing", "passes there; refused here too")
RESET_DIFFERENCE = Difference("a reset to `null`, no `value` given", "does not count as set", "counts as set")


class SlotWasSet(WasWrittenAssertion):
    """Each slot was set at some time: to the value given, or to any. A reset to `null` does not count, unless
    `value: null` is given. With `at: end`, only the last value counts. `initial_slots` of the scenario count, and so
    does what the agent sets before them, such as at the start of a session, unless they replace it. `turn: {gte: 1}`
    leaves out both."""

    name: ClassVar[str] = "slot_was_set"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (
        EQUALITY_DIFFERENCE,
        MATCHER_DIFFERENCE,
        EMPTY_LIST_DIFFERENCE,
        RESET_DIFFERENCE,
        REPLACED_DIFFERENCE,
    )
    event: ClassVar[type[Payload]] = SlotSet
    null_is_set: ClassVar[bool] = False
    entries: Annotated[NotEmptyTuple[CountedValueEntry], Field(description="the slots")]


class SlotWasNotSet(WasNotWrittenAssertion):
    """No slot was set at any time, or none to the value given: the negation of `slot_was_set`. A reset to `null` is
    not a value; empty text, `false` and 0 are. With `at: end`, only the last value counts: a slot that was set and
    then reset passes. A value that `initial_slots` of the scenario replace, such as one from the start of a session,
    does not count as set; what they leave in place does. With `turn`, only those turns are checked. It is not judged
    for an agent that reports neither slots nor flows and names no response: what it set is not known."""

    name: ClassVar[str] = "slot_was_not_set"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    reported_by: ClassVar[tuple[str, ...]] = (SlotSet.kind, FlowStarted.kind, FlowCompleted.kind)
    differences: ClassVar[tuple[Difference, ...]] = (
        EQUALITY_DIFFERENCE,
        MATCHER_DIFFERENCE,
        EMPTY_LIST_DIFFERENCE,
        LAST_WRITE_DIFFERENCE,
        UNREPORTED_DIFFERENCE,
    )
    event: ClassVar[type[Payload]] = SlotSet
    null_is_set: ClassVar[bool] = False
    entries: Annotated[NotEmptyTuple[ValueEntry], Field(description="the slots")]


class MemoryEntry(ValueEntry):
    """A memory and its value; any value if none is given."""

    @model_validator(mode="before")
    @classmethod
    def _no_null(cls, value: Any) -> Any:
        if isinstance(value, dict) and "value" in value and value["value"] is None:
            raise ValueError("`value` is null: leave it out to mean any, or use `memory_was_cleared`")
        return value


class CountedMemoryEntry(MemoryEntry, CountedValueEntry):
    """A memory, its value, and how often it was set."""


class ClearedMemoryEntry(NamedEntry, CountedScope):
    """A memory, and how often it was cleared."""


class MemoryWasSet(WasWrittenAssertion):
    """Each memory was set at some time: to the value given, or to any. With `at: end`, only the last value counts, and
    a memory that was cleared holds none."""

    name: ClassVar[str] = "memory_was_set"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)
    event: ClassVar[type[Payload]] = MemorySet
    cleared: ClassVar[type[Payload] | None] = MemoryCleared
    entries: Annotated[NotEmptyTuple[CountedMemoryEntry], Field(description="the memories")]


class MemoryWasNotSet(WasNotWrittenAssertion):
    """No memory was set at any time, or none to the value given, whether or not it was cleared later: the negation of
    `memory_was_set`. With `at: end`, only the last value counts, and a memory that was cleared holds none. It is not
    judged for an agent that reports neither memories nor skills and names no response."""

    name: ClassVar[str] = "memory_was_not_set"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    reported_by: ClassVar[tuple[str, ...]] = (MemorySet.kind, MemoryCleared.kind, SkillActivated.kind)
    differences: ClassVar[tuple[Difference, ...]] = (
        EQUALITY_DIFFERENCE,
        MATCHER_DIFFERENCE,
        LAST_WRITE_DIFFERENCE,
        UNREPORTED_DIFFERENCE,
    )
    event: ClassVar[type[Payload]] = MemorySet
    cleared: ClassVar[type[Payload] | None] = MemoryCleared
    entries: Annotated[NotEmptyTuple[MemoryEntry], Field(description="the memories")]


class MemoryWasCleared(WasWrittenAssertion):
    """Each memory was cleared at some time."""

    name: ClassVar[str] = "memory_was_cleared"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    event: ClassVar[type[Payload]] = MemoryCleared
    entries: Annotated[NotEmptyTuple[ClearedMemoryEntry], Field(description="the memories")]
