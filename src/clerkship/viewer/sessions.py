"""The sessions of readers who signed in with a key. They are in memory: after a restart everyone signs in again."""

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from clerkship.kit.secrets import new_token
from clerkship.kit.wall import monotonic
from clerkship.service.serving.keys import KeyTable, Principal

MAX_SESSIONS = 1000
"""Sessions at once; the oldest ends when a further one begins."""
MAX_SESSION_SECONDS = 12 * 3600.0


class _Session(NamedTuple):
    principal: Principal
    until: float


class SessionTable:
    """The sessions of a server, by the hash of their cookie."""

    def __init__(self, keys: KeyTable) -> None:
        self._keys = keys
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()
        self._lock = Lock()

    def begin(self, key: str) -> str | None:
        """Return the cookie of a new session; None if the key is not valid."""
        principal = self._keys.find(key)
        if principal is None:
            return None
        cookie = new_token("clk_page")
        with self._lock:
            self._sessions[_hash(cookie)] = _Session(principal, monotonic() + MAX_SESSION_SECONDS)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Principal | None:
        """Return who signed in; None if the session or the key has ended."""
        with self._lock:
            session = self._sessions.get(_hash(cookie))
        if session is None:
            return None
        if session.until < monotonic() or not self._keys.is_valid(session.principal.key_id):
            self.end(cookie)
            return None
        return session.principal

    def end(self, cookie: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            self._sessions.pop(_hash(cookie), None)


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
