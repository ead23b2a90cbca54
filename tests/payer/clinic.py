"""A playground with the payers of a small clinic, for tests of the payer."""

from datetime import date, timedelta
from functools import cache
from typing import Any, cast

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.model.environment import Environment
from clerkship.model.task import Task
from clerkship.payer import SPEC
from clerkship.payer.book import PayerDataset
from clerkship.payer.config import PayerConfig
from clerkship.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
)
from clerkship.payer.state import PayerState
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.sandbox.state import ActionContext
from clerkship.sandbox.steps.contract import Step
from tests.payer.office import load_clinic_100

NAME = "payer"
ENVIRONMENT = Environment(name="clinic")
CLINIC, HOSPITAL, DOCTOR = "9999900019", "9999900027", "9999910000"
"""NPIs of the dataset clinic-100. The doctor works for the clinic."""
JANE = {
    "payer": "CM002",
    "member_id": "CM-555 000 111",
    "family": "Doe",
    "given": ["Jane", "Ann"],
    "birth_date": "1980-05-17",
    "gender": "female",
    "coverages": [{"plan": "cedar-select-epo", "start": "2024-01-01"}],
    "dependents": [
        {"family": "Doe", "given": ["Tim"], "birth_date": "2015-03-01", "gender": "male"},
        {"family": "Doe", "given": ["Tom"], "birth_date": "2015-03-01", "gender": "male"},
    ],
}
JANE_ASKED = PersonQuery(member_id="CM555000111", family="Doe", given="Jane", birth_date=date(1980, 5, 17))
TODAY = date(2026, 3, 2)


@cache
def load_dataset() -> PayerDataset:
    """Return the payers of clinic-100, read once."""
    return PayerDataset([load_clinic_100()])


def prepare(**config: Any) -> PreparedComponent:
    """Prepare the payers with a config, as an environment does once for all its playgrounds."""
    parsed = SPEC.configure(PayerConfig.model_validate(config), ENVIRONMENT)
    return PreparedComponent(SPEC, parsed, load_dataset())


class PayerClinic:
    """A playground with a payer and nothing else."""

    def __init__(
        self, members: list[Any] | None = None, prepared: PreparedComponent | None = None, **config: Any
    ) -> None:
        self.prepared = prepared or prepare(members=[JANE] if members is None else members, **config)
        self.playground = Playground(ENVIRONMENT, {}, "seed", PlaygroundOptions(domains={NAME: self.prepared}))

    @property
    def payer(self) -> PayerState:
        return cast(PayerState, self.playground.components[NAME].state)

    @property
    def action(self) -> ActionContext:
        return self.playground.context_for(NAME, "agent")

    @property
    def events(self) -> list[Event]:
        return list(self.playground.log.events)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def run_step(self, step: Step) -> None:
        """Run a step of a scenario; raise an error if it is the author's mistake."""
        self.playground.steps.run(step)
        if self.playground.steps.errors:
            raise AssertionError(self.playground.steps.errors)

    def check(self, assertion: Assertion, patient: dict[str, Any] | None = None, answer: Any = None) -> Check:
        """Check an assertion on the payers as they are now, and on an answer of the agent."""
        states = {NAME: self.payer}
        entities = {"patient": patient} if patient else {}
        evidence = Evidence(
            Task(name="t"),
            self.playground.log.ordered(),
            states,
            "agent_done",
            answer=answer,
            answered=answer is not None,
            entities=entities,
        )
        return assertion.check(evidence.for_entity("patient") if patient else evidence)

    def advance(self, **duration: float) -> None:
        self.playground.advance(timedelta(**duration))


def party(subscriber: PersonQuery = JANE_ASKED, **fields: Any) -> PartyQuery:
    return PartyQuery(**{"payer_id": "CM002", "provider_id": CLINIC, "subscriber": subscriber, **fields})


def inquiry(subscriber: PersonQuery = JANE_ASKED, **fields: Any) -> EligibilityInquiry:
    return EligibilityInquiry(**{"payer_id": "CM002", "provider_id": CLINIC, "subscriber": subscriber, **fields})


def claim_query(subscriber: PersonQuery = JANE_ASKED, **fields: Any) -> ClaimQuery:
    return ClaimQuery(**{"payer_id": "CM002", "provider_id": CLINIC, "subscriber": subscriber, **fields})


def request(*codes: str, quantity: float = 1, **fields: Any) -> AuthorizationQuery:
    services = tuple(RequestedService(procedure_code=code, quantity=quantity) for code in codes)
    asked = {"payer_id": "CM002", "provider_id": CLINIC, "subscriber": JANE_ASKED, "services": services, **fields}
    return AuthorizationQuery(**asked)
