"""The credentials of one sandbox: random, never logged, compared in constant time, and invalid after the run."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from clerkship.kit import wall
from clerkship.kit.secrets import equal_in_constant_time, new_token
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.jwt import SigningKey
from clerkship.sandbox.authentication.scope import AccessGrant, parse_scopes

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

T = TypeVar("T")
_PLACEHOLDER_SECRET = new_token("clk_none")


def secrets_match(expected: str | None, actual: str) -> bool:
    """Return whether a secret is the expected one.

    If none is expected, the comparison takes the same time, so that a client cannot measure which users exist.
    """
    is_same = equal_in_constant_time(_PLACEHOLDER_SECRET if expected is None else expected, actual)
    return is_same and expected is not None


class SecretTable(Generic[T]):
    """Values by secret. Lookups compare digests, whose first bytes reveal nothing about the secret."""

    def __init__(self) -> None:
        self._values: dict[bytes, T] = {}

    def __len__(self) -> int:
        return len(self._values)

    def add(self, secret: str, value: T) -> None:
        """Add or replace a value."""
        self._values[_digest(secret)] = value

    def get(self, secret: str) -> T | None:
        """Return the value of a secret, or None."""
        return self._values.get(_digest(secret))

    def pop(self, secret: str) -> T | None:
        """Remove a secret and return its value; None if it is unknown."""
        return self._values.pop(_digest(secret), None)

    def drop_oldest(self) -> None:
        """Remove the secret that was added first."""
        del self._values[next(iter(self._values))]

    def values(self) -> Iterator[T]:
        return iter(list(self._values.values()))


def _digest(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode(errors="surrogatepass"), digest_size=16).digest()


SESSION_PREFIX, ACCESS_TOKEN_PREFIX = "clk_ses", "clk_oat"
"""Prefixes of session ids and access tokens, by which logs and outputs are redacted."""
MAX_ISSUED = 1000
"""The maximum number of valid sessions and access tokens; one more ends the oldest."""
PURGE_FROM = 1024
"""The number of stored signatures from which expired ones are removed."""


class SandboxCredentials:
    """The token of a sandbox, the sessions and access tokens issued for it, and the signatures already used."""

    __slots__ = (
        "_grants",
        "_issued",
        "_purge_at",
        "_signing_key",
        "_used",
        "clients",
        "config",
        "password",
        "sandbox",
        "token",
        "wall_now",
    )

    def __init__(self, sandbox: str, config: Frozen) -> None:
        self.sandbox, self.config = sandbox, config
        self.wall_now: Callable[[], datetime] = wall.now
        """Returns the wall time, in which access tokens with scopes and JWTs expire."""
        self._grants: SecretTable[AccessGrant] | None = None
        self._signing_key: SigningKey | None = None
        self.clients: dict[str, KeySet] | None = None
        """The public keys of clients that sign JWTs, by issuer; None until they are first needed."""
        self.token = new_token("clk_sbx")
        self._issued = SecretTable[tuple[datetime, str]]()
        self.password: str | None = None
        """A password that the user chose instead of the token, to log in with."""
        self._used: dict[str, datetime] = {}
        self._purge_at = PURGE_FROM

    def issue(self, prefix: str, expires: datetime, owner: str = "") -> str:
        """Return a new secret that is valid until a simulated time. `owner` says whose it is, such as a session's."""
        secret = new_token(prefix)
        self._issued.add(secret, (expires, owner))
        if len(self._issued) > MAX_ISSUED:
            self._issued.drop_oldest()
        return secret

    def get_expiry(self, secret: str) -> datetime | None:
        """Return when an issued secret expires; None if it was not issued or was withdrawn."""
        issued = self._issued.get(secret)
        return None if issued is None else issued[0]

    def get_owner(self, secret: str) -> str:
        """Return whose secret it is; empty if no user was named, or if it was not issued here."""
        issued = self._issued.get(secret)
        return "" if issued is None else issued[1]

    def is_valid(self, secret: str, prefix: str, now: datetime) -> bool:
        """Return whether a secret with this prefix was issued here and has not expired."""
        expires = self.get_expiry(secret) if secret.startswith(prefix) else None
        return expires is not None and now < expires

    def withdraw(self, secret: str) -> None:
        """Make an issued secret invalid."""
        self._issued.pop(secret)

    def use_once(self, signature: str, at: datetime, not_before: datetime) -> bool:
        """Return whether a signature is new. Signatures older than `not_before` may be forgotten."""
        if signature in self._used:
            return False
        self._used[signature] = at
        if len(self._used) >= self._purge_at:
            self._used = {used: when for used, when in self._used.items() if when >= not_before}
            self._purge_at = max(PURGE_FROM, 2 * len(self._used))
        return True

    def grant(self, scopes: Iterable[str], patient: str, lifetime: timedelta) -> tuple[str, AccessGrant]:
        """Issue an access token with SMART scopes, valid for a wall time; return it and what it grants.

        Raises BadScope.
        """
        access = AccessGrant(parse_scopes(scopes), patient, self.wall_now() + lifetime)
        return self.add_grant(access), access

    def add_grant(self, access: AccessGrant) -> str:
        """Issue an access token for what it grants."""
        token = new_token(ACCESS_TOKEN_PREFIX)
        self._grants = self._grants or SecretTable()
        self._grants.add(token, access)
        if len(self._grants) > MAX_ISSUED:
            self._grants.drop_oldest()
        return token

    @property
    def has_grants(self) -> bool:
        """Whether access tokens have been issued."""
        return self._grants is not None

    def find_grant(self, token: str) -> AccessGrant | None:
        """Return what a token grants, even if it has expired; None if it was not issued here."""
        return self._grants.get(token) if self._grants is not None else None

    def has_expired(self, access: AccessGrant, now: datetime) -> bool:
        """Return whether a token that grants this has expired; `now` is the simulated time."""
        return (now if access.is_simulated else self.wall_now()) >= access.expires

    @property
    def signing_key(self) -> SigningKey:
        """The key with which the sandbox signs JWTs, or that it gives the agent for that; made when first needed."""
        if self._signing_key is None:
            self._signing_key = SigningKey()
        return self._signing_key
