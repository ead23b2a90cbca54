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
    "action_executed": AssertionEntry("tools:ActionExecutedAssertion"),
    "action_not_executed": AssertionEntry("tools:ActionNotExecuted"),
    "agent_acted": AssertionEntry("agent_acted:AgentActed"),
    "answer_matches": AssertionEntry("answer_matches:AnswerMatches"),
    "any_of": AssertionEntry("any_of:AnyOf"),
    "bot_answered": AssertionEntry("answered:BotAnswered"),
    "bot_did_not_utter": AssertionEntry("utterances:BotDidNotUtter"),
    "bot_uttered": AssertionEntry("utterances:BotUttered"),
    "event_count": AssertionEntry("any_event:EventCount"),
    "event_occurred": AssertionEntry("any_event:EventOccurred"),
    "generative_response_is_grounded": AssertionEntry("generative:GenerativeResponseIsGrounded", is_judged=True),
    "generative_response_is_relevant": AssertionEntry("generative:GenerativeResponseIsRelevant", is_judged=True),
    "judged": AssertionEntry("judged:JudgedAssertion", is_judged=True),
    "flow_cancelled": AssertionEntry("flows:FlowCancelledAssertion"),
    "flow_completed": AssertionEntry("flows:FlowCompletedAssertion"),
    "flow_not_cancelled": AssertionEntry("flows:FlowNotCancelled"),
    "flow_not_completed": AssertionEntry("flows:FlowNotCompleted"),
    "flow_not_started": AssertionEntry("flows:FlowNotStarted"),
    "flow_started": AssertionEntry("flows:FlowStartedAssertion"),
    "max_agent_actions": AssertionEntry("agent_acted:MaxAgentActions"),
    "memory_was_cleared": AssertionEntry("stored_values:MemoryWasCleared"),
    "memory_was_not_set": AssertionEntry("stored_values:MemoryWasNotSet"),
    "memory_was_set": AssertionEntry("stored_values:MemoryWasSet"),
    "model_usage": AssertionEntry("model_calls:ModelUsage"),
    "never": AssertionEntry("any_event:Never"),
    "ordered_block_cancelled": AssertionEntry("skills:OrderedBlockCancelledAssertion"),
    "ordered_block_completed": AssertionEntry("skills:OrderedBlockCompletedAssertion"),
    "ordered_block_entered": AssertionEntry("skills:OrderedBlockEnteredAssertion"),
    "ordered_block_interrupted": AssertionEntry("skills:OrderedBlockInterruptedAssertion"),
    "ordered_block_resumed": AssertionEntry("skills:OrderedBlockResumedAssertion"),
    "pattern_clarification_contains": AssertionEntry("flows:PatternClarificationContains"),
    "prompt_contains": AssertionEntry("model_calls:PromptContains"),
    "prompt_never_contains": AssertionEntry("model_calls:PromptNeverContains"),
    "sequencing": AssertionEntry("sequencing:Sequencing"),
    "skill_activated": AssertionEntry("skills:SkillActivatedAssertion"),
    "skill_cancelled": AssertionEntry("skills:SkillCancelledAssertion"),
    "skill_completed": AssertionEntry("skills:SkillCompletedAssertion"),
    "skill_interrupted": AssertionEntry("skills:SkillInterruptedAssertion"),
    "skill_resumed": AssertionEntry("skills:SkillResumedAssertion"),
    "slot_was_not_set": AssertionEntry("stored_values:SlotWasNotSet"),
    "slot_was_set": AssertionEntry("stored_values:SlotWasSet"),
    "tool_called": AssertionEntry("expected_tools:ToolCalledAssertion"),
    "tool_executed": AssertionEntry("tools:ToolExecutedAssertion"),
    "tool_group": AssertionEntry("expected_tools:ToolGroup"),
    "tools_within_one_turn": AssertionEntry("expected_tools:ToolsWithinOneTurn"),
}


def load_assertions() -> "tuple[type[Assertion], ...]":
    """Return the class of every generic assertion."""
    return tuple(entry.load() for entry in ASSERTIONS.values())
