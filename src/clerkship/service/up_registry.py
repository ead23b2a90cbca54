"""Registry of running playgrounds, one small file for each beside the store, and requests to them."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import orjson
from pydantic import ValidationError

from clerkship.model.errors import InputError, PlatformError
from clerkship.model.frozen import Frozen
from clerkship.model.names import did_you_mean
from clerkship.model.store_place import get_store_folder
from clerkship.settings import Settings, get_command_prefix
from clerkship.suite_files.published.places import OWN_FOLDER

TIMEOUT_SECONDS = 5.0
_STALE_CONNECTION_ERRORS = (RemoteDisconnected, ConnectionResetError, BrokenPipeError)
"""Errors of a kept-alive connection that the server has closed meanwhile; the request is sent again."""
MAX_NAMES = 1000
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class PlaygroundUnreachable(PlatformError):
    """No playground answers at the address, or another program does."""


class PlaygroundTimeout(PlaygroundUnreachable):
    """The playground accepts connections but does not answer."""


class RemotePlayground:
    """Client for one playground on this machine. It uses no proxy."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)
        self._path = parts.path
        self._headers = {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def about(self) -> dict[str, Any]:
        """Return the description and the current state of the playground."""
        description: dict[str, Any] = orjson.loads(self._get("/"))
        return description

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """Yield the lines of its log after a sequence number, page by page, up to the current end."""
        while page := self._get(f"/log?after={after}").splitlines():
            yield from page
            after += len(page)

    def blob(self, digest: str) -> bytes:
        """Return a blob by its hash."""
        return self._get(f"/blob/{digest}")

    def _get(self, path: str) -> bytes:
        try:
            try:
                status, body = self._send(path)
            except _STALE_CONNECTION_ERRORS:
                status, body = self._send(path)
        except TimeoutError:
            raise PlaygroundTimeout(f"no reply within {TIMEOUT_SECONDS:g} seconds") from None
        except (OSError, HTTPException) as error:
            raise PlaygroundUnreachable(f"cannot connect: {error}") from None
        if status != 200:
            raise PlaygroundUnreachable(f"another program answers at its address: status {status}")
        return body

    def _send(self, path: str) -> tuple[int, bytes]:
        try:
            self._connection.request("GET", self._path + path, headers=self._headers)
            reply = self._connection.getresponse()
            return reply.status, reply.read()
        except BaseException:
            self._connection.close()  # the rest of this reply must not be read as the next one
            raise


class PlaygroundRegistration(Frozen):
    """The address and token of a running playground. Only its owner can read the file."""

    name: str = ""
    """Set when the playground is registered."""
    url: str
    """The address of its control endpoint."""
    token: str
    playground: str
    environment: str
    task: str | None = None
    path: str
    pid: int
    started: str

    def fault(self) -> PlaygroundUnreachable | None:
        """Return why the playground cannot be reached, or None."""
        try:
            with RemotePlayground(self.url, self.token) as remote:
                if remote.about().get("playground") != self.playground:
                    return PlaygroundUnreachable("another program answers at its address")
        except PlaygroundUnreachable as fault:
            return fault
        return None


class PlaygroundNotFound(PlatformError):
    """No playground is running, or not the requested one."""


def get_registry_folder(settings: Settings) -> Path:
    """Return the folder of the registry, beside the store."""
    return get_store_folder(settings.store) / "up"


@contextmanager
def register_playground(
    folder: Path, name: str | None, where: PlaygroundRegistration
) -> Iterator[PlaygroundRegistration]:
    """Register a playground inside the block, under the given name or one derived from its environment."""
    where, path = _write_registration(folder, name, where)
    try:
        yield where
    finally:
        path.unlink(missing_ok=True)
        for empty in (folder, folder.parent) if folder.parent.name == OWN_FOLDER else (folder,):
            with suppress(OSError):  # the folder is not empty
                empty.rmdir()


def check_name(name: str) -> str:
    """Return a name that is valid as a file name. Raise InputError for others."""
    if not _NAME_PATTERN.fullmatch(name):
        raise InputError.of(
            f"`{name[:60]}` is not a valid name", hint="use at most 100 letters, digits, `.`, `_` and `-`"
        )
    return name


def _write_registration(
    folder: Path, requested: str | None, where: PlaygroundRegistration
) -> tuple[PlaygroundRegistration, Path]:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", where.environment).strip("-._")[:80] or "playground"
    names = (
        [check_name(requested)] if requested is not None else [plain, *(f"{plain}-{n}" for n in range(2, MAX_NAMES))]
    )
    try:
        _remove_stale(folder)
        for name in names:
            named, path = where.model_copy(update={"name": name}), folder / f"{name}.json"
            if _create_file(path, named.model_dump_json().encode()):
                return named, path
    except OSError as error:
        raise PlatformError(
            f"{folder} cannot be written: {error.strerror}; set CLERKSHIP_STORE to another path"
        ) from None
    raise InputError.of(f"a playground named `{names[0]}` is already running", hint="stop it, or choose another --name")


def _create_file(path: Path, data: bytes) -> bool:
    """Create a file that only its owner can read; return False if it exists."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return True


def _remove_stale(folder: Path) -> None:
    """Remove the registrations of playgrounds that were killed."""
    for where in _read_registrations(folder):
        fault = where.fault()
        if fault is not None and not isinstance(fault, PlaygroundTimeout):
            (folder / f"{where.name}.json").unlink(missing_ok=True)


def _read_registrations(folder: Path) -> list[PlaygroundRegistration]:
    registrations: list[PlaygroundRegistration] = []
    for path in folder.glob("*.json"):
        with suppress(OSError, ValidationError):  # the file is being removed or written
            registrations.append(PlaygroundRegistration.model_validate_json(path.read_bytes()))
    return sorted(registrations, key=lambda where: where.started)


def has_others(folder: Path, name: str) -> bool:
    """Return whether another playground than this one is registered."""
    return any(where.name != name for where in _read_registrations(folder))


def find_playground(folder: Path, name: str | None = None) -> PlaygroundRegistration:
    """Return the running playground, or the one of this name. Raise PlaygroundNotFound with the reason."""
    known = _read_registrations(folder)
    if name is not None and name not in [where.name for where in known]:
        raise PlaygroundNotFound(
            f"no playground `{name}` is running; {did_you_mean(name, [w.name for w in known]) or _build_start_hint()}"
        )
    matching = [(where, where.fault()) for where in known if name in (None, where.name)]
    up = [where for where, fault in matching if fault is None]
    if len(up) == 1:
        return up[0]
    if up:
        names = "; ".join(f"{where.name} ({', '.join(filter(None, (where.environment, where.task)))})" for where in up)
        raise PlaygroundNotFound(f"{len(up)} playgrounds are running: {names}; choose one with --name")
    if matching:
        failures = "; ".join(_describe_failure(where, fault) for where, fault in matching if fault is not None)
        raise PlaygroundNotFound(f"{failures}; {_build_start_hint()}")
    raise PlaygroundNotFound(f"no running playground is registered in {folder}; {_build_start_hint()}")


def _build_start_hint() -> str:
    return f"start one with `{get_command_prefix()} up`"


def _describe_failure(where: PlaygroundRegistration, fault: PlaygroundUnreachable) -> str:
    if _has_ended(where.pid):
        return f"the playground `{where.name}` is gone: its process {where.pid} was killed"
    return f"the playground `{where.name}` does not answer: {fault} (process {where.pid})"


def _has_ended(pid: int) -> bool:
    if sys.platform == "win32":  # on Windows, signal 0 is Ctrl-C
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:  # a process of another user raises PermissionError
        return isinstance(error, ProcessLookupError)
    return False
