"""Transactions, and the interactions that run in them.

A transaction sees its own uncommitted changes. Other requests see them once it commits.

See docs/decisions/0013-fhir-sandbox.md.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial, wraps
from itertools import chain
from types import TracebackType
from typing import Any, Self, TypeVar

import orjson

from clerkship.events.event import Payload
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.exact import has_exact_decimals
from clerkship.formats.fhir.issue import Issue
from clerkship.formats.fhir.resource import (
    Resource,
    get_key,
    list_objects,
    list_references,
    parse_reference,
    parse_resource,
    render_resource,
    set_version,
)
from clerkship.kit.descriptors import pause_garbage_collection
from clerkship.sandbox.authentication.scope import AccessGrant, Permission
from clerkship.sandbox.operation import Operation, OperationContext, ignore_callback
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.body import NO_ADDRESS, ServerAddress, get_server_address
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import (
    DefectAccepted,
    ResourceCreated,
    ResourceDeleted,
    ResourceUpdated,
    ResourceWithdrawn,
    ResourceWritten,
)
from clerkship.simulators.fhir.outcome import FHIR_JSON, FhirRefusal, check_permission, insufficient_scope, refusal
from clerkship.simulators.fhir.state import (
    CLIENT_OPERATIONS,
    METHOD_BY_OPERATION,
    SUBSCRIPTION,
    WITHDRAW,
    FhirState,
    ResourceVersion,
    format_instant,
    next_version_id,
)
from clerkship.simulators.fhir.subscriptions import accept_subscription, find_triggered, list_endpoints

T = TypeVar("T")
InputT = TypeVar("InputT")
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
"""The scheme of an absolute URL (RFC 3986 §3.1): a reference to another server."""
_LOCAL_PREFIXES = ("#", "urn:uuid:", "urn:oid:")
"""Prefixes of references to contained resources and to entries of the same Bundle (R4 bundle: references)."""


@dataclass(slots=True)
class FhirResponse:
    """The result of an interaction, which is rendered as an HTTP response or as a bundle entry."""

    status: int
    body: bytes = b""
    version: ResourceVersion | None = None
    """The version that was read or written."""
    key: str = ""
    """The key of the resource that was written."""
    message: str = ""
    """A message for the client, where there is no resource to return."""
    headers: Mapping[str, str] | None = None
    """Further HTTP headers."""
    media: str = FHIR_JSON


def relocate_issue(issue: Issue, location: str) -> Issue:
    """Return an issue whose expression is relative to the outer resource, such as a Bundle."""
    if not location:
        return issue
    relative = issue.expression.partition(".")[2]
    return issue._replace(expression=f"{location}.{relative}" if relative else location)


class Transaction:
    """A view of the store with uncommitted changes.

    Use it in a `with` statement: it commits at the end of the block, and rolls back if the block raises.
    """

    __slots__ = (
        "_ids",
        "_payloads",
        "_rendered",
        "_resources",
        "_staged",
        "_unchecked",
        "access",
        "action",
        "address",
        "base",
        "issue_location",
        "register",
        "state",
    )

    def __init__(
        self,
        state: FhirState,
        action: ActionContext,
        address: ServerAddress = NO_ADDRESS,
        access: AccessGrant | None = None,
        register: Callable[[str, str], None] = ignore_callback,
    ) -> None:
        self.state = state
        self.register = register
        """Registers endpoints of Subscriptions, outside the log."""
        self.access = access
        """What the access token of the request is limited to; None if it is not limited."""
        self.action = action
        self.address = address
        self.base = address.internal_url
        """The internal URL of the server."""
        self.issue_location = ""
        """Location of the resource being written, such as `Bundle.entry[3].resource`; empty outside of a Bundle."""
        self._payloads: list[Payload] = []
        self._rendered: dict[int, ResourceVersion] = {}
        """The versions that are written, by the position of their payload."""
        self._staged: dict[str, ResourceVersion] = {}
        self._resources: dict[str, Resource | None] = {}
        self._unchecked: list[tuple[str, Resource]] = []
        self._ids: dict[str, int] | None = None
        """The counters of the id generator before the first new id, to restore them in a rollback."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.rollback()
            return
        try:
            self.commit()
        except BaseException:
            self.rollback()
            raise

    @property
    def chart(self) -> Chart:
        """The resources of the dataset."""
        return self.state.chart

    @property
    def settings(self) -> FhirConfig:
        return self.state.config

    @property
    def zone(self) -> int:
        """The time zone of the server, in minutes ahead of UTC."""
        return self.state.zone

    @property
    def local_time(self) -> datetime:
        """The current time in the zone of the server."""
        return self.action.now.astimezone(timezone(timedelta(minutes=self.zone)))

    def version(self, key: str) -> ResourceVersion | None:
        """Return the latest version of a resource."""
        return self._staged.get(key) or self.state.version(key)

    def data(self, key: str) -> bytes | None:
        """Return the bytes of a resource; None if it is deleted or never existed."""
        staged = self._staged.get(key)
        return staged.data if staged is not None else self.state.data(key)

    def versions(self, key: str) -> list[ResourceVersion]:
        """Return all versions of a resource, oldest first."""
        last = self._staged.get(key)
        return [*self.state.versions(key), last] if last is not None else list(self.state.versions(key))

    def changes_newest_first(self) -> Iterator[tuple[int, str, ResourceVersion]]:
        """Yield the number, key and version of all changes, newest first."""
        count = len(self.state.changes_in_order) + len(self._staged)
        latest = chain(reversed(self._staged.items()), reversed(self.state.changes_in_order))
        return ((count - number, key, version) for number, (key, version) in enumerate(latest))

    def resource(self, key: str) -> Resource | None:
        """Return a resource as it is now."""
        return self._resources[key] if key in self._resources else self.state.resource(key)

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """Return the resources of a type that differ from the dataset."""
        before = self.state.changed(type)
        if not self._resources:
            return before
        prefix = f"{type}/"
        return {**before, **{key: resource for key, resource in self._resources.items() if key.startswith(prefix)}}

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        """Return a value that is built from the changed resources of a type.

        It comes from the cache of the store, unless this transaction changes resources of the type.
        """
        prefix = f"{type}/"
        if any(key.startswith(prefix) for key in self._resources):
            return build()
        return self.state.cache_until_changed(type, build)

    def exists(self, key: str) -> bool:
        return self.data(key) is not None

    def new_id(self, type: str) -> str:
        """Return an id that no resource of the type has or had."""
        if self._ids is None:
            self._ids = self.action.ids.mark()
        while True:
            id = self.action.ids.new(type).rpartition("_")[2]
            if self.version(f"{type}/{id}") is None and f"{type}/{id}" not in self._resources:
                return id

    def stage_for_search(self, key: str, resource: Resource) -> None:
        """Make a resource visible to searches of this transaction before it is written."""
        self._resources[key] = resource

    def note(self, payload: Payload) -> None:
        """Record an event that changes no resource."""
        self._payloads.append(payload)

    def write(self, resource: Resource, operation: str, defects: Sequence[Issue] = ()) -> str:
        """Write a new version of a resource; return its key."""
        type, id = resource["resourceType"], resource["id"]
        key = f"{type}/{id}"
        if type == SUBSCRIPTION and operation in CLIENT_OPERATIONS:
            if self.access is not None:  # its notifications would not be limited to the scopes
                raise refusal(403, "forbidden", "an access token with scopes cannot write a Subscription")
            staged = (each.partition("/")[2] for each in self._staged if each.startswith(f"{SUBSCRIPTION}/"))
            resource = accept_subscription(resource, {*self.state.subscriptions, *staged}, self.register)
        before = self.version(key)
        stamped = set_version(resource, next_version_id(before), format_instant(self.action.now))
        data = render_resource(stamped)
        kind = ResourceCreated if before is None or before.is_deleted else ResourceUpdated
        exact = has_exact_decimals(stamped)  # plain JSON numbers would lose digits, so the event has the text too
        fields: dict[str, Any] = (
            {"resource": orjson.loads(data), "text": data.decode()} if exact else {"resource": stamped}
        )
        version = stamped["meta"]["versionId"]
        method = METHOD_BY_OPERATION.get(operation, "PUT")
        self._staged[key] = ResourceVersion(version, stamped["meta"]["lastUpdated"], data, method)
        self._rendered[len(self._payloads)] = self._staged[key]
        self._payloads.append(kind(type=type, id=id, version=version, operation=operation, **fields))
        if defects:
            issues = tuple({name: value for name, value in issue._asdict().items() if value} for issue in defects)
            self._payloads.append(DefectAccepted(type=type, id=id, issues=issues))
        self._resources[key] = stamped
        self._unchecked.append((self.issue_location, stamped))
        return key

    def delete(self, type: str, id: str) -> None:
        key = f"{type}/{id}"
        version = next_version_id(self.version(key))
        self._payloads.append(ResourceDeleted(type=type, id=id, version=version))
        self._staged[key] = ResourceVersion(version, format_instant(self.action.now), None, "DELETE")
        self._resources[key] = None

    def check(self) -> None:
        """Refuse if a written resource has a reference to a resource that does not exist."""
        if self._unchecked and self.settings.references == "checked":
            issues = [
                relocate_issue(issue, where)
                for where, resource in self._unchecked
                for issue in self._find_new_dangling_references(resource)
            ]
            if issues:
                raise FhirRefusal(422, *issues)
        self._unchecked.clear()

    def _find_new_dangling_references(self, resource: Resource) -> list[Issue]:
        """Return an issue for each dangling reference that the stored version of the resource does not have."""
        issues = list(find_dangling_references(resource, self))
        before = self.state.resource(get_key(resource)) if issues else None
        if before is None:
            return issues
        return list(
            find_dangling_references(resource, self, {holder["reference"] for _, holder in list_references(before)})
        )

    def commit(self) -> None:
        """Emit an event for each change; the events change the store.

        A sandbox that reacts to a new resource may refuse it. Then this is refused, and what was created is withdrawn.
        """
        self.check()
        payloads, rendered = self._payloads, self._rendered
        subscriptions = dict(self.state.subscriptions) if rendered and self.state.subscriptions else {}
        self._ids = None
        self._clear()
        for number, payload in enumerate(payloads):
            self.state.rendered = (payload, rendered[number]) if number in rendered else None
            event = self.action.emit(payload)
            refusals = self.action.reaction_refusals(event) if isinstance(payload, ResourceCreated) else []
            if refusals:
                undo_changes(self.state, self.action, payloads[: number + 1])
                raise FhirRefusal(422, *(Issue("error", "business-rule", each.reason) for each in refusals))
        if subscriptions or (rendered and self.state.subscriptions):
            notify_subscriptions(self, subscriptions, [payloads[number] for number in rendered])

    def rollback(self) -> None:
        """Discard the changes and release the ids they used."""
        if self._ids is not None:
            self.action.ids.restore(self._ids)
            self._ids = None
        self._clear()

    def _clear(self) -> None:
        self._payloads, self._rendered, self._staged, self._resources, self._unchecked = [], {}, {}, {}, []


def notify_subscriptions(
    transaction: Transaction, subscriptions: Mapping[str, Resource], payloads: Sequence[Payload]
) -> None:
    """Register the endpoints of written Subscriptions, and record which Subscriptions of before are triggered."""
    written = [each for each in payloads if isinstance(each, ResourceWritten) and each.operation != WITHDRAW]
    for name, url in list_endpoints(written):
        transaction.register(name, url)
    for triggered in find_triggered(transaction.state, subscriptions, written, transaction.action.now):
        transaction.action.emit(triggered)


def undo_changes(state: FhirState, action: ActionContext, changes: Sequence[Payload]) -> None:
    """Undo committed changes, the last one first."""
    undo = Transaction(state, action)
    for change in reversed(changes):
        if isinstance(change, ResourceCreated):
            version = next_version_id(state.version(f"{change.type}/{change.id}"))
            undo.note(ResourceWithdrawn(type=change.type, id=change.id, version=version))
        elif isinstance(change, ResourceUpdated | ResourceDeleted):
            earlier = state.versions(f"{change.type}/{change.id}")[-2].data
            if earlier is not None:
                undo.write(parse_resource(earlier), WITHDRAW)
    undo._unchecked.clear()  # what was in the store before is not checked again
    undo.commit()


def find_dangling_references(
    resource: Resource, transaction: Transaction, known: Container[str] = ()
) -> Iterator[Issue]:
    """Yield an issue for each reference to a resource that does not exist on this server or in the resource itself.

    References in `known` are not checked.
    """
    local: frozenset[str] | None = None
    for path, holder in list_references(resource):
        text: str = holder["reference"]
        if text in known:
            continue
        if text.startswith(_LOCAL_PREFIXES):
            local = _find_local_targets(resource) if local is None else local
            issue = None if text in local else _build_local_issue(text)
        else:
            issue = _check_server_reference(text, transaction)
        if issue is not None:
            yield issue._replace(expression=f"{resource['resourceType']}.{path}")


def _check_server_reference(text: str, transaction: Transaction) -> Issue | None:
    """Return the issue with a reference to a resource on this server, if there is one."""
    target = parse_reference(text)
    if target is None or target.type not in RESOURCE_TYPES:
        if _ABSOLUTE_URL.match(text) is not None:
            return None
        return Issue("error", "value", f"`{text[:80]}` is not a valid reference")
    if not transaction.exists(target.key):
        return Issue("error", "not-found", f"there is no {target.key} on this server")
    if target.version is None or any(target.version == version.id for version in transaction.versions(target.key)):
        return None
    return Issue("error", "not-found", f"{target.key} has no version {target.version}")


def _build_local_issue(text: str) -> Issue:
    if text.startswith("#"):
        return Issue("error", "not-found", f"the resource contains no resource with the id {text[1:80]}")
    reason = f"no entry of the transaction has the fullUrl {text[:80]}"
    return Issue("error", "not-found", reason)


def _find_local_targets(resource: Resource) -> frozenset[str]:
    """Return the local references that are valid in a resource: `#`, contained ids, and the fullUrls of a Bundle."""
    contained = [item.get("id") for item in list_objects(resource, "contained")]
    entries = list_objects(resource, "entry") if resource["resourceType"] == "Bundle" else []
    urls = [entry.get("fullUrl") for entry in entries]
    return frozenset(["#", *(f"#{id}" for id in contained), *(url for url in urls if isinstance(url, str))])


InteractionFunction = Callable[[Transaction, InputT], FhirResponse]


class Interaction(Operation[InputT, FhirResponse]):
    """An operation of a FHIR server. It runs in a transaction, which commits unless the interaction is refused.

    A bundle entry calls `execute` in the transaction of its Bundle.
    """

    def __init__(
        self,
        execute: InteractionFunction[InputT],
        *,
        description: str = "",
        writes: bool = False,
        pauses_gc: bool = False,
        permission: Permission | None = None,
        scoped: bool = False,
        **options: Any,
    ) -> None:
        @wraps(execute)
        def run(context: OperationContext[Any], input: InputT) -> FhirResponse:
            address = get_server_address(context.base_url)
            options = (address, context.access, context.register_callback)
            with Transaction(context.state, context.action, *options) as transaction:
                if context.access is not None:
                    self.check_scopes(context.access, input)
                try:
                    return execute(transaction, input)
                except RecursionError:  # limits of depth should prevent it; if not, the request is at fault
                    raise refusal(400, "too-costly", "the request is nested too deep") from None

        scoped = scoped or permission is not None
        super().__init__(pause_garbage_collection()(run) if pauses_gc else run, scoped=scoped, **options)
        self.execute = execute
        self.writes = writes
        """Whether the interaction changes the store."""
        self.permission = permission
        """What an access token must allow for the type; None if the interaction checks that itself, or accepts none."""
        self._description = description

    @property
    def description(self) -> str:
        return self._description or super().description

    def check_scopes(self, access: AccessGrant, input: InputT) -> None:
        """Refuse a request that an access token with scopes does not cover."""
        if not self.scoped:
            raise insufficient_scope(access, f"an access token with scopes is not accepted for {self.name}")
        if self.permission is not None:
            check_permission(access, self.permission, getattr(input, "type", ""))

    def copy_as(self, name: str, description: str) -> "Interaction[InputT]":
        """Return the same interaction under another name, for another form of request."""
        return Interaction(self.execute, name=name, description=description, tool=False, scoped=self.scoped)


def interaction(**options: Any) -> Callable[[InteractionFunction[InputT]], Interaction[InputT]]:
    """Declare a function `(transaction, input) -> FhirResponse` as an interaction; see `Interaction`."""
    return partial(Interaction, **options)
