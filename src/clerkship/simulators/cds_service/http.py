"""The HTTP routes of a CDS service, and the check of the JWT of a request (CDS Hooks 2.0: Trusting CDS Clients)."""

from typing import Any

from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.authentication.client_jwt import is_jwt, refuse_jwt
from clerkship.sandbox.authentication.jwt import InvalidJwt
from clerkship.sandbox.route import HttpCall, Route, bind_input
from clerkship.simulators.cds_service.operations import (
    AUTHENTICATION,
    Context,
    ServiceFeedback,
    ServiceRequestCall,
    SignedServiceCall,
    SignedServiceFeedback,
    call_service,
    list_services,
    register_client,
    send_feedback,
)


def parse_discovery(call: HttpCall, context: Context) -> Any:
    """Read a request for the list of services."""
    verify_client(call, context)
    return bind_input(call, context)


def parse_call(call: HttpCall, context: Context) -> ServiceRequestCall:
    """Read a call of a service, with the issuer of its JWT if it has one."""
    issuer, sent = verify_client(call, context), bind_input(call, context)
    return SignedServiceCall(id=sent.id, request=sent.request, client=issuer) if issuer else sent


def parse_feedback(call: HttpCall, context: Context) -> ServiceFeedback:
    """Read feedback, with the issuer of its JWT if it has one. The JWT may be for the service instead."""
    issuer, sent = verify_client(call, context, call.request.path.removesuffix("/feedback")), bind_input(call, context)
    return SignedServiceFeedback(id=sent.id, request=sent.request, client=issuer) if issuer else sent


def parse_client(call: HttpCall, context: Context) -> Any:
    """Read the registration of keys, for which a JWT does not suffice."""
    if is_jwt(parse_bearer_token(call.request.headers)):
        raise refuse_jwt("a JWT cannot register keys; send the token of the sandbox")
    return bind_input(call, context)


def verify_client(call: HttpCall, context: Context, *other_paths: str) -> str:
    """Return the issuer of the JWT of a request; nothing if it has none. Raises Refusal if the JWT is not valid."""
    token = parse_bearer_token(call.request.headers)
    if not is_jwt(token):
        return ""
    assert context.credentials is not None
    audiences = [f"{context.base_url}{path}" for path in (call.request.path, *other_paths)]
    try:
        return AUTHENTICATION.verify_claims(token, context.credentials, *audiences)
    except InvalidJwt as problem:
        raise refuse_jwt(str(problem)) from None


ROUTES = (
    Route("GET", "/cds-services", list_services, parse=parse_discovery),
    Route("POST", "/cds-services/{id}", call_service, body="request", parse=parse_call),
    Route("POST", "/cds-services/{id}/feedback", send_feedback, body="request", parse=parse_feedback),
    Route("POST", "/clients", register_client, parse=parse_client),
)
