"""Refusals as OperationOutcome. All errors are rendered this way, also those of the gateway and of faults."""

from clerkship.formats.fhir.issue import FhirError, Issue, IssueCode, build_operation_outcome
from clerkship.formats.fhir.resource import render_resource
from clerkship.sandbox.authentication.bearer import build_scope_headers
from clerkship.sandbox.authentication.scope import AccessGrant, Permission
from clerkship.sandbox.request import Refusal, Reply

FHIR_JSON = "application/fhir+json"
JSON_PATCH = "application/json-patch+json"
FORM = "application/x-www-form-urlencoded"
_ISSUE_CODES: dict[int, IssueCode] = {
    400: "invalid",
    401: "login",
    403: "forbidden",
    404: "not-found",
    405: "not-supported",
    406: "not-supported",
    408: "timeout",
    409: "conflict",
    410: "deleted",
    413: "too-long",
    414: "too-long",
    415: "not-supported",
    429: "throttled",
    431: "too-long",
    501: "not-supported",
}
"""Issue codes for refusals that have none of their own: those of the gateway and of faults."""


class FhirRefusal(Refusal):
    """A refusal with one or more issues."""

    def __init__(self, status: int, *issues: Issue) -> None:
        super().__init__(status, issues[0].code, "; ".join(_render_issue(issue) for issue in issues)[:2000])
        self.issues = issues


def _render_issue(issue: Issue) -> str:
    return f"{issue.expression}: {issue.text}" if issue.expression else issue.text


def refusal(status: int, code: IssueCode, text: str, expression: str = "") -> FhirRefusal:
    """Build a refusal with one issue."""
    return FhirRefusal(status, Issue("error", code, text, expression))


def refusal_from_invalid(invalid: FhirError, status: int = 400) -> FhirRefusal:
    """Build a refusal from the issues of an invalid search or resource."""
    return FhirRefusal(status, *invalid.issues)


def to_issues(refusal: Refusal) -> tuple[Issue, ...]:
    """Return the issues of a refusal. One that is not a FhirRefusal becomes a single issue."""
    if isinstance(refusal, FhirRefusal):
        return refusal.issues
    code: IssueCode = "expired" if refusal.code == "expired" else _ISSUE_CODES.get(refusal.status, "exception")
    return (Issue("error", code, refusal.reason),)


def render_refusal(refusal: Refusal) -> Reply:
    """Render a refusal as an OperationOutcome."""
    return Reply(refusal.status, render_resource(build_operation_outcome(to_issues(refusal))), FHIR_JSON)


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
