"""Write files so that a reader never sees a partial one."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clerkship.kit.secrets import new_name


def write_atomically(path: Path, parts: Iterable[bytes]) -> None:
    """Write a temporary file and rename it; create its folder if needed. Raise OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{new_name(path.name[:16])}")
    try:
        with partial.open("wb") as file:
            file.writelines(parts)
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
