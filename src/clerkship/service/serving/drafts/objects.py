"""The objects of a draft: views of the definitions in its YAML files, with ids that stay."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clerkship.kit.secrets import new_name
from clerkship.model.server_objects import DraftKind, DraftObject
from clerkship.suite_files.definition import Definition, as_list, as_map

PREFIXES: Mapping[DraftKind, str] = {
    "benchmark": "bench",
    "environment": "env",
    "simulator": "sim",
    "dataset": "ds",
    "task": "task",
    "criterion": "crit",
}
"""How ids begin."""
PARENTS: Mapping[DraftKind, DraftKind] = {"simulator": "environment", "criterion": "task"}
"""The kind of object that one is a part of."""
READ_ONLY = frozenset(
    ("id", "benchmark_id", "environment_id", "task_id", "organization_id", "created_at", "updated_at", "status")
)
"""Keys that the server alone sets. An object may be sent back with them; they are ignored."""
_KINDS: Mapping[str, DraftKind] = {
    "benchmark": "benchmark",
    "environment": "environment",
    "dataset": "dataset",
    "task": "task",
    "scenario": "task",
}


@dataclass(frozen=True)
class Place:
    """Where an object is defined: the file, and the keys that lead to it."""

    file: str
    path: tuple[int | str, ...]


@dataclass(frozen=True)
class FoundObject:
    """An object in the files of a draft."""

    kind: DraftKind
    place: Place
    data: dict[str, Any]
    parent: "FoundObject | None" = None

    @property
    def name(self) -> str:
        """What it is called, and known by when the files are replaced."""
        key = {"benchmark": "slug", "criterion": "label"}.get(self.kind, "name")
        return str(self.place.path[-1] if self.kind == "simulator" else self.data.get(key, ""))


@dataclass(frozen=True)
class StoredObject:
    """An object in the database."""

    id: str
    draft_id: str
    kind: DraftKind
    parent_id: str | None
    name: str
    place: Place
    view: dict[str, Any]
    """Its keys as the API returns them, without those that the server sets."""
    created_at: str
    updated_at: str

    def to_object(self) -> DraftObject:
        """Return it as the API does."""
        own: dict[str, Any] = {} if self.kind not in PARENTS else {f"{PARENTS[self.kind]}_id": self.parent_id}
        own |= {"status": "draft"} if self.kind == "benchmark" else {}
        return DraftObject.model_validate(
            {
                "id": self.id,
                "benchmark_id": self.draft_id,
                **own,
                **self.view,
                "created_at": self.created_at,
                "updated_at": self.updated_at,
            }
        )

    @property
    def data(self) -> dict[str, Any]:
        """Its definition, as the file has it."""
        return strip_read_only(self.kind, self.view)


def strip_read_only(kind: DraftKind, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an object without those that the server alone sets."""
    left = {key: value for key, value in data.items() if key not in READ_ONLY}
    if kind == "task" and isinstance(left.get("criteria"), list):
        left["criteria"] = [
            strip_read_only("criterion", item) if isinstance(item, dict) else item for item in left["criteria"]
        ]
    return left


def find_objects(definitions: Iterable[Definition], root: Path, slug: str) -> list[FoundObject]:
    """Return the objects that the files of a folder define: first the one benchmark, at last simulators and criteria.

    If several benchmarks are defined, the one with the slug of the draft counts, or the first.
    """
    found = [
        FoundObject(_KINDS[each.kind], _find_place(each, root), each.fields)
        for each in definitions
        if each.kind in _KINDS
    ]
    benchmarks = sorted((each for each in found if each.kind == "benchmark"), key=lambda each: each.name != slug)
    others = [each for each in found if each.kind != "benchmark"]
    benchmark = benchmarks[0] if benchmarks else FoundObject("benchmark", Place("", ()), {"name": slug, "slug": slug})
    return [benchmark, *others, *(part for each in others for part in _find_parts(each))]


def _find_place(definition: Definition, root: Path) -> Place:
    return Place(Path(definition.tree.file).relative_to(root).as_posix(), tuple(definition.path))


def _find_parts(whole: FoundObject) -> Iterator[FoundObject]:
    file, path = whole.place.file, whole.place.path
    if whole.kind == "environment":
        for name, simulator in as_map(whole.data.get("simulators")).items():
            place = Place(file, (*path, "simulators", name))
            yield FoundObject("simulator", place, {"name": name, **as_map(simulator)}, whole)
    elif whole.kind == "task":
        for number, criterion in enumerate(as_list(whole.data.get("criteria"))):
            yield FoundObject("criterion", Place(file, (*path, "criteria", number)), as_map(criterion), whole)


def build_stored(
    draft_id: str, found: Sequence[FoundObject], before: Iterable[StoredObject], timestamp: str
) -> list[StoredObject]:
    """Return the objects of a draft as they are stored. What was there before keeps its id.

    An object is the same if it has the name that it had, at its place or elsewhere, or another name at its place.
    """
    matching = _Matching(draft_id, before)
    wholes = [each for each in found if each.parent is None]
    ids = matching.match(wholes, {})
    parts = [each for each in found if each.parent is not None]
    ids |= matching.match(parts, ids)
    criteria: dict[int, list[str]] = defaultdict(list)
    for each in parts:
        criteria[id(each.parent)].append(ids[id(each)])
    stored: list[StoredObject] = []
    for each in found:
        view = each.data
        if each.kind == "task" and "criteria" in view:
            items = zip(criteria[id(each)], as_list(view["criteria"]), strict=True)
            view = {**view, "criteria": [{"id": item_id, **as_map(item)} for item_id, item in items]}
        own_id, parent_id = ids[id(each)], ids[id(each.parent)] if each.parent is not None else None
        old = matching.stored.get(own_id)
        created = old.created_at if old is not None else timestamp
        updated = old.updated_at if old is not None and old.view == view else timestamp
        item = (own_id, draft_id, each.kind, parent_id, each.name, each.place, view, created, updated)
        stored.append(StoredObject(*item))
    return stored


class _Matching:
    """Finds for objects in files those in the database that they were."""

    def __init__(self, draft_id: str, before: Iterable[StoredObject]) -> None:
        self.draft_id, self.stored = draft_id, {each.id: each for each in before}
        self._left = dict(self.stored)

    def match(self, found: Sequence[FoundObject], parents: Mapping[int, str]) -> dict[int, str]:
        """Return the id of each object, by the object's `id()`."""
        ids: dict[int, str] = {}
        for by_name, by_place in ((True, True), (True, False), (False, True)):
            known: dict[object, list[str]] = defaultdict(list)
            for stored in self._left.values():
                key = (stored.kind, stored.parent_id, by_name and stored.name, by_place and stored.place)
                known[key].append(stored.id)
            for each in found:
                parent = parents[id(each.parent)] if each.parent is not None else None
                key = (each.kind, parent, by_name and each.name, by_place and each.place)
                if id(each) not in ids and known[key]:
                    ids[id(each)] = known[key].pop(0)
                    del self._left[ids[id(each)]]
        for each in found:
            is_benchmark = each.kind == "benchmark"
            ids.setdefault(id(each), self.draft_id if is_benchmark else new_id(each.kind))
        return ids


def new_id(kind: DraftKind) -> str:
    """Return an id for a new object."""
    return new_name(PREFIXES[kind]).replace("-", "_")
