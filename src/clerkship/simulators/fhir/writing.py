"""Creating, updating, patching and deleting (R4 http: create, update, patch, delete), as a draft of it."""

from typing import Any

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.issue import Invalid, Issue
from clerkship.fhir.resource import ID, Resource, parse
from clerkship.fhir.validation import lenient, validate
from clerkship.simulators.fhir import patch as json_patch
from clerkship.simulators.fhir.draft import Draft, placed
from clerkship.simulators.fhir.elements import check_resource
from clerkship.simulators.fhir.events import NothingChanged
from clerkship.simulators.fhir.outcome import FhirRefusal, refusal, refused
from clerkship.simulators.fhir.references import make_relative
from clerkship.simulators.fhir.versions import Tags, Version

AGENT = "agent"
NOT_STORED = frozenset({"Parameters"})
"""R4 parameters: "there is no RESTful endpoint associated with it"."""


def may_write(draft: Draft) -> None:
    """Whether whoever asks may change anything here."""
    if draft.settings.read_only and draft.act.actor == AGENT:
        raise refusal(403, "forbidden", "this server is read-only")


def known_type(type: str, *, stored: bool = True) -> str:
    """A type that R4 has; any other is not there (R4 http: HTTP status codes)."""
    if stored and type in NOT_STORED:
        raise refusal(
            404, "not-supported", f"R4 has no address for {type}: they go into operations and come out of them"
        )
    if type.startswith("$"):
        raise refusal(404, "not-supported", f"there is no operation `{type[:80]}` here")
    if type not in RESOURCE_TYPES:
        raise refusal(404, "not-supported", f"`{type[:80]}` is not a resource type of R4")
    return type


def usable_id(id: str) -> None:
    """As R4's datatypes have it; and not what every path goes up by, for nobody could ask for it."""
    if ID.fullmatch(id) is None or id in (".", ".."):
        raise refusal(400, "value", "an id has 1 to 64 letters, digits, `-` and `.`")


def checked(draft: Draft, resource: Any, type: str = "") -> list[Issue]:
    """What is wrong with a resource and yet let through; refuses one that cannot be kept."""
    if not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
        raise refusal(400, "structure", "a resource is a JSON object with a `resourceType`")
    if type and resource["resourceType"] != type:
        raise refusal(400, "invalid", f"the resource is a {resource['resourceType'][:80]}, and this is {type}")
    known_type(resource["resourceType"])
    found = validate(resource)
    errors = [issue for issue in found if issue.severity in ("error", "fatal")]
    let_through: list[Issue] = []
    if draft.settings.validation == "lenient":
        errors, let_through = map(list, lenient(errors))
    if errors:
        raise FhirRefusal(400, *(placed(issue, draft.where) for issue in errors))
    return let_through


def create(draft: Draft, resource: Resource, type: str = "", id: str = "", operation: str = "create") -> str:
    """A new resource, under an id of the server's own whatever id it has; returns its key."""
    may_write(draft)
    unnamed = {name: value for name, value in resource.items() if name != "id"} if _is_object(resource) else resource
    defects = checked(draft, unnamed, type)
    return draft.write({**unnamed, "id": id or draft.new_id(unnamed["resourceType"])}, operation, defects)


def _is_object(resource: Any) -> bool:
    return isinstance(resource, dict)


def update(
    draft: Draft, key: str, resource: Resource, *, if_match: Tags | None = None, operation: str = "update"
) -> str:
    """A resource is now this; made, where there was none and the server lets clients choose ids."""
    may_write(draft)
    type, _, id = key.partition("/")
    usable_id(id)
    defects = checked(draft, resource, type)
    if resource.get("id") != id:
        has = f"`{str(resource['id'])[:80]}`" if "id" in resource else "none"
        raise refusal(400, "invalid", f"the id of the resource must be that of its address, `{id}`; it has {has}")
    before = draft.version(key)
    _match(before, if_match, key)
    if before is None and not draft.settings.client_ids and draft.act.actor == AGENT:
        raise refusal(405, "not-supported", f"there is no {key}, and this server does not let clients choose ids")
    return draft.write(resource, operation, defects)


def put(draft: Draft, resource: Resource, operation: str) -> str:
    """As update or, where it has no id, as create: for those who set a scene."""
    if not isinstance(resource, dict) or "id" not in resource:
        return create(draft, resource, operation=operation)
    return update(draft, f"{resource.get('resourceType')}/{resource['id']}", resource, operation=operation)


def _match(version: Version | None, if_match: Tags | None, key: str) -> None:
    """R4 http, managing resource contention: what is updated must be the version that the client has seen."""
    if if_match is None:
        return
    expected = " or ".join(if_match[:10])
    if version is None or version.gone:
        raise refusal(412, "conflict", f"there is no {key}, and version {expected} of it was expected")
    if "*" not in if_match and version.id not in if_match:
        raise refusal(412, "conflict", f"{key} is at version {version.id}, not {expected}")


def existing(draft: Draft, key: str) -> Version:
    """The last version of what is there; 404 for what never was, 410 for what is gone."""
    type, _, id = key.partition("/")
    known_type(type)
    version = draft.version(key)
    if version is None and id.startswith("$"):
        raise refusal(404, "not-supported", f"there is no operation `{id[:80]}` on {type} here")
    if version is None:
        raise refusal(404, "not-found", f"there is no {key[:140]}")
    if version.gone:
        raise refusal(410, "deleted", f"{key} was deleted")
    return version


def patch(draft: Draft, key: str, operations: Any, *, if_match: Tags | None = None, operation: str = "patch") -> str:
    """A resource is changed by a JSON Patch: all of its operations, or none."""
    may_write(draft)
    try:
        json_patch.check(operations)
    except Invalid as found:
        raise refused(found) from None
    version = existing(draft, key)
    _match(version, if_match, key)
    before = parse(version.data or b"{}")
    type, id = before["resourceType"], before["id"]
    try:
        after = json_patch.apply(before, operations, draft.settings.max_depth)
    except Invalid as found:
        raise refused(found, 422) from None
    if not isinstance(after, dict) or (after.get("resourceType"), after.get("id")) != (type, id):
        raise refusal(422, "business-rule", "a patch may change neither the type of a resource nor its id")
    check_resource(after, status=422)
    if draft.base:
        make_relative(after, draft.base)
    return draft.write(after, operation, checked(draft, after, type))


def delete(draft: Draft, key: str, *, if_match: Tags | None = None, operation: str = "delete") -> bool:
    """A resource is to be gone. False where it is not there: that is no error (R4 http: delete)."""
    may_write(draft)
    type, _, id = key.partition("/")
    known_type(type)
    version = draft.version(key)
    if if_match is not None:
        _match(version, if_match, key)
    if version is None or version.gone:
        draft.note(NothingChanged(operation=operation, type=type))
        return False
    draft.delete(type, id, operation)
    return True
