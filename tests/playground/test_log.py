"""The log: append-only, ordered, with one writer and read-only subscribers."""

from datetime import UTC, datetime, timedelta

import pytest

from clerkship.events.event import Event, parse_event
from clerkship.events.lifecycle import FaultInjected, RunEnded, StepRan
from clerkship.events.log import LogClosed, compute_head, open_log

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_late_event_is_ordered_by_the_time_it_happened() -> None:
    log, writer = open_log()
    for step, minutes in (("a", 0), ("b", 10), ("late", 5), ("c", 10)):
        writer.append("scenario", StepRan(step=step), actor="scenario", at=NOW + timedelta(minutes=minutes))
    assert [event.seq for event in log.events] == [1, 2, 3, 4]
    assert [event.seq for event in log.ordered()] == [1, 3, 2, 4]


def test_the_head_changes_with_every_event_and_can_be_recomputed() -> None:
    log, writer = open_log()
    heads = []
    for number in range(5):
        writer.append("scenario", StepRan(step=str(number)), actor="scenario", at=NOW)
        heads.append(log.head)
        assert compute_head(log.lines) == log.head
    assert len(set(heads)) == 5


def test_closed_log_accepts_no_events() -> None:
    log, writer = open_log()
    writer.append("run", RunEnded(ending="agent_done"), actor="run", at=NOW)
    head = log.head
    writer.close()
    with pytest.raises(LogClosed):
        writer.append("run", RunEnded(ending="agent_done"), actor="run", at=NOW)
    assert log.head == head


def test_a_subscriber_sees_every_event_and_has_no_way_to_add_one() -> None:
    log, writer = open_log()
    seen: list[Event] = []
    log.subscribe(seen.append)
    event = writer.append("scenario", StepRan(step="x"), actor="scenario", at=NOW)
    assert seen == [event]
    assert not hasattr(log, "append")
    with pytest.raises(AttributeError):
        event.kind = "forged"  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        event.payload.step = "forged"  # type: ignore[attr-defined]


def test_a_large_body_is_kept_as_a_blob_by_its_hash() -> None:
    log, writer = open_log()
    text = "long " * 10_000
    writer.append("scenario", StepRan(step=text), actor="scenario", at=NOW)
    assert len(log.lines[0]) < 1000
    assert list(log.blobs.values()) == [text.encode()]


def test_keys_keep_their_order() -> None:
    log, writer = open_log()
    injected = FaultInjected(fault="drop", operation="read", details={"z": {"y": 1, "b": 2}, "a": "long " * 1000})
    event = writer.append("desk", injected, actor="scenario", at=NOW)
    again = parse_event(log.lines[0], {injected.kind: FaultInjected}, log.blobs.__getitem__)
    assert again.payload.model_dump_json() == event.payload.model_dump_json()
