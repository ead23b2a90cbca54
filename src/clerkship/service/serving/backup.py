"""Back up the data of a server while it runs, and restore it.

Both databases take no writes for the moment in which their snapshots begin and the journals are opened. So a backup is
what a kill at that moment would leave, and a server goes on from it as after a kill.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from io import BufferedReader
from pathlib import Path

from pydantic import ValidationError

from clerkship import __version__
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.service.serving.folder_lock import lock_folder
from clerkship.service.serving.trial_journal import SUFFIX
from clerkship.store.connection import connect, storage_errors

MANIFEST = "backup.json"
DATABASES = ("store.db", "server.db")
"""The last one tells that a folder is one of a server, so it is restored last. The first is missing if the runs are in
PostgreSQL, which has its own backups."""
_FILE = re.compile(rf"(published|live)/[^/.][^/]*|{'|'.join(map(re.escape, DATABASES))}")
_CHUNK = 1 << 20


class CopiedFile(Frozen):
    """A file of a backup."""

    size: int
    sha256: str


class Backup(Frozen):
    """What a backup says of itself."""

    format: int = 1
    program: str
    created_at: str
    files: dict[str, CopiedFile]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())


def back_up(folder: Path, to: Path) -> Backup:
    """Copy the data of a server into a new folder. Raise InputError if that exists, or if there is no server."""
    if not (folder / "server.db").is_file():
        raise InputError.of(f"there is no server in {folder}", hint="name its data folder")
    if to.exists():
        raise InputError.of(f"{to} exists", hint="name a new folder for each backup")
    partial = to.with_name(f".{to.name}.{new_name('partial')}")
    with storage_errors(partial):
        partial.mkdir(mode=0o700, parents=True)
    with storage_errors(folder), _begin_snapshots(folder) as (snapshots, journals):
        files = {name: _copy_database(snapshot, partial / name) for name, snapshot in snapshots.items()}
        files |= {name: _copy(file, partial / name, size) for name, (file, size) in journals.items()}
        for path in sorted((folder / "published").glob("[!.]*")):
            with path.open("rb") as file:
                files[f"published/{path.name}"] = _copy(file, partial / "published" / path.name)
    backup = Backup(program=__version__, created_at=now().isoformat(timespec="seconds"), files=files)
    with storage_errors(partial):
        (partial / MANIFEST).write_text(backup.model_dump_json(indent=2) + "\n", encoding="utf-8")
        partial.rename(to)
    return backup


def restore(source: Path, folder: Path) -> Backup:
    """Copy a backup into the folder of a server that is to be. Raise InputError if it is damaged or the folder used."""
    backup = _load(source)
    for name, expected in backup.files.items():
        _check_file(source, name, expected)
    with storage_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_folder(folder) as lock:
        if any(path.name != Path(str(lock.name)).name for path in folder.iterdir()):
            raise InputError.of(f"{folder} is not empty", hint="restore into a new folder")
        with storage_errors(folder):
            for name in sorted(backup.files, key=lambda name: (name in DATABASES, name == DATABASES[-1])):
                with (source / name).open("rb") as file:
                    _copy(file, folder / name)
    return backup


def _load(source: Path) -> Backup:
    try:
        backup = Backup.model_validate_json((source / MANIFEST).read_bytes())
    except OSError:
        raise InputError.of(f"{source} is not a backup: it has no {MANIFEST}") from None
    except ValidationError as error:
        raise InputError.of(f"{source / MANIFEST} is damaged: {error.errors()[0]['msg']}") from None
    wrong = [name for name in backup.files if _FILE.fullmatch(name) is None]
    if wrong or DATABASES[-1] not in backup.files or backup.format != 1:
        raise InputError.of(f"{source / MANIFEST} is damaged, or was made by a newer version of Clerkship")
    return backup


def _check_file(source: Path, name: str, expected: CopiedFile) -> None:
    """Raise InputError if a file is not as it was when the backup was made."""
    try:
        with (source / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError.of(f"the backup is damaged: {name} cannot be read: {error.strerror}") from None
    if digest != expected.sha256:
        raise InputError.of(f"the backup is damaged: {name} was changed", hint="use another backup")


@contextmanager
def _begin_snapshots(
    folder: Path,
) -> Iterator[tuple[dict[str, sqlite3.Connection], dict[str, tuple[BufferedReader, int]]]]:
    """Yield connections that read the databases as they were at one moment, and the journals with their sizes then."""
    with ExitStack() as opened:
        names = [name for name in DATABASES if (folder / name).is_file()]
        writers = [opened.enter_context(closing(connect(folder / name))) for name in names]
        snapshots: dict[str, sqlite3.Connection] = {
            name: opened.enter_context(closing(connect(folder / name))) for name in names
        }
        for writer in writers:
            writer.execute("BEGIN IMMEDIATE")
        for snapshot in snapshots.values():
            snapshot.execute("BEGIN")
            snapshot.execute("SELECT count(*) FROM sqlite_master").fetchall()  # what is read first begins the snapshot
        journals: dict[str, tuple[BufferedReader, int]] = {}
        for path in sorted((folder / "live").glob(f"*{SUFFIX}")):
            file = opened.enter_context(path.open("rb"))
            journals[f"live/{path.name}"] = (file, path.stat().st_size)
        for writer in writers:
            writer.execute("ROLLBACK")
        yield snapshots, journals


def _copy_database(snapshot: sqlite3.Connection, path: Path) -> CopiedFile:
    with closing(connect(path)) as target:
        snapshot.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # so that all of it is in one file
        [(problem,), *_] = target.execute("PRAGMA quick_check").fetchall()
    if problem != "ok":
        raise sqlite3.DatabaseError(f"{path.name} is malformed: {problem}")
    with path.open("rb") as file:
        return CopiedFile(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def _copy(file: BufferedReader, to: Path, size: int | None = None) -> CopiedFile:
    """Copy a file, or its first bytes, and return what was copied."""
    to.parent.mkdir(mode=0o700, exist_ok=True)
    digest, left = hashlib.sha256(), size if size is not None else file.seek(0, 2)
    copied = left
    file.seek(0)
    with to.open("xb") as target:
        while left and (chunk := file.read(min(left, _CHUNK))):
            target.write(chunk)
            digest.update(chunk)
            left -= len(chunk)
    return CopiedFile(size=copied - left, sha256=digest.hexdigest())
