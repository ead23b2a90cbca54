"""Documents under `/.well-known` (RFC 8615), which a FHIR client reads before it has a credential."""

from typing import Any

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.sandbox.route import Route
from clerkship.simulators.fhir.outcome import refusal

SMART_CONFIGURATION = "smart-configuration"


class WellKnownName(Frozen):
    """The input of `well_known`."""

    name: str


@operation(access="open", tool=False, scoped=True)
def well_known(context: OperationContext[Any], document: WellKnownName) -> dict[str, list[str]]:
    """Return the SMART App Launch configuration: no launch, no scopes and no token endpoint."""
    if document.name != SMART_CONFIGURATION:
        reason = f"unknown document `{document.name[:80]}`; known: {SMART_CONFIGURATION}"
        raise refusal(404, "not-found", reason)
    return {"grant_types_supported": [], "code_challenge_methods_supported": [], "capabilities": []}


WELL_KNOWN = Route("GET", "/.well-known/{name}", well_known)
