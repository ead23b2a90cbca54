"""A lock on the data folder of a server, which one process holds until it ends."""

import os
from io import FileIO
from pathlib import Path

from clerkship.kit.file_lock import try_lock
from clerkship.model.errors import InputError


def lock_folder(folder: Path) -> FileIO:
    """Lock a data folder; closing the file unlocks it. Raise InputError if another server holds the lock."""
    file = FileIO(folder / "serve.lock", "a+")
    if not try_lock(file):
        file.seek(0)
        owner = file.read(20).decode("ascii", "replace").strip()
        file.close()
        message = f"another server uses the folder {folder}" + (f": process {owner}" if owner else "")
        raise InputError.of(message, hint="stop it, or name another folder with --data")
    file.truncate(0)
    file.write(f"{os.getpid()}\n".encode())
    return file
