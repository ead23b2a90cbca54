"""What happens to a chart: each request's effect, with the status it was answered with."""

from typing import Any, ClassVar

from clerkship.events.event import Payload


class CapabilitiesRead(Payload):
    """Somebody asked what this server can do."""

    kind: ClassVar[str] = "fhir.capabilities.read"
    status: int = 200


class ResourceRead(Payload):
    """Somebody read a resource, as it is or as it was."""

    kind: ClassVar[str] = "fhir.resource.read"
    type: str
    id: str
    version: str
    operation: str = "read"
    """`read` or `vread`; or `create` or `patch`, where the answer to a write showed what its client had not sent."""
    status: int = 200


class ResourcesSearched(Payload):
    """Somebody searched, and was shown these."""

    kind: ClassVar[str] = "fhir.resources.searched"
    type: str
    """What sort of resource; empty for all of them."""
    query: str
    """As it was asked, `code=718-7&date=ge2026-01-01`."""
    total: int
    found: tuple[str, ...] = ()
    """The matches on this page, as `Patient/42`."""
    included: tuple[str, ...] = ()
    """What came with them."""
    within: str = ""
    """Whose compartment or record was searched, as `Patient/42`."""
    operation: str = "search"
    """`search`, or the name of an operation that shows resources, such as `$everything`."""
    status: int = 200


class HistoryRead(Payload):
    """Somebody looked at how things were."""

    kind: ClassVar[str] = "fhir.history.read"
    type: str = ""
    id: str = ""
    found: tuple[str, ...] = ()
    """As `Patient/42/_history/1`."""
    status: int = 200


class ResourceWritten(Payload):
    """A resource is now this. `text` has its exact bytes where plain JSON numbers would lose digits."""

    holds_body: ClassVar[bool] = True
    freezes: ClassVar[bool] = False  # a transaction builds the resource, and the store keeps its bytes
    type: str
    id: str
    version: str
    resource: dict[str, Any]
    text: str = ""
    operation: str
    """`create`, `update`, `patch`, or a step's or reaction's name."""
    status: int


class ResourceCreated(ResourceWritten):
    """A resource is there that was not."""

    kind: ClassVar[str] = "fhir.resource.created"
    operation: str = "create"
    status: int = 201


class ResourceUpdated(ResourceWritten):
    """A resource has changed."""

    kind: ClassVar[str] = "fhir.resource.updated"
    operation: str = "update"
    status: int = 200


class ResourceDeleted(Payload):
    """A resource is gone; its history is not."""

    kind: ClassVar[str] = "fhir.resource.deleted"
    type: str
    id: str
    version: str
    operation: str = "delete"
    status: int = 204


class ResourceValidated(Payload):
    """Somebody asked whether a resource is right, and changed nothing."""

    kind: ClassVar[str] = "fhir.resource.validated"
    type: str
    id: str = ""
    errors: int
    status: int = 200


class BundleProcessed(Payload):
    """A batch or transaction is done; what its entries did stands before it."""

    kind: ClassVar[str] = "fhir.bundle.processed"
    sums_up: ClassVar[bool] = True
    type: str
    """`batch` or `transaction`."""
    entries: int
    statuses: tuple[int, ...] = ()
    status: int = 200


class NothingChanged(Payload):
    """A write that R4 answers with a yes had nothing to do: what was to be made is there, or what was to go is not."""

    kind: ClassVar[str] = "fhir.nothing.changed"
    operation: str
    type: str
    id: str = ""
    """What is there instead, if anything."""
    status: int = 200


class DefectAccepted(Payload):
    """What a strict server would have refused, and a lenient one let through."""

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
    ResourceValidated,
    BundleProcessed,
    NothingChanged,
    DefectAccepted,
)
