"""`sequencing`: events happened in this order."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.sequencing import Sequencing
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Check
from tests.assertions.log_builder import LogBuilder


def check_sequence(log_builder: LogBuilder, *steps: Any) -> Check:
    """Check the steps."""
    return Sequencing.model_validate(list(steps)).check(log_builder.evidence())


def read(path: str, **more: Any) -> dict[str, Any]:
    """A step: this file was read."""
    return {"event": "files.file.read", "where": {"path": path}, **more}


def build_log(paths: str) -> LogBuilder:
    """Return a log with one read per second, of files named by a letter."""
    log_builder = LogBuilder()
    for path in paths:
        log_builder.read(path)
    return log_builder


BARE: list[tuple[str, Payload]] = [
    ("flow_started", agent.FlowStarted(flow_id="x")),
    ("flow_completed", agent.FlowCompleted(flow_id="x")),
    ("flow_cancelled", agent.FlowCancelled(flow_id="x", flow_step_id="s")),
    ("flow_interrupted", agent.FlowInterrupted(flow_id="x")),
    ("action_executed", agent.ActionExecuted(name="x")),
    ("slot_was_set", agent.SlotSet(name="x", value=None)),
    ("memory_was_set", agent.MemorySet(name="x", value=1)),
    ("memory_was_cleared", agent.MemoryCleared(name="x")),
    ("skill_activated", agent.SkillActivated(skill_id="x")),
    ("skill_completed", agent.SkillCompleted(skill_id="x")),
    ("skill_cancelled", agent.SkillCancelled(skill_id="x")),
    ("skill_interrupted", agent.SkillInterrupted(skill_id="x")),
    ("skill_resumed", agent.SkillResumed(skill_id="x")),
    ("tool_executed", agent.ToolExecuted(tool_name="x")),
]
WHOLE: list[tuple[str, dict[str, Any], Payload, bool]] = [
    ("skill_cancelled", {"skill_id": "k", "step_id": "s"}, agent.SkillCancelled(skill_id="k", step_id="s"), True),
    ("skill_cancelled", {"skill_id": "k", "step_id": "s"}, agent.SkillCancelled(skill_id="k", step_id="t"), False),
    ("ordered_block_entered", {"skill_id": "k", "block_id": "b"}, agent.BlockEntered(skill_id="k", block_id="b"), True),
    (
        "ordered_block_entered",
        {"skill_id": "k", "block_id": "b"},
        agent.BlockEntered(skill_id="l", block_id="b"),
        False,
    ),
    ("tool_executed", {"tool_name": "t", "arguments": {"x": 1}}, agent.ToolExecuted(tool_name="t"), False),
    (
        "tool_executed",
        {"tool_name": "t", "source": "local", "arguments": {"x": 1}},
        agent.ToolExecuted(tool_name="t", arguments={"x": 1, "y": 2}),
        True,
    ),
]


@pytest.mark.parametrize(("key", "payload"), BARE)
def test_each_bare_step_matches_only_its_event(key: str, payload: Payload) -> None:
    log_builder = LogBuilder()
    log_builder.add_event(payload)
    assert check_sequence(log_builder, {key: "x"}).passed
    assert not check_sequence(log_builder, {key: "y"}).passed
    others = [other for other, _ in BARE if other != key]
    assert not any(check_sequence(log_builder, {other: "x"}).passed for other in others)


@pytest.mark.parametrize(("key", "args", "payload", "passed"), WHOLE)
def test_step_accepts_fields_of_its_assertion(key: str, args: dict[str, Any], payload: Payload, passed: bool) -> None:
    log_builder = LogBuilder()
    log_builder.add_event(payload)
    assert check_sequence(log_builder, {key: args}).passed is passed


def test_example_passes_in_order_and_fails_out_of_order() -> None:
    events: list[Payload] = [
        agent.FlowStarted(flow_id="verify_identity"),
        agent.ActionExecuted(name="action_verify_account"),
        agent.SlotSet(name="authenticated", value=True),
        agent.FlowCompleted(flow_id="verify_identity"),
        agent.FlowStarted(flow_id="check_order_status"),
        agent.FlowCompleted(flow_id="check_order_status"),
    ]
    steps = [
        {"flow_started": "verify_identity"},
        {"action_executed": "action_verify_account"},
        {"slot_was_set": "authenticated"},
        {"flow_completed": "verify_identity"},
        {"flow_started": "check_order_status"},
        {"flow_completed": "check_order_status"},
    ]
    log_builder, backwards = LogBuilder(), LogBuilder()
    for payload in events:
        log_builder.add_event(payload)
    for payload in reversed(events):
        backwards.add_event(payload)
    assert check_sequence(log_builder, *steps).detail == "in order: #1 → #2 → #3 → #4 → #5 → #6"
    assert not check_sequence(backwards, *steps).passed


def test_bot_uttered_step_is_a_message_of_the_agent_in_order() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Hello there", actor="person")
    log_builder.add_message("Hello", utter_name="utter_greet")
    log_builder.add_event(agent.FlowStarted(flow_id="pay"))
    log_builder.add_message("How much?", utter_name="utter_ask", buttons=({"title": "10"}, {"title": "20"}))
    log_builder.add_message("Paid 10.", utter_name="utter_paid", source="other")
    steps: list[dict[str, Any]] = [
        {"bot_uttered": "utter_greet"},
        {"flow_started": "pay"},
        {"bot_uttered": {"buttons": [{"title": "10"}, {"title": "20"}]}},
        {"bot_uttered": {"text_matches": "^Paid", "sandbox": "other"}},
    ]
    assert [row.seq for row in check_sequence(log_builder, *steps).evidence] == [2, 3, 4, 5]
    assert check_sequence(log_builder, *steps).passed
    assert not check_sequence(log_builder, *steps[::-1]).passed
    assert not check_sequence(log_builder, {"bot_uttered": {"text_matches": "there"}}).passed  # the person said it
    assert not check_sequence(log_builder, {"bot_uttered": {"utter_name": "utter_paid", "sandbox": "chat"}}).passed
    assert not check_sequence(log_builder, {"bot_uttered": {"buttons": [{"title": "10"}]}}).passed


def test_missing_bot_uttered_step_shows_the_nearest_message() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(agent.FlowStarted(flow_id="pay"))
    log_builder.add_message("How much?", utter_name="utter_ask")
    log_builder.add_event(agent.FlowCompleted(flow_id="pay"))
    found = check_sequence(log_builder, {"flow_started": "pay"}, {"bot_uttered": "utter_paid"})
    assert found.detail == "step 2, bot_uttered utter_paid, never happened; nearest is #2"
    found = check_sequence(log_builder, {"bot_uttered": {"utter_name": "utter_paid", "text_matches": "Paid"}})
    assert "step 1, bot_uttered utter_paid where text matches 'Paid', never happened" in found.detail
    row = next(row for row in found.evidence if row.path == "utter_name")
    assert (row.expected, row.actual) == ("utter_paid", "utter_ask")


def test_one_event_cannot_match_two_steps() -> None:
    assert not check_sequence(build_log("a"), read("a"), read("a")).passed
    assert check_sequence(build_log("aa"), read("a"), read("a")).passed


def test_other_events_may_come_between() -> None:
    found = check_sequence(build_log("xaxxbx"), read("a"), read("b"))
    assert (found.passed, [row.seq for row in found.evidence]) == (True, [2, 5])


def test_order_is_by_time_of_event_not_of_arrival() -> None:
    log_builder = LogBuilder()
    log_builder.read("b", at=10)
    log_builder.read("a", at=5)
    assert check_sequence(log_builder, read("a"), read("b")).passed
    assert not check_sequence(log_builder, read("b"), read("a")).passed


def test_simultaneous_events_keep_order_of_arrival() -> None:
    log_builder = LogBuilder()
    log_builder.read("a", at=5)
    log_builder.read("b", at=5)
    assert check_sequence(log_builder, read("a"), read("b")).passed
    assert not check_sequence(log_builder, read("b"), read("a")).passed


def test_within_limits_time_since_step_before() -> None:
    log_builder = LogBuilder()
    log_builder.read("a", at=0)
    log_builder.read("b", at=60)
    assert check_sequence(log_builder, read("a"), read("b", within="1m")).passed
    found = check_sequence(log_builder, read("a"), read("b", within="59s"))
    assert found.detail == (
        "step 2, `files.file.read` where path is 'b', happened at #2, but not within 59 s of the step before (#1)"
    )


def test_within_may_need_a_later_match_of_the_step_before() -> None:
    log_builder = LogBuilder()
    log_builder.read("a", at=0)
    log_builder.read("a", at=100)
    log_builder.read("b", at=110)
    found = check_sequence(log_builder, read("a"), read("b", within="30s"))
    assert (found.passed, found.detail) == (True, "in order: #2 → #3")


def test_within_may_need_later_matches_of_several_steps() -> None:
    log_builder = LogBuilder()
    for at, path in [(0, "a"), (10, "b"), (100, "a"), (105, "b"), (110, "c")]:
        log_builder.read(path, at=at)
    found = check_sequence(log_builder, read("a"), read("b", within="20s"), read("c", within="20s"))
    assert found.detail == "in order: #3 → #4 → #5"


def test_later_match_of_step_before_may_be_unreachable() -> None:
    log_builder = LogBuilder()
    for at, path in [(0, "a"), (10, "b"), (100, "b"), (110, "c")]:
        log_builder.read(path, at=at)
    found = check_sequence(log_builder, read("a"), read("b", within="20s"), read("c", within="20s"))
    assert not found.passed
    assert found.detail.startswith("step 3, ")


def test_until_forbids_an_event_between() -> None:
    until = {"event": "files.file.read", "where": {"path": "x"}}
    assert check_sequence(build_log("abx"), read("a"), read("b", until=until)).passed
    found = check_sequence(build_log("axb"), read("a"), read("b", until=until))
    assert found.detail.endswith("happened at #3, but only after `files.file.read` where path is 'x' (#2)")


def test_until_may_need_a_later_match_of_the_step_before() -> None:
    until = {"event": "files.file.read", "where": {"path": "x"}}
    assert check_sequence(build_log("axab"), read("a"), read("b", until=until)).detail == "in order: #3 → #4"


def test_until_event_may_be_the_step_itself() -> None:
    until = {"event": "files.file.read"}
    assert check_sequence(build_log("ab"), read("a"), read("b", until=until)).passed
    assert not check_sequence(build_log("acb"), read("a"), read("b", until=until)).passed


def test_missing_step_shows_nearest_event() -> None:
    log_builder = build_log("a")
    log_builder.add_write("b")
    step = {"event": "files.file.written", "where": {"path": "c"}}
    found = check_sequence(log_builder, read("a"), step, read("z"))
    assert (found.passed, found.score) == (False, 0.0)
    assert found.detail == "step 2, `files.file.written` where path is 'c', never happened; nearest is #2"
    assert [(row.path, row.actual, row.passed) for row in found.evidence] == [
        ("step 1", "#1 files.file.read", True),
        ("step 2", "#2 files.file.written", False),
        ("path", "b", False),
        ("step 3", "(not reached)", False),
    ]


def test_step_that_came_too_early_is_reported() -> None:
    found = check_sequence(build_log("ba"), read("a"), read("b"))
    assert found.detail == (
        "step 2, `files.file.read` where path is 'b', happened only at #1, not after the step before (#2)"
    )


def test_step_that_came_early_and_late_is_reported_by_late_event() -> None:
    log_builder = LogBuilder()
    for at, path in [(0, "b"), (1, "a"), (100, "b")]:
        log_builder.read(path, at=at)
    found = check_sequence(log_builder, read("a"), read("b", within="5s"))
    assert found.detail.endswith("happened at #3, but not within 5 s of the step before (#2)")


def test_an_empty_log_fails_at_the_first_step() -> None:
    found = check_sequence(LogBuilder(), read("a"), read("b"))
    assert found.detail == "step 1, `files.file.read` where path is 'a', never happened"
    assert [row.actual for row in found.evidence] == ["(not found)", "(not reached)"]


def test_many_early_steps_are_checked_fast() -> None:
    log_builder = build_log("b" * 4000 + "a" * 4000)
    found = check_sequence(log_builder, read("a"), read("b"))
    assert found.detail.endswith("happened only at #1, not after the step before (#4001)")


def test_long_log_with_many_matches_is_checked_fast() -> None:
    log_builder = build_log("ab" * 2000)
    steps = [read("a"), read("b", within="1h")] * 10
    assert check_sequence(log_builder, *steps).passed
    assert not check_sequence(log_builder, *steps, read("c")).passed


@pytest.mark.parametrize(
    "steps",
    [
        [],
        {},
        "x",
        ["flow_started"],
        [{"flow_started": 5}],
        [{"flow_started": "a", "action_executed": "b"}],
        [{"nonsense": "a"}],
        [{"event": "files.*", "flow_started": "a"}],
        [{"event": "files.*", "within": "5m"}],
        [{"event": "files.*", "until": {"event": "files.*"}}],
        [{"event": "files.*"}, {"event": "files.*", "within": "soon"}],
    ],
)
def test_invalid_steps_are_rejected(steps: Any) -> None:
    with pytest.raises(ValidationError):
        Sequencing.model_validate(steps)


def test_steps_key_may_be_written() -> None:
    assert Sequencing.model_validate({"steps": [read("a")]}) == Sequencing.model_validate([read("a")])
