"""Base classes and helpers of assertions on the agent's reported events."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, Field, JsonValue

from clerkship.events.agent import AGENT_EVENTS
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check, to_evidence_value
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import check_expected, describe_expected, is_matcher, matches_expected
from clerkship.model.names import find_similar_name
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference

T = TypeVar("T")
_ACTIVE_VERBS = ("started", "completed", "resumed")
_COUNT_MATCHERS = ("equals", "in", "gt", "gte", "lt", "lte", "not", "approx")
MAX_NAMES = 300
_MAX_SHOWN = 5


def _check_not_blank(name: str) -> str:
    if not name.strip():
        raise ValueError("expected a name, not blank text")
    return name


def _check_not_empty(items: Collection[T]) -> Collection[T]:
    if not items:
        raise ValueError("an empty list checks nothing")
    return items


def _check_count(value: JsonValue) -> JsonValue:
    """Return a whole number, or a matcher that some whole number can match."""
    return _check_number(value, int, "whole number")


def _check_amount(value: JsonValue) -> JsonValue:
    """Return a number, or a matcher that some number can match."""
    return _check_number(value, (int, float), "number")


def _check_number(value: JsonValue, types: type | tuple[type, ...], name: str) -> JsonValue:
    check_expected(value)
    if is_matcher(value) and isinstance(value, dict):
        for matcher, argument in value.items():
            if matcher not in _COUNT_MATCHERS:
                raise ValueError(f"`{matcher}` matches no number; use one of {', '.join(_COUNT_MATCHERS)}")
            for part in argument if matcher == "in" and isinstance(argument, list) else [argument]:
                if matcher != "approx":
                    _check_number(part, types, name)
    elif not isinstance(value, types) or isinstance(value, bool) or value < 0:  # type: ignore[operator]
        raise ValueError(f"expected a {name} from 0, or a matcher such as {{gte: 2}}, not {describe_expected(value)}")
    return value


Name = Annotated[str, AfterValidator(_check_not_blank)]
NotEmpty = AfterValidator(_check_not_empty)
NotEmptyTuple = Annotated[tuple[T, ...], NotEmpty, Field(json_schema_extra={"minItems": 1})]
CountExpectation = Annotated[JsonValue, AfterValidator(_check_count)]
AmountExpectation = Annotated[JsonValue, AfterValidator(_check_amount)]

EQUALITY_DIFFERENCE = Difference("equality of values", "as in JSON: `true` is not 1", "as in Python: `True == 1`")
MATCHER_DIFFERENCE = Difference("a map such as `{gte: 5}` as a value", "a matcher", "a literal")


def allows_zero(count: JsonValue) -> bool:
    """Return whether `count` is given and 0 satisfies it."""
    return count is not None and matches_expected(count, 0)


class TurnScope(Frozen):
    """Selects turns."""

    turn: Annotated[
        CountExpectation | None,
        Field(
            description="only in this turn, or in turns that match; turn 0 is before the person's first message (ours)"
        ),
    ] = None

    def select_turns(self, evidence: Evidence, events: Sequence[Event]) -> Sequence[Event]:
        if self.turn is None:
            return events
        return [event for event in events if matches_expected(self.turn, evidence.turn_of(event))]

    @property
    def scope_text(self) -> str:
        """The selected turns, as the end of a sentence."""
        if self.turn is None:
            return ""
        if isinstance(self.turn, dict) and self.turn.keys() == {"lte"}:
            return f" by turn {self.turn['lte']}"
        return (
            f" in a turn {describe_expected(self.turn)}"
            if is_matcher(self.turn)
            else f" in turn {describe_expected(self.turn)}"
        )


class CountedScope(TurnScope):
    """Selects turns, and expects a number of occurrences."""

    count: Annotated[
        CountExpectation | None,
        Field(description="how often: a number or a matcher; by default at least once, 0 for never (ours)"),
    ] = None

    def is_satisfied(self, hits: Collection[Event]) -> bool:
        """Return whether the number of events is as expected."""
        return bool(hits) if self.count is None else matches_expected(self.count, len(hits))

    def describe_occurrences(self, evidence: Evidence, hits: Sequence[Event], did: str, never: str) -> str:
        """Describe the actual and the expected number of occurrences."""
        where = f" ({join_first(hits, evidence.place)})" if hits else ""
        actual = f"{did} {describe_times(len(hits))}" if hits else never
        return f"{actual}{where}; expected {describe_expected(self.count)}"

    def check_count(self, words: str, hits: Sequence[Event]) -> Check:
        """Return the result for the number of events."""
        row = FieldCheck(path="count", expected=self.count, actual=len(hits), passed=self.is_satisfied(hits))
        return Check.of(row.passed, words, row)


def values_equal(expected: Any, actual: Any, *, rasa: bool) -> bool:
    """Return whether a value is as expected, by our rules or as Python compares."""
    if type(expected) is str and type(actual) is str:
        return expected == actual
    return bool(expected == actual) if rasa else matches_expected(expected, actual)


def build_expected_fields(model: BaseModel, event: type[Payload]) -> dict[str, Any]:
    """Return the fields of a model that an event of this kind has too."""
    return {name: value for name in event.model_fields if (value := getattr(model, name, None)) not in (None, {})}


def matches_payload(expected_fields: Mapping[str, Any], payload: Payload, *, rasa: bool) -> bool:
    """Return whether an event has all expected fields."""
    for name, expected in expected_fields.items():  # noqa: SIM110  (as in events.query.matches)
        if not _matches_field(name, expected, payload, rasa=rasa):
            return False
    return True


def count_matching_fields(expected_fields: Mapping[str, Any], payload: Payload, *, rasa: bool) -> int:
    """Return how many expected fields an event has; each argument counts as one."""
    return sum(
        sum(has_arguments(getattr(payload, name), {key: value}, rasa=rasa) for key, value in expected.items())
        if name == "arguments"
        else _matches_field(name, expected, payload, rasa=rasa)
        for name, expected in expected_fields.items()
    )


def _matches_field(name: str, expected: Any, payload: Payload, *, rasa: bool) -> bool:
    actual = getattr(payload, name, MISSING)
    return (
        has_arguments(actual, expected, rasa=rasa) if name == "arguments" else values_equal(expected, actual, rasa=rasa)
    )


def has_arguments(arguments: Any, expected_arguments: Mapping[str, Any], *, rasa: bool) -> bool:
    """Return whether a call has all expected arguments."""
    return isinstance(arguments, Mapping) and all(
        values_equal(expected, arguments.get(name, MISSING), rasa=rasa) for name, expected in expected_arguments.items()
    )


def build_rows(expected_fields: Mapping[str, Any], event: Event, *, rasa: bool) -> list[FieldCheck]:
    """Return a row for each expected field of an event."""
    return [_build_row(name, expected, event, rasa=rasa) for name, expected in expected_fields.items()]


def _build_row(name: str, expected: Any, event: Event, *, rasa: bool) -> FieldCheck:
    actual, passed = getattr(event.payload, name, MISSING), _matches_field(name, expected, event.payload, rasa=rasa)
    if name == "arguments":
        return build_arguments_row(expected, actual, event, passed=passed, rasa=rasa)
    return field_check(name, expected, actual, passed=passed, seq=event.seq)


def build_arguments_row(
    expected: Mapping[str, Any], actual: Any, event: Event, *, passed: bool, rasa: bool
) -> FieldCheck:
    """Build a row with the expected arguments, all arguments of the call, and the differences."""
    row = FieldCheck(
        path="arguments", expected=expected, actual=to_evidence_value(actual), passed=passed, seq=event.seq
    )
    if passed or not isinstance(actual, Mapping):
        return row
    unmet = {
        name: value for name, value in expected.items() if not values_equal(value, actual.get(name, MISSING), rasa=rasa)
    }
    return row.with_differences(unmet, {name: actual.get(name, MISSING) for name in unmet})


def describe_done(kind: str) -> str:
    """Return the verb for events of a kind: `started`, `was cancelled`."""
    verb = kind.rpartition(".")[2]
    return verb if verb in _ACTIVE_VERBS else f"was {verb}"


def describe_not_done(kind: str) -> str:
    """Return the negated verb for events of a kind: `never started`, `was never cancelled`."""
    verb = kind.rpartition(".")[2]
    return f"never {verb}" if verb in _ACTIVE_VERBS else f"was never {verb}"


def get_event_subject(kind: str) -> str:
    """Return what events of a kind are about: `flow`, `slot`, `tool`."""
    return kind.split(".")[1]


def describe_times(number: int) -> str:
    """Return a number of times in words."""
    return "once" if number == 1 else f"{number} times" if number else "never"


def join_first(things: Sequence[T], words: Callable[[T], str] = str, most: int = _MAX_SHOWN) -> str:
    """List the first items, and how many more there are."""
    more = f" and {len(things) - most} more" if len(things) > most else ""
    return ", ".join(map(words, things[:most])) + more


def find_closest(name: str, events: Sequence[Event], field: str) -> Event | None:
    """Return the first event whose name is most similar to `name`; if none is similar, the first event."""
    first: dict[str, Event] = {}
    for event in events:
        first.setdefault(getattr(event.payload, field), event)
    nearest = find_similar_name(name, islice(first, MAX_NAMES))
    return first[nearest] if nearest is not None else events[0] if events else None


def describe_nearest(evidence: Evidence, name: str, kind: str, field: str) -> tuple[str, Event | None]:
    """Describe the nearest event that did happen, for a failure; return the text and the event.

    Nearest is the same action on the same thing, then another action on it, then the same action on a thing of
    similar name.
    """
    related_kinds = [other.kind for other in AGENT_EVENTS if other.kind.startswith(f"agent.{get_event_subject(kind)}.")]
    same_thing = [event for event in evidence.of_kind(*related_kinds) if getattr(event.payload, field, None) == name]
    same_thing = [event for event in same_thing if event.kind == kind] or same_thing
    nearest = same_thing[-1] if same_thing else find_closest(name, evidence.of_kind(kind), field)
    if nearest is None:
        return f"no {get_event_subject(kind)} {describe_done(kind)}", None
    about = "it" if same_thing else getattr(nearest.payload, field)
    return f"nearest: {about} {describe_done(nearest.kind)} {evidence.when(nearest)}", nearest


class OccurrenceAssertion(Assertion, TurnScope):
    """Events of one kind about one thing."""

    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    event: ClassVar[type[Payload]]
    about: ClassVar[str]
    """The field with the name of the thing."""
    uses_python_equality: ClassVar[bool] = False
    """Whether `compat: rasa` compares values as Python does."""

    @classmethod
    def reads(cls) -> frozenset[str]:
        return frozenset({cls.event.kind})

    @cached_property
    def expected_fields(self) -> dict[str, Any]:
        """The fields that an event must have."""
        return build_expected_fields(self, self.event)

    @property
    def subject_text(self) -> str:
        """A description of what it is about."""
        details = [
            f"{name} {describe_expected(value)}" for name, value in self.expected_fields.items() if name != self.about
        ]
        return f"{get_event_subject(self.event.kind)} {self.expected_fields[self.about]}" + (
            f" ({', '.join(details)})" if details else ""
        )

    def find_candidates(self, evidence: Evidence) -> Sequence[Event]:
        """Return the events of the kind in the selected turns."""
        return self.select_turns(evidence, evidence.of_kind(self.event.kind))

    def report_missed(self, evidence: Evidence, candidates: Sequence[Event], *, rasa: bool) -> Check:
        """Return a failure that shows the nearest event."""
        kind, name = self.event.kind, self.expected_fields[self.about]
        about = [event for event in candidates if getattr(event.payload, self.about) == name]
        if about:
            nearest = max(
                about, key=lambda event: count_matching_fields(self.expected_fields, event.payload, rasa=rasa)
            )
            evidence_rows = build_rows(self.expected_fields, nearest, rasa=rasa)
            differences = ", ".join(
                f"{row.path} {describe_expected(row.actual)}" for row in evidence_rows if not row.passed
            )
            words = f"nearest: it {describe_done(kind)} {evidence.when(nearest)} with {differences}"
        else:
            words, other = describe_nearest(evidence, name, kind, self.about)
            evidence_rows = [self._build_nearest_row(evidence, other)]
        return Check.of(
            False, f"{self.subject_text} {describe_not_done(kind)}{self.scope_text}; {words}", *evidence_rows
        )

    def _build_nearest_row(self, evidence: Evidence, other: Event | None) -> FieldCheck:
        expected = f"{self.expected_fields[self.about]} {describe_done(self.event.kind)}{self.scope_text}"
        if other is None:
            return FieldCheck(path=self.about, expected=expected, actual="(none)", passed=False)
        actual = f"{getattr(other.payload, self.about)} {describe_done(other.kind)} {evidence.when(other)}"
        return FieldCheck(path=self.about, expected=expected, actual=actual, passed=False, seq=other.seq)


class HappenedAssertion(OccurrenceAssertion, CountedScope):
    """Something happened at least once, or as often as `count` says."""

    def select_as_rasa(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events that Rasa would look at."""
        return events

    def check(self, evidence: Evidence) -> Check:
        """Look for the event; on failure, show the nearest one."""
        candidates, rasa = self.find_candidates(evidence), evidence.is_rasa_compatible and self.uses_python_equality
        considered = (
            self.select_as_rasa(candidates) if evidence.is_rasa_compatible and self.count is None else candidates
        )
        hits = [event for event in considered if matches_payload(self.expected_fields, event.payload, rasa=rasa)]
        if self.count is not None:
            done, undone = (
                describe_done(self.event.kind) + self.scope_text,
                describe_not_done(self.event.kind) + self.scope_text,
            )
            return self.check_count(
                f"{self.subject_text} {self.describe_occurrences(evidence, hits, done, undone)}", hits
            )
        if hits:
            words = f"{self.subject_text} {describe_done(self.event.kind)} {evidence.when(hits[0])}"
            return Check.of(True, words, *build_rows(self.expected_fields, hits[0], rasa=rasa))
        missed = self.report_missed(evidence, considered, rasa=rasa)
        later = next(
            (event for event in candidates if matches_payload(self.expected_fields, event.payload, rasa=rasa)), None
        )
        if later is None:
            return missed
        return missed._replace(
            detail=f"{missed.detail}; that of {evidence.place(later)} does not count with `compat: rasa`"
        )


class NeverHappenedAssertion(OccurrenceAssertion):
    """Something never happened."""

    def check(self, evidence: Evidence) -> Check:
        """Look for the event; on failure, show the first."""
        candidates = self.find_candidates(evidence)
        hit = next(
            (event for event in candidates if matches_payload(self.expected_fields, event.payload, rasa=False)), None
        )
        if hit is None:
            row = FieldCheck(path=self.about, expected="none", actual=f"{len(candidates)} others", passed=True)
            return Check.of(True, f"{self.subject_text} {describe_not_done(self.event.kind)}{self.scope_text}", row)
        forbidden = [row.forbidden() for row in build_rows(self.expected_fields, hit, rasa=False)]
        return Check.of(False, f"{self.subject_text} {describe_done(self.event.kind)} {evidence.when(hit)}", *forbidden)
