"""Parsing of trackers: each type of event, skipped events, and known events."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.actors.contract import Say
from clerkship.events import agent
from clerkship.events.agent import (
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowResumed,
    FlowStarted,
    MemoryCleared,
    MemorySet,
    Noted,
    SlotSet,
    ToolExecuted,
)
from clerkship.rasa.tracker import TrackerCursor, parse_events, parse_messages, select_last_session
from tests.rasa.servers import LISTEN, START, action, bot, slot

BUTTONS = [{"title": "Yes", "payload": "/affirm"}, {"title": "No", "payload": "/deny"}]


def read(*rows: Any) -> list[Any]:
    """Parse rows that are all valid."""
    skipped: Counter[str] = Counter()
    found = parse_events(rows, skipped)
    assert not skipped
    return list(found)


def test_events_keep_tracker_order_without_user_messages() -> None:
    user = {"event": "user", "text": "hello", "parse_data": {"intent": {"name": "greet"}}}
    rows = [user, {"event": "user_featurization"}, action("a"), bot("one"), slot("s", 1), bot("two"), LISTEN]
    assert read(*rows) == [
        ActionExecuted(name="a"),
        Say("one"),
        SlotSet(name="s", value=1),
        Say("two"),
        ActionExecuted(name="action_listen"),
    ]
    assert read({"event": "stack", "update": "[]"}, {"event": "entities", "entities": []}) == []


def test_utterance_keeps_name_buttons_and_metadata() -> None:
    row = bot("Well?", "utter_ask", buttons=BUTTONS)
    row["metadata"] |= {"utter_source": "ContextualResponseRephraser", "model_id": "m"}
    [say] = read(row)
    told = {"utter_action": "utter_ask", "utter_source": "ContextualResponseRephraser"}
    assert say == Say("Well?", "utter_ask", tuple(BUTTONS), told), "which model it was is not what happened"


@pytest.mark.parametrize(
    ("data", "custom"),
    [
        ({"custom": {"card": 1}}, {"custom": {"card": 1}}),
        ({"image": "https://a/b.png"}, {"image": "https://a/b.png"}),
        ({"attachment": {"url": "x"}, "custom": [1]}, {"attachment": {"url": "x"}, "custom": [1]}),
        ({"quick_replies": [{"title": "x"}]}, {"quick_replies": [{"title": "x"}]}),
        ({}, None),
    ],
)
def test_attachments_are_kept_under_their_own_keys(data: dict[str, Any], custom: Any) -> None:
    assert read(bot(None, **data)) == [Say("", custom=custom)]


def test_flow_events_are_parsed_with_steps() -> None:
    steps = {"flow_id": "f", "step_id": "3_end"}
    assert read(
        {"event": "flow_started", "flow_id": "f"},
        {"event": "flow_interrupted", **steps},
        {"event": "flow_resumed", **steps},
        {"event": "flow_cancelled", **steps},
        {"event": "flow_completed", "flow_id": "f", "step_id": None},
    ) == [
        FlowStarted(flow_id="f"),
        FlowInterrupted(flow_id="f", flow_step_id="3_end"),
        FlowResumed(flow_id="f", flow_step_id="3_end"),
        FlowCancelled(flow_id="f", flow_step_id="3_end"),
        FlowCompleted(flow_id="f"),
    ]


def test_clarification_flow_becomes_clarification_offered() -> None:
    metadata = {"clarification_ids": ["refund", "return"], "names": ["refund", "return goods"]}
    assert read({"event": "flow_started", "flow_id": "pattern_clarification", "metadata": metadata}) == [
        FlowStarted(flow_id="pattern_clarification"),
        ClarificationOffered(flow_ids=("refund", "return"), names=("refund", "return goods")),
    ]


def test_slot_set_to_null_is_an_event() -> None:
    assert read(slot("s", None), {"event": "slot", "name": "t"}) == [SlotSet(name="s"), SlotSet(name="t")]


def test_mantle_events_are_parsed() -> None:
    block = {"skill_id": "k", "block_id": "b", "step_id": "2"}
    tool = {"tool_name": "find", "arguments": {"q": 1}, "source": "mcp", "mcp_server": "crm", "result": "r"}
    found = read(
        {"event": "skill_activated", "skill_id": "k"},
        {"event": "skill_interrupted", "skill_id": "k", "step_id": None},
        {"event": "ordered_block_completed", **block},
        {"event": "memory_set", "key": "city", "value": "Bern", "anonymized_at": None},
        {"event": "memory_cleared", "key": "city"},
        {"event": "tool_executed", **tool, "is_error": False, "error_message": None},
        {"event": "mcp_tool_executed", "tool_name": "old", "arguments": {}, "result": "", "is_error": True},
    )
    assert found == [
        agent.SkillActivated(skill_id="k"),
        agent.SkillInterrupted(skill_id="k"),
        agent.BlockCompleted(**block),
        MemorySet(name="city", value="Bern"),
        MemoryCleared(name="city"),
        ToolExecuted.model_validate(tool),
        ToolExecuted(tool_name="old", source="mcp", result="", is_error=True),
    ]


def test_other_events_become_noted_events() -> None:
    row = {"event": "reminder", "timestamp": 1.0, "name": "r", "intent": "x", "kill_on_user_message": None}
    assert read({"event": "restart", "timestamp": 1.0}, row) == [
        Noted(what="restart"),
        Noted(what="reminder", data={"name": "r", "intent": "x"}),
    ]


def test_action_text_is_used_if_there_is_no_action_name() -> None:
    row = {"event": "action", "name": None, "action_text": "Hello there"}
    assert read(row) == [ActionExecuted(name="Hello there")]


def test_malformed_events_are_counted_and_others_parsed() -> None:
    skipped: Counter[str] = Counter()
    rows = [
        None,
        "text",
        {},
        {"event": ["x"]},
        {"event": "from_the_future", "x": 1},
        {"event": "slot", "value": 1},
        {"event": "slot", "name": 5},
        {"event": "action"},
        {"event": "flow_started"},
        {"event": "bot", "text": 5},
        {"event": "bot", "text": "t", "data": [1]},
        {"event": "skill_activated", "skill_id": [1]},
        {"event": "tool_executed", "tool_name": "t", "source": "elsewhere"},
        action("after"),
    ]
    assert parse_events(rows, skipped) == [ActionExecuted(name="after")]
    assert skipped == {
        "nameless": 4,
        "from_the_future": 1,
        "slot": 2,
        "action": 1,
        "flow_started": 1,
        "bot": 2,
        "skill_activated": 1,
        "tool_executed": 1,
    }


def test_channel_messages_are_parsed() -> None:
    messages = [{"recipient_id": "x", "text": "one", "buttons": BUTTONS}, {"image": "i"}, {"recipient_id": "x"}, 5]
    assert parse_messages(messages) == [Say("one", buttons=tuple(BUTTONS)), Say("", custom={"image": "i"})]


def timed(*names: str, start: int = 0) -> list[dict[str, Any]]:
    return [action(name) | {"timestamp": float(start + number)} for number, name in enumerate(names)]


def test_known_events_are_not_returned_again() -> None:
    seen, rows = TrackerCursor(), timed("a", "b", "c", "d")
    assert seen.take_new(rows[:2]) == rows[:2]
    assert seen.take_new(rows[:2]) == []
    assert seen.take_new(rows) == rows[2:]


def test_tracker_without_its_beginning_is_continued() -> None:
    seen, rows = TrackerCursor(), timed("a", "b", "c", "d", "e")
    seen.take_new(rows[:4])
    assert seen.take_new(rows[2:]) == rows[4:]
    assert seen.take_new(rows[4:]) == []


def test_tracker_without_known_events_is_filtered_by_time() -> None:
    seen, old = TrackerCursor(), timed("a", "b", "c")
    seen.take_new(old)
    moved = [old[1], *timed("x", "y", start=10)]
    assert seen.take_new(moved) == moved[1:]


def test_equal_events_without_time_are_distinguished_by_count() -> None:
    seen = TrackerCursor()
    seen.take_new([LISTEN] * 3)
    assert seen.take_new([LISTEN] * 5) == [LISTEN] * 2


@given(st.lists(st.sampled_from("ab"), max_size=12), st.data())
def test_every_event_is_returned_once_wherever_the_tracker_is_cut(names: list[str], data: st.DataObject) -> None:
    rows, seen, found, start = timed(*names), TrackerCursor(), [], 0
    stops = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    for stop in [*stops, len(rows)]:
        found += seen.take_new(rows[start:stop])
        start = data.draw(st.integers(start, stop))  # what is seen may be lost
    assert found == rows


def test_session_started_twice_is_returned_once() -> None:
    rows = [*START, {"event": "user", "text": "/session_start"}, action("action_session_start"), bot("Hi"), LISTEN]
    assert select_last_session(rows) == rows[-3:]
    assert select_last_session([LISTEN, 5]) == [LISTEN, 5]
