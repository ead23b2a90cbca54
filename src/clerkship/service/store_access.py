"""Open the store of runs."""

from pathlib import Path

from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore


def open_store(settings: Settings, path: Path | None = None, *, create: bool = False) -> SqliteStore:
    """Open the store at a path, or that of the settings, with the seal key of the settings."""
    return SqliteStore(path or settings.store, create=create, seal_key=settings.seal_key)
