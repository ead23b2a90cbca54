"""Refusals of requests that an access token does not cover (SMART App Launch 2.2: scopes)."""

from clerkship.sandbox.authentication.bearer import build_scope_headers
from clerkship.sandbox.authentication.scope import AccessGrant, Permission
from clerkship.simulators.fhir.outcome import FhirRefusal, refusal


def insufficient_scope(access: AccessGrant, text: str) -> FhirRefusal:
    """Build the refusal of a request that an access token does not cover (RFC 6750 §3.1)."""
    refused = refusal(403, "forbidden", text)
    refused.headers = build_scope_headers(access)
    return refused


def check_permission(access: AccessGrant, permission: Permission, type: str) -> None:
    """Refuse what an access token does not cover for all patients; an empty type stands for all types."""
    if access.is_limited(type, permission):
        where = f"{type[:80]} of all patients" if access.allows(type, permission) else type[:80] or "all types"
        raise insufficient_scope(access, f"the scopes of the access token do not cover `{permission}` of {where}")
