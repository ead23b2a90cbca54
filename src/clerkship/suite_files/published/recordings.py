"""Find cassettes and calibrations: beside the files of a suite, or in an archive."""

import atexit
import tempfile
from functools import cache
from pathlib import Path
from shutil import rmtree

from clerkship.by_name import load
from clerkship.model.errors import InputError
from clerkship.suite_files.published.places import is_archive


@cache
def find_recordings(root: Path) -> Path:
    """Return the folder that recordings are relative to: the root of a suite, or a copy of those in an archive.

    The copy is deleted when the process ends. The manifest has only names that stay in their folder; an archive that
    was changed is refused before anything is written.
    """
    if not is_archive(root):
        return root
    archive = load("clerkship.suite_files.published.archive:open_archive")(root)
    recordings = {name: archive.read(entry) for name, entry in archive.manifest.recordings.items()}
    if not recordings:
        return root  # nothing is found below a file
    folder = Path(tempfile.mkdtemp(prefix="clerkship-recordings-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    for name, data in recordings.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        except OSError as error:
            message = f"the recording `{name[:100]}` cannot be written: {error.strerror}"
            raise InputError.of(message, file=str(root)) from None
    return folder
