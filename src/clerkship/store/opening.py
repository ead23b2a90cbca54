"""Open the store that a command names, or that of the settings."""

from clerkship.by_name import load
from clerkship.model.store_place import PostgresAddress, StorePlace, parse_store_place
from clerkship.settings import Settings
from clerkship.store.contract import StoreFailed
from clerkship.store.sql import SqlStore
from clerkship.store.sqlite import SqliteStore

EXTRA = "postgres"


def require_driver(place: PostgresAddress) -> None:
    """Raise StoreFailed if the driver for PostgreSQL is not installed."""
    extras = load("clerkship.kit.extras")
    if not extras.is_installed(EXTRA):
        advice = f"install it with {extras.describe_install(EXTRA)}"
        raise StoreFailed(f"the store {place} needs the extra `{EXTRA}`; {advice}")


def open_store(settings: Settings, place: StorePlace | str | None = None, *, create: bool = False) -> SqlStore:
    """Open the store at a place, or that of the settings, with the seal key of the settings."""
    chosen = parse_store_place(place) if isinstance(place, str) else place or settings.store
    if isinstance(chosen, PostgresAddress):
        require_driver(chosen)
        opened: SqlStore = load("clerkship.store.postgres:PostgresStore")(
            chosen, create=create, seal_key=settings.seal_key
        )
        return opened
    return SqliteStore(chosen, create=create, seal_key=settings.seal_key)
