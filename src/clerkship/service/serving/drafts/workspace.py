"""The folders in which drafts are checked. They are copies: what counts is in the database."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from clerkship.kit.atomic_write import write_atomically
from clerkship.service.serving.drafts.table import BenchmarkDraft, DraftTable, FileChanges

_REVISION = "revision"
"""The file beside a copy that says which revision it is. Without it, the copy may be anything."""


class DraftWorkspace:
    """The copies of all drafts. Only one thread at a time may use that of a draft."""

    def __init__(self, folder: Path, table: DraftTable) -> None:
        self._folder, self._table = folder, table

    def open(self, draft: BenchmarkDraft) -> Path:
        """Return the folder with the files of a draft; it is written anew if it is not of the right revision."""
        place = self._folder / draft.id
        with suppress(OSError):
            if (place / _REVISION).read_text(encoding="ascii") == str(draft.revision):
                return place / "files"
        shutil.rmtree(place, ignore_errors=True)
        # Nothing above the copy belongs to the draft: that is how the loader sees where a project begins.
        (place / ".git").mkdir(parents=True)
        (place / "files").mkdir()
        _write(place / "files", self._table.read_files(draft.id))
        self._mark(draft)
        return place / "files"

    @contextmanager
    def try_changes(self, draft: BenchmarkDraft, changes: FileChanges) -> Iterator[Path]:
        """Change files of the copy; undo that if the block raises an exception. Call `confirm` in the block."""
        root = self.open(draft)
        before = {path: _read(root / path) for path in changes}
        (root.parent / _REVISION).unlink(missing_ok=True)
        try:
            _write(root, changes)
            yield root
        except BaseException:
            _write(root, before)
            self._mark(draft)
            raise

    def confirm(self, draft: BenchmarkDraft) -> None:
        """Note which revision the copy of a draft is."""
        self._mark(draft)

    def remove(self, draft_id: str) -> None:
        """Remove the copy of a draft."""
        shutil.rmtree(self._folder / draft_id, ignore_errors=True)

    def _mark(self, draft: BenchmarkDraft) -> None:
        write_atomically(self._folder / draft.id / _REVISION, [str(draft.revision).encode()])


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(root: Path, changes: Mapping[str, bytes | None]) -> None:
    """Remove files, then write the others: a folder may become a file."""
    for path in (path for path, data in changes.items() if data is None):
        file = root / path
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == root or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()
    for path, data in changes.items():
        if data is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
