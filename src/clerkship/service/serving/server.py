"""The parts of a running server, in one object that every entry point calls.

How requests are authorized, recorded and answered: docs/decisions/0033-server.md.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.model.store_place import PostgresAddress, StorePlace
from clerkship.service.network import parse_host
from clerkship.service.serving import idempotency, keys, published, run_table
from clerkship.service.serving.database import ServerDatabase
from clerkship.service.serving.drafts import table as drafts_table
from clerkship.service.serving.drafts.drafts import Drafts
from clerkship.service.serving.folder_lock import lock_folder
from clerkship.service.serving.idempotency import IdempotencyTable
from clerkship.service.serving.keys import KeyTable, SolverTable
from clerkship.service.serving.live_runs import LiveRuns, ServingOptions
from clerkship.service.serving.published import PublishedFolder
from clerkship.service.serving.results import RunResults
from clerkship.service.serving.run_table import SqliteRunTable
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.store.sql import SqlStore
from clerkship.transports.network import LOOPBACK, SandboxNetwork

MIGRATIONS = (keys.TABLES, idempotency.TABLES, published.TABLES, run_table.TABLES, drafts_table.TABLES)
"""Scripts that bring the database from one version to the next; its version is how many were run. Add at the end."""


FREE_BYTES_NEEDED = 100_000_000
"""Free bytes on the disk with which the server is ready for work."""


@dataclass(frozen=True)
class Gauge:
    """A number about the server that its metrics show."""

    help: str
    read: Callable[[], float]


@dataclass(kw_only=True, eq=False)
class Server:
    """The parts of a running server."""

    settings: Settings
    folder: Path
    catalog: RegisteredCatalog
    database: ServerDatabase
    store: SqlStore
    keys: KeyTable
    solvers: SolverTable
    idempotency: IdempotencyTable
    published: PublishedFolder
    live: LiveRuns
    """The runs whose agents are at work."""
    results: RunResults
    drafts: Drafts
    lock: FileIO
    url: str = ""
    """The address under which clients reach it."""
    is_stopping: bool = False
    """Whether it stops soon: streams end, and nothing is begun."""
    gauges: dict[str, Gauge] = field(default_factory=dict)
    """By name, such as `playgrounds`: what the metrics show beside the requests."""

    def find_problem(self) -> str | None:
        """Return why the server cannot work; None if it can. Raise StoreFailed if the database cannot be read."""
        self.database.read("SELECT 1")
        if shutil.disk_usage(self.folder).free < FREE_BYTES_NEEDED:
            return f"less than {FREE_BYTES_NEEDED // 1_000_000} MB are free on the disk of the server's folder"
        return "the server is stopping" if self.is_stopping else None

    def close(self) -> None:
        """Close the files, and let another server use the folder."""
        self.live.close()
        self.store.close()
        self.database.close()
        self.lock.close()


def open_database(folder: Path) -> ServerDatabase:
    """Open the database of a data folder, and create both if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    return ServerDatabase(folder / "server.db", MIGRATIONS)


def open_server(folder: Path, settings: Settings, catalog: RegisteredCatalog) -> Server:
    """Open the data folder of a server; create what is missing. Raise InputError if another server uses it."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = lock_folder(folder)
    try:
        database = open_database(folder)
        store = open_store(settings, choose_run_store(settings, folder), create=True)
        options = ServingOptions(settings, catalog, _build_network(settings))
        live = LiveRuns(folder / "live", store, SqliteRunTable(database), options)
        versions = PublishedFolder(folder / "published", database)
        return Server(
            settings=settings,
            folder=folder,
            catalog=catalog,
            database=database,
            store=store,
            live=live,
            results=RunResults(live),
            gauges={"trials_under_way": Gauge("Trials whose agent is at work.", lambda: live.trial_count)},
            keys=KeyTable(database),
            solvers=SolverTable(database),
            idempotency=IdempotencyTable(database),
            published=versions,
            drafts=Drafts(database, folder / "drafts", versions, settings, catalog),
            lock=lock,
        )
    except BaseException:
        lock.close()
        raise


def choose_run_store(settings: Settings, folder: Path) -> StorePlace:
    """Return where a server stores runs: in the PostgreSQL of the settings, or in a file of its folder.

    Raise InputError if there are runs in the file that PostgreSQL may not have.
    """
    file = folder / "store.db"
    if not isinstance(settings.store, PostgresAddress):
        return file
    if file.exists():
        hint = f"copy them with `clerkship store copy {file} {settings.store}`, then move the file away"
        raise InputError.of(f"this server has stored runs in {file}, and is told to use {settings.store}", hint=hint)
    return settings.store


def _build_network(settings: Settings) -> SandboxNetwork:
    """Return where the sandboxes listen: on the host of the server. Raise InputError if that has no IPv4 address."""
    host = LOOPBACK if settings.server_host in ("localhost", "::1") else settings.server_host
    return SandboxNetwork(
        parse_host(host),
        settings.server_sandbox_port,
        public_url=settings.server_sandbox_url.rstrip("/"),
        allows_no_password=settings.server_allow_no_password == "on",
    )
