"""How this server says no: always an OperationOutcome, whoever it is that refuses."""

from clerkship.fhir.issue import FhirError, Issue, IssueCode, build_operation_outcome
from clerkship.fhir.resource import render_resource
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
"""What a refusal that is not FHIR's own (the gateway's, a fault's) is called in FHIR."""


class FhirRefusal(Refusal):
    """A no with all its reasons."""

    def __init__(self, status: int, *issues: Issue) -> None:
        super().__init__(status, issues[0].code, "; ".join(_render_issue(issue) for issue in issues)[:2000])
        self.issues = issues


def _render_issue(issue: Issue) -> str:
    return f"{issue.expression}: {issue.text}" if issue.expression else issue.text


def refusal(status: int, code: IssueCode, text: str, expression: str = "") -> FhirRefusal:
    """One reason."""
    return FhirRefusal(status, Issue("error", code, text, expression))


def refusal_from_invalid(invalid: FhirError, status: int = 400) -> FhirRefusal:
    """What a search or a resource cannot be."""
    return FhirRefusal(status, *invalid.issues)


def to_issues(refusal: Refusal) -> tuple[Issue, ...]:
    """What it says, in FHIR's words."""
    if isinstance(refusal, FhirRefusal):
        return refusal.issues
    code: IssueCode = "expired" if refusal.code == "expired" else _ISSUE_CODES.get(refusal.status, "exception")
    return (Issue("error", code, refusal.reason),)


def render_refusal(refusal: Refusal) -> Reply:
    """The reply that says it."""
    return Reply(refusal.status, render_resource(build_operation_outcome(to_issues(refusal))), FHIR_JSON)
