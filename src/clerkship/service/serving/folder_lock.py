"""A lock on the data folder of a server, which one process holds until it ends."""

import os
import sys
from io import FileIO
from pathlib import Path

from clerkship.model.errors import InputError

if sys.platform != "win32":
    import fcntl


def lock_folder(folder: Path) -> FileIO:
    """Lock a data folder; closing the file unlocks it. Raise InputError if another server holds the lock."""
    file = FileIO(folder / "serve.lock", "a+")
    try:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read(20).decode("ascii", "replace").strip()
        file.close()
        message = f"another server uses the folder {folder}" + (f": process {owner}" if owner else "")
        raise InputError.of(message, hint="stop it, or name another folder with --data") from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n".encode())
    return file
