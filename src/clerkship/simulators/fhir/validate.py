"""`$validate`: what is wrong with a resource, said and not acted upon (R4 Resource/$validate)."""

from typing import Any

from pydantic.json_schema import SkipJsonSchema

from clerkship.fhir.issue import Issue, build_operation_outcome
from clerkship.fhir.resource import render_resource
from clerkship.fhir.validation import validate as find_issues
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir.events import ResourceValidated
from clerkship.simulators.fhir.inputs import InstanceInput, ResourceBody, TypeName
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, find_dangling_references, interaction
from clerkship.simulators.fhir.writing import check_type

MODES = ("create", "update", "delete")


class ValidationInput(Frozen):
    """A resource to check, and what it is for."""

    type: TypeName
    resource: ResourceBody
    mode: SkipJsonSchema[str] = ""
    """What is to be done with it: one of MODES, or nothing."""
    profile: SkipJsonSchema[str] = ""


class InstanceValidation(InstanceInput):
    """A resource to check that is to take the place of one that is there."""

    resource: ResourceBody
    mode: SkipJsonSchema[str] = ""
    profile: SkipJsonSchema[str] = ""


@interaction()
def validate(transaction: Transaction, given: ValidationInput) -> FhirResponse:
    """Check a FHIR R4 resource without storing it. Returns an OperationOutcome."""
    return _validate(transaction, given)


@interaction(tool=False)
def validate_instance(transaction: Transaction, given: InstanceValidation) -> FhirResponse:
    """Check an update or a deletion of an existing FHIR R4 resource without doing it. Returns an OperationOutcome."""
    return _validate(transaction, given, given.id)


def _validate(transaction: Transaction, given: ValidationInput | InstanceValidation, id: str = "") -> FhirResponse:
    type, mode, resource = check_type(given.type, stored=False), given.mode, given.resource
    if mode and mode not in MODES:
        raise refusal(400, "value", f"`mode` is one of {', '.join(MODES)}, not {mode[:80]}")
    issues = _about_place(transaction, type, id, mode, resource)
    if mode != "delete" and isinstance(resource, dict):
        issues += _about_content(transaction, type, resource)
    if named := [*([given.profile] if given.profile else ()), *_profiles(resource)]:
        issues.append(Issue("warning", "not-supported", f"profiles are not checked here: {', '.join(named)[:200]}"))
    errors = sum(issue.severity in ("error", "fatal") for issue in issues)
    transaction.note(ResourceValidated(type=type, id=id, errors=errors))
    found = issues or [Issue("information", "informational", "nothing is wrong with it")]
    return FhirResponse(200, render_resource(build_operation_outcome(found)))


def _about_place(transaction: Transaction, type: str, id: str, mode: str, resource: Any) -> list[Issue]:
    """Whether what is to be done could be done there."""
    if resource is None and mode != "delete":
        raise refusal(400, "required", "there is no resource to be looked at")
    there = bool(id) and transaction.is_there(f"{type}/{id}")
    if mode == "create" and id:
        return [Issue("error", "business-rule", "a create has no id; ask at the address of the type")]
    if mode == "delete" and id and not there:
        return [Issue("error", "not-found", f"there is no {type}/{id[:80]}")]
    if mode == "update" and not transaction.settings.client_ids and id and not there:
        return [Issue("error", "not-found", f"there is no {type}/{id[:80]}, and clients do not choose ids here")]
    if id and mode != "delete" and isinstance(resource, dict) and resource.get("id") != id:
        return [
            Issue("error", "invalid", f"the id of the resource must be that of its address, `{id[:80]}`", f"{type}.id")
        ]
    return []


def _profiles(resource: Any) -> list[str]:
    """Those it says it fits."""
    meta = resource.get("meta") if isinstance(resource, dict) else None
    named = meta.get("profile") if isinstance(meta, dict) else None
    return [text for text in named if isinstance(text, str)] if isinstance(named, list) else []


def _about_content(transaction: Transaction, type: str, resource: dict[str, Any]) -> list[Issue]:
    if resource.get("resourceType") != type:
        return [Issue("error", "invalid", f"the resource is not a {type}")]
    issues = find_issues(resource)
    if transaction.settings.references == "checked":
        issues += find_dangling_references(resource, transaction)
    return issues
