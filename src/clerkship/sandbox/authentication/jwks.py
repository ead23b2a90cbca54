"""The public keys of a sandbox that signs JWTs, as an open document (RFC 7517 §5)."""

from typing import Any

from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.route import Route

JWKS_PATH = "/jwks.json"


@operation(access="open", tool=False)
def show_public_keys(context: OperationContext[Any], _: NoInput) -> dict[str, Any]:
    """Return the public keys with which the JWTs of this sandbox are verified, as a JWK Set."""
    return context.public_keys()


PUBLIC_KEYS = Route("GET", JWKS_PATH, show_public_keys)
"""The route for the SPEC of a simulator that signs JWTs."""
