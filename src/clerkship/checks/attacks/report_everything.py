"""`report-everything`: claims every flow, slot, action and message that the files name."""

from collections.abc import Sequence

from clerkship.actors.contract import Message, ReplyPart
from clerkship.checks.attacks.claims import build_claims
from clerkship.checks.attacks.contract import AttackAgent, AttackKnowledge, AttackStrategy
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.handle import Sandboxes


class ReportEverything(AttackStrategy):
    """In every turn, claim everything that the files name."""

    name = "report-everything"
    summary = "in every turn reports every flow, slot and action and says every utterance the files name"
    advice = "forbid what must not happen: flow_not_started, slot_was_not_set, bot_did_not_utter, count"
    words = None

    def unfit(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> str:
        """Return why the task cannot be attacked this way: it is not a conversation, or one of the general reasons."""
        scenario = snapshot.task.scenario
        if scenario is None or scenario.starts != "person":
            return "not a conversation"
        return super().unfit(snapshot, knowledge)

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> AttackAgent:
        """Return an agent that claims what the task's criteria and the domain name."""
        calls = snapshot.task.assertions()
        assertions = [knowledge.assertion(call.name).model_validate(call.args) for call in calls]
        return _ClaimingAgent(self, knowledge, build_claims(assertions, knowledge.domain))


class _ClaimingAgent(AttackAgent):
    def __init__(self, strategy: AttackStrategy, knowledge: AttackKnowledge, claims: Sequence[ReplyPart]) -> None:
        super().__init__(strategy, knowledge)
        self._claims = claims

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        return self._claims
