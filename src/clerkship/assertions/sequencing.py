"""`sequencing`: things happened in this order, each strictly after the one before."""

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import ConfigDict, Field, model_validator

from clerkship.assertions.contract import Assertion, Check
from clerkship.events import agent
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import compare, matches, nearest, phrase
from clerkship.model.duration import Duration, render_duration
from clerkship.model.names import nearest as nearest_name
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch

_BARE: dict[str, tuple[str, str]] = {
    "flow_started": (agent.FlowStarted.kind, "flow_id"),
    "flow_completed": (agent.FlowCompleted.kind, "flow_id"),
    "flow_cancelled": (agent.FlowCancelled.kind, "flow_id"),
    "flow_interrupted": (agent.FlowInterrupted.kind, "flow_id"),
    "action_executed": (agent.ActionExecuted.kind, "name"),
    "slot_was_set": (agent.SlotSet.kind, "name"),
}


def _or_bare(schema: dict[str, Any]) -> None:
    whole = dict(schema)
    bare = {"type": "object", "properties": {name: {"type": "string"} for name in _BARE}, "maxProperties": 1}
    schema.clear()
    schema.update({"anyOf": [whole, bare | {"additionalProperties": False, "minProperties": 1}]})


class SequenceStep(EventMatch):
    """One event of the sequence: an object with what it must look like, or a map with one name: `flow_started`,
    `flow_completed`, `flow_cancelled`, `flow_interrupted`, `action_executed` or `slot_was_set`."""

    model_config = ConfigDict(json_schema_extra=_or_bare)
    within: Annotated[Duration | None, Field(description="simulated time since the step before")] = None
    until: Annotated[EventMatch | None, Field(description="must happen before the next event like this")] = None

    @cached_property
    def words(self) -> str:
        """The step in words; asked for in every trial, and always the same."""
        return phrase(self)

    @model_validator(mode="before")
    @classmethod
    def _from_bare(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "event" in value:
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name in _BARE and isinstance(argument, str):
                kind, field = _BARE[name]
                return {"event": kind, "where": {field: argument}}
        close = next((name for name in (nearest_name(str(key), ("event", *_BARE)) for key in value) if name), None)
        meant = f"did you mean `{close}`? " if close is not None else ""
        raise ValueError(f"{meant}expected {{event: kind, …}}, or one of {', '.join(_BARE)} with a name")


class Link(NamedTuple):
    """A step matched by an event, where that is, and the match it stands on."""

    event: Event
    place: int
    before: "Link | None"


class Sequencing(Assertion):
    """Each step matches an event strictly after the last match; `within` and `until` bound the gap."""

    name: ClassVar[str] = "sequencing"
    shorthand: ClassVar[str | None] = "steps"
    steps: Annotated[tuple[SequenceStep, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _nothing_before_the_first(self) -> "Sequencing":
        if self.steps[0].within is not None or self.steps[0].until is not None:
            raise ValueError("`within` and `until` bound the gap after a step, and the first has none before it")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Extend every chain that can still be extended, one step at a time."""
        links: list[Link] = []
        for number, step in enumerate(self.steps):
            found = _extend(evidence.events, step, links, first=number == 0)
            if not found:
                return self._broken(evidence.events, number, links)
            links = found
        chain = _chain(links[0])
        return Check.of(
            True,
            "in order: " + " → ".join(f"#{event.seq}" for event in chain),
            *(_row(n, step, event, passed=True) for n, (step, event) in enumerate(zip(self.steps, chain, strict=True))),
        )

    def _broken(self, events: Sequence[Event], number: int, links: list[Link]) -> Check:
        step = self.steps[number]
        hits = [(index, event) for index, event in enumerate(events) if matches(event, step)]
        late = next(((event, _before(index, links)) for index, event in hits if _before(index, links)), None)
        chain = _chain(late[1] if late is not None and late[1] is not None else links[0]) if links else []
        shown = late[0] if late is not None else hits[0][1] if hits else nearest(events, step)
        rows = [_row(n, self.steps[n], event, passed=True) for n, event in enumerate(chain)]
        rows.append(_row(number, step, shown, passed=False))
        rows += [_row(n, later, None, passed=False) for n, later in enumerate(self.steps) if n > number]
        if not hits:
            why = "never happened" if shown is None else f"never happened; nearest is #{shown.seq}"
            rows[number : number + 1] = [rows[number], *(compare(shown, step) if shown is not None else ())]
        elif late is None:
            why = f"happened only at #{hits[0][1].seq}, not after the step before (#{chain[-1].seq})"
        else:
            why = _why(step, late[0], chain[-1], events)
        return Check.of(False, f"step {number + 1}, {step.words}, {why}", *rows)


def _before(place: int, links: list[Link]) -> Link | None:
    """The last match of the step before that stands before this place."""
    return next((link for link in reversed(links) if link.place < place), None)


def _extend(events: Sequence[Event], step: SequenceStep, links: list[Link], *, first: bool) -> list[Link]:
    """Every event that can be this step. For each, the latest match before it is the best to stand on: nothing
    further back is nearer in time, or has fewer `until` events between."""
    found: list[Link] = []
    waiting = iter(links)
    upcoming = next(waiting, None)
    last: Link | None = None
    for index in range(upcoming.place if upcoming is not None else 0, len(events)):
        event = events[index]
        if (first or last is not None) and matches(event, step) and _near_enough(event, last, step):
            found.append(Link(event, index, last))
        if last is not None and step.until is not None and matches(event, step.until):
            last = None
        if upcoming is not None and upcoming.place == index:
            last, upcoming = upcoming, next(waiting, None)
    return found


def _near_enough(event: Event, last: Link | None, step: SequenceStep) -> bool:
    return step.within is None or last is None or event.at - last.event.at <= step.within


def _chain(link: Link) -> list[Event]:
    events: list[Event] = []
    here: Link | None = link
    while here is not None:
        events.append(here.event)
        here = here.before
    return events[::-1]


def _row(number: int, step: SequenceStep, event: Event | None, *, passed: bool) -> FieldCheck:
    actual = "(not found)" if event is None else f"#{event.seq} {event.kind}"
    seq = event.seq if event is not None else None
    return FieldCheck(path=f"step {number + 1}", expected=step.words, actual=actual, passed=passed, seq=seq)


def _why(step: SequenceStep, event: Event, last: Event, events: Sequence[Event]) -> str:
    """Why an event that came after the step before still does not count."""
    for other in events if step.until is not None else ():
        between = (last.at, last.seq) < (other.at, other.seq) < (event.at, event.seq)
        if between and step.until is not None and matches(other, step.until):
            return f"happened at #{event.seq}, but only after {phrase(step.until)} (#{other.seq})"
    limit = render_duration(step.within or timedelta())
    return f"happened at #{event.seq}, but not within {limit} of the step before (#{last.seq})"
