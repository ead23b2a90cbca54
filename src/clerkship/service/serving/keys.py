"""Keys of people, solver keys and run tokens, and the solvers: who may ask the server for what.

A key is 256 random bits with a prefix. Its SHA-256 is stored, so it is shown once: when it is created.
"""

import hashlib
import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clerkship.kit.secrets import new_name, new_token
from clerkship.kit.wall import now
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.server_objects import ApiKey, KeyKind, NewApiKey, RegisteredSolver
from clerkship.service.serving.database import FIRST_PAGE, ListPage, ListRequest, ServerDatabase, get_timestamp
from clerkship.service.serving.refusals import ObjectNotFound, RequestConflict

TABLES = """
CREATE TABLE keys (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, name TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE, suffix TEXT NOT NULL, solver_id TEXT, run_id TEXT,
  created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT
);
CREATE INDEX keys_by_solver ON keys (solver_id, number) WHERE solver_id IS NOT NULL;
CREATE INDEX keys_by_run ON keys (run_id) WHERE run_id IS NOT NULL;
CREATE TABLE solvers (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, alias TEXT NOT NULL UNIQUE, real_name TEXT NOT NULL,
  agent_description TEXT NOT NULL, contact_email TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
"""
PREFIXES: dict[KeyKind, str] = {"person": "clk", "solver": "cls", "run": "clr"}
SECRET = re.compile(r"cl[ksr]_[A-Za-z0-9_-]{43}")
"""The form of every key."""
_COLUMNS = "id, kind, name, suffix, solver_id, run_id, created_at, expires_at, revoked_at"
_SOLVER_COLUMNS = "id, alias, real_name, agent_description, contact_email, created_at, updated_at"


@dataclass(frozen=True, slots=True)
class Principal:
    """The owner of a valid key."""

    kind: KeyKind
    key_id: str
    name: str
    solver_id: str | None = None
    run_id: str | None = None


class KeyTable:
    """All keys of a server."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def create_person(self, name: str, expires: datetime | None = None) -> NewApiKey:
        """Create the key of a person, who may do everything."""
        with self._database.write() as connection:
            return self._insert(connection, "person", name, expires)

    def create_solver_key(self, solver_id: str, name: str = "", expires: datetime | None = None) -> NewApiKey:
        """Create a key of a solver. Raise ObjectNotFound if there is no such solver."""
        with self._database.write() as connection:
            if not connection.execute("SELECT 1 FROM solvers WHERE id = ?", (solver_id,)).fetchall():
                raise ObjectNotFound(f"there is no solver `{solver_id}`")
            return self._insert(connection, "solver", name, expires, solver_id=solver_id)

    def create_run_token(self, run_id: str, expires: datetime, solver_id: str | None = None) -> NewApiKey:
        """Create the token of a run, which is valid for this run alone."""
        with self._database.write() as connection:
            return self._insert(connection, "run", run_id, expires, solver_id=solver_id, run_id=run_id)

    def _insert(
        self,
        connection: sqlite3.Connection,
        kind: KeyKind,
        name: str,
        expires: datetime | None,
        **owner: str | None,
    ) -> NewApiKey:
        secret, created = new_token(PREFIXES[kind]), get_timestamp()
        expires_at = None if expires is None else expires.astimezone(UTC).isoformat(timespec="microseconds")
        values = (new_name("key").replace("-", "_"), kind, name, secret[-4:], owner.get("solver_id"))
        row = (*values, owner.get("run_id"), created, expires_at, None)
        sql = f"INSERT INTO keys (hash, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        connection.execute(sql, (_hash(secret), *row))
        return NewApiKey(**_to_key(row).__dict__, key=secret)

    def find(self, secret: str) -> Principal | None:
        """Return the owner of a secret; None if there is no such key, or if it was revoked or has expired."""
        if SECRET.fullmatch(secret) is None:
            return None
        sql = "SELECT kind, id, name, solver_id, run_id, expires_at FROM keys WHERE hash = ? AND revoked_at IS NULL"
        for *owner, expires_at in self._database.read(sql, _hash(secret)):
            if expires_at is None or datetime.fromisoformat(expires_at) > now():
                return Principal(*owner)
        return None

    def is_valid(self, key_id: str) -> bool:
        """Return whether there is a key of this id that is neither revoked nor expired."""
        sql = "SELECT 1 FROM keys WHERE id = ? AND revoked_at IS NULL AND coalesce(expires_at > ?, 1)"
        return bool(self._database.read(sql, key_id, get_timestamp()))

    def get(self, key_id: str, solver_id: str | None = None) -> ApiKey:
        """Return a key, if it is one of a solver if one is given. Raise ObjectNotFound if there is none."""
        sql = f"SELECT {_COLUMNS} FROM keys WHERE id = ? AND (? IS NULL OR kind = 'solver' AND solver_id = ?)"
        for row in self._database.read(sql, key_id, solver_id, solver_id):
            return _to_key(row)
        raise ObjectNotFound(f"there is no key `{key_id}`")

    def list(
        self, request: ListRequest = FIRST_PAGE, *, kind: KeyKind | None = None, solver_id: str | None = None
    ) -> ListPage[ApiKey]:
        """Return keys, newest first, the revoked and expired ones too."""
        return self._database.read_page("keys", _COLUMNS, request, kind=kind, solver_id=solver_id).map(_to_key)

    def revoke(self, key_id: str, solver_id: str | None = None) -> ApiKey:
        """Make a key invalid from now on. Revoking it again changes nothing. Raise ObjectNotFound if there is none."""
        self.get(key_id, solver_id)
        with self._database.write() as connection:
            sql = "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
            connection.execute(sql, (get_timestamp(), key_id))
        return self.get(key_id)

    def has_valid_person(self) -> bool:
        """Return whether there is a person's key that is valid."""
        sql = "SELECT 1 FROM keys WHERE kind = 'person' AND revoked_at IS NULL"
        return bool(self._database.read(f"{sql} AND coalesce(expires_at > ?, 1) LIMIT 1", get_timestamp()))


class SolverTable:
    """All solvers of a server."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def create(self, alias: str, real_name: str, agent_description: str, contact_email: str) -> RegisteredSolver:
        """Register a solver. Raise RequestConflict if the alias is taken."""
        created = get_timestamp()
        solver_id = new_name("sol").replace("-", "_")
        row = (solver_id, alias, real_name, agent_description, contact_email, created, created)
        with self._database.write() as connection:
            _require_free_alias(connection, alias, solver_id)
            connection.execute(f"INSERT INTO solvers ({_SOLVER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return _to_solver(row)

    def get(self, solver_id: str) -> RegisteredSolver:
        """Return a solver. Raise ObjectNotFound if there is none."""
        for row in self._database.read(f"SELECT {_SOLVER_COLUMNS} FROM solvers WHERE id = ?", solver_id):
            return _to_solver(row)
        raise ObjectNotFound(f"there is no solver `{solver_id}`")

    def list(self, request: ListRequest = FIRST_PAGE, *, alias: str | None = None) -> ListPage[RegisteredSolver]:
        """Return solvers, newest first."""
        return self._database.read_page("solvers", _SOLVER_COLUMNS, request, alias=alias).map(_to_solver)

    def update(self, before: RegisteredSolver, changes: dict[str, str]) -> RegisteredSolver:
        """Change fields of a solver. Raise RequestConflict if the alias is taken, or if it was changed meanwhile."""
        after = before.model_copy(update=changes)
        values = (after.alias, after.real_name, after.agent_description, after.contact_email, get_timestamp())
        with self._database.write() as connection:
            _require_free_alias(connection, after.alias, before.id)
            fields = "alias = ?, real_name = ?, agent_description = ?, contact_email = ?, updated_at = ?"
            sql = f"UPDATE solvers SET {fields} WHERE id = ? AND updated_at = ?"
            version = before.updated_at.isoformat(timespec="microseconds")
            if not connection.execute(sql, (*values, before.id, version)).rowcount:
                raise RequestConflict("the solver was changed at the same time; read it and try again")
        return self.get(before.id)


def parse_expiry(text: str | None) -> datetime | None:
    """Return the time at which a key expires. Raise InputError if it is no time with a zone, or is over."""
    if text is None:
        return None
    try:
        expires = datetime.fromisoformat(text)
    except ValueError:
        raise _refuse_expiry(f"`{text[:40]}` is not a date and time") from None
    if expires.tzinfo is None:
        raise _refuse_expiry("the time has no zone")
    if expires <= now():
        raise _refuse_expiry("the time is over")
    return expires


def _refuse_expiry(message: str) -> InputError:
    hint = "write a time in the future with its zone, such as 2027-01-31T12:00:00Z"
    return InputError([InputProblem(key="expires_at", message=message, hint=hint)])


def _require_free_alias(connection: sqlite3.Connection, alias: str, solver_id: str) -> None:
    if connection.execute("SELECT 1 FROM solvers WHERE alias = ? AND id <> ?", (alias, solver_id)).fetchall():
        raise RequestConflict(f"there is a solver with the alias `{alias}` already; choose another one")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _to_key(row: tuple[Any, ...]) -> ApiKey:
    key_id, kind, name, suffix, solver_id, run_id, created_at, expires_at, revoked_at = row
    return ApiKey(
        id=key_id,
        kind=kind,
        name=name,
        prefix=f"{PREFIXES[kind]}_",
        suffix=suffix,
        solver_id=solver_id,
        run_id=run_id,
        created_at=created_at,
        updated_at=revoked_at or created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )


def _to_solver(row: tuple[Any, ...]) -> RegisteredSolver:
    return RegisteredSolver(**dict(zip(RegisteredSolver.model_fields, row, strict=True)))
