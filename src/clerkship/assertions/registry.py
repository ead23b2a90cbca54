"""The generic assertions there are, by name. The module of one is imported when a file names it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from clerkship.by_name import load

if TYPE_CHECKING:
    from clerkship.sandbox.assertion import Assertion


class AssertionEntry(NamedTuple):
    """Where an assertion is, and what must be known of it before it is imported. A test compares it with the class."""

    target: str
    """`module:Class` in this package."""
    aliases: tuple[str, ...] = ()
    is_judged: bool = False
    """Whether a model gives the verdict."""

    def load(self) -> "type[Assertion]":
        """Return the class; its module is imported the first time."""
        return cast("type[Assertion]", load(f"{__package__}.{self.target}"))


ASSERTIONS: Mapping[str, AssertionEntry] = {
    "action_executed": AssertionEntry("action_executed:ActionExecutedAssertion"),
    "action_not_executed": AssertionEntry("action_not_executed:ActionNotExecuted"),
    "agent_acted": AssertionEntry("agent_acted:AgentActed"),
    "answer_matches": AssertionEntry("answer_matches:AnswerMatches"),
    "any_of": AssertionEntry("any_of:AnyOf"),
    "bot_did_not_utter": AssertionEntry("bot_did_not_utter:BotDidNotUtter"),
    "bot_uttered": AssertionEntry("bot_uttered:BotUttered"),
    "event_count": AssertionEntry("event_count:EventCount"),
    "event_occurred": AssertionEntry("event_occurred:EventOccurred"),
    "generative_response_is_grounded": AssertionEntry(
        "generative_response_is_grounded:GenerativeResponseIsGrounded", is_judged=True
    ),
    "generative_response_is_relevant": AssertionEntry(
        "generative_response_is_relevant:GenerativeResponseIsRelevant", is_judged=True
    ),
    "judged": AssertionEntry("judged:JudgedAssertion", is_judged=True),
    "flow_cancelled": AssertionEntry("flow_cancelled:FlowCancelledAssertion"),
    "flow_completed": AssertionEntry("flow_completed:FlowCompletedAssertion"),
    "flow_not_cancelled": AssertionEntry("flow_not_cancelled:FlowNotCancelled"),
    "flow_not_completed": AssertionEntry("flow_not_completed:FlowNotCompleted"),
    "flow_not_started": AssertionEntry("flow_not_started:FlowNotStarted"),
    "flow_started": AssertionEntry("flow_started:FlowStartedAssertion"),
    "max_agent_actions": AssertionEntry("max_agent_actions:MaxAgentActions"),
    "memory_was_cleared": AssertionEntry("memory_was_cleared:MemoryWasCleared"),
    "memory_was_not_set": AssertionEntry("memory_was_not_set:MemoryWasNotSet"),
    "memory_was_set": AssertionEntry("memory_was_set:MemoryWasSet"),
    "never": AssertionEntry("never:Never"),
    "ordered_block_cancelled": AssertionEntry("ordered_block_cancelled:OrderedBlockCancelled"),
    "ordered_block_completed": AssertionEntry("ordered_block_completed:OrderedBlockCompleted"),
    "ordered_block_entered": AssertionEntry("ordered_block_entered:OrderedBlockEntered"),
    "ordered_block_interrupted": AssertionEntry("ordered_block_interrupted:OrderedBlockInterrupted"),
    "ordered_block_resumed": AssertionEntry("ordered_block_resumed:OrderedBlockResumed"),
    "pattern_clarification_contains": AssertionEntry("pattern_clarification_contains:PatternClarificationContains"),
    "sequencing": AssertionEntry("sequencing:Sequencing"),
    "skill_activated": AssertionEntry("skill_activated:SkillActivatedAssertion"),
    "skill_cancelled": AssertionEntry("skill_cancelled:SkillCancelledAssertion"),
    "skill_completed": AssertionEntry("skill_completed:SkillCompletedAssertion"),
    "skill_interrupted": AssertionEntry("skill_interrupted:SkillInterruptedAssertion"),
    "skill_resumed": AssertionEntry("skill_resumed:SkillResumedAssertion"),
    "slot_was_not_set": AssertionEntry("slot_was_not_set:SlotWasNotSet"),
    "slot_was_set": AssertionEntry("slot_was_set:SlotWasSet"),
    "tool_called": AssertionEntry("tool_called:ToolCalledAssertion"),
    "tool_executed": AssertionEntry("tool_executed:ToolExecutedAssertion"),
    "tool_group": AssertionEntry("tool_group:ToolGroup"),
    "tools_within_one_turn": AssertionEntry("tools_within_one_turn:ToolsWithinOneTurn"),
}


def load_assertions() -> "tuple[type[Assertion], ...]":
    """Return the class of every generic assertion."""
    return tuple(entry.load() for entry in ASSERTIONS.values())
