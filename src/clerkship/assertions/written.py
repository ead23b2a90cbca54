"""What was written down under a name, a slot or a memory: what the checks on either share."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, model_validator

from clerkship.assertions.contract import Assertion, Check
from clerkship.assertions.occurrence import Counted, Name, Scope, closest, did, listed, never, noun, same
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import shown
from clerkship.model.matcher import describe
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected


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
    """A name, and a value; without one any is meant, and `null` is a value like others."""

    value: Annotated[Expected, Field(description="its value; a matcher too (ours); any if not given")] = None

    @property
    def is_valued(self) -> bool:
        """Whether a value is given: `null` is one."""
        return "value" in self.model_fields_set

    def fits(self, event: Event, *, rasa: bool) -> bool:
        """Whether that was written."""
        return not self.is_valued or same(self.value, value_of(event), rasa=rasa)

    @property
    def to(self) -> str:
        """The value, in words that end a phrase."""
        return f" to {describe(self.value)}" if self.is_valued else ""


class CountedEntry(Entry, Counted):
    """A name, a value, and how often it was written."""


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

    def _of(self, entry: Named, evidence: Evidence) -> list[Event]:
        events = evidence.of_kind(self.event.kind)
        return [event for event in events if getattr(event.payload, "name", None) == entry.name]

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
    text = describe(value_of(event))
    return text if len(text) <= 80 else f"{text[:79]}…"


class WasWritten(Writes):
    """Each entry was written, at any time."""

    def judge(self, entry: Any, evidence: Evidence) -> Found:
        """Look for a time that it was."""
        writes, rasa = self.of(entry, evidence), evidence.as_rasa
        hits = [event for event in writes if entry.fits(event, rasa=rasa)] if isinstance(entry, Entry) else writes
        passed, to = entry.enough(hits), getattr(entry, "to", "")
        kind = self.event.kind
        if entry.count is not None:
            done, undone = f"{did(kind)}{to}{entry.scope}", f"{never(kind)}{to}{entry.scope}"
            words = f"{self.thing(entry)} {entry.often(evidence, hits, done, undone)}"
            return Found(
                FieldCheck(path=entry.name, expected={"count": entry.count}, actual=len(hits), passed=passed), words
            )
        shown_is = hits[0] if hits else _telling(writes)
        row = FieldCheck(
            path=entry.name,
            expected=entry.value if to else did(kind).removeprefix("was "),
            actual=f"({never(kind).removeprefix('was ')})" if shown_is is None else _actual(shown_is),
            passed=passed,
            seq=None if shown_is is None else shown_is.seq,
        )
        if passed:
            return Found(row, f"{self.thing(entry)} {did(kind)}{to} {evidence.when(hits[0])}")
        return Found(row, f"{self.thing(entry)} {never(kind)}{to}{entry.scope}; {self.missed(entry, evidence)}")


def _telling(writes: Sequence[Event]) -> Event | None:
    """What was written last that says something: many agents reset what they no longer need."""
    valued = (event for event in reversed(writes) if value_of(event) is not None)
    return next(valued, writes[-1] if writes else None)


def _actual(event: Event) -> object:
    return shown(value_of(event)) if hasattr(event.payload, "value") else event.kind.rpartition(".")[2]


class WasNotWritten(Writes):
    """What counts is what was written last."""

    null_is_nothing: ClassVar[bool]
    """Whether writing `null` takes back what was written."""

    def judge(self, entry: Any, evidence: Evidence) -> Found:
        """Look at what was written last, if anything was."""
        expected = {"not": entry.value} if entry.is_valued else "(never set)"
        last = next(reversed(self.of(entry, evidence)), None)
        if last is None:
            row = FieldCheck(path=entry.name, expected=expected, actual="(never set)", passed=True)
            return Found(row, f"{self.thing(entry)} was never set{entry.scope}")
        value = value_of(last)
        nothing = self.null_is_nothing and value is None
        passed = not entry.fits(last, rasa=evidence.as_rasa) if entry.is_valued else nothing
        row = FieldCheck(path=entry.name, expected=expected, actual=shown(value), passed=passed, seq=last.seq)
        words = f"{self.thing(entry)} was last set to {describe(value)} {evidence.when(last)}"
        unset = "never set, or null in the end" if self.null_is_nothing else "never set"
        return Found(
            row,
            words if passed else f"{words}; expected {f'not {describe(entry.value)}' if entry.is_valued else unset}",
        )
