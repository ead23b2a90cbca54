"""What one request is about to do: itself sees it as done, and nobody else before all of it is decided."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import chain
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from clerkship.events.event import Payload
from clerkship.fhir.chart import Chart
from clerkship.fhir.exact import is_exact
from clerkship.fhir.issue import Issue
from clerkship.fhir.reference import references
from clerkship.fhir.resource import Resource, key_of, plain, render, stamp
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.address import NOWHERE, Address
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import (
    DefectAccepted,
    ResourceCreated,
    ResourceDeleted,
    ResourceUpdated,
)
from clerkship.simulators.fhir.outcome import FhirRefusal
from clerkship.simulators.fhir.references import dangling
from clerkship.simulators.fhir.versions import Version, instant, next_id

T = TypeVar("T")
METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}


class Standing(Protocol):
    """A store as it stands."""

    @property
    def chart(self) -> Chart:
        """What was there at first."""
        ...

    @property
    def settings(self) -> FhirConfig:
        """How it is configured."""
        ...

    @property
    def zone(self) -> int:
        """Where it is, in minutes ahead of UTC."""
        ...

    @property
    def order(self) -> Sequence[tuple[str, Version]]:
        """What happened here, in order: whose version, and which."""
        ...

    def versions(self, key: str) -> Sequence[Version]:
        """All there are of one resource, the oldest first."""
        ...

    def version(self, key: str) -> Version | None:
        """The last of them."""
        ...

    def resource(self, key: str) -> Resource | None:
        """One as it is now."""
        ...

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """Those that differ from the chart's."""
        ...

    def while_unchanged(self, type: str, build: Callable[[], T]) -> T:
        """What is worked out of those."""
        ...


def placed(issue: Issue, where: str) -> Issue:
    """What is wrong with a resource, as seen from what it is inside of."""
    if not where:
        return issue
    rest = issue.expression.partition(".")[2]
    return issue._replace(expression=f"{where}.{rest}" if rest else where)


class Draft:
    """A view of a store with what is about to be done to it."""

    __slots__ = ("_ids", "_payloads", "_resources", "_staged", "_unchecked", "act", "address", "state", "where")

    def __init__(self, state: Standing, act: ActionContext, address: Address = NOWHERE) -> None:
        self.state = state
        self.act = act
        self.address = address
        self.where = ""
        """Where a resource stands that is found wrong, if it is inside another: `Bundle.entry[3].resource`."""
        self._payloads: list[Payload] = []
        self._staged: dict[str, Version] = {}
        self._resources: dict[str, Resource | None] = {}
        self._unchecked: list[tuple[str, Resource]] = []
        self._ids: dict[str, int] | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do it, or, if anything was wrong with it, nothing."""
        if error is not None:
            self.drop()
            return
        try:
            self.keep()
        except BaseException:
            self.drop()
            raise

    @property
    def chart(self) -> Chart:
        """What was there at first."""
        return self.state.chart

    @property
    def base(self) -> str:
        """The server's address, as the store has it."""
        return self.address.inside

    @property
    def settings(self) -> FhirConfig:
        """How the server is configured."""
        return self.state.settings

    @property
    def zone(self) -> int:
        """Where the server is, in minutes ahead of UTC."""
        return self.state.zone

    @property
    def here(self) -> datetime:
        """The time where the server is."""
        return self.act.now.astimezone(timezone(timedelta(minutes=self.zone)))

    def version(self, key: str) -> Version | None:
        """One resource's last version."""
        return self._staged.get(key) or self.state.version(key)

    def versions(self, key: str) -> list[Version]:
        """All there are of one resource, the oldest first."""
        last = self._staged.get(key)
        return [*self.state.versions(key), last] if last is not None else list(self.state.versions(key))

    def newest(self) -> Iterator[tuple[int, str, Version]]:
        """What happened here, the newest first, each with its number."""
        count = len(self.state.order) + len(self._staged)
        latest = chain(reversed(self._staged.items()), reversed(self.state.order))
        return ((count - number, key, version) for number, (key, version) in enumerate(latest))

    def resource(self, key: str) -> Resource | None:
        """One as it is now."""
        return self._resources[key] if key in self._resources else self.state.resource(key)

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """Those of a sort that differ from the chart's."""
        before = self.state.changed(type)
        if not self._resources:
            return before
        start = f"{type}/"
        return {**before, **{key: found for key, found in self._resources.items() if key.startswith(start)}}

    def while_unchanged(self, type: str, build: Callable[[], T]) -> T:
        """What is worked out of those that differ: the store's, where nothing of the sort is about to be done."""
        start = f"{type}/"
        if any(key.startswith(start) for key in self._resources):
            return build()
        return self.state.while_unchanged(type, build)

    def is_there(self, key: str) -> bool:
        """Whether there is such a resource."""
        version = self.version(key)
        return version is not None and not version.gone

    def new_id(self, type: str) -> str:
        """An id that nothing of this sort has or had."""
        if self._ids is None:
            self._ids = self.act.ids.mark()
        while True:
            found = self.act.ids.new(type).rpartition("_")[2]
            if self.version(f"{type}/{found}") is None and f"{type}/{found}" not in self._resources:
                return found

    def hold(self, key: str, resource: Resource) -> None:
        """Let searches see what is going to be written, as far as it is known."""
        self._resources[key] = resource

    def note(self, payload: Payload) -> None:
        """Something that is only to be taken down."""
        self._payloads.append(payload)

    def write(self, resource: Resource, operation: str, defects: Sequence[Issue] = ()) -> str:
        """A resource is to be this from now on; returns its key."""
        type, id = resource["resourceType"], resource["id"]
        key = f"{type}/{id}"
        before = self.version(key)
        kept = stamp(resource, next_id(before), instant(self.act.now))
        digits = is_exact(kept)
        data = render(kept)
        kind = ResourceCreated if before is None or before.gone else ResourceUpdated
        fields: dict[str, Any] = {"resource": plain(kept), "text": data.decode()} if digits else {"resource": kept}
        version = kept["meta"]["versionId"]
        self._payloads.append(kind(type=type, id=id, version=version, operation=operation, **fields))
        if defects:
            issues = tuple({name: value for name, value in issue._asdict().items() if value} for issue in defects)
            self._payloads.append(DefectAccepted(type=type, id=id, issues=issues))
        self._staged[key] = Version(version, kept["meta"]["lastUpdated"], data, METHODS.get(operation, "PUT"))
        self._resources[key] = kept
        self._unchecked.append((self.where, kept))
        return key

    def delete(self, type: str, id: str, operation: str = "delete") -> None:
        """A resource is to be gone."""
        key = f"{type}/{id}"
        version = next_id(self.version(key))
        self._payloads.append(ResourceDeleted(type=type, id=id, version=version, operation=operation))
        self._staged[key] = Version(version, instant(self.act.now), None, "DELETE")
        self._resources[key] = None

    def check(self) -> None:
        """Whether all of it can be: what it refers to is there."""
        if self._unchecked and self.settings.references == "checked":
            issues = [placed(issue, where) for where, resource in self._unchecked for issue in self._lost(resource)]
            if issues:
                raise FhirRefusal(422, *issues)
        self._unchecked.clear()

    def _lost(self, resource: Resource) -> list[Issue]:
        """References of a resource that lead nowhere, and did not stand in it before."""
        issues = list(dangling(resource, self))
        before = self.state.resource(key_of(resource)) if issues else None
        if before is None:
            return issues
        return list(dangling(resource, self, {holder["reference"] for _, holder in references(before)}))

    def keep(self) -> None:
        """Do it: each thing is taken down, and so changes the store."""
        self.check()
        payloads = self._payloads
        self._ids = None
        self._forget()
        for payload in payloads:
            self.act.emit(payload)

    def drop(self) -> None:
        """Leave no trace of it, not even an id that was given out."""
        if self._ids is not None:
            self.act.ids.return_to(self._ids)
            self._ids = None
        self._forget()

    def _forget(self) -> None:
        self._payloads, self._staged, self._resources, self._unchecked = [], {}, {}, []
