"""Events of a FHIR server: the effect of each request, with the status of its response."""

from typing import Any, ClassVar

from clerkship.events.event import EffectType, Payload, collect_events


class CapabilitiesRead(Payload, kind="fhir.capabilities.read"):
    """A client read the CapabilityStatement."""

    effect: ClassVar[EffectType] = "none"
    status: int = 200


class ResourceRead(Payload, kind="fhir.resource.read"):
    """A client read a current or an earlier version of a resource."""

    effect: ClassVar[EffectType] = "none"
    type: str
    id: str
    version: str
    operation: str = "read"
    """`read` or `vread`; `create` or `patch` if the response to a write showed content that the client had not sent."""
    status: int = 200


class ResourcesSearched(Payload, kind="fhir.resources.searched"):
    """A client searched, and received these resources."""

    effect: ClassVar[EffectType] = "none"
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


class ParametersIgnored(Payload, kind="fhir.parameters.ignored"):
    """A search left out parameters that are not supported, and its response warned of them."""

    effect: ClassVar[EffectType] = "none"
    type: str
    warnings: tuple[str, ...]


class HistoryRead(Payload, kind="fhir.history.read"):
    """A client read a history."""

    effect: ClassVar[EffectType] = "none"
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


class ResourceCreated(ResourceWritten, kind="fhir.resource.created"):
    """A resource was created."""

    operation: str = "create"
    status: int = 201


class ResourceUpdated(ResourceWritten, kind="fhir.resource.updated"):
    """A resource was updated."""

    effect: ClassVar[EffectType] = "state"
    operation: str = "update"
    status: int = 200


class ResourceDeleted(Payload, kind="fhir.resource.deleted"):
    """A resource was deleted. Its earlier versions remain."""

    type: str
    id: str
    version: str
    operation: str = "delete"
    status: int = 204


class ResourceWithdrawn(ResourceDeleted, kind="fhir.resource.withdrawn"):
    """A resource that a request created was removed again, because a sandbox that reacts to it refused it.

    The request is refused. In a transaction, what it had changed before is undone too.
    """

    operation: str = "withdraw"
    status: int = 422


class ResourceValidated(Payload, kind="fhir.resource.validated"):
    """A client validated a resource, which changes nothing."""

    effect: ClassVar[EffectType] = "none"
    type: str
    id: str = ""
    errors: int
    status: int = 200


class SubscriptionTriggered(Payload, kind="fhir.subscription.triggered"):
    """A write matched the criteria of an active Subscription: its endpoint is notified."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    subscription: str
    """The id of the Subscription."""
    type: str
    id: str
    version: str
    status: int = 200

    @property
    def key(self) -> str:
        """The id of the notification."""
        return f"{self.subscription}/{self.type}/{self.id}/_history/{self.version}"


class CodesRead(Payload, kind="fhir.codes.read"):
    """A client expanded a value set, or looked up or validated a code."""

    effect: ClassVar[EffectType] = "none"
    operation: str
    """`$expand`, `$validate-code` or `$lookup`."""
    url: str
    """The value set or the code system."""
    code: str = ""
    text: str = ""
    """The filter of an expansion."""
    total: int
    """The number of codes found; 0 for a code that is not valid."""
    status: int = 200


class BundleProcessed(Payload, kind="fhir.bundle.processed"):
    """A batch or transaction was processed. The events of its entries come before this one."""

    effect: ClassVar[EffectType] = "none"
    sums_up: ClassVar[bool] = True
    type: str
    """`batch` or `transaction`."""
    entries: int
    statuses: tuple[int, ...] = ()
    status: int = 200


class NothingChanged(Payload, kind="fhir.nothing.changed"):
    """A write succeeded without a change: a conditional create found a match, or a delete found no resource."""

    effect: ClassVar[EffectType] = "none"
    operation: str
    type: str
    id: str = ""
    """The id of the resource that a conditional create found."""
    status: int = 200


class DefectAccepted(Payload, kind="fhir.defect.accepted"):
    """A lenient server stored a resource with defects that a strict server would have refused."""

    type: str
    id: str
    issues: tuple[dict[str, str], ...]


class TokenIssued(Payload, kind="fhir.token.issued"):
    """A client of SMART backend services got an access token; without the token."""

    effect: ClassVar[EffectType] = "none"
    client_id: str
    scope: str
    """The scopes that were granted."""
    expires_in: int
    """Seconds of simulated time."""
    status: int = 200


class ExportStarted(Payload, kind="fhir.export.started"):
    """A client requested a bulk export."""

    effect: ClassVar[EffectType] = "none"
    id: str
    request: str
    """The path and query of the request."""
    level: str = ""
    """`Patient`, `Group`, or empty for all resources of the server."""
    group: str = ""
    types: tuple[str, ...] = ()
    """The types to export; none for all."""
    since: str = ""
    filters: tuple[str, ...] = ()
    """The values of `_typeFilter`."""
    status: int = 202


class ExportCancelled(Payload, kind="fhir.export.cancelled"):
    """A client cancelled or deleted a bulk export."""

    effect: ClassVar[EffectType] = "none"
    id: str
    status: int = 202


class ResourcesExported(Payload, kind="fhir.resources.exported"):
    """A client downloaded a file of a bulk export."""

    effect: ClassVar[EffectType] = "none"
    id: str
    file: str
    type: str
    found: tuple[str, ...] = ()
    """The versions in the file, such as `Patient/42/_history/1`."""
    status: int = 200


EVENTS = collect_events(globals())
