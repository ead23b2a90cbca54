"""`sequencing`: events happened in this order, each strictly after the one before."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field, model_validator

from clerkship.assertions.narrowing import find_subject
from clerkship.assertions.occurrence import NotEmpty, TurnScope
from clerkship.assertions.sequence_step import SequenceStep
from clerkship.assertions.stored_values import REPLACED_DIFFERENCE, is_replaced
from clerkship.events.agent import SlotSet
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import compare_fields, describe_match, find_nearest, matches, matches_kind
from clerkship.model.duration import describe_duration
from clerkship.model.matcher import matches_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


class SequenceMatch(NamedTuple):
    """A step matched by an event, the event's position, and the match of the step before."""

    event: Event
    place: int
    previous: "SequenceMatch | None"


class Sequencing(Assertion, TurnScope):
    """Each step matches an event strictly after the match of the step before. `within` and `until` limit the gap."""

    name: ClassVar[str] = "sequencing"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "steps"
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("an empty list", "refused: it checks nothing", "passes there; refused here too"),
        REPLACED_DIFFERENCE,
    )
    steps: Annotated[
        tuple[SequenceStep, ...], NotEmpty, Field(description="in order", json_schema_extra={"minItems": 1})
    ]

    @model_validator(mode="after")
    def _check_first_step(self) -> "Sequencing":
        if self.steps[0].within is not None or self.steps[0].until is not None:
            raise ValueError("`within` and `until` limit the gap to the step before, and the first step has none")
        return self

    def needs(self) -> Sequence[frozenset[str]]:
        return [frozenset({step.event}) for step in self.steps if step.utterance is None]

    def explain_unscoped(self, record_type: str | None = None) -> str:
        """Return that a step is one of a conversation, if there is one."""
        number = next((number for number, step in enumerate(self.steps, 1) if step.is_of_conversation), None)
        return f"step {number}: {UNSCOPED_CONVERSATION}" if number is not None else ""

    def check(self, evidence: Evidence) -> Check:
        """Extend all partial matches by one step at a time."""
        partial_matches: list[SequenceMatch] = []
        for number in range(len(self.steps)):
            extended = self._extend(evidence, number, partial_matches)
            if not extended:
                return self._report_failure(evidence, number, partial_matches)
            partial_matches = extended
        events = _collect_events(partial_matches[0])
        return Check.of(
            True,
            "in order: " + " → ".join(map(evidence.place, events)),
            *[
                _build_row(n, step, event, passed=True)
                for n, (step, event) in enumerate(zip(self.steps, events, strict=True))
            ],
        )

    def _extend(self, evidence: Evidence, number: int, partial_matches: list[SequenceMatch]) -> list[SequenceMatch]:
        """Return all events that can be this step; only the first if nothing limits the gap to the next.

        Each match continues the latest match before it: no earlier one is nearer in time, or has fewer `until`
        events between.
        """
        steps, is_first = self.steps, number == 0
        step, next_step = steps[number], steps[number + 1] if number + 1 < len(steps) else None
        first_is_enough = next_step is None or not next_step.is_limited
        ends = list(self._find_positions(evidence, step.until)) if step.until is not None else []
        extended: list[SequenceMatch] = []
        for place in self._find_positions(evidence, step, partial_matches[0].place + 1 if partial_matches else 0):
            last = _find_last_match_before(place, partial_matches) if partial_matches else None
            if last is None and not is_first:
                continue
            event = evidence.events[place]
            if last is None or not step.is_limited or _is_near(event, place, last, step, ends):
                extended.append(SequenceMatch(event, place, last))
                if first_is_enough:
                    break
        return extended

    def _find_positions(self, evidence: Evidence, match: EventMatch, start: int = 0) -> Iterator[int]:
        """Yield the positions of matching events from `start` on, in the selected turns."""
        events, places = evidence.events, evidence.indexes_by_kind.get(match.event, [])
        step = match if isinstance(match, SequenceStep) else None
        accepts = self._build_filter(evidence, step) if step is not None else partial(matches, match=match)
        if "*" in match.event:
            matching = (
                indexes for kind, indexes in evidence.indexes_by_kind.items() if matches_kind(kind, match.event)
            )
            places = sorted(chain.from_iterable(matching))
        subject = find_subject(evidence) if step is not None and evidence.subject is not None else None
        for number in range(bisect_left(places, start), len(places)):
            event = events[places[number]]
            is_in_turn = accepts(event) and (self.turn is None or matches_expected(self.turn, evidence.turn_of(event)))
            if is_in_turn and (subject is None or subject.concerns(data=event.payload)):
                yield places[number]

    @staticmethod
    def _build_filter(evidence: Evidence, step: SequenceStep) -> Callable[[Event], bool]:
        """Return a function that tells whether an event is a step."""
        if step.event != SlotSet.kind or not step.is_slot_name or evidence.is_rasa_compatible:
            return step.accepts
        return lambda event: step.accepts(event) and not is_replaced(event, evidence)

    def _report_failure(self, evidence: Evidence, number: int, partial_matches: list[SequenceMatch]) -> Check:
        step, events = self.steps[number], evidence.events
        hits = list(self._find_positions(evidence, step))
        late = next(
            ((events[place], link) for place in hits if (link := _find_last_match_before(place, partial_matches))), None
        )
        chained = _collect_events(late[1] if late is not None else partial_matches[0]) if partial_matches else []
        last = chained[-1] if chained else None
        candidates = events if step.utterance is None else evidence.utterances_by("agent", step.utterance.sandbox)
        rest = [event for event in candidates if last is None or (event.at, event.seq) > (last.at, last.seq)]
        shown = late[0] if late is not None else events[hits[0]] if hits else find_nearest(rest, step)
        rows = [_build_row(n, self.steps[n], event, passed=True) for n, event in enumerate(chained)]
        rows.append(_build_row(number, step, shown, passed=False))
        rows += [
            _build_row(n, later, None, passed=False, reached=False) for n, later in enumerate(self.steps) if n > number
        ]
        if not hits:
            near = "" if shown is None else f"; nearest is {evidence.place(shown)}"
            why = f"never happened{self.scope_text}{near}"
            rows[number : number + 1] = [rows[number], *(compare_fields(shown, step) if shown is not None else ())]
        elif late is None:
            only, after = evidence.when(events[hits[0]]), evidence.place(chained[-1])
            why = f"happened only {only}, not after the step before ({after})"
        else:
            why = self._explain(evidence, step, late[0], late[1])
        return Check.of(False, f"step {number + 1}, {step.description}, {why}", *rows)

    def _explain(self, evidence: Evidence, step: SequenceStep, event: Event, last: SequenceMatch) -> str:
        """Explain why an event after the step before does not count."""
        happened, after = f"happened {evidence.when(event)}", evidence.place(last.event)
        if step.until is not None:
            between = next(self._find_positions(evidence, step.until, last.place + 1), None)
            other = evidence.events[between] if between is not None else event
            if (other.at, other.seq) < (event.at, event.seq):
                return f"{happened}, but only after {describe_match(step.until)} ({evidence.place(other)})"
        limit = describe_duration(step.within or timedelta())
        return f"{happened}, but not within {limit} of the step before ({after})"


def _find_last_match_before(place: int, partial_matches: list[SequenceMatch]) -> SequenceMatch | None:
    """Return the last match of the step before at an earlier position."""
    if partial_matches and partial_matches[-1].place < place:
        return partial_matches[-1]
    index = bisect_left(partial_matches, place, key=lambda link: link.place)
    return partial_matches[index - 1] if index else None


def _is_near(event: Event, place: int, last: SequenceMatch, step: SequenceStep, ends: Sequence[int]) -> bool:
    """Return whether an event keeps to the limits of a step, given the positions of the events that end it."""
    index = bisect_left(ends, last.place + 1)
    is_ended = index < len(ends) and ends[index] < place
    return not is_ended and (step.within is None or event.at - last.event.at <= step.within)


def _collect_events(last: SequenceMatch) -> list[Event]:
    events: list[Event] = []
    current: SequenceMatch | None = last
    while current is not None:
        events.append(current.event)
        current = current.previous
    return events[::-1]


def _build_row(
    number: int, step: SequenceStep, event: Event | None, *, passed: bool, reached: bool = True
) -> FieldCheck:
    missing = "(not found)" if reached else "(not reached)"
    actual = missing if event is None else f"#{event.seq} {event.kind}"
    seq = event.seq if event is not None else None
    return FieldCheck.of_text(f"step {number + 1}", step.description, actual, passed, seq)
