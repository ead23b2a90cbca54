"""The create, update, patch and delete interactions, and their conditional forms (R4 http).

Requests and bundle entries call the interactions. Steps and reactions call the functions that write in a
transaction, such as `create_resource` and `put_resource`.
"""

from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.issue import FhirError, Issue
from clerkship.formats.fhir.resource import ID_PATTERN, parse_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.formats.fhir.validation import split_lenient, validate
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir import json_patch
from clerkship.simulators.fhir.body import check_resource, make_relative
from clerkship.simulators.fhir.events import NothingChanged, ResourceRead
from clerkship.simulators.fhir.inputs import (
    ConditionalInput,
    IfMatch,
    IfNoneMatch,
    InstanceInput,
    QueryPairs,
    ResourceBody,
    ReturnPreferenceField,
    TypeName,
)
from clerkship.simulators.fhir.outcome import FhirRefusal, check_permission, refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import ResourceVersion, Tags
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction, relocate_issue

AGENT = "agent"
NOT_STORED = frozenset({"Parameters"})
"""R4 parameters: "there is no RESTful endpoint associated with it"."""
_RESULT_PARAMETERS = frozenset(
    {"_count", "_sort", "_include", "_revinclude", "_summary", "_elements", "_total", "_contained", "_containedType"}
)
"""Parameters that only affect how results are returned. A condition returns none."""
JsonPatch = Annotated[
    Any,
    Field(
        description='operations of JSON Patch (RFC 6902), such as {"op": "replace", "path": "/active", "value": false}',
        json_schema_extra={"type": "array", "items": {"type": "object"}},
    ),
]


class CreateInput(Frozen):
    """The input of a create."""

    type: TypeName
    resource: ResourceBody
    if_none_exist: SkipJsonSchema[QueryPairs | None] = None
    """Create the resource only if a search with these parameters finds nothing (conditional create)."""
    id: SkipJsonSchema[str] = ""
    """The id that a transaction has already assigned."""
    returns: ReturnPreferenceField = "representation"


class UpdateInput(InstanceInput):
    """The input of an update, which may create a resource under an id that the client chooses."""

    resource: ResourceBody
    if_match: IfMatch = None
    if_none_match: IfNoneMatch = None
    returns: ReturnPreferenceField = "representation"


class ConditionalUpdateInput(ConditionalInput):
    """The input of a conditional update."""

    resource: ResourceBody
    if_match: IfMatch = None
    if_none_match: IfNoneMatch = None
    returns: ReturnPreferenceField = "representation"


class PatchInput(InstanceInput):
    """The input of a patch."""

    operations: JsonPatch
    if_match: IfMatch = None
    returns: ReturnPreferenceField = "representation"


class ConditionalPatchInput(ConditionalInput):
    """The input of a conditional patch."""

    operations: JsonPatch
    if_match: IfMatch = None
    returns: ReturnPreferenceField = "representation"


class DeleteInput(InstanceInput):
    """The input of a delete."""

    if_match: IfMatch = None


class ConditionalDeleteInput(ConditionalInput):
    """The input of a conditional delete."""

    if_match: IfMatch = None


@interaction(essential=True, permission="create")
def create(transaction: Transaction, input: CreateInput) -> FhirResponse:
    """Create a FHIR R4 resource. The server chooses the id. Returns the stored resource."""
    if input.if_none_exist is not None:
        check_writable(transaction)
        key = find_unique_match(transaction, input.type, input.if_none_exist)
        if key is not None:
            return respond_with_existing(transaction, key, input)
    return _build_write_response(
        transaction, create_resource(transaction, input.resource, input.type, input.id), is_new=True
    )


@interaction(essential=True, permission="update")
def update(transaction: Transaction, input: UpdateInput) -> FhirResponse:
    """Replace a FHIR R4 resource. Give the complete resource, with the same `id`."""
    check_writable(transaction)
    key = f"{input.type}/{input.id}"
    is_new = not transaction.exists(key)
    _check_none_match(transaction, key, input.if_none_match)
    update_resource(transaction, key, input.resource, if_match=input.if_match)
    return _build_write_response(transaction, key, is_new=is_new)


@interaction(tool=False, permission="update")
def conditional_update(transaction: Transaction, input: ConditionalUpdateInput) -> FhirResponse:
    """Replace the FHIR R4 resource that a search finds, or create it if there is none."""
    check_writable(transaction)
    key = find_update_target(transaction, input)
    if key is None:
        key = create_resource(transaction, input.resource, input.type, operation="update")
        return _build_write_response(transaction, key, is_new=True)
    return update.execute(transaction, resolve_conditional_update(input, key))


@interaction(permission="update")
def patch(transaction: Transaction, input: PatchInput) -> FhirResponse:
    """Change parts of a FHIR R4 resource with a JSON Patch (RFC 6902), a list of operations."""
    key = patch_resource(transaction, f"{input.type}/{input.id}", input.operations, if_match=input.if_match)
    return _record_returned(transaction, _build_write_response(transaction, key, is_new=False), "patch", input)


@interaction(tool=False, permission="update")
def conditional_patch(transaction: Transaction, input: ConditionalPatchInput) -> FhirResponse:
    """Change the FHIR R4 resource that a search finds with a JSON Patch (RFC 6902)."""
    check_writable(transaction)
    return patch.execute(transaction, resolve_conditional_patch(input, find_patch_target(transaction, input)))


@interaction(permission="delete")
def delete(transaction: Transaction, input: DeleteInput) -> FhirResponse:
    """Delete a FHIR R4 resource. Earlier versions can still be read."""
    key = f"{input.type}/{input.id}"
    if not delete_resource(transaction, key, if_match=input.if_match):
        return FhirResponse(200, message=f"{key[:140]} does not exist; nothing was deleted")
    return FhirResponse(204, version=transaction.version(key))


@interaction(tool=False, permission="delete")
def conditional_delete(transaction: Transaction, input: ConditionalDeleteInput) -> FhirResponse:
    """Delete the FHIR R4 resource that a search finds; refused if it finds several."""
    check_writable(transaction)
    key = find_unique_match(transaction, input.type, input.query)
    if key is None:
        transaction.note(NothingChanged(operation="delete", type=input.type))
        return FhirResponse(200, message="no resource matches the condition; nothing was deleted")
    return delete.execute(transaction, DeleteInput(**_replace_condition(input, key)))


def find_update_target(transaction: Transaction, input: ConditionalUpdateInput) -> str | None:
    """Return the key of the resource that a conditional update changes; None if the server has to assign an id."""
    resource, type = input.resource, input.type
    if not isinstance(resource, dict):
        raise refusal(400, "structure", "expected a JSON object with a `resourceType`")
    id = resource.get("id")
    if id is not None and not isinstance(id, str):
        raise refusal(400, "value", "`id` must be text", f"{type}.id")
    key = find_unique_match(transaction, type, input.query)
    if key is None:
        return f"{type}/{id}" if id is not None else None
    if id is not None and key != f"{type}/{id}":
        raise refusal(400, "invalid", f"the condition matches {key}, but the resource has the id `{id[:80]}`")
    return key


def resolve_conditional_update(input: ConditionalUpdateInput, key: str) -> UpdateInput:
    """Return a conditional update as an update of the resource with this key."""
    fields = _replace_condition(input, key)
    return UpdateInput(**{**fields, "resource": {**input.resource, "id": fields["id"]}})


def _replace_condition(input: ConditionalInput, key: str) -> dict[str, Any]:
    """Return the fields of a conditional input, with the id of the resource in place of the condition."""
    return {**{name: value for name, value in input if name != "query"}, "id": key.partition("/")[2]}


def find_patch_target(transaction: Transaction, input: ConditionalPatchInput) -> str:
    """Return the key of the resource that a conditional patch changes; refuse if there is none."""
    key = find_unique_match(transaction, input.type, input.query)
    if key is None:
        raise refusal(404, "not-found", f"no {input.type} matches the condition")
    return key


def resolve_conditional_patch(input: ConditionalPatchInput, key: str) -> PatchInput:
    """Return a conditional patch as a patch of the resource with this key."""
    return PatchInput(**_replace_condition(input, key))


def parse_condition(text: str) -> QueryPairs:
    """Parse a condition, such as `identifier=x|1` or `Patient?identifier=x|1`."""
    return tuple(parse_qsl(text.partition("?")[2] if "?" in text else text, keep_blank_values=True))


def find_unique_match(transaction: Transaction, type: str, query: QueryPairs) -> str | None:
    """Return the key of the resource that matches a condition; None if there is none. Refuse if there are several."""
    check_type(type)
    if transaction.access is not None:
        check_permission(transaction.access, "search", type)
    for name, _ in query:
        if name in _RESULT_PARAMETERS:
            raise refusal(400, "not-supported", f"`{name}` is not allowed in a condition")
    if not query:
        raise refusal(412, "required", f"the condition for a {type} needs at least one search parameter")
    try:
        keys = search_keys(transaction, type, transaction.address.rewrite_pairs(query), base=transaction.base)
    except FhirError as error:
        raise refusal_from_invalid(error) from None
    if len(keys) > 1:
        raise refusal(412, "multiple-matches", f"{len(keys)} {type} resources match the condition; expected one")
    return keys[0] if keys else None


def respond_with_existing(transaction: Transaction, key: str, input: CreateInput) -> FhirResponse:
    """Respond to a conditional create whose condition matches a resource: nothing is written, with status 200."""
    type, _, id = key.partition("/")
    transaction.note(NothingChanged(operation="create", type=type, id=id))
    response = FhirResponse(200, version=transaction.version(key), key=key)
    return _record_returned(transaction, response, "create", input)


def _record_returned(
    transaction: Transaction, response: FhirResponse, operation: str, input: CreateInput | PatchInput
) -> FhirResponse:
    """Record a read where the response shows content that the client did not send."""
    if input.returns == "representation" and response.version is not None:
        type, _, id = response.key.partition("/")
        transaction.note(ResourceRead(type=type, id=id, version=response.version.id, operation=operation))
    return response


def _build_write_response(transaction: Transaction, key: str, *, is_new: bool) -> FhirResponse:
    return FhirResponse(201 if is_new else 200, version=transaction.version(key), key=key)


def _check_none_match(transaction: Transaction, key: str, tags: Tags | None) -> None:
    """Refuse if the resource exists in a version that If-None-Match excludes (RFC 9110 §13.1.2)."""
    version = transaction.version(key) if tags is not None else None
    if tags is None or version is None or version.is_deleted:
        return
    if "*" in tags or version.id in tags:
        raise refusal(412, "conflict", f"{key} already exists, at version {version.id}")


def check_writable(transaction: Transaction) -> None:
    """Refuse writes of the agent on a read-only server."""
    if transaction.settings.read_only and transaction.action.actor == AGENT:
        raise refusal(403, "forbidden", "this server is read-only")


def check_type(type: str, *, stored: bool = True) -> str:
    """Return the type if it is a resource type of R4; refuse it otherwise (R4 http: HTTP status codes).

    With `stored`, types that R4 does not store are refused too.
    """
    if stored and type in NOT_STORED:
        raise refusal(404, "not-supported", f"{type} resources cannot be stored: R4 has no endpoint for them")
    if type.startswith("$"):
        raise refusal(404, "not-supported", f"unknown operation `{type[:80]}`")
    if type not in RESOURCE_TYPES:
        raise refusal(404, "not-supported", f"`{type[:80]}` is not a resource type of R4")
    return type


def check_id(id: str) -> None:
    """Refuse an id that R4's datatypes do not allow, and `.` and `..`, which cannot be in a URL path."""
    if ID_PATTERN.fullmatch(id) is None or id in (".", ".."):
        raise refusal(400, "value", "an id must have 1 to 64 characters: letters, digits, `-` and `.`")


def check_valid(transaction: Transaction, resource: Any, type: str = "") -> list[Issue]:
    """Refuse a resource that cannot be stored; return the defects that a lenient server accepts."""
    if not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
        raise refusal(400, "structure", "expected a JSON object with a `resourceType`")
    if type and resource["resourceType"] != type:
        raise refusal(400, "invalid", f"expected a {type}, not a {resource['resourceType'][:80]}")
    check_type(resource["resourceType"])
    issues = validate(resource)
    errors = [issue for issue in issues if issue.severity in ("error", "fatal")]
    accepted: list[Issue] = []
    if transaction.settings.validation == "lenient":
        errors, accepted = map(list, split_lenient(errors))
    if errors:
        raise FhirRefusal(400, *(relocate_issue(issue, transaction.issue_location) for issue in errors))
    return accepted


def create_resource(
    transaction: Transaction, resource: Any, type: str = "", id: str = "", operation: str = "create"
) -> str:
    """Write a new resource under an id that the server assigns, whatever id it has; return its key."""
    check_writable(transaction)
    without_id = {n: value for n, value in resource.items() if n != "id"} if isinstance(resource, dict) else resource
    defects = check_valid(transaction, without_id, type)
    return transaction.write(
        {**without_id, "id": id or transaction.new_id(without_id["resourceType"])}, operation, defects
    )


def update_resource(
    transaction: Transaction, key: str, resource: Any, *, if_match: Tags | None = None, operation: str = "update"
) -> str:
    """Replace a resource, or create it where the server lets clients choose ids; return its key."""
    check_writable(transaction)
    type, _, id = key.partition("/")
    check_id(id)
    defects = check_valid(transaction, resource, type)
    if resource.get("id") != id:
        actual = f"`{str(resource['id'])[:80]}`" if "id" in resource else "none"
        raise refusal(400, "invalid", f"the id of the resource must be the id in the URL, `{id}`; it is {actual}")
    before = transaction.version(key)
    _check_match(before, if_match, key)
    if before is None and not transaction.settings.client_ids and transaction.action.actor == AGENT:
        raise refusal(405, "not-supported", f"{key} does not exist, and this server does not let clients choose ids")
    return transaction.write(resource, operation, defects)


def put_resource(transaction: Transaction, resource: Any, operation: str) -> str:
    """Update a resource, or create it if it has no id; return its key. For steps and reactions."""
    if not isinstance(resource, dict) or "id" not in resource:
        return create_resource(transaction, resource, operation=operation)
    return update_resource(
        transaction, f"{resource.get('resourceType')}/{resource['id']}", resource, operation=operation
    )


def _check_match(version: ResourceVersion | None, if_match: Tags | None, key: str) -> None:
    """Refuse a change whose If-Match does not include the current version (R4 http: managing resource contention)."""
    if if_match is None:
        return
    expected = " or ".join(if_match[:10])
    if version is None or version.is_deleted:
        raise refusal(412, "conflict", f"{key} does not exist; expected version {expected}")
    if "*" not in if_match and version.id not in if_match:
        raise refusal(412, "conflict", f"{key} is at version {version.id}, not {expected}")


def get_existing(transaction: Transaction, key: str) -> ResourceVersion:
    """Return the latest version of a resource; refuse with 404 if it never existed, and with 410 if it is deleted."""
    type, _, id = key.partition("/")
    check_type(type)
    version = transaction.version(key)
    if version is None and id.startswith("$"):
        raise refusal(404, "not-supported", f"unknown operation `{id[:80]}` on {type}")
    if version is None:
        raise refusal(404, "not-found", f"there is no {key[:140]}")
    if version.is_deleted:
        raise refusal(410, "deleted", f"{key} was deleted")
    return version


def patch_resource(
    transaction: Transaction, key: str, operations: Any, *, if_match: Tags | None = None, operation: str = "patch"
) -> str:
    """Change a resource by a JSON Patch, all of its operations or none; return its key."""
    check_writable(transaction)
    try:
        json_patch.check_patch(operations)
    except FhirError as invalid:
        raise refusal_from_invalid(invalid) from None
    version = get_existing(transaction, key)
    _check_match(version, if_match, key)
    before = parse_resource(version.data or b"{}")
    type, id = before["resourceType"], before["id"]
    try:
        after = json_patch.apply_patch(before, operations, transaction.settings.max_depth)
    except FhirError as invalid:
        raise refusal_from_invalid(invalid, 422) from None
    if not isinstance(after, dict) or (after.get("resourceType"), after.get("id")) != (type, id):
        raise refusal(422, "business-rule", "a patch may change neither the type of a resource nor its id")
    check_resource(after, status=422)
    if transaction.base and transaction.base in str(operations):
        make_relative(after, transaction.base)
    return transaction.write(after, operation, check_valid(transaction, after, type))


def delete_resource(transaction: Transaction, key: str, *, if_match: Tags | None = None) -> bool:
    """Delete a resource; return whether it existed. R4 does not refuse to delete a resource that does not exist."""
    check_writable(transaction)
    type, _, id = key.partition("/")
    check_type(type)
    version = transaction.version(key)
    _check_match(version, if_match, key)
    if version is None or version.is_deleted:
        transaction.note(NothingChanged(operation="delete", type=type))
        return False
    transaction.delete(type, id)
    return True
