"""SMART backend services: the token endpoint, and how clients discover it (SMART App Launch 2.2)."""

from typing import Any

from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.backend_services import AssertionRequest, BackendServices, call_endpoint
from clerkship.sandbox.authentication.jwt import SMART_ALGORITHMS
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.sandbox.route import Route
from clerkship.simulators.fhir.events import TokenIssued
from clerkship.simulators.fhir.outcome import FORM, refusal
from clerkship.simulators.fhir.state import FhirState

AUTHENTICATION = BackendServices()
SMART_CONFIGURATION = "smart-configuration"
_OAUTH_URIS = "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris"
_SECURITY_SERVICES = "http://terminology.hl7.org/CodeSystem/restful-security-service"


class WellKnownName(Frozen):
    """The input of `well_known`."""

    name: str


@operation(access="open", tool=False, scoped=True)
def well_known(context: OperationContext[FhirState], document: WellKnownName) -> dict[str, Any]:
    """Return the SMART configuration: backend services if clients are registered, and no launch."""
    if document.name != SMART_CONFIGURATION:
        reason = f"unknown document `{document.name[:80]}`; known: {SMART_CONFIGURATION}"
        raise refusal(404, "not-found", reason)
    clients = context.state.config.clients
    if not clients:
        return {"grant_types_supported": [], "code_challenge_methods_supported": [], "capabilities": []}
    return {
        "token_endpoint": f"{context.base_url}{AUTHENTICATION.token_path}",
        "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": list(SMART_ALGORITHMS),
        "grant_types_supported": ["client_credentials"],
        "scopes_supported": sorted({scope for client in clients for scope in client.scopes}),
        "code_challenge_methods_supported": [],
        "capabilities": ["client-confidential-asymmetric", "permission-v1", "permission-v2"],
    }


@operation(access="login", tool=False, logs_body=False, scoped=True)
def issue_token(context: OperationContext[FhirState], token_request: AssertionRequest) -> Any:
    """Issue an access token for a client assertion (`private_key_jwt`) and `system/` scopes."""
    lifetime = context.state.config.token_lifetime
    client, token = call_endpoint("issue_token", AUTHENTICATION, context, token_request, lifetime)
    context.action.emit(TokenIssued(client_id=client.client_id, scope=token.scope, expires_in=token.expires_in))
    return token


SMART_ROUTES = (
    Route("GET", "/.well-known/{name}", well_known),
    Route("POST", AUTHENTICATION.token_path, issue_token, media=FORM, **AUTHENTICATION.route_options),
)


def describe_security(base: str) -> dict[str, Any]:
    """Return what a CapabilityStatement says about the token endpoint of this server."""
    token = {"url": "token", "valueUri": f"{base}{AUTHENTICATION.token_path}"}
    return {
        "extension": [{"url": _OAUTH_URIS, "extension": [token]}],
        "service": [{"coding": [{"system": _SECURITY_SERVICES, "code": "SMART-on-FHIR"}]}],
        "description": "a bearer token, as the run gives it to the agent, or one of SMART backend services",
    }
