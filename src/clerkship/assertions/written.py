"""What was written down under a name, a slot or a memory: what the checks on either share."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from clerkship.assertions.contract import Assertion, Check, Difference
from clerkship.assertions.occurrence import Counted, Name, Scope, closest, did, listed, never, noun, same
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import to_evidence_value
from clerkship.model.matcher import describe_expected, is_matcher
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected

_COUNT_AND_END = "`count` counts the whole history, and `at: end` checks the last value only; leave one out"
LAST_ONLY = Difference("which writes count", "all of them; with `at: end` the last", "the last")


class Named(Scope):
    """A slot or a memory, by its name."""

    name: Annotated[Name, Field(description="its name")]

    @model_validator(mode="before")
    @classmethod
    def _not_the_name_alone(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"expected a map such as {{name: {value}}}")
        return value


class Entry(Named):
    """A name, and a value. Without a value, any is meant; `null` is a value like others."""

    value: Annotated[Expected, Field(description="its value; a matcher too (ours); any if not given")] = None
    at: Annotated[
        Literal["end"] | None,
        Field(description="`end`: check the last value only; the whole history if not given (ours)"),
    ] = None

    @property
    def is_valued(self) -> bool:
        """Whether a value is given: `null` is one."""
        return "value" in self.model_fields_set

    @property
    def names_null(self) -> bool:
        """Whether the value given is `null`, or a matcher that lists it."""
        if not is_matcher(self.value) or not isinstance(self.value, dict):
            return self.is_valued and self.value is None
        allowed = self.value.get("in")
        return self.value.get("equals", "") is None or (isinstance(allowed, list) and None in allowed)

    def fits(self, event: Event, *, rasa: bool) -> bool:
        """Whether the event writes the value given, if one is."""
        return not self.is_valued or same(self.value, value_of(event), rasa=rasa)

    @property
    def to(self) -> str:
        """The value, in words that end a phrase."""
        return f" to {describe_expected(self.value)}" if self.is_valued else ""


class CountedEntry(Entry, Counted):
    """A name, a value, and how often it was written."""

    @model_validator(mode="after")
    def _count_or_end(self) -> Self:
        if self.at == "end" and self.count is not None:
            raise ValueError(
                "`count` counts the whole history, and `at: end` checks the last value only; leave one out"
            )
        return self


class Found(NamedTuple):
    """What became of one entry: a row of evidence, and a sentence."""

    row: FieldCheck
    words: str


def value_of(event: Event) -> Any:
    """What was written."""
    return getattr(event.payload, "value", None)


class Writes(Assertion):
    """Each entry of a list by itself; all of them must hold."""

    shorthand: ClassVar[str | None] = "entries"
    event: ClassVar[type[Payload]]
    cleared: ClassVar[type[Payload] | None] = None
    """The event that takes a write back, where one exists."""
    null_is_set: ClassVar[bool] = True
    """Whether a write of `null` counts where the entry does not ask for `null`."""
    entries: Sequence[Named]

    @classmethod
    def reads(cls) -> frozenset[str]:
        """That kind."""
        return frozenset({cls.event.kind})

    @model_validator(mode="before")
    @classmethod
    def _a_list(cls, value: Any) -> Any:
        if isinstance(value, dict) and "name" in value:
            raise ValueError("expected a list: put a `-` before `name`")
        return value

    def check(self, evidence: Evidence) -> Check:
        """Look at each entry; on failure show what was written instead."""
        found = [self.judge(entry, evidence) for entry in self.entries]
        failed = [one.words for one in found if not one.row.passed]
        return Check.of_fields([one.row for one in found], "; ".join(failed or [one.words for one in found]))

    @abstractmethod
    def judge(self, entry: Any, evidence: Evidence) -> Found:
        """What became of one entry."""

    def of(self, entry: Named, evidence: Evidence) -> Sequence[Event]:
        """Each time it was written, in the turns looked at."""
        return entry.in_turns(evidence, self._of(entry, evidence))

    def _of(self, entry: Named, evidence: Evidence, *kinds: str) -> list[Event]:
        events = evidence.of_kind(*(kinds or (self.event.kind,)))
        return [event for event in events if getattr(event.payload, "name", None) == entry.name]

    def last(self, entry: Named, evidence: Evidence) -> Event | None:
        """The last event that wrote or cleared it, in the turns looked at."""
        kinds = [self.event.kind] + ([self.cleared.kind] if self.cleared is not None else [])
        return next(reversed(entry.in_turns(evidence, self._of(entry, evidence, *kinds))), None)

    def sets(self, entry: Entry, event: Event, *, rasa: bool) -> bool:
        """Whether an event sets what an entry asks for. A reset to `null` does only if the entry names `null`."""
        if event.kind != self.event.kind:
            return False
        if value_of(event) is None and not (self.null_is_set or entry.names_null):
            return False
        return entry.fits(event, rasa=rasa)

    def last_words(self, entry: Named, evidence: Evidence, last: Event) -> str:
        """What the last event about an entry did, in a sentence."""
        if last.kind != self.event.kind:
            return f"{self.thing(entry)} {did(last.kind)} {evidence.when(last)}"
        return f"{self.thing(entry)} was last set to {_brief(last)} {evidence.when(last)}"

    def thing(self, entry: Named) -> str:
        """What an entry is about, in words."""
        return f"{noun(self.event.kind)} {entry.name}"

    def missed(self, entry: Named, evidence: Evidence) -> str:
        """The closing words of a failure: what was written to it, or to what is named like it."""
        kind = self.event.kind
        writes = self._of(entry, evidence)
        if writes and hasattr(writes[-1].payload, "value"):
            return "it got " + listed(writes[::-1], lambda event: f"{_brief(event)} {evidence.when(event)}")
        if writes:
            return f"it {did(kind)} " + listed(writes[::-1], evidence.when)
        other = closest(entry.name, evidence.of_kind(kind), "name")
        if other is None:
            return f"no {noun(kind)} {did(kind)}"
        return f"nearest: {getattr(other.payload, 'name', '')} {did(kind)} {evidence.when(other)}"


def _brief(event: Event) -> str:
    text = describe_expected(value_of(event))
    return text if len(text) <= 80 else f"{text[:79]}…"


class WasWritten(Writes):
    """Each entry was written at some time; with `at: end`, it holds the value at the end."""

    def judge(self, entry: Any, evidence: Evidence) -> Found:
        """Look for a write that the entry asks for."""
        if getattr(entry, "at", None) == "end":
            return self._at_end(entry, evidence)
        hits = self._hits(entry, evidence)
        return self._counted(entry, evidence, hits) if entry.count is not None else self._ever(entry, evidence, hits)

    def _hits(self, entry: Any, evidence: Evidence) -> Sequence[Event]:
        writes, rasa = self.of(entry, evidence), evidence.as_rasa
        if not isinstance(entry, Entry) or (rasa and not entry.is_valued and getattr(entry, "count", None) is None):
            return writes
        return [event for event in writes if self.sets(entry, event, rasa=rasa)]

    def _counted(self, entry: Any, evidence: Evidence, hits: Sequence[Event]) -> Found:
        kind, to = self.event.kind, getattr(entry, "to", "")
        done, undone = f"{did(kind)}{to}{entry.scope}", f"{never(kind)}{to}{entry.scope}"
        row = FieldCheck(path=entry.name, expected={"count": entry.count}, actual=len(hits), passed=entry.enough(hits))
        return Found(row, f"{self.thing(entry)} {entry.often(evidence, hits, done, undone)}")

    def _ever(self, entry: Any, evidence: Evidence, hits: Sequence[Event]) -> Found:
        kind, to = self.event.kind, getattr(entry, "to", "")
        shown_is = hits[0] if hits else _telling(self.of(entry, evidence))
        row = FieldCheck(
            path=entry.name,
            expected=entry.value if to else did(kind).removeprefix("was "),
            actual=f"({never(kind).removeprefix('was ')})" if shown_is is None else _actual(shown_is),
            passed=bool(hits),
            seq=None if shown_is is None else shown_is.seq,
        )
        if hits:
            return Found(row, f"{self.thing(entry)} {did(kind)}{to} {evidence.when(hits[0])}")
        return Found(row, f"{self.thing(entry)} {never(kind)}{to}{entry.scope}; {self.missed(entry, evidence)}")

    def _at_end(self, entry: Entry, evidence: Evidence) -> Found:
        expected = entry.value if entry.is_valued else "set"
        last = self.last(entry, evidence)
        if last is None:
            row = FieldCheck(path=entry.name, expected=expected, actual="(never set)", passed=False)
            return Found(row, f"{self.thing(entry)} was never set{entry.scope}")
        passed = self.sets(entry, last, rasa=evidence.as_rasa)
        row = FieldCheck(path=entry.name, expected=expected, actual=_actual(last), passed=passed, seq=last.seq)
        row = row if passed else row.with_differences(expected, value_of(last))
        words = self.last_words(entry, evidence, last)
        wanted = describe_expected(entry.value) if entry.is_valued else "a value"
        return Found(row, words if passed else f"{words}; expected {wanted} at the end")


def _telling(writes: Sequence[Event]) -> Event | None:
    """The last write of something other than `null`: many agents reset what they no longer need."""
    valued = (event for event in reversed(writes) if value_of(event) is not None)
    return next(valued, writes[-1] if writes else None)


def _actual(event: Event) -> object:
    return to_evidence_value(value_of(event)) if hasattr(event.payload, "value") else event.kind.rpartition(".")[2]


class WasNotWritten(Writes):
    """No entry was ever written; with `at: end`, none holds the value at the end. The negation of `WasWritten`."""

    def needs(self) -> Sequence[frozenset[str]]:
        """None: without reports it passes. A scenario's own initial slots can fail it."""
        return ()

    def judge(self, entry: Any, evidence: Evidence) -> Found:
        """Look for a write that the entry forbids."""
        rasa, writes = evidence.as_rasa, self.of(entry, evidence)
        if entry.at == "end":
            return self._at_end(entry, evidence, self.last(entry, evidence))
        if rasa:
            return self._at_end(entry, evidence, next(reversed(writes), None))
        hit = next((event for event in writes if self.sets(entry, event, rasa=rasa)), None)
        shown_is = hit or next(reversed(writes), None)
        row = self._row(entry, shown_is, passed=hit is None)
        if hit is None:
            return Found(row, f"{self.thing(entry)} was never set{entry.to}{entry.scope}")
        words = f"{self.thing(entry)} was set to {_brief(hit)} {evidence.when(hit)}"
        return Found(row, f"{words}; expected never set{entry.to}{entry.scope}{self._hint(entry, evidence)}")

    def _at_end(self, entry: Entry, evidence: Evidence, last: Event | None) -> Found:
        passed = last is None or not self.sets(entry, last, rasa=evidence.as_rasa)
        row = self._row(entry, last, passed=passed)
        if last is None:
            return Found(row, f"{self.thing(entry)} was never set{entry.scope}")
        words = self.last_words(entry, evidence, last)
        unwanted = f"not {describe_expected(entry.value)}" if entry.is_valued else "no value"
        return Found(row, words if passed else f"{words}; expected {unwanted} at the end")

    def _hint(self, entry: Entry, evidence: Evidence) -> str:
        """A pointer to the other reading, where it would have passed."""
        last = self.last(entry, evidence)
        taken_back = last is not None and not self.sets(entry, last, rasa=False)
        return " (`at: end` checks the last value only)" if taken_back else ""

    def _row(self, entry: Entry, event: Event | None, *, passed: bool) -> FieldCheck:
        expected = {"not": entry.value} if entry.is_valued else "(never set)"
        actual = "(never set)" if event is None else _actual(event)
        seq = None if event is None else event.seq
        return FieldCheck(path=entry.name, expected=expected, actual=actual, passed=passed, seq=seq)
