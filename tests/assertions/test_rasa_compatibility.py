"""Each assertion on agent events by our rules and with `compat: rasa`: the same events, two results."""

from typing import Any, Literal

import pytest

from clerkship.assertions.registry import load_assertions
from clerkship.events import agent
from clerkship.events.event import Payload
from tests.assertions.log_builder import LogBuilder

BY_NAME = {assertion.name: assertion for assertion in load_assertions()}
AddEvent = Payload | dict[str, Any]


class InitialSlot(agent.SlotSet):
    """A slot that the scenario sets."""


def started(flow: str) -> Payload:
    """A flow began."""
    return agent.FlowStarted(flow_id=flow)


def completed(flow: str, step: str | None = None) -> Payload:
    """A flow reached its end."""
    return agent.FlowCompleted(flow_id=flow, flow_step_id=step)


def cancelled(flow: str, step: str | None = None) -> Payload:
    """A flow was called off."""
    return agent.FlowCancelled(flow_id=flow, flow_step_id=step)


def offered(*flows: str, names: tuple[str, ...] = ()) -> Payload:
    """The agent asked which of these was meant."""
    return agent.ClarificationOffered(flow_ids=flows, names=names)


def set_slot(name: str, value: Any) -> Payload:
    """A slot got a value."""
    return agent.SlotSet(name=name, value=value)


def set_memory(name: str, value: Any) -> Payload:
    """Something was remembered."""
    return agent.MemorySet(name=name, value=value)


def tool(name: str, **arguments: Any) -> Payload:
    """A tool was called."""
    return agent.ToolExecuted(tool_name=name, arguments=arguments)


def bot_message(text: str = "", **extra: Any) -> dict[str, Any]:
    """The agent said something."""
    return {"text": text, **extra}


def user_message(text: str = "Hello") -> dict[str, Any]:
    """A message of the person, which starts a turn."""
    return {"text": text, "actor": "person"}


def build_log(*told: AddEvent) -> LogBuilder:
    """All of it in order."""
    log_builder = LogBuilder()
    for part in told:
        if isinstance(part, dict):
            log_builder.add_message(**part)
        else:
            log_builder.add_event(part, actor="scenario" if isinstance(part, InitialSlot) else "agent")
    return log_builder


def button(title: str, payload: str | None = None, **more: Any) -> dict[str, Any]:
    """A button, as an agent sends it or as an author expects it."""
    return {"title": title, **({} if payload is None else {"payload": payload}), **more}


YES, NO = button("Yes", "/yes"), button("No", "/no")
IMAGE = bot_message(custom={"image": "x.png"})
# The start of a session sets a slot, and `initial_slots` puts another value on top.
REPLACED: list[AddEvent] = [set_slot("s", "v"), InitialSlot(name="s", value="w"), user_message()]
ALL_AB = {"flow_ids": ["a", "b"], "operator": "all"}
ANY_AB = {"flow_ids": ["a", "b"], "operator": "any"}
CALLS = [{"tool_executed": {"tool_name": "t"}}, {"tool_executed": {"tool_name": "t", "arguments": {"x": 1}}}]
ONE_TURN = {"calls": CALLS, "allow_extra_calls": True}
STEPS = [{"flow_started": "a"}, {"slot_was_set": "s"}, {"flow_completed": "a"}]

# what is asked, what happened, our verdict, Rasa's
READINGS: list[tuple[str, Any, list[AddEvent], bool, bool]] = [
    # flow_started
    ("flow_started", {"flow_ids": ["a"], "operator": "any"}, [started("a")], True, True),
    ("flow_started", {"flow_ids": ["a"], "operator": "any"}, [started("b")], False, False),
    ("flow_started", {"flow_ids": ["a"], "operator": "all"}, [started("a")], True, True),
    ("flow_started", {"flow_ids": ["a"]}, [started("a")], True, True),
    ("flow_started", "a", [started("a")], True, True),
    ("flow_started", "a", [started("b"), completed("a")], False, False),
    ("flow_started", ANY_AB, [started("b")], True, True),
    ("flow_started", {"flow_ids": ["a", "b"], "operator": "ANY"}, [started("b")], True, True),
    ("flow_started", ANY_AB, [], False, False),
    ("flow_started", ALL_AB, [started("b"), started("a")], True, False),
    ("flow_started", ALL_AB, [started("b")], False, False),
    ("flow_started", {"flow_ids": ["a", "b"]}, [started("b"), started("a")], True, False),
    # flow_completed, flow_cancelled
    ("flow_completed", {"flow_id": "a"}, [completed("a", "end")], True, True),
    ("flow_completed", "a", [completed("a")], True, True),
    ("flow_completed", {"flow_id": "a"}, [started("a"), cancelled("a")], False, False),
    ("flow_completed", {"flow_id": "a", "flow_step_id": "s"}, [completed("a", "s")], True, True),
    ("flow_completed", {"flow_id": "a", "flow_step_id": "s"}, [completed("a", "t")], False, False),
    ("flow_completed", {"flow_id": "a", "flow_step_id": "s"}, [completed("a", "t"), completed("a", "s")], True, False),
    ("flow_completed", {"flow_id": "a", "flow_step_id": "s"}, [completed("a", "s"), completed("a", "t")], True, True),
    ("flow_completed", {"flow_id": "a", "flow_step_id": "s"}, [completed("b", "t"), completed("a", "s")], True, True),
    ("flow_cancelled", {"flow_id": "a"}, [cancelled("a")], True, True),
    ("flow_cancelled", "a", [completed("a")], False, False),
    ("flow_cancelled", {"flow_id": "a", "flow_step_id": "s"}, [cancelled("a", "t"), cancelled("a", "s")], True, False),
    # pattern_clarification_contains
    ("pattern_clarification_contains", ANY_AB, [offered("b", "c")], True, True),
    ("pattern_clarification_contains", ANY_AB, [offered("c")], False, False),
    ("pattern_clarification_contains", ANY_AB, [], False, False),
    ("pattern_clarification_contains", ANY_AB, [offered("c"), offered("a")], True, False),
    ("pattern_clarification_contains", ALL_AB, [offered("b", "a")], True, True),
    ("pattern_clarification_contains", ALL_AB, [offered("a", "b", "c")], True, False),
    ("pattern_clarification_contains", ALL_AB, [offered("a")], False, False),
    ("pattern_clarification_contains", ALL_AB, [offered("a"), offered("b")], False, False),
    ("pattern_clarification_contains", ALL_AB, [offered("c"), offered("a", "b")], True, False),
    ("pattern_clarification_contains", ["A", "B"], [offered("a", "b", names=("B", "A"))], True, True),
    ("pattern_clarification_contains", ["A"], [offered("a", "b", names=("A", "B"))], True, False),
    ("pattern_clarification_contains", ["a"], [offered("a", names=("A",))], False, False),
    # action_executed
    ("action_executed", "x", [agent.ActionExecuted(name="x")], True, True),
    ("action_executed", {"name": "x"}, [agent.ActionExecuted(name="x")], True, True),
    ("action_executed", "utter_x", [agent.ActionExecuted(name="utter_x")], True, True),
    ("action_executed", "action_listen", [agent.ActionExecuted(name="action_listen")], True, True),
    ("action_executed", "x", [agent.ActionExecuted(name="X"), set_slot("x", 1)], False, False),
    # slot_was_set
    ("slot_was_set", [{"name": "s"}], [set_slot("s", "v")], True, True),
    ("slot_was_set", [{"name": "s"}], [set_slot("s", None)], False, True),
    ("slot_was_set", [{"name": "s"}], [set_slot("s", "v"), set_slot("s", None)], True, True),
    ("slot_was_set", [{"name": "s", "at": "end"}], [set_slot("s", "v"), set_slot("s", None)], False, False),
    ("slot_was_set", [{"name": "s", "at": "end"}], [set_slot("s", None), set_slot("s", "v")], True, True),
    ("slot_was_set", [{"name": "s", "at": "end"}], [], False, False),
    (
        "slot_was_set",
        [{"name": "s", "value": None, "at": "end"}],
        [set_slot("s", "v"), set_slot("s", None)],
        True,
        True,
    ),
    (
        "slot_was_set",
        [{"name": "s", "value": "v", "at": "end"}],
        [set_slot("s", "v"), set_slot("s", "w")],
        False,
        False,
    ),
    ("slot_was_set", [{"name": "s", "value": {"not": "v"}}], [set_slot("s", "v"), set_slot("s", None)], False, False),
    ("slot_was_set", [{"name": "s", "value": {"equals": None}}], [set_slot("s", None)], True, False),
    ("slot_was_set", [{"name": "s", "value": {"in": [1, None]}}], [set_slot("s", None)], True, False),
    ("slot_was_set", [{"name": "s"}], [set_slot("t", "v")], False, False),
    ("slot_was_set", [{"name": "s", "value": "v"}], [set_slot("s", "v"), set_slot("s", "w")], True, True),
    ("slot_was_set", [{"name": "s", "value": None}], [set_slot("s", None)], True, True),
    ("slot_was_set", [{"name": "s", "value": None}], [set_slot("s", "v")], False, False),
    ("slot_was_set", [{"name": "s", "value": None}], [], False, False),
    ("slot_was_set", [{"name": "s", "value": 1}], [set_slot("s", 1.0)], True, True),
    ("slot_was_set", [{"name": "s", "value": 1}], [set_slot("s", "1")], False, False),
    ("slot_was_set", [{"name": "s", "value": True}], [set_slot("s", 1)], False, True),
    ("slot_was_set", [{"name": "s", "value": 0}], [set_slot("s", False)], False, True),
    ("slot_was_set", [{"name": "s", "value": {"a": 1, "b": 2}}], [set_slot("s", {"b": 2, "a": 1})], True, True),
    ("slot_was_set", [{"name": "s", "value": [1, 2]}], [set_slot("s", [2, 1])], False, False),
    ("slot_was_set", [{"name": "s"}, {"name": "t"}], [set_slot("s", 1)], False, False),
    ("slot_was_set", [{"name": "s", "value": {"matches": "^ORD"}}], [set_slot("s", "ORD-1")], True, False),
    ("slot_was_set", [{"name": "s", "value": {"gte": 5}}], [set_slot("s", 7)], True, False),
    ("slot_was_set", [{"name": "s", "value": {"gte": 5}}], [set_slot("s", {"gte": 5})], False, True),
    ("slot_was_set", [{"name": "s", "value": "v"}], REPLACED, False, True),
    ("slot_was_set", [{"name": "s", "value": "v", "turn": 0}], REPLACED, False, True),
    ("slot_was_set", [{"name": "s", "value": "w"}], REPLACED, True, True),
    ("slot_was_set", [{"name": "s", "count": 1}], REPLACED, True, True),
    ("slot_was_set", [{"name": "s", "value": "v"}], [*REPLACED, set_slot("s", "v")], True, True),
    ("slot_was_set", [{"name": "t", "value": "v"}], [set_slot("t", "v"), *REPLACED], True, True),
    # slot_was_not_set
    ("slot_was_not_set", [{"name": "s", "value": "v"}], REPLACED, True, True),
    ("slot_was_not_set", [{"name": "s", "value": "w"}], REPLACED, False, False),
    ("slot_was_not_set", [{"name": "s"}], REPLACED, False, False),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", "v"), InitialSlot(name="s", value=None)], True, True),
    ("slot_was_not_set", [{"name": "s", "value": "v"}], [*REPLACED, set_slot("s", "v")], False, False),
    ("slot_was_not_set", [{"name": "t"}], [set_slot("t", "v"), *REPLACED], False, False),
    ("slot_was_not_set", [{"name": "s"}], [], True, True),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", "v")], False, False),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", "v"), set_slot("s", None)], False, True),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", None)], True, True),
    ("slot_was_not_set", [{"name": "s", "at": "end"}], [set_slot("s", "v"), set_slot("s", None)], True, True),
    ("slot_was_not_set", [{"name": "s", "at": "end"}], [set_slot("s", None), set_slot("s", "v")], False, False),
    (
        "slot_was_not_set",
        [{"name": "s", "value": "v", "at": "end"}],
        [set_slot("s", "v"), set_slot("s", "w")],
        True,
        True,
    ),
    ("slot_was_not_set", [{"name": "s", "value": {"not": "v"}}], [set_slot("s", "v"), set_slot("s", None)], True, True),
    ("slot_was_not_set", [{"name": "s", "value": None}], [set_slot("s", None), set_slot("s", "v")], False, True),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", None), set_slot("s", "v")], False, False),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", "")], False, False),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", False)], False, False),
    ("slot_was_not_set", [{"name": "s"}], [set_slot("s", 0)], False, False),
    ("slot_was_not_set", [{"name": "s", "value": "v"}], [], True, True),
    ("slot_was_not_set", [{"name": "s", "value": "v"}], [set_slot("s", "v")], False, False),
    ("slot_was_not_set", [{"name": "s", "value": "v"}], [set_slot("s", "v"), set_slot("s", "w")], False, True),
    ("slot_was_not_set", [{"name": "s", "value": None}], [set_slot("s", None)], False, False),
    ("slot_was_not_set", [{"name": "s", "value": None}], [set_slot("s", "v")], True, True),
    ("slot_was_not_set", [{"name": "s", "value": None}], [], True, True),
    ("slot_was_not_set", [{"name": "s", "value": True}], [set_slot("s", 1)], True, False),
    ("slot_was_not_set", [{"name": "s", "value": {"gte": 5}}], [set_slot("s", 7)], False, True),
    ("slot_was_not_set", [{"name": "s"}, {"name": "t"}], [set_slot("t", 1)], False, False),
    # bot_uttered
    ("bot_uttered", {"utter_name": "u"}, [bot_message("x", utter_name="u")], True, True),
    ("bot_uttered", {"utter_name": "u"}, [bot_message("x", utter_name="uu")], False, False),
    ("bot_uttered", {"utter_name": "u"}, [], False, False),
    ("bot_uttered", {"text_matches": "late"}, [bot_message("It is late.")], True, True),
    ("bot_uttered", {"text_matches": "Late"}, [bot_message("It is late.")], False, False),
    ("bot_uttered", {"text_matches": "^late"}, [bot_message("It is late.")], False, False),
    ("bot_uttered", {"text_matches": "late"}, [user_message("is it late?"), bot_message("no")], False, False),
    ("bot_uttered", {"utter_name": "u", "text_matches": "x"}, [bot_message("x", utter_name="u")], True, True),
    (
        "bot_uttered",
        {"utter_name": "u", "text_matches": "x"},
        [bot_message("x"), bot_message("y", utter_name="u")],
        False,
        True,
    ),
    (
        "bot_uttered",
        {"utter_name": "u", "text_matches": "z"},
        [bot_message("x"), bot_message("y", utter_name="u")],
        False,
        False,
    ),
    ("bot_uttered", {"text_matches": "x"}, [IMAGE], False, False),
    ("bot_uttered", {"text_matches": "x"}, [IMAGE, bot_message("x")], True, False),
    ("bot_uttered", {"text_matches": "x"}, [bot_message("x"), IMAGE], True, False),
    ("bot_uttered", {"text_matches": "^$"}, [IMAGE], True, False),
    ("bot_uttered", {"utter_name": "u"}, [IMAGE, bot_message("x", utter_name="u")], True, True),
    # its buttons
    ("bot_uttered", {"buttons": [YES, NO]}, [bot_message("?", buttons=(YES, NO))], True, True),
    ("bot_uttered", {"buttons": [NO, YES]}, [bot_message("?", buttons=(YES, NO))], False, False),
    ("bot_uttered", {"buttons": [YES]}, [bot_message("?", buttons=(YES, NO))], False, True),
    ("bot_uttered", {"buttons": [YES, NO]}, [bot_message("?", buttons=(YES,))], False, True),
    ("bot_uttered", {"buttons": [YES, NO]}, [bot_message("?")], False, False),
    ("bot_uttered", {"buttons": [button("Yes")]}, [bot_message("?", buttons=(YES,))], True, False),
    ("bot_uttered", {"buttons": [button("Yes")]}, [bot_message("?", buttons=(button("Yes"),))], True, True),
    ("bot_uttered", {"buttons": [{"title": "Yes", "payload": None}]}, [bot_message("?", buttons=(YES,))], False, False),
    (
        "bot_uttered",
        {"buttons": [{"title": "Yes", "payload": None}]},
        [bot_message("?", buttons=(button("Yes"),))],
        True,
        True,
    ),
    ("bot_uttered", {"buttons": [YES]}, [bot_message("?", buttons=(YES | {"type": "web"},))], True, True),
    (
        "bot_uttered",
        {"buttons": [YES | {"type": "web"}]},
        [bot_message("?", buttons=(YES | {"type": "web"},))],
        True,
        True,
    ),
    ("bot_uttered", {"buttons": [YES | {"type": "web"}]}, [bot_message("?", buttons=(YES,))], False, True),
    ("bot_uttered", {"buttons": [YES]}, [bot_message("?", buttons=(button("Yes", "/no"),))], False, False),
    # bot_did_not_utter
    ("bot_did_not_utter", {"utter_name": "u"}, [bot_message("x", utter_name="v")], True, True),
    ("bot_did_not_utter", {"utter_name": "u"}, [], True, True),
    ("bot_did_not_utter", {"text_matches": "x"}, [bot_message("y"), bot_message("x")], False, False),
    ("bot_did_not_utter", {"text_matches": "x"}, [user_message("x"), bot_message("y")], True, True),
    ("bot_did_not_utter", {"utter_name": "u", "text_matches": "x"}, [bot_message("y", utter_name="u")], True, False),
    ("bot_did_not_utter", {"utter_name": "u", "text_matches": "x"}, [bot_message("x", utter_name="u")], False, False),
    (
        "bot_did_not_utter",
        {"utter_name": "u", "text_matches": "x"},
        [bot_message("x"), bot_message("y", utter_name="u")],
        True,
        False,
    ),
    ("bot_did_not_utter", {"buttons": [YES, NO]}, [bot_message("?", buttons=(YES, NO))], False, False),
    ("bot_did_not_utter", {"buttons": [YES, NO]}, [bot_message("?", buttons=(button("Maybe", "/m"), NO))], True, False),
    ("bot_did_not_utter", {"buttons": [YES]}, [bot_message("?", buttons=(button("Maybe", "/m"),))], True, True),
    ("bot_did_not_utter", {"text_matches": "x"}, [IMAGE, bot_message("y")], True, False),
    ("bot_did_not_utter", {"utter_name": "u"}, [IMAGE], True, True),
    # sequencing
    ("sequencing", STEPS, [started("a"), set_slot("s", None), completed("a")], True, True),
    ("sequencing", STEPS, [set_slot("s", 1), started("a"), completed("a")], False, False),
    ("sequencing", [{"slot_was_set": "s"}, {"flow_started": "a"}], [started("a"), *REPLACED], False, False),
    (
        "sequencing",
        [{"slot_was_set": "s"}, {"flow_started": "a"}],
        [set_slot("s", "v"), started("a"), InitialSlot(name="s", value="w")],
        False,
        True,
    ),
    (
        "sequencing",
        [{"event": "agent.slot.set", "where": {"name": "s"}}, {"flow_started": "a"}],
        [set_slot("s", "v"), started("a"), InitialSlot(name="s", value="w")],
        True,
        True,
    ),
    ("sequencing", [{"slot_was_set": "t"}, {"slot_was_set": "s"}], [set_slot("t", "v"), *REPLACED], True, True),
    ("sequencing", [{"slot_was_set": "s"}] * 2, REPLACED, False, True),
    ("sequencing", [{"flow_interrupted": "a"}], [agent.FlowInterrupted(flow_id="a")], True, True),
    ("sequencing", [{"flow_started": "a"}] * 2, [started("a")], False, False),
    ("sequencing", [{"flow_started": "a"}] * 2, [started("a"), bot_message("x"), started("a")], True, True),
    # skills
    ("skill_activated", {"skill_id": "k"}, [agent.SkillActivated(skill_id="k")], True, True),
    ("skill_activated", {"skill_id": "k"}, [agent.SkillCompleted(skill_id="k")], False, False),
    ("skill_completed", "k", [agent.SkillCompleted(skill_id="k")], True, True),
    ("skill_completed", "k", [agent.SkillCompleted(skill_id="l")], False, False),
    (
        "skill_cancelled",
        {"skill_id": "k", "step_id": "s"},
        [agent.SkillCancelled(skill_id="k", step_id="t"), agent.SkillCancelled(skill_id="k", step_id="s")],
        True,
        True,
    ),
    ("skill_cancelled", {"skill_id": "k", "step_id": "s"}, [agent.SkillCancelled(skill_id="k")], False, False),
    ("skill_interrupted", {"skill_id": "k"}, [agent.SkillInterrupted(skill_id="k", step_id="s")], True, True),
    ("skill_interrupted", {"skill_id": "k"}, [agent.SkillResumed(skill_id="k", step_id="s")], False, False),
    ("skill_resumed", {"skill_id": "k"}, [agent.SkillResumed(skill_id="k")], True, True),
    ("skill_resumed", {"skill_id": "k"}, [agent.SkillActivated(skill_id="k")], False, False),
    # memory
    ("memory_was_set", [{"name": "m"}], [set_memory("m", "v")], True, True),
    ("memory_was_set", [{"name": "m", "value": "v"}], [set_memory("m", "w")], False, False),
    ("memory_was_set", [{"name": "m", "value": True}], [set_memory("m", 1)], False, True),
    ("memory_was_not_set", [{"name": "m"}], [], True, True),
    ("memory_was_not_set", [{"name": "m"}], [set_memory("m", "v"), agent.MemoryCleared(name="m")], False, False),
    ("memory_was_not_set", [{"name": "m"}], [set_memory("m", None)], False, False),
    ("memory_was_not_set", [{"name": "m", "value": "v"}], [set_memory("m", "v"), set_memory("m", "w")], False, True),
    (
        "memory_was_not_set",
        [{"name": "m", "value": "v", "at": "end"}],
        [set_memory("m", "v"), set_memory("m", "w")],
        True,
        True,
    ),
    (
        "memory_was_not_set",
        [{"name": "m", "at": "end"}],
        [set_memory("m", "v"), agent.MemoryCleared(name="m")],
        True,
        True,
    ),
    (
        "memory_was_set",
        [{"name": "m", "at": "end"}],
        [set_memory("m", "v"), agent.MemoryCleared(name="m")],
        False,
        False,
    ),
    ("memory_was_set", [{"name": "m", "at": "end"}], [agent.MemoryCleared(name="m"), set_memory("m", "v")], True, True),
    ("memory_was_not_set", [{"name": "m", "value": "v"}], [set_memory("m", "w"), set_memory("m", "v")], False, False),
    ("memory_was_cleared", [{"name": "m"}], [agent.MemoryCleared(name="m")], True, True),
    ("memory_was_cleared", [{"name": "m"}], [set_memory("m", 1)], False, False),
    # tools
    ("tool_executed", {"tool_name": "t", "arguments": {"x": 1}}, [tool("t", x=1, y=2)], True, True),
    ("tool_executed", {"tool_name": "t", "arguments": {"x": 1}}, [tool("t", x=2), tool("t")], False, False),
    ("tool_executed", {"tool_name": "t", "arguments": {"x": True}}, [tool("t", x=1)], False, True),
    ("tool_executed", {"tool_name": "t", "is_error": False}, [tool("t")], True, True),
    ("tool_executed", {"tool_name": "t", "is_error": True}, [tool("t")], False, False),
    ("tool_executed", {"tool_name": "t", "source": "local"}, [tool("t")], True, True),
    (
        "tool_executed",
        {"tool_name": "t", "source": "mcp", "mcp_server": "m"},
        [agent.ToolExecuted(tool_name="t", source="mcp", mcp_server="n")],
        False,
        False,
    ),
    ("tools_within_one_turn", ONE_TURN, [user_message(), tool("t", x=2), tool("t", x=1)], True, True),
    ("tools_within_one_turn", ONE_TURN, [user_message(), tool("t", x=1), tool("t", x=2)], True, False),
    ("tools_within_one_turn", ONE_TURN, [user_message(), tool("t", x=2), user_message(), tool("t", x=1)], False, False),
    ("tools_within_one_turn", ONE_TURN, [user_message(), tool("t"), tool("u"), tool("t", x=1)], True, True),
    (
        "tools_within_one_turn",
        ONE_TURN | {"allow_extra_calls": False},
        [user_message(), tool("t"), tool("u"), tool("t", x=1)],
        False,
        False,
    ),
    ("tools_within_one_turn", ONE_TURN | {"ordered": True}, [user_message(), tool("t", x=1), tool("t")], False, False),
    ("tools_within_one_turn", ONE_TURN | {"ordered": True}, [user_message(), tool("t"), tool("t", x=1)], True, True),
]
for verb in ("entered", "completed", "cancelled", "interrupted", "resumed"):
    made: Any = {event.kind: event for event in agent.AGENT_EVENTS}[f"agent.block.{verb}"]
    block = {"skill_id": "k", "block_id": "b"}
    READINGS += [
        (f"ordered_block_{verb}", block, [made(**block)], True, True),
        (
            f"ordered_block_{verb}",
            block,
            [made(skill_id="k", block_id="c"), made(skill_id="l", block_id="b")],
            False,
            False,
        ),
    ]
    if verb != "entered":
        at = [made(**block, step_id="t"), made(**block, step_id="s")]
        READINGS.append((f"ordered_block_{verb}", block | {"step_id": "s"}, list(at), True, True))
        READINGS.append((f"ordered_block_{verb}", block | {"step_id": "u"}, list(at), False, False))


@pytest.mark.parametrize(("name", "args", "told", "ours", "rasa"), READINGS)
def test_result_by_our_rules_and_by_rasa(name: str, args: Any, told: list[AddEvent], ours: bool, rasa: bool) -> None:
    log_builder, assertion = build_log(*told), BY_NAME[name].model_validate(args)
    sane, quirky = assertion.check(log_builder.evidence()), assertion.check(log_builder.evidence(compat="rasa"))
    assert (sane.passed, quirky.passed) == (ours, rasa), (sane.detail, quirky.detail)
    for check in (sane, quirky):
        assert check.detail
        assert check.evidence
        assert check.passed == all(row.passed for row in check.evidence)
        assert (check.score == 1) == check.passed


def _list_results(name: str, column: Literal[3, 4]) -> set[bool]:
    return {bool(reading[column]) for reading in READINGS if reading[0] == name}


# Those of `goals.expected_tools` are in test_tools.
KNOWN = [
    check.name for check in load_assertions() if check.engines and not check.judged and "tool_called" not in check.name
]
KNOWN.remove("tool_group")


@pytest.mark.parametrize("name", KNOWN)
def test_every_scenario_assertion_has_passing_and_failing_example(name: str) -> None:
    assert _list_results(name, 3) == {True, False}
    assert _list_results(name, 4) == {True, False}


def test_every_difference_from_rasa_is_declared() -> None:
    otherwise = {name for name, _, _, ours, rasa in READINGS if ours != rasa}
    assert otherwise == {name for name in otherwise if BY_NAME[name].differences}


@pytest.mark.parametrize("flow", ["flow_completed", "flow_cancelled"])
def test_detail_names_event_that_rasa_ignores(flow: str) -> None:
    ended = completed if flow == "flow_completed" else cancelled
    log_builder = build_log(ended("a", "t"), user_message(), ended("a", "s"))
    check = (
        BY_NAME[flow].model_validate({"flow_id": "a", "flow_step_id": "s"}).check(log_builder.evidence(compat="rasa"))
    )
    assert check.detail.endswith("; that of turn 1 (#3) does not count with `compat: rasa`")


def test_detail_says_that_rasa_would_fail() -> None:
    log_builder = build_log(user_message(), IMAGE, bot_message("x"))
    for name in ("bot_uttered", "bot_did_not_utter"):
        check = BY_NAME[name].model_validate({"text_matches": "y"}).check(log_builder.evidence(compat="rasa"))
        assert check.detail == "the utterance in turn 1 (#2) has no text; with `compat: rasa` the run fails on it"
    several = BY_NAME["flow_started"].model_validate(ALL_AB).check(log_builder.evidence(compat="rasa"))
    assert several.detail == "with `compat: rasa`, `all` takes one flow, not 2"
