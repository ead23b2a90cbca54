"""The tables of drafts: their files, which are the truth, and the objects that these define."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.model.server_objects import DraftKind
from clerkship.service.serving.database import ListPage, ListRequest, ServerDatabase
from clerkship.service.serving.drafts.objects import Place, StoredObject
from clerkship.service.serving.refusals import ObjectNotFound, RequestConflict

TABLES = """
CREATE TABLE drafts (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE draft_files (draft_id TEXT NOT NULL, path TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (draft_id, path));
CREATE TABLE draft_objects (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, draft_id TEXT NOT NULL, kind TEXT NOT NULL,
  parent_id TEXT, name TEXT NOT NULL, place TEXT NOT NULL, view TEXT NOT NULL, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX draft_objects_of_drafts ON draft_objects (draft_id, kind);
CREATE INDEX draft_objects_of_kinds ON draft_objects (kind, number);
"""
_COLUMNS = "id, draft_id, kind, parent_id, name, place, view, created_at, updated_at"
_SAVE_OBJECT = f"""INSERT INTO draft_objects ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET parent_id = excluded.parent_id, name = excluded.name, place = excluded.place,
  view = excluded.view, updated_at = excluded.updated_at"""
FileChanges = Mapping[str, bytes | None]
"""The new content of files by path; None for a file that is removed."""


@dataclass(frozen=True)
class BenchmarkDraft:
    """A benchmark that is being written."""

    id: str
    slug: str
    revision: int
    """How many changes were made."""


@dataclass(frozen=True)
class ObjectFilter:
    """Which objects are listed; None does not count."""

    draft_id: str | None = None
    parent_id: str | None = None
    name: str | None = None
    """A part of the name, in capital or small letters."""
    tag: str | None = None


class DraftTable:
    """All drafts of a server."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def find(self, reference: str) -> BenchmarkDraft | None:
        """Return a draft by its id or its slug; None if there is none."""
        rows = self._database.read("SELECT id, slug, revision FROM drafts WHERE id = ? OR slug = ?", *[reference] * 2)
        return BenchmarkDraft(*rows[0]) if rows else None

    def get(self, reference: str) -> BenchmarkDraft:
        """Return a draft by its id or its slug. Raise ObjectNotFound."""
        draft = self.find(reference)
        if draft is None:
            raise ObjectNotFound(f"there is no benchmark `{reference[:100]}`")
        return draft

    def read_files(self, draft_id: str) -> dict[str, bytes]:
        """Return the files of a draft by path."""
        return dict(
            self._database.read("SELECT path, data FROM draft_files WHERE draft_id = ? ORDER BY path", draft_id)
        )

    def list_sizes(self, draft_id: str) -> dict[str, int]:
        """Return the sizes of the files of a draft by path."""
        sql = "SELECT path, length(data) FROM draft_files WHERE draft_id = ? ORDER BY path"
        return dict(self._database.read(sql, draft_id))

    def read_file(self, draft_id: str, path: str) -> bytes:
        """Return a file of a draft. Raise ObjectNotFound."""
        sql = "SELECT data FROM draft_files WHERE draft_id = ? AND path = ?"
        for (data,) in self._database.read(sql, draft_id, path):
            return bytes(data)
        raise ObjectNotFound(f"the benchmark has no file `{path[:200]}`")

    def get_object(self, kind: DraftKind, object_id: str) -> StoredObject:
        """Return an object. Raise ObjectNotFound."""
        sql = f"SELECT {_COLUMNS} FROM draft_objects WHERE id = ? AND kind = ?"
        for row in self._database.read(sql, object_id, kind):
            return _to_object(row)
        raise ObjectNotFound(f"there is no {kind} `{object_id[:100]}`")

    def list_of_draft(self, draft_id: str) -> list[StoredObject]:
        """Return all objects of a draft, the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM draft_objects WHERE draft_id = ? ORDER BY number"
        return [_to_object(row) for row in self._database.read(sql, draft_id)]

    def list(self, kind: DraftKind, wanted: ObjectFilter, request: ListRequest) -> ListPage[StoredObject]:
        """Return objects of one kind, the newest first."""
        conditions = {
            "kind = ?": kind,
            "number < ?": request.number,
            "draft_id = ?": wanted.draft_id,
            "parent_id = ?": wanted.parent_id,
            "instr(lower(name), ?)": wanted.name.lower() if wanted.name is not None else None,
            "EXISTS (SELECT 1 FROM json_each(view, '$.tags') WHERE value = ?)": wanted.tag,
        }
        used = {condition: value for condition, value in conditions.items() if value is not None}
        sql = f"SELECT number, {_COLUMNS} FROM draft_objects WHERE {' AND '.join(used)} ORDER BY number DESC LIMIT ?"
        rows = self._database.read(sql, *used.values(), request.limit + 1)
        shown = rows[: request.limit]
        return ListPage([_to_object(row[1:]) for row in shown], str(shown[-1][0]) if len(rows) > len(shown) else None)

    def save(
        self, draft: BenchmarkDraft, files: FileChanges, before: Sequence[StoredObject], after: Sequence[StoredObject]
    ) -> BenchmarkDraft:
        """Store a change in one transaction: of some files, and of the objects that differ. Raise RequestConflict."""
        known, kept = {each.id: each for each in before}, {each.id for each in after}
        rows = [_to_row(each) for each in after if known.get(each.id) != each]
        changed = BenchmarkDraft(draft.id, draft.slug, draft.revision + 1)
        with self._database.write() as connection:
            sql = "SELECT 1 FROM drafts WHERE (slug = ? OR id = ?) AND id <> ?"
            if connection.execute(sql, (draft.slug, draft.slug, draft.id)).fetchall():
                raise RequestConflict(f"there is another benchmark with the slug `{draft.slug}`; choose another one")
            sql = "INSERT OR REPLACE INTO drafts (id, slug, revision) VALUES (?, ?, ?)"
            connection.execute(sql, (changed.id, changed.slug, changed.revision))
            for path, data in files.items():
                connection.execute("DELETE FROM draft_files WHERE draft_id = ? AND path = ?", (draft.id, path))
                if data is not None:
                    connection.execute("INSERT INTO draft_files VALUES (?, ?, ?)", (draft.id, path, data))
            lost = [(each,) for each in known if each not in kept]
            connection.executemany("DELETE FROM draft_objects WHERE id = ?", lost)
            connection.executemany(_SAVE_OBJECT, rows)
        return changed

    def record(self) -> None:
        """Record a request that changed nothing in the database, so that its answer can be given again."""
        with self._database.write():
            pass

    def delete(self, draft_id: str) -> None:
        """Delete a draft with everything in it."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM drafts WHERE id = ?", (draft_id,))
            connection.execute("DELETE FROM draft_files WHERE draft_id = ?", (draft_id,))
            connection.execute("DELETE FROM draft_objects WHERE draft_id = ?", (draft_id,))


def _to_row(each: StoredObject) -> tuple[Any, ...]:
    place = orjson.dumps([each.place.file, *each.place.path]).decode()
    view = orjson.dumps(each.view).decode()
    own = (each.id, each.draft_id, each.kind, each.parent_id, each.name)
    return (*own, place, view, each.created_at, each.updated_at)


def _to_object(row: Sequence[Any]) -> StoredObject:
    object_id, draft_id, kind, parent_id, name, place, view, created, updated = row
    file, *path = orjson.loads(place)
    own = (object_id, draft_id, kind, parent_id, name)
    return StoredObject(*own, Place(file, tuple(path)), orjson.loads(view), created, updated)
