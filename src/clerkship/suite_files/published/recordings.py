"""Find cassettes and calibrations: beside the files of a suite, or in an archive."""

import atexit
import tempfile
from functools import cache
from pathlib import Path
from shutil import rmtree

from clerkship.by_name import load
from clerkship.suite_files.published.places import is_archive


@cache
def find_recordings(root: Path) -> Path:
    """Return the folder that recordings are relative to: the root of a suite, or a copy of those in an archive.

    The copy is deleted when the process ends.
    """
    if not is_archive(root):
        return root
    archive = load("clerkship.suite_files.published.archive:open_archive")(root)
    folder = Path(tempfile.mkdtemp(prefix="clerkship-recordings-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    for name, entry in archive.manifest.recordings.items():
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(entry))
    return folder
