"""`sequencing` equals a naive search over every choice of events."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.assertions.sequence_step import SequenceStep
from clerkship.assertions.sequencing import Sequencing
from clerkship.events import agent
from clerkship.events.event import Event, Payload
from clerkship.events.query import matches
from tests.assertions.log_builder import LogBuilder
from tests.examples import examples

NAMES = st.sampled_from("abc")


def file_read(name: str) -> dict[str, Any]:
    return {"event": "files.file.read", "where": {"path": name}}


@st.composite
def sequences(draw: st.DrawFn) -> list[dict[str, Any]]:
    steps = [file_read(name) for name in draw(st.lists(NAMES, min_size=1, max_size=4))]
    for step in steps[1:]:
        if draw(st.booleans()):
            step["within"] = draw(st.integers(0, 6))
        if draw(st.booleans()):
            step["until"] = file_read(draw(NAMES))
    return steps


def matches_steps(events: Sequence[Event], places: Sequence[int], steps: Sequence[SequenceStep]) -> bool:
    if not all(matches(events[place], step) for place, step in zip(places, steps, strict=True)):
        return False
    for before, place, step in zip(places, places[1:], steps[1:], strict=False):
        if step.within is not None and events[place].at - events[before].at > step.within:
            return False
        if step.until is not None and any(matches(event, step.until) for event in events[before + 1 : place]):
            return False
    return True


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(NAMES, st.integers(0, 12)), max_size=9), sequences())
def test_sequencing_equals_naive_search(happened: list[tuple[str, int]], written: Any) -> None:
    log_builder = LogBuilder()
    for name, at in happened:
        log_builder.read(name, at=at)
    assertion = Sequencing.model_validate(written)
    evidence = log_builder.evidence()
    there_is_one = any(
        matches_steps(evidence.events, places, assertion.steps)
        for places in combinations(range(len(evidence.events)), len(assertion.steps))
    )
    results = assertion.check(evidence)
    assert results.passed == there_is_one
    if results.passed:
        seqs = [event.seq for event in evidence.events]
        assert matches_steps(evidence.events, [seqs.index(row.seq or 0) for row in results.evidence], assertion.steps)
    else:
        assert results.detail.startswith("step ")


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=8), st.data())
def test_any_subsequence_of_a_log_matches(names: list[str], data: st.DataObject) -> None:
    log_builder = LogBuilder()
    for name in names:
        log_builder.read(name)
    places = sorted(data.draw(st.sets(st.integers(0, len(names) - 1), min_size=1)))
    steps = [file_read(names[place]) | ({"within": timedelta(hours=1)} if n else {}) for n, place in enumerate(places)]
    assert Sequencing.model_validate(steps).check(log_builder.evidence()).passed


BARE = ("flow_started", "flow_completed", "action_executed", "slot_was_set", "memory_was_set", "skill_activated")
MADE: dict[str, Callable[[str], Payload]] = {
    "flow_started": lambda name: agent.FlowStarted(flow_id=name),
    "flow_completed": lambda name: agent.FlowCompleted(flow_id=name),
    "action_executed": lambda name: agent.ActionExecuted(name=name),
    "slot_was_set": lambda name: agent.SlotSet(name=name),
    "memory_was_set": lambda name: agent.MemorySet(name=name, value=1),
    "skill_activated": lambda name: agent.SkillActivated(skill_id=name),
}
ACTIONS = st.tuples(st.sampled_from(BARE), NAMES)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(ACTIONS | st.none(), max_size=12), st.lists(ACTIONS, min_size=1, max_size=4), st.none() | st.integers(0, 3)
)
def test_named_steps_match_exactly_the_subsequences(
    happened: list[tuple[str, str] | None], wanted: list[tuple[str, str]], turn: int | None
) -> None:
    log_builder, now, seen = LogBuilder(), 0, []
    for deed in happened:
        if deed is None:
            log_builder.add_message("And then?", actor="person")
            now += 1
            continue
        log_builder.add_event(MADE[deed[0]](deed[1]))
        if turn is None or turn == now:
            seen.append(deed)
    remaining = iter(seen)
    is_part = all(step in remaining for step in wanted)  # `in` takes from the iterator up to the step
    args = {"steps": [{key: name} for key, name in wanted], **({} if turn is None else {"turn": turn})}
    assertion = Sequencing.model_validate(args)
    assert assertion.check(log_builder.evidence()).passed == is_part
    assert assertion.check(log_builder.evidence(compat="rasa")).passed == is_part
