"""The records of a sandbox at the start of a trial, and how they have changed since."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from clerkship.model.freeze import freeze_or_copy
from clerkship.model.path import MISSING


class RecordChange(NamedTuple):
    """One record before and after a trial; MISSING where it does not exist."""

    before: Any
    after: Any

    @property
    def kind(self) -> Literal["created", "updated", "deleted"]:
        """How the record changed."""
        if self.before is MISSING:
            return "created"
        return "deleted" if self.after is MISSING else "updated"


@runtime_checkable
class LayeredRecords(Protocol):
    """Records layered over those of the datasets."""

    base: Mapping[str, Any]

    def changed(self) -> Mapping[str, tuple[Any, Any]]:
        """Return the values before and now of every key that differs from the base."""


class FrozenRecords(Mapping[str, Any]):
    """A read-only view of records that all playgrounds share. A record is frozen, or copied, when it is read."""

    __slots__ = ("_base",)

    def __init__(self, base: Mapping[str, Any]) -> None:
        self._base = base

    def __getitem__(self, key: str) -> Any:
        return freeze_or_copy(self._base[key])

    def __contains__(self, key: object) -> bool:
        return key in self._base

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


def initial_records(records: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the records at the start of the trial; empty if they are not layered over a dataset."""
    return FrozenRecords(records.base) if isinstance(records, LayeredRecords) else {}


def record_changes(records: Mapping[str, Any]) -> dict[str, RecordChange]:
    """Return the records that were created, updated or deleted since the trial began, by key."""
    base = initial_records(records)
    keys = records.changed() if isinstance(records, LayeredRecords) else records
    return {key: RecordChange(base.get(key, MISSING), records.get(key, MISSING)) for key in keys}
