"""`cds_service.set_cards`: let a service answer with given cards."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.formats.cds_hooks.card import Card
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.cds_service.config import SERVICE
from clerkship.simulators.cds_service.state import CdsServiceState


class SetCards(Step):
    """Let a service answer with these cards from now on, instead of those of its rules."""

    name: ClassVar[str] = "cds_service.set_cards"
    simulator: ClassVar[str | None] = "cds_service"
    service: Annotated[str, SERVICE, Field(description="the id of the service")]
    cards: Annotated[tuple[Card, ...], Field(description="the cards; none for a service without advice")]
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(CdsServiceState, self.sandbox)
        state.set_cards(action, self.service, self.cards)
