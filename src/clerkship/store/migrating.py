"""Bring the tables of a store to another version."""

from contextlib import closing

from clerkship.by_name import load
from clerkship.model.store_place import PostgresAddress, StorePlace
from clerkship.store.connection import open_database, read_version, storage_errors, take_back_to
from clerkship.store.opening import require_driver
from clerkship.store.schema import VERSION


def migrate_store(place: StorePlace, wanted: int) -> tuple[int, int]:
    """Bring a store to a version, forward or back; return the version before, and that after."""
    if isinstance(place, PostgresAddress):
        require_driver(place)
        before, after = load("clerkship.store.postgres_connection:migrate_postgres")(place, wanted)
        return before, after
    if wanted < VERSION:
        before = take_back_to(place, wanted)
        return before, min(before, wanted)
    with storage_errors(place):
        before = read_version(place)
        with closing(open_database(place, create=False)):
            return before, VERSION
