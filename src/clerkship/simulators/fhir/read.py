"""The read and vread interactions (R4 http)."""

from datetime import datetime
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import parse_resource, render_resource
from clerkship.formats.fhir.search import parse_query, subset_resource
from clerkship.simulators.fhir.access import check_read, check_version_read
from clerkship.simulators.fhir.events import ResourceRead
from clerkship.simulators.fhir.inputs import IfNoneMatch, InstanceInput, QueryPairs
from clerkship.simulators.fhir.outcome import refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import ResourceVersion, parse_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.simulators.fhir.write import check_type, get_existing


class ReadInput(InstanceInput):
    """The input of a read."""

    parts: SkipJsonSchema[QueryPairs] = ()
    """The parameters `_summary` and `_elements`."""
    if_none_match: IfNoneMatch = None
    if_modified_since: SkipJsonSchema[datetime | None] = None


class VersionReadInput(InstanceInput):
    """The input of a vread."""

    version: Annotated[str, Field(description="id of the version, from `meta.versionId`")]
    parts: SkipJsonSchema[QueryPairs] = ()


@interaction(essential=True, scoped=True)
def read(transaction: Transaction, input: ReadInput) -> FhirResponse:
    """Read the current version of a FHIR R4 resource."""
    check_read(transaction, f"{check_type(input.type)}/{input.id}")
    version = get_existing(transaction, f"{input.type}/{input.id}")
    status = 304 if _is_not_modified(input, version) else 200
    return _render_version(transaction, input, version, "read", status)


@interaction(scoped=True)
def vread(transaction: Transaction, input: VersionReadInput) -> FhirResponse:
    """Read an earlier version of a FHIR R4 resource."""
    key = f"{check_type(input.type)}/{input.id}"
    check_read(transaction, key)
    version = next((version for version in transaction.versions(key) if version.id == input.version), None)
    if version is None:
        raise refusal(404, "not-found", f"there is no version {input.version[:80]} of {key[:140]}")
    if version.is_deleted:
        raise refusal(410, "deleted", f"version {input.version} of {key} is its deletion")
    check_version_read(transaction, key, parse_resource(version.data or b"{}"))
    return _render_version(transaction, input, version, "vread", 200)


def _render_version(
    transaction: Transaction,
    input: ReadInput | VersionReadInput,
    version: ResourceVersion,
    operation: str,
    status: int,
) -> FhirResponse:
    data = (version.data or b"") if status == 200 else b""
    if data and input.parts:
        data = _select_elements(input.type, data, input.parts)
    event = ResourceRead(type=input.type, id=input.id, version=version.id, operation=operation, status=status)
    transaction.note(event)
    return FhirResponse(status, data, version)


def _select_elements(type: str, data: bytes, parts: QueryPairs) -> bytes:
    """Return the resource reduced to the elements that `_summary` and `_elements` select."""
    try:
        return render_resource(subset_resource(parse_resource(data), parse_query(type, parts)))
    except FhirError as error:
        raise refusal_from_invalid(error) from None


def _is_not_modified(input: ReadInput, version: ResourceVersion) -> bool:
    """Return whether the client already has this version (R4 http: conditional read)."""
    tags, since = input.if_none_match, input.if_modified_since
    if tags is not None:
        return "*" in tags or version.id in tags
    updated = parse_instant(version.updated) if since is not None else None
    return since is not None and updated is not None and updated.replace(microsecond=0) <= since
