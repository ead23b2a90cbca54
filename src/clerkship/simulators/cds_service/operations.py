"""The operations of a CDS service (CDS Hooks 2.0: HTTP API)."""

from typing import Annotated, Any

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.client_jwt import BearerTokenOrJwt, JwtClient, refuse_jwt
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.simulators.cds_service.events import ClientRegistered, ServicesListed
from clerkship.simulators.cds_service.state import CdsServiceState

Context = OperationContext[CdsServiceState]
ServiceId = Annotated[str, Field(description="the id of the service, from list_services")]
AUTHENTICATION = BearerTokenOrJwt()


class ServiceRequestCall(Frozen):
    """The input of `call_service`."""

    id: ServiceId
    request: Annotated[Any, Field(description="{hook, hookInstance (a UUID), context, prefetch} as in CDS Hooks 2.0")]


class SignedServiceCall(ServiceRequestCall):
    """A call with a valid JWT. Only the HTTP route makes one, so an agent cannot claim to have sent a JWT."""

    client: str
    """The issuer of the JWT."""


class ServiceFeedback(Frozen):
    """The input of `send_feedback`."""

    id: ServiceId
    request: Annotated[Any, Field(description='{"feedback": [{card, outcome, outcomeTimestamp, …}]}')]


class SignedServiceFeedback(ServiceFeedback):
    """Feedback with a valid JWT; see `SignedServiceCall`."""

    client: str


@operation(essential=True)
def list_services(context: Context, _: NoInput) -> dict[str, Any]:
    """List the CDS services with their hooks and prefetch templates."""
    context.action.emit(ServicesListed())
    return {"services": [service.describe().to_wire() for service in context.state.config.services]}


@operation(essential=True)
def call_service(context: Context, call: ServiceRequestCall) -> dict[str, Any]:
    """Call a CDS service as an EHR does when a hook fires. Returns its cards; none if it has no advice."""
    _require_jwt(context, call)
    client = call.client if isinstance(call, SignedServiceCall) else ""
    return context.state.call(context.action, call.id, call.request, client)


@operation()
def send_feedback(context: Context, feedback: ServiceFeedback) -> dict[str, Any]:
    """Tell a CDS service what became of its cards: accepted, or overridden with a reason."""
    _require_jwt(context, feedback)
    context.state.receive_feedback(context.action, feedback.id, feedback.request)
    return {}


@operation(logs_body=False, tool=False)
def register_client(context: Context, client: JwtClient) -> dict[str, Any]:
    """Register the public keys with which the JWTs of an issuer are verified, instead of those it had."""
    assert context.credentials is not None
    keys = AUTHENTICATION.register(client, context.credentials)
    context.action.emit(ClientRegistered(issuer=client.issuer, keys=keys))
    return {"issuer": client.issuer, "keys": keys}


def _require_jwt(context: Context, sent: ServiceRequestCall | ServiceFeedback) -> None:
    if context.state.config.require_jwt and not isinstance(sent, SignedServiceCall | SignedServiceFeedback):
        raise refuse_jwt("this service needs a JWT as the bearer token of each HTTP request")


OPERATIONS = (list_services, call_service, send_feedback, register_client)
