"""`cds.fire`: a user of the EHR does something on which a hook fires."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.formats.cds_hooks.hooks import HookName, check_context, is_reference
from clerkship.formats.fhir.names import PATIENT
from clerkship.model.frozen import Frozen
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.cds.config import CardDecision
from clerkship.simulators.cds.state import CdsState

PLACEHOLDER_USER = "Practitioner/user"


class OverrideWith(Frozen):
    """How the clinician overrides cards."""

    reason: Annotated[str | None, Field(description="code of one of the card's override reasons")] = None
    comment: Annotated[str | None, Field(max_length=1000)] = None


class CdsFire(Step):
    """Fire a hook at the agent's services. A hook that is fired before the services are registered waits for them.

    The patient and the user are ids or references. `accept` and `override` say what the clinician does with every
    card; `decisions` are finer. Without them, those of the sandbox's config count.
    """

    name: ClassVar[str] = "cds.fire"
    simulator: ClassVar[str | None] = "cds"
    hook: HookName
    patient: Annotated[str, PATIENT, Field(description="id of the patient, such as `{{ patient.id }}`")]
    user: Annotated[str, Field(description="the user, such as Practitioner/1")] = PLACEHOLDER_USER
    encounter: Annotated[str | None, Field(description="id of the encounter")] = None
    orders: Annotated[
        tuple[dict[str, Any], ...],
        Field(
            max_length=100,
            description="draft orders: resources, or entities such as `{{ order }}`",
        ),
    ] = ()
    selections: Annotated[
        tuple[str, ...], Field(description="the orders just selected; by default all, for order-select")
    ] = ()
    appointments: Annotated[
        tuple[dict[str, Any], ...], Field(max_length=100, description="proposed appointments of appointment-book")
    ] = ()
    dispatched: Annotated[tuple[str, ...], Field(description="orders of order-dispatch, as references")] = ()
    performer: Annotated[str | None, Field(description="who is to perform them, as a reference")] = None
    tasks: Annotated[tuple[dict[str, Any], ...], Field(max_length=100, description="tasks of order-dispatch")] = ()
    service: Annotated[str | None, Field(description="id of the only service to call; by default all")] = None
    accept: Annotated[
        Literal["recommended", "first", "all"] | None, Field(description="accept suggestions of every card")
    ] = None
    override: Annotated[OverrideWith | None, Field(description="override every card")] = None
    decisions: Annotated[tuple[CardDecision, ...], Field(max_length=100)] = ()
    sandbox: Annotated[str | None, Field(description="which EHR; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_context(self) -> Self:
        if sum((self.accept is not None, self.override is not None, bool(self.decisions))) > 1:
            raise ValueError("expected one of `accept`, `override` and `decisions`")
        if self.user != PLACEHOLDER_USER and not is_reference(self.user):
            raise ValueError("`user` is a reference, such as Practitioner/1")
        if problems := check_context(self.hook, self.build_context()):
            raise ValueError("; ".join(problem.text for problem in problems))
        return self

    def build_context(self) -> dict[str, Any]:
        context: dict[str, Any] = {"userId": self.user, "patientId": self.patient.removeprefix("Patient/")}
        if self.encounter is not None:
            context["encounterId"] = self.encounter.removeprefix("Encounter/")
        if self.orders:
            context["draftOrders"] = _bundle(self.orders)
        if self.hook == "order-select":
            context["selections"] = list(self.selections) or [_key(order) for order in self.orders]
        if self.appointments:
            context["appointments"] = _bundle(self.appointments)
        if self.hook == "order-dispatch":
            del context["userId"]  # it has no user
            context |= {"dispatchedOrders": list(self.dispatched)} if self.dispatched else {}
            context |= {"performer": self.performer} if self.performer is not None else {}
            context |= {"fulfillmentTasks": list(self.tasks)} if self.tasks else {}
        return context

    def list_decisions(self) -> tuple[CardDecision, ...]:
        """Return what the clinician does with cards of this hook."""
        if self.accept is not None:
            return (CardDecision(do="accept", choose=self.accept),)
        if self.override is not None:
            return (CardDecision(do="override", reason=self.override.reason, comment=self.override.comment),)
        return self.decisions

    def run(self, host: StepHost) -> None:
        """Trigger the hook."""
        state, action = host.state(CdsState, self.sandbox)
        state.trigger(action, self.hook, self.build_context(), self.service, self.list_decisions())


def _bundle(resources: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}


def _key(resource: dict[str, Any]) -> str:
    return f"{resource.get('resourceType')}/{resource.get('id')}"
