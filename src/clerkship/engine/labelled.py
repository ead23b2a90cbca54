"""Build the evidence of a labelled conversation. It has the same kinds of events as the log of a trial."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from clerkship.assertions.judged import JudgedAssertion
from clerkship.engine.models import ModelSelection
from clerkship.engine.score import check_criteria
from clerkship.events.agent import AGENT_EVENTS
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.log import open_log
from clerkship.llm.trial_model import UsageCounter
from clerkship.model.call import AssertionCall
from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.run import CriterionRun, Ending
from clerkship.model.scenario import Scenario, ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Criterion, Task
from clerkship.simulators.chat.events import ChatMessageSent
from clerkship.suite_files.calibration import LabelledItem

EVENTS: dict[str, type[Payload]] = {kind.kind.removeprefix("agent.").replace(".", "_"): kind for kind in AGENT_EVENTS}
"""The events that an agent reports, by their names in labelled sets, such as `slot_set` for `agent.slot.set`."""
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_CHAT = "chat"


def build_snapshot(item: LabelledItem, source: str) -> Snapshot:
    """Build the task that a labelled conversation belongs to."""
    person = ScenarioPerson(simulation_context=item.conversation.simulation_context)
    task = Task(name=item.conversation.name, scenario=Scenario(person=person))
    return Snapshot(task=task, environment=CONVERSATION_ENVIRONMENT, timeout=60, source=source)


def build_events(item: LabelledItem) -> Sequence[Event]:
    """Build the events of a labelled conversation, one second apart.

    In each turn the user speaks first, then the agent acts and answers.
    """
    log, writer = open_log()

    def append(payload: Payload, source: str, actor: str) -> None:
        writer.append(source, payload, actor=actor, at=_START + timedelta(seconds=len(log.events)))

    number = 0
    for turn, agent_events in zip(item.conversation.turns, item.events, strict=True):
        number += turn.user is not None
        if turn.user is not None:
            append(ChatMessageSent(text=turn.user, turn=number), _CHAT, "person")
        for payload in cast(Iterable[Payload], agent_events):
            append(payload, "agent", "agent")
        for text in turn.agent:
            # A greeting before the first message has turn 1 here, unlike in a run, where it has turn 0.
            append(ChatMessageSent(text=text, turn=max(number, 1)), _CHAT, "agent")
    return log.ordered()


@dataclass(frozen=True)
class JudgedConversation:
    """A conversation to be judged, and the task it belongs to."""

    snapshot: Snapshot
    events: Sequence[Event]
    ending: Ending
    trial: int = 1
    observers: frozenset[str] = frozenset()
    """See `Evidence.observers`."""


def judge_label(
    criterion: str, conversation: JudgedConversation, models: ModelSelection, usage: UsageCounter
) -> CriterionRun:
    """Ask the judge about one criterion, in the same way as in a run."""
    evidence = Evidence(
        conversation.snapshot.task,
        conversation.events,
        {},
        conversation.ending,
        model=models.model_for("judge", conversation.snapshot, conversation.trial, usage),
        prompts=models.prompts,
        parameters=models.parameters,
        votes=models.asking.votes,
        observers=conversation.observers,
    )
    call = AssertionCall.model_validate({JudgedAssertion.name: {"statement": criterion}})
    [result] = check_criteria(
        [(Criterion(label=criterion[:200], assertion=call), JudgedAssertion(statement=criterion))], evidence
    )
    return result
