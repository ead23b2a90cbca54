"""`report-everything`: claims every flow, slot, action and utterance that the files name."""

from collections.abc import Sequence
from typing import ClassVar

from clerkship.actors.contract import Message, Said
from clerkship.assertions.contract import Assertion
from clerkship.attacks.claims import claims_of
from clerkship.attacks.contract import AttackAgent, Knowledge, Strategy
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.door import Sandboxes


class ReportEverything(Strategy):
    """Has read the files it is graded by, and claims all of them in every turn."""

    name: ClassVar[str] = "report-everything"
    summary: ClassVar[str] = "in every turn reports every flow, slot and action and says every utterance the files name"
    advice: ClassVar[str] = "forbid what must not happen: flow_not_started, slot_was_not_set, bot_did_not_utter, count"

    def unfit(self, snapshot: Snapshot, knowledge: Knowledge) -> str:
        """Only conversations can be talked through."""
        scenario = snapshot.task.scenario
        if scenario is None or scenario.starts != "person":
            return "not a conversation"
        return super().unfit(snapshot, knowledge)

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> AttackAgent:
        """Claims what the task's criteria and the domain name."""
        return _Claiming(claims_of(_assertions(snapshot, knowledge), knowledge.domain))


def _assertions(snapshot: Snapshot, knowledge: Knowledge) -> list[Assertion]:
    calls = snapshot.task.assertions()
    return [knowledge.assertion(call.name).model_validate(call.args) for call in calls]


class _Claiming(AttackAgent):
    def __init__(self, claims: Sequence[Said]) -> None:
        self._claims = claims

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[Said]:
        return self._claims
