"""The operations of a CDS service, and their HTTP routes (CDS Hooks 2.0: HTTP API)."""

from typing import Annotated, Any

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.route import Route
from clerkship.simulators.cds_service.events import ServicesListed
from clerkship.simulators.cds_service.state import CdsServiceState

Context = OperationContext[CdsServiceState]
ServiceId = Annotated[str, Field(description="the id of the service, from list_services")]


class CdsServiceRequest(Frozen):
    """The input of `call_service`."""

    id: ServiceId
    request: Annotated[Any, Field(description="{hook, hookInstance (a UUID), context, prefetch} as in CDS Hooks 2.0")]


class ServiceFeedback(Frozen):
    """The input of `send_feedback`."""

    id: ServiceId
    request: Annotated[Any, Field(description='{"feedback": [{card, outcome, outcomeTimestamp, …}]}')]


@operation()
def list_services(context: Context, _: NoInput) -> dict[str, Any]:
    """List the CDS services with their hooks and prefetch templates."""
    context.action.emit(ServicesListed())
    return {"services": [service.describe().to_wire() for service in context.state.settings.services]}


@operation()
def call_service(context: Context, call: CdsServiceRequest) -> dict[str, Any]:
    """Call a CDS service as an EHR does when a hook fires. Returns its cards; none if it has no advice."""
    return context.state.call(context.action, call.id, call.request)


@operation()
def send_feedback(context: Context, feedback: ServiceFeedback) -> dict[str, Any]:
    """Tell a CDS service what became of its cards: accepted, or overridden with a reason."""
    context.state.receive_feedback(context.action, feedback.id, feedback.request)
    return {}


OPERATIONS = (list_services, call_service, send_feedback)
ROUTES = (
    Route("GET", "/cds-services", list_services),
    Route("POST", "/cds-services/{id}", call_service, body="request"),
    Route("POST", "/cds-services/{id}/feedback", send_feedback, body="request"),
)
