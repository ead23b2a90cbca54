"""The published versions of a server: those in its folder, and those that ship with the package."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.model.published import REFERENCE
from clerkship.service.publishing import build_agent_version
from clerkship.service.serving.database import FIRST_PAGE, ListPage, ListRequest, ServerDatabase, refuse_cursor
from clerkship.service.serving.refusals import ObjectNotFound, RequestConflict
from clerkship.suite_files.published.archive import Archive, open_archive, write_archive
from clerkship.suite_files.published.places import SHIPPED, get_archive_name, is_archive, split_name
from clerkship.suite_files.published.reading import load_archive
from clerkship.suite_files.published.results import MAX_REASON_LENGTH, Withdrawal

TABLES = """
CREATE TABLE withdrawals (name TEXT PRIMARY KEY, reason TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
"""


class WithdrawnVersion(RequestConflict):
    """The version was withdrawn, so it can no longer be run by its name."""


@dataclass(frozen=True)
class ServedVersion:
    """A published version that the server has."""

    name: str
    archive: Archive
    withdrawn: Withdrawal | None

    @property
    def added_at(self) -> datetime:
        """When the server got it: the time of its file."""
        return datetime.fromtimestamp(self.archive.path.stat().st_mtime, UTC)


class PublishedFolder:
    """Finds, takes and withdraws published versions."""

    def __init__(self, folder: Path, database: ServerDatabase) -> None:
        self.folder = folder
        self._database = database
        self._lock = threading.Lock()

    def list(self, request: ListRequest = FIRST_PAGE, *, slug: str | None = None) -> ListPage[ServedVersion]:
        """Return the complete versions, those of the folder before the shipped ones, each newest first."""
        names = [name for name in self._list_names() if slug in (None, name.partition("@")[0])]
        if request.after is not None:
            if request.after not in names:
                raise refuse_cursor()
            names = names[names.index(request.after) + 1 :]
        shown = names[: request.limit]
        return ListPage([self.get(name) for name in shown], shown[-1] if len(names) > len(shown) else None)

    def get(self, name: str) -> ServedVersion:
        """Return a version by its name, such as `chart@1` or `chart@latest`. Raise ObjectNotFound if there is none.

        The latest one is the newest that is not withdrawn, if there is one.
        """
        slug, _, number = name.partition("@")
        if number == "latest" and REFERENCE.fullmatch(name):
            numbers = (int(each.partition("@")[2]) for each in self._list_names() if each.startswith(f"{slug}@"))
            versions = [self.get(f"{slug}@{each}") for each in sorted(numbers, reverse=True)]
            usable = (version for version in versions if version.withdrawn is None)
            if versions:
                return next(usable, versions[0])
        path = self._find(name, for_agents=False)
        if path is None:
            raise ObjectNotFound(f"there is no published version `{name[:120]}`")
        archive = open_archive(path)
        return ServedVersion(archive.manifest.name, archive, self._find_withdrawal(archive))

    def get_usable(self, name: str) -> Archive:
        """Return the archive of a version, to run it. Raise ObjectNotFound, or WithdrawnVersion with the reason."""
        version = self.get(name)
        if version.withdrawn is not None:
            raise WithdrawnVersion(f"{version.name} was withdrawn: {version.withdrawn.reason}")
        return version.archive

    def get_for_agents(self, name: str) -> Archive:
        """Return a version without criteria and solutions; it is made and kept if there is none yet."""
        complete = self.get(name)
        with self._lock:
            path = self._find(complete.name, for_agents=True)
            if path is None:
                manifest = complete.archive.manifest
                path = self.folder / get_archive_name(manifest.slug, manifest.version, for_agents=True)
                write_archive(path, build_agent_version(complete.archive))
        return open_archive(path)

    def create_upload(self) -> Path:
        """Return a path for an archive that arrives, in the same file system as the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f".{new_name('upload')}"

    def add(self, name: str, upload: Path) -> tuple[ServedVersion, bool]:
        """Take an archive that arrived under a name. Return it, and whether it is new.

        Raise InputError if it is damaged or has another name, and RequestConflict if the name has other content.
        """
        try:
            load_archive(upload)
            archive = open_archive(upload)
            archive.check()
        except InputError as error:  # without the path of the upload
            raise InputError.of(error.problems[0].message, hint=error.problems[0].hint) from None
        manifest = archive.manifest
        if manifest.name != name:
            raise InputError.of(
                f"the archive contains {manifest.name}, not {name[:120]}", hint="upload it under its name"
            )
        if manifest.for_agents:
            hint = "upload the complete version; the one for agents is made from it"
            raise InputError.of("the archive has no criteria and solutions: it is one for agents", hint=hint)
        with self._lock:
            existing = self._find(name, for_agents=False)
            if existing is None:
                upload.replace(self.folder / get_archive_name(manifest.slug, manifest.version))
            elif open_archive(existing).digest != archive.digest:
                hint = f"publish it as {manifest.slug}@{manifest.version + 1}"
                raise RequestConflict(f"{name} is published with other content, and a version never changes; {hint}")
        return self.get(name), existing is None

    def withdraw(self, name: str, reason: str) -> ServedVersion:
        """Withdraw a version: no run of it can be started any more. Raise InputError without a reason."""
        if not 0 < len(reason.strip()) <= MAX_REASON_LENGTH:
            raise InputError.of(f"a withdrawal needs a reason, of at most {MAX_REASON_LENGTH} characters")
        version = self.get(name)
        row = (version.name, reason.strip(), now().isoformat(timespec="seconds"))
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO withdrawals VALUES (?, ?, ?)", row)
        return self.get(version.name)

    def restore(self, name: str) -> ServedVersion:
        """Undo the withdrawal of a version. Raise RequestConflict if it is not withdrawn."""
        version = self.get(name)
        if version.withdrawn is None:
            raise RequestConflict(f"{version.name} is not withdrawn")
        with self._database.write() as connection:
            connection.execute("DELETE FROM withdrawals WHERE name = ?", (version.name,))
        return self.get(version.name)

    def _list_names(self) -> Sequence[str]:
        """Return the names of all complete versions in the order in which they are listed, each once."""
        found: dict[str, None] = {}
        for folder in self._folders():
            paths = [path for path in folder.iterdir() if is_archive(path)]
            for path in sorted(paths, key=lambda path: (-path.stat().st_mtime_ns, path.name)):
                parts = split_name(path)
                if parts is not None and not parts[2]:
                    found.setdefault(f"{parts[0]}@{parts[1]}")
        return tuple(found)

    def _find(self, name: str, *, for_agents: bool) -> Path | None:
        if REFERENCE.fullmatch(name) is None:  # it becomes part of a path
            return None
        slug, _, number = name.partition("@")
        if number == "latest":
            return None
        file = get_archive_name(slug, int(number), for_agents=for_agents)
        paths = (folder / f"{file}{suffix}" for folder in self._folders() for suffix in ("", ".gz"))
        return next((path for path in paths if path.is_file()), None)

    def _folders(self) -> Iterator[Path]:
        return (folder for folder in (self.folder, SHIPPED) if folder.is_dir())

    def _find_withdrawal(self, archive: Archive) -> Withdrawal | None:
        rows = self._database.read("SELECT reason, at FROM withdrawals WHERE name = ?", archive.manifest.name)
        return Withdrawal(reason=rows[0][0], at=rows[0][1]) if rows else None
