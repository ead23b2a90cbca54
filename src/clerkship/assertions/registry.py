"""The registry of generic assertions."""

from clerkship.assertions.action_executed import ActionExecutedAssertion
from clerkship.assertions.action_not_executed import ActionNotExecuted
from clerkship.assertions.agent_acted import AgentActed
from clerkship.assertions.answer_matches import AnswerMatches
from clerkship.assertions.any_of import AnyOf
from clerkship.assertions.bot_did_not_utter import BotDidNotUtter
from clerkship.assertions.bot_uttered import BotUttered
from clerkship.assertions.contract import Assertion
from clerkship.assertions.event_count import EventCount
from clerkship.assertions.event_occurred import EventOccurred
from clerkship.assertions.flow_cancelled import FlowCancelledAssertion
from clerkship.assertions.flow_completed import FlowCompletedAssertion
from clerkship.assertions.flow_not_cancelled import FlowNotCancelled
from clerkship.assertions.flow_not_completed import FlowNotCompleted
from clerkship.assertions.flow_not_started import FlowNotStarted
from clerkship.assertions.flow_started import FlowStartedAssertion
from clerkship.assertions.generative_response_is_grounded import GenerativeResponseIsGrounded
from clerkship.assertions.generative_response_is_relevant import GenerativeResponseIsRelevant
from clerkship.assertions.judged import JudgedAssertion
from clerkship.assertions.max_agent_actions import MaxAgentActions
from clerkship.assertions.memory_was_cleared import MemoryWasCleared
from clerkship.assertions.memory_was_not_set import MemoryWasNotSet
from clerkship.assertions.memory_was_set import MemoryWasSet
from clerkship.assertions.never import Never
from clerkship.assertions.ordered_block_cancelled import OrderedBlockCancelled
from clerkship.assertions.ordered_block_completed import OrderedBlockCompleted
from clerkship.assertions.ordered_block_entered import OrderedBlockEntered
from clerkship.assertions.ordered_block_interrupted import OrderedBlockInterrupted
from clerkship.assertions.ordered_block_resumed import OrderedBlockResumed
from clerkship.assertions.pattern_clarification_contains import PatternClarificationContains
from clerkship.assertions.sequencing import Sequencing
from clerkship.assertions.skill_activated import SkillActivatedAssertion
from clerkship.assertions.skill_cancelled import SkillCancelledAssertion
from clerkship.assertions.skill_completed import SkillCompletedAssertion
from clerkship.assertions.skill_interrupted import SkillInterruptedAssertion
from clerkship.assertions.skill_resumed import SkillResumedAssertion
from clerkship.assertions.slot_was_not_set import SlotWasNotSet
from clerkship.assertions.slot_was_set import SlotWasSet
from clerkship.assertions.tool_called import ToolCalledAssertion
from clerkship.assertions.tool_executed import ToolExecutedAssertion
from clerkship.assertions.tool_group import ToolGroup
from clerkship.assertions.tools_within_one_turn import ToolsWithinOneTurn

ASSERTIONS: tuple[type[Assertion], ...] = (
    ActionExecutedAssertion,
    ActionNotExecuted,
    AgentActed,
    AnswerMatches,
    AnyOf,
    BotDidNotUtter,
    BotUttered,
    EventCount,
    EventOccurred,
    GenerativeResponseIsGrounded,
    GenerativeResponseIsRelevant,
    JudgedAssertion,
    FlowCancelledAssertion,
    FlowCompletedAssertion,
    FlowNotCancelled,
    FlowNotCompleted,
    FlowNotStarted,
    FlowStartedAssertion,
    MaxAgentActions,
    MemoryWasCleared,
    MemoryWasNotSet,
    MemoryWasSet,
    Never,
    OrderedBlockCancelled,
    OrderedBlockCompleted,
    OrderedBlockEntered,
    OrderedBlockInterrupted,
    OrderedBlockResumed,
    PatternClarificationContains,
    Sequencing,
    SkillActivatedAssertion,
    SkillCancelledAssertion,
    SkillCompletedAssertion,
    SkillInterruptedAssertion,
    SkillResumedAssertion,
    SlotWasNotSet,
    SlotWasSet,
    ToolCalledAssertion,
    ToolExecutedAssertion,
    ToolGroup,
    ToolsWithinOneTurn,
)
