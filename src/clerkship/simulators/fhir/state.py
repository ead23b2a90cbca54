"""A FHIR server's store: the chart, what happened to it here, and every version there was."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from clerkship.events.event import Event
from clerkship.fhir.chart import NONE, Chart
from clerkship.fhir.resource import Resource, parse, render
from clerkship.fhir.search import find_keys
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.fhir import writing
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import ResourceDeleted, ResourceWritten
from clerkship.simulators.fhir.transaction import METHODS, Transaction
from clerkship.simulators.fhir.versions import Version, instant, of_chart

T = TypeVar("T")


class FhirState(State):
    """Resources by `Type/id`, in their byte form, over the chart's; a View of them for whoever searches."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.order: list[tuple[str, Version]] = []
        """What happened here, in order: whose version, and which."""
        self._history: dict[str, list[Version]] = {}
        self._changed: dict[str, dict[str, Resource | None]] = {}
        self._worked_out: dict[str, Any] = {}

    @property
    def settings(self) -> FhirConfig:
        """The config, as what it is."""
        return cast(FhirConfig, self.config)

    @property
    def zone(self) -> int:
        """Where the server is, in minutes ahead of UTC."""
        return self.settings.zone or 0

    @property
    def chart(self) -> Chart:
        """What was there at first, and never changes."""
        return cast(Chart, cast(Any, self.records).base)

    def version(self, key: str) -> Version | None:
        """The last version of one resource; that it is gone is a version too."""
        history = self._history.get(key)
        return history[-1] if history is not None else of_chart(self.chart, key)

    def versions(self, key: str) -> Sequence[Version]:
        """All versions of one resource, the oldest first."""
        first = of_chart(self.chart, key)
        return [*([first] if first is not None else ()), *self._history.get(key, ())]

    def resource(self, key: str) -> Resource | None:
        """One as it is now; not to be changed."""
        changed = self._changed.get(key.partition("/")[0], NONE)
        if key in changed:
            return changed[key]
        line = self.chart.get(key)
        return parse(line) if line is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """By key, those of a sort that are new or differ from the chart's; None where one is gone."""
        return self._changed.get(type, NONE)

    def while_unchanged(self, type: str, build: Callable[[], T]) -> T:
        """What somebody works out of those that differ, kept until another one does."""
        if type not in self._worked_out:
            self._worked_out[type] = build()
        return cast(T, self._worked_out[type])

    def find(self, type: str, pairs: Sequence[tuple[str, str]] = ()) -> list[Resource]:
        """All that a search matches, without anybody having searched."""
        found = (self.resource(key) for key in find_keys(self, type, pairs))
        return [resource for resource in found if resource is not None]

    def changes(self) -> Mapping[str, tuple[Resource | None, Resource | None]]:
        """By key, what the dataset has and what is there now, where they differ."""
        found = ((key, self.chart.get(key), versions[-1].data) for key, versions in self._history.items())
        return {key: (_read(before), self.resource(key)) for key, before, now in found if before != now}

    def put(self, act: ActionContext, resource: Resource, operation: str = "put") -> str:
        """Have a resource be this, new or not; returns its key. One without an id is given one."""
        with Transaction(self, act) as transaction:
            return writing.put_resource(transaction, resource, operation)

    def patch(self, act: ActionContext, key: str, operations: list[dict[str, Any]], operation: str = "patch") -> str:
        """Change a resource by a JSON Patch; returns its key."""
        with Transaction(self, act) as transaction:
            return writing.patch_resource(transaction, key, operations, operation=operation)

    def delete(self, act: ActionContext, key: str, operation: str = "delete") -> None:
        """Have a resource be gone."""
        with Transaction(self, act) as transaction:
            writing.delete_resource(transaction, key, operation=operation)

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        match event.payload:
            case ResourceWritten() as written:
                resource = parse(written.text.encode()) if written.text else written.resource
                data = written.text.encode() if written.text else render(resource)
                method = METHODS.get(written.operation, "PUT")
                self._take(written, Version(written.version, resource["meta"]["lastUpdated"], data, method), resource)
            case ResourceDeleted() as deleted:
                self._take(deleted, Version(deleted.version, instant(event.at), None, "DELETE"), None)

    def _take(self, payload: ResourceWritten | ResourceDeleted, version: Version, resource: Resource | None) -> None:
        key = f"{payload.type}/{payload.id}"
        self._history.setdefault(key, []).append(version)
        self._changed.setdefault(payload.type, {})[key] = resource
        self._worked_out.pop(payload.type, None)
        self.order.append((key, version))

    def dump(self) -> Any:
        """What differs from the dataset, with every version there was, as plain data."""
        return {
            key: [[v.id, v.updated, v.method, None if v.data is None else v.data.decode()] for v in history]
            for key, history in sorted(self._history.items())
        }


def _read(data: bytes | None) -> Resource | None:
    return None if data is None else parse(data)
