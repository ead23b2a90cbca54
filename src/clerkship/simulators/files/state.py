"""The rules of a file drop: what is written is there when it is read, and folders are their files' paths."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from clerkship.events.event import Event
from clerkship.sandbox.exchange import Refusal
from clerkship.sandbox.state import Act, State
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.events import FileDeleted, FileRead, FileWritten, FolderListed


class FilesState(State):
    """Files by path, over the dataset's."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.written: dict[str, int] = {}
        self.used = 0
        self._folders: Counter[str] | None = None

    @property
    def limits(self) -> FilesConfig:
        """The config, as what it is."""
        return cast(FilesConfig, self.config)

    def paths(self, prefix: str = "") -> Iterator[str]:
        """Every path there is, in order."""
        return (path for path in sorted(self.records) if path.startswith(prefix))

    def list(self, act: Act, prefix: str) -> list[tuple[str, int]]:
        """Somebody looks at what is there."""
        found = [(path, len(self.records[path])) for path in self.paths(prefix)]
        act.emit(FolderListed(prefix=prefix, count=len(found)))
        return found

    def read(self, act: Act, path: str) -> bytes:
        """Somebody reads a file."""
        data = self._existing(path)
        act.emit(FileRead(path=path, size=len(data)))
        return data

    def write(self, act: Act, path: str, data: bytes) -> bool:
        """Somebody writes a file; true if it is new."""
        self._may_change(act)
        if len(data) > self.limits.max_file:
            raise Refusal(413, "too_large", f"a file may have {self.limits.max_file} bytes, not {len(data)}")
        used = self.used - self.written.get(path, 0)
        if used + len(data) > self.limits.quota:
            raise Refusal(507, "quota", f"the drop may hold {self.limits.quota} bytes, and {used} are used")
        new = path not in self.records
        if new:
            self._refuse_clash(path)
        act.emit(FileWritten(path=path, size=len(data), data=data))
        return new

    def delete(self, act: Act, path: str) -> None:
        """Somebody deletes a file."""
        self._may_change(act)
        self._existing(path)
        act.emit(FileDeleted(path=path))

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        match event.payload:
            case FileWritten(path=path, data=data):
                if self._folders is not None and path not in self.records:
                    self._folders.update(_folders_of(path))
                self.records[path] = data
                self.used += len(data) - self.written.get(path, 0)
                self.written[path] = len(data)
            case FileDeleted(path=path):
                if self._folders is not None and path in self.records:
                    self._folders.subtract(_folders_of(path))
                self.records.pop(path, None)
                self.used -= self.written.pop(path, 0)

    def dump(self) -> Any:
        """All of it as plain data."""
        return {path: self.records[path].decode("latin-1") for path in self.paths()}

    def _existing(self, path: str) -> bytes:
        if path not in self.records:
            raise Refusal(404, "no_such_file", f"there is no file {path}")
        data: bytes = self.records[path]
        return data

    def _may_change(self, act: Act) -> None:
        if self.limits.read_only and act.actor == "agent":
            raise Refusal(403, "read_only", "this drop is read-only")

    def _refuse_clash(self, path: str) -> None:
        above = next((folder for folder in _folders_of(path) if folder in self.records), None)
        if above is not None:
            raise Refusal(409, "not_a_folder", f"{above} is a file")
        if self._folders is None:  # counted when first needed, so that a fork costs nothing, and kept from then on
            self._folders = Counter(folder for other in self.records for folder in _folders_of(other))
        if self._folders[path] > 0:
            raise Refusal(409, "is_a_folder", f"{path} is a folder")


def _folders_of(path: str) -> Iterator[str]:
    """`a` and `a/b` for `a/b/c.txt`."""
    parts = path.split("/")
    return ("/".join(parts[:number]) for number in range(1, len(parts)))
