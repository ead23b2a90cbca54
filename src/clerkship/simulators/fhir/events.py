"""Events of a FHIR server: the effect of each request, with the status of its response."""

from typing import Any, ClassVar

from clerkship.events.event import Payload


class CapabilitiesRead(Payload):
    """A client read the CapabilityStatement."""

    kind: ClassVar[str] = "fhir.capabilities.read"
    status: int = 200


class ResourceRead(Payload):
    """A client read a current or an earlier version of a resource."""

    kind: ClassVar[str] = "fhir.resource.read"
    type: str
    id: str
    version: str
    operation: str = "read"
    """`read` or `vread`; `create` or `patch` if the response to a write showed content that the client had not sent."""
    status: int = 200


class ResourcesSearched(Payload):
    """A client searched, and received these resources."""

    kind: ClassVar[str] = "fhir.resources.searched"
    type: str
    """The resource type; empty for a search of all types."""
    query: str
    """The query, such as `code=718-7&date=ge2026-01-01`."""
    total: int
    found: tuple[str, ...] = ()
    """The keys of the matches on this page, such as `Patient/42`."""
    included: tuple[str, ...] = ()
    """The keys of the included resources."""
    within: str = ""
    """The compartment that was searched, such as `Patient/42`."""
    operation: str = "search"
    """`search`, or the name of an operation that returns resources, such as `$everything`."""
    status: int = 200


class HistoryRead(Payload):
    """A client read a history."""

    kind: ClassVar[str] = "fhir.history.read"
    type: str = ""
    id: str = ""
    found: tuple[str, ...] = ()
    """The versions on this page, such as `Patient/42/_history/1`."""
    status: int = 200


class ResourceWritten(Payload):
    """A resource was written. `text` has its exact bytes where plain JSON numbers would lose digits."""

    holds_body: ClassVar[bool] = True
    freezes: ClassVar[bool] = False  # the transaction built the resource itself, and the store keeps only its bytes
    type: str
    id: str
    version: str
    resource: dict[str, Any]
    text: str = ""
    operation: str
    """`create`, `update`, `patch`, or the name of a step or reaction."""
    status: int


class ResourceCreated(ResourceWritten):
    """A resource was created."""

    kind: ClassVar[str] = "fhir.resource.created"
    operation: str = "create"
    status: int = 201


class ResourceUpdated(ResourceWritten):
    """A resource was updated."""

    kind: ClassVar[str] = "fhir.resource.updated"
    operation: str = "update"
    status: int = 200


class ResourceDeleted(Payload):
    """A resource was deleted. Its earlier versions remain."""

    kind: ClassVar[str] = "fhir.resource.deleted"
    type: str
    id: str
    version: str
    operation: str = "delete"
    status: int = 204


class ResourceWithdrawn(ResourceDeleted):
    """A resource that a request created was removed again, because a sandbox that reacts to it refused it.

    The request is refused. In a transaction, what it had changed before is undone too.
    """

    kind: ClassVar[str] = "fhir.resource.withdrawn"
    operation: str = "withdraw"
    status: int = 422


class ResourceValidated(Payload):
    """A client validated a resource, which changes nothing."""

    kind: ClassVar[str] = "fhir.resource.validated"
    type: str
    id: str = ""
    errors: int
    status: int = 200


class BundleProcessed(Payload):
    """A batch or transaction was processed. The events of its entries come before this one."""

    kind: ClassVar[str] = "fhir.bundle.processed"
    sums_up: ClassVar[bool] = True
    type: str
    """`batch` or `transaction`."""
    entries: int
    statuses: tuple[int, ...] = ()
    status: int = 200


class NothingChanged(Payload):
    """A write succeeded without a change: a conditional create found a match, or a delete found no resource."""

    kind: ClassVar[str] = "fhir.nothing.changed"
    operation: str
    type: str
    id: str = ""
    """The id of the resource that a conditional create found."""
    status: int = 200


class DefectAccepted(Payload):
    """A lenient server stored a resource with defects that a strict server would have refused."""

    kind: ClassVar[str] = "fhir.defect.accepted"
    type: str
    id: str
    issues: tuple[dict[str, str], ...]


EVENTS: tuple[type[Payload], ...] = (
    CapabilitiesRead,
    ResourceRead,
    ResourcesSearched,
    HistoryRead,
    ResourceCreated,
    ResourceUpdated,
    ResourceDeleted,
    ResourceWithdrawn,
    ResourceValidated,
    BundleProcessed,
    NothingChanged,
    DefectAccepted,
)
