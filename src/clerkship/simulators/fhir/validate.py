"""`$validate`: report the issues of a resource without storing it (R4 Resource/$validate)."""

from typing import Any

from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.fhir.issue import Issue, build_operation_outcome
from clerkship.formats.fhir.resource import render_resource
from clerkship.formats.fhir.validation import validate as find_issues
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir.events import ResourceValidated
from clerkship.simulators.fhir.inputs import InstanceInput, ResourceBody, TypeName
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, find_dangling_references, interaction
from clerkship.simulators.fhir.write import check_type

MODES = ("create", "update", "delete")


class ValidationInput(Frozen):
    """The input of `$validate` on a type."""

    type: TypeName
    resource: ResourceBody
    mode: SkipJsonSchema[str] = ""
    """The planned interaction: one of MODES, or empty."""
    profile: SkipJsonSchema[str] = ""


class InstanceValidation(InstanceInput):
    """The input of `$validate` on an existing resource."""

    resource: ResourceBody
    mode: SkipJsonSchema[str] = ""
    profile: SkipJsonSchema[str] = ""


@interaction(permission="create")
def validate(transaction: Transaction, input: ValidationInput) -> FhirResponse:
    """Check a FHIR R4 resource without storing it. Returns an OperationOutcome."""
    return _validate(transaction, input)


@interaction(tool=False, permission="update")
def validate_instance(transaction: Transaction, input: InstanceValidation) -> FhirResponse:
    """Check an update or a deletion of an existing FHIR R4 resource without doing it. Returns an OperationOutcome."""
    return _validate(transaction, input, input.id)


def _validate(transaction: Transaction, input: ValidationInput | InstanceValidation, id: str = "") -> FhirResponse:
    type, mode, resource = check_type(input.type, stored=False), input.mode, input.resource
    if mode and mode not in MODES:
        raise refusal(400, "value", f"`mode` must be one of {', '.join(MODES)}, not {mode[:80]}")
    issues = _check_target(transaction, type, id, mode, resource)
    if mode != "delete" and isinstance(resource, dict):
        issues += _check_content(transaction, type, resource)
    if profiles := [*([input.profile] if input.profile else ()), *_list_profiles(resource)]:
        issues.append(Issue("warning", "not-supported", f"profiles are not checked: {', '.join(profiles)[:200]}"))
    errors = sum(issue.severity in ("error", "fatal") for issue in issues)
    transaction.note(ResourceValidated(type=type, id=id, errors=errors))
    reported = issues or [Issue("information", "informational", "no issues found")]
    return FhirResponse(200, render_resource(build_operation_outcome(reported)))


def _check_target(transaction: Transaction, type: str, id: str, mode: str, resource: Any) -> list[Issue]:
    """Return the issues of the target: whether the mode is possible with this type and id."""
    if resource is None and mode != "delete":
        raise refusal(400, "required", "the request has no resource to validate")
    exists = bool(id) and transaction.exists(f"{type}/{id}")
    if mode == "create" and id:
        return [Issue("error", "business-rule", f"a create has no id; send it to {type}/$validate")]
    if mode == "delete" and id and not exists:
        return [Issue("error", "not-found", f"there is no {type}/{id[:80]}")]
    if mode == "update" and not transaction.settings.client_ids and id and not exists:
        return [
            Issue(
                "error",
                "not-found",
                f"{type}/{id[:80]} does not exist, and this server does not let clients choose ids",
            )
        ]
    if id and mode != "delete" and isinstance(resource, dict) and resource.get("id") != id:
        return [
            Issue("error", "invalid", f"the id of the resource must be the id in the URL, `{id[:80]}`", f"{type}.id")
        ]
    return []


def _list_profiles(resource: Any) -> list[str]:
    """Return the profiles that the resource claims."""
    meta = resource.get("meta") if isinstance(resource, dict) else None
    profiles = meta.get("profile") if isinstance(meta, dict) else None
    return [text for text in profiles if isinstance(text, str)] if isinstance(profiles, list) else []


def _check_content(transaction: Transaction, type: str, resource: dict[str, Any]) -> list[Issue]:
    if resource.get("resourceType") != type:
        return [Issue("error", "invalid", f"the resource is not a {type}")]
    issues = find_issues(resource)
    if transaction.settings.references == "checked":
        issues += find_dangling_references(resource, transaction)
    return issues
