"""Issues of an OperationOutcome (R4)."""

from typing import Any, Literal, NamedTuple

Severity = Literal["fatal", "error", "warning", "information"]
IssueCode = Literal[
    "invalid",
    "structure",
    "required",
    "value",
    "invariant",
    "security",
    "login",
    "expired",
    "forbidden",
    "processing",
    "not-supported",
    "duplicate",
    "multiple-matches",
    "not-found",
    "deleted",
    "too-long",
    "code-invalid",
    "business-rule",
    "conflict",
    "too-costly",
    "timeout",
    "throttled",
    "exception",
    "informational",
]
"""The codes of http://hl7.org/fhir/issue-type that are used."""


class Issue(NamedTuple):
    """One issue and its location."""

    severity: Severity
    code: IssueCode
    text: str
    expression: str = ""
    """The location as FHIRPath: `Observation.component[1].value`."""


class FhirError(Exception):
    """An error with the issues of an OperationOutcome."""

    def __init__(self, *issues: Issue) -> None:
        super().__init__("; ".join(issue.text for issue in issues))
        self.issues = issues


def fhir_error(code: IssueCode, text: str) -> FhirError:
    """Return a FhirError with one issue."""
    return FhirError(Issue("error", code, text))


def build_operation_outcome(issues: "tuple[Issue, ...] | list[Issue]") -> dict[str, Any]:
    """Return an OperationOutcome with the issues."""
    return {"resourceType": "OperationOutcome", "issue": [_render_issue(issue) for issue in issues]}


def _render_issue(issue: Issue) -> dict[str, Any]:
    rendered: dict[str, Any] = {"severity": issue.severity, "code": issue.code, "diagnostics": issue.text}
    return rendered | ({"expression": [issue.expression]} if issue.expression else {})
