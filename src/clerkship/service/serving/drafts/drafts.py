"""Write benchmarks by their objects or by their files, and publish them. Each change is checked before it counts."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.server_objects import DraftKind, DraftObject
from clerkship.service.publishing import PublishRequest, prepare
from clerkship.service.serving.database import FIRST_PAGE, ListPage, ListRequest, ServerDatabase, get_timestamp
from clerkship.service.serving.drafts.checking import (
    DraftCatalog,
    check_draft,
    relative_problems,
    require_no_variables,
    to_field_problems,
)
from clerkship.service.serving.drafts.datasets import attach_files, get_upload_folder
from clerkship.service.serving.drafts.definitions import (
    choose_place,
    remove_definition,
    render_definition,
    set_definition,
    to_slug,
)
from clerkship.service.serving.drafts.objects import PARENTS, Place, StoredObject, build_stored, new_id
from clerkship.service.serving.drafts.packing import require_limits
from clerkship.service.serving.drafts.requests import normalize, require_slug
from clerkship.service.serving.drafts.table import BenchmarkDraft, DraftTable, FileChanges, ObjectFilter
from clerkship.service.serving.drafts.workspace import DraftWorkspace
from clerkship.service.serving.published import PublishedFolder, ServedVersion
from clerkship.service.serving.refusals import ObjectNotFound, RequestConflict
from clerkship.settings import Settings
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.archive import build_archive
from clerkship.suite_files.published.writing import freeze_library

Require = Callable[[DraftObject], object]
"""Raises PreconditionNotMet if an object is not of the version that the caller knows."""


EVERYTHING = ObjectFilter()


def accept(current: object) -> None:
    """Accept any version of an object."""


@dataclass(frozen=True)
class Changed:
    """The result of a change."""

    objects: list[StoredObject]
    """All objects of the draft."""
    warnings: tuple[InputProblem, ...] = ()

    def at(self, place: Place) -> DraftObject:
        """Return the object at a place."""
        return next((each.to_object() for each in self.objects if each.place == place), self.benchmark)

    @property
    def benchmark(self) -> DraftObject:
        """The benchmark that the objects are parts of."""
        return next(each for each in self.objects if each.kind == "benchmark").to_object()


class Drafts:
    """All benchmarks that are being written on a server."""

    def __init__(
        self,
        database: ServerDatabase,
        folder: Path,
        published: PublishedFolder,
        settings: Settings,
        catalog: RegisteredCatalog,
    ) -> None:
        self._table = DraftTable(database)
        self._workspace = DraftWorkspace(folder, self._table)
        self._published, self._settings, self._catalog = published, settings, DraftCatalog(catalog)
        self._locks: dict[str, threading.RLock] = {}

    def _lock(self, draft_id: str) -> threading.RLock:
        return self._locks.setdefault(draft_id, threading.RLock())

    def list(
        self, kind: DraftKind, wanted: ObjectFilter = EVERYTHING, request: ListRequest = FIRST_PAGE
    ) -> ListPage[DraftObject]:
        """Return objects of one kind, the newest first."""
        draft = self._table.find(wanted.draft_id) if wanted.draft_id is not None else None
        wanted = replace(wanted, draft_id=draft.id) if draft is not None else wanted
        return self._table.list(kind, wanted, request).map(StoredObject.to_object)

    def get(self, kind: DraftKind, reference: str) -> DraftObject:
        """Return an object by its id; a benchmark also by its slug. Raise ObjectNotFound."""
        return self._find(kind, reference).to_object()

    def _find(self, kind: DraftKind, reference: str) -> StoredObject:
        return self._table.get_object(kind, self._table.get(reference).id if kind == "benchmark" else reference)

    def create(self, kind: DraftKind, written: Mapping[str, Any]) -> DraftObject:
        """Create an object. Raise InputError with every mistake in it."""
        data = normalize(kind, written)
        if kind in ("simulator", "criterion"):
            return self._create_part(kind, data, written)
        draft, data = self._choose_draft(kind, data, written)
        return self._add_definition(draft, kind, data)

    def upload(self, written: Mapping[str, Any], files: Mapping[str, bytes]) -> DraftObject:
        """Create a dataset of files. Raise InputError with every mistake in it."""
        data = normalize("dataset", written)
        draft, data = self._choose_draft("dataset", data, written)
        return self._add_definition(draft, "dataset", data, files)

    def _add_definition(
        self, draft: BenchmarkDraft, kind: DraftKind, data: dict[str, Any], uploaded: Mapping[str, bytes] | None = None
    ) -> DraftObject:
        """Add a definition to a draft in a file of its own, and the files that were sent with it."""
        with self._lock(draft.id):
            place = choose_place(kind, data, self._table.list_sizes(draft.id))
            data, others = attach_files(data, place, uploaded) if kind == "dataset" else (data, {})
            return self._write(draft, {place.file: render_definition(place, data), **others}, place).at(place)

    def _choose_draft(
        self, kind: DraftKind, data: dict[str, Any], written: Mapping[str, Any]
    ) -> tuple[BenchmarkDraft, dict[str, Any]]:
        """Return the draft that a new object belongs to, and the object. An environment may begin a draft."""
        name = str(data.get("name", ""))
        if kind == "benchmark":
            data = {**data, "slug": data.get("slug", to_slug(name))}
            if "environment_id" not in written:
                return self._begin(require_slug(data["slug"])), data
            environment = self._find_parent("environment", written)
            if self._find("benchmark", environment.draft_id).place.file:
                message = f"environment `{environment.name}` belongs to another benchmark already"
                raise RequestConflict(f"{message}; create one for the new benchmark")
            return self._table.get(environment.draft_id), {**data, "environment": environment.name}
        if kind == "environment" and "benchmark_id" not in written:
            return self._begin(self._choose_slug(name)), data
        return self._table.get(self._find_parent("benchmark", written).id), data

    def _find_parent(self, kind: DraftKind, written: Mapping[str, Any]) -> StoredObject:
        """Return the object that a new one belongs to. Raise InputError if it names none that exists."""
        key = f"{kind}_id"
        try:
            if isinstance(reference := written.get(key), str):
                return self._find(kind, reference)
            message = f"`{key}` is missing"
        except ObjectNotFound as error:
            message = str(error)
        raise InputError([InputProblem(key=key, message=message)])

    def _begin(self, slug: str) -> BenchmarkDraft:
        return BenchmarkDraft(new_id("benchmark"), slug, 0)

    def _choose_slug(self, name: str) -> str:
        slug = stem = to_slug(name) or "benchmark"
        number = 1
        while self._table.find(slug) is not None:
            number += 1
            slug = f"{stem}-{number}"
        return slug

    def _create_part(self, kind: DraftKind, data: dict[str, Any], written: Mapping[str, Any]) -> DraftObject:
        """Add a simulator to an environment, or a criterion to a task."""
        key = "simulators" if kind == "simulator" else "criteria"
        parent = self._find_parent(PARENTS[kind], written)
        with self._lock(parent.draft_id):
            parent = self._table.get_object(parent.kind, parent.id)
            name = str(data.pop("name", "")) if kind == "simulator" else ""
            parts = parent.data.get(key, {} if kind == "simulator" else [])
            if name in parts:
                raise RequestConflict(f"the environment has a simulator `{name}` already")
            part: int | str = name if kind == "simulator" else len(parts)
            added = {**parts, part: data} if kind == "simulator" else [*parts, data]
            place = Place(parent.place.file, (*parent.place.path, key, part))
            return self._set(parent, {**parent.data, key: added}, place).at(place)

    def replace(
        self, kind: DraftKind, reference: str, written: Mapping[str, Any], require: Require = accept
    ) -> DraftObject:
        """Replace an object. Raise InputError with every mistake in it; then nothing changes."""
        return self.update(kind, reference, lambda current: normalize(kind, written, current), require)

    def update(
        self,
        kind: DraftKind,
        reference: str,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        require: Require = accept,
        within: tuple[int | str, ...] = (),
    ) -> DraftObject:
        """Change an object by a function of its definition. Fields in errors are those below `within`."""
        draft_id = self._find(kind, reference).draft_id
        with self._lock(draft_id):
            stored = self._find(kind, reference)
            require(stored.to_object())
            data = change(stored.data)
            place, parent = stored.place, stored.parent_id
            if not place.file:  # a benchmark that no file defines yet
                return self._add_definition(self._table.get(draft_id), kind, data)
            if kind == "simulator" and parent is not None:
                return self._set_simulator(stored, self._table.get_object("environment", parent), data)
            return self._set(stored, data, Place(place.file, (*place.path, *within))).at(place)

    def _set_simulator(self, stored: StoredObject, parent: StoredObject, data: dict[str, Any]) -> DraftObject:
        """Write a simulator into the environment, under another name if it has one."""
        name = str(data.pop("name", stored.name))
        place = replace(stored.place, path=(*stored.place.path[:-1], name))
        if name == stored.name:
            return self._set(stored, data, place).at(place)
        simulators = parent.data["simulators"]
        if name in simulators:
            raise RequestConflict(f"the environment has a simulator `{name}` already")
        renamed = {
            name if key == stored.name else key: data if key == stored.name else item
            for key, item in simulators.items()
        }
        return self._set(parent, {**parent.data, "simulators": renamed}, place).at(place)

    def delete(self, kind: DraftKind, reference: str, require: Require = accept) -> None:
        """Delete an object; a benchmark with everything in it. Raise InputError if others need it."""
        draft_id = self._find(kind, reference).draft_id
        with self._lock(draft_id):
            stored = self._find(kind, reference)
            require(stored.to_object())
            if kind == "benchmark":
                self._table.delete(draft_id)
                self._workspace.remove(draft_id)
                return
            draft = self._table.get(draft_id)
            files = dict(remove_definition(self._workspace.open(draft), stored.place))
            folder = get_upload_folder(stored)
            if folder:
                files |= dict.fromkeys(path for path in self._table.list_sizes(draft_id) if path.startswith(folder))
            self._write(draft, files)

    def _set(self, stored: StoredObject, data: Any, place: Place) -> Changed:
        """Write the definition of an object. Problems are reported by their fields in what is at a place."""
        draft = self._table.get(stored.draft_id)
        return self._write(draft, set_definition(self._workspace.open(draft), stored.place, data), place)

    def _write(self, draft: BenchmarkDraft, files: FileChanges, place: Place | None = None) -> Changed:
        """Check a draft with changed files, and store it. Raise InputError if there is a problem; nothing changes."""
        require_limits({**self._table.list_sizes(draft.id), **{path: len(data or b"") for path, data in files.items()}})
        try:
            with self._workspace.try_changes(draft, files) as root:
                checked = check_draft(root, draft.slug, self._settings, self._catalog)
                slug = require_slug(checked.objects[0].name)
                before = self._table.list_of_draft(draft.id)
                objects = build_stored(draft.id, checked.objects, before, get_timestamp())
                changed = self._table.save(replace(draft, slug=slug), files, before, objects)
        except BaseException as error:
            if draft.revision == 0:
                self._workspace.remove(draft.id)
            if isinstance(error, InputError) and place is not None:
                raise to_field_problems(error, place) from None
            raise
        self._workspace.confirm(changed)
        return Changed(objects, checked.warnings)

    def push(
        self, reference: str, files: Mapping[str, bytes], require: Callable[[dict[str, bytes] | None], object] = accept
    ) -> tuple[Changed, bool]:
        """Replace all files of a benchmark, or begin one under a slug. Return it, and whether it is new.

        `require` gets the files as they were; None if it is new.
        """
        known = self._table.find(reference)
        draft = known or self._begin(require_slug(reference))
        with self._lock(draft.id):
            before = self._table.read_files(draft.id) if known is not None else None
            require(before)
            changes: dict[str, bytes | None] = {path: None for path in before or () if path not in files}
            changes |= {path: data for path, data in files.items() if before is None or before.get(path) != data}
            if not changes:
                return Changed(self._table.list_of_draft(draft.id)), False
            return self._write(self._table.get(draft.id) if known is not None else draft, changes), known is None

    def put_file(
        self, reference: str, path: str, data: bytes | None, require: Callable[[bytes | None], object]
    ) -> Changed:
        """Write one file of a benchmark, or remove it. `require` gets what it was. Raise ObjectNotFound."""
        draft_id = self._table.get(reference).id
        with self._lock(draft_id):
            draft = self._table.get(draft_id)
            is_there = path in self._table.list_sizes(draft_id)
            require(self._table.read_file(draft_id, path) if is_there or data is None else None)
            return self._write(draft, {path: data})

    def read_files(self, reference: str) -> dict[str, bytes]:
        """Return the files of a benchmark as they were sent or written last."""
        return self._table.read_files(self._table.get(reference).id)

    def read_file(self, reference: str, path: str) -> bytes:
        """Return one file of a benchmark. Raise ObjectNotFound."""
        return self._table.read_file(self._table.get(reference).id, path)

    def find_draft(self, reference: str) -> BenchmarkDraft:
        """Return a draft by its id or its slug. Raise ObjectNotFound."""
        return self._table.get(reference)

    def publish(self, reference: str, version: int | None = None) -> tuple[ServedVersion, bool]:
        """Publish a benchmark as a version that never changes. Return it, and whether it is new.

        Without a number it is that of the benchmark. Raise RequestConflict if the version has other content.
        """
        draft_id = self._table.get(reference).id
        with self._lock(draft_id):
            draft, benchmark = self._table.get(draft_id), self._find("benchmark", draft_id)
            name = f"{draft.slug}@{version or benchmark.view.get('version', 1)}"
            root = self._workspace.open(draft)
            with relative_problems(root):
                request = PublishRequest(path=root, name=name)
                library = load_library(root, self._catalog, cache=self._settings.cache)
                tasks, publication = prepare(library, request, self._catalog)
                require_no_variables(each.task for each in tasks)
                data = build_archive(*freeze_library(library, tasks, publication))
        upload = self._published.create_upload()
        try:
            upload.write_bytes(data)
            published = self._published.add(name, upload)
        finally:
            upload.unlink(missing_ok=True)
        self._table.record()
        return published
