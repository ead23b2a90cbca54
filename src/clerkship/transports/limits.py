"""The limits of connections, and the table of open connections that enforces them."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

MAX_REFUSED = 64
"""Refused connections at a time that get a reason before they are closed; others are closed at once."""
SWEEPS_PER_TIMEOUT = 8
"""Sweeps over the connections within the shortest timeout."""


@dataclass(frozen=True)
class ConnectionLimits:
    """The limits of one listener. The defaults are those of HTTP; times are seconds of wall time."""

    first: float = 30.0
    """From the start of a connection to its first byte, or to its first message in protocols that require one."""
    head: float = 10.0
    """From the first byte of a request to the end of its headers, or to the end of a handshake."""
    body: float = 30.0
    """Between two pieces of a body."""
    request: float = 300.0
    """From the first byte of a request or frame to its last."""
    idle: float = 120.0
    """Without a request, and for a client that does not read its replies. Longer than most clients keep a connection
    open, so that the client closes it first: a request could fail on a connection that the server has just closed."""
    connections: int = 2000
    """Open at once on all ports of a listener; fewer if the process may open fewer files."""
    per_sandbox: int = 500
    """Open at once for one sandbox, in protocols whose connections belong to a sandbox."""
    held: int = 200_000_000
    """Bytes of messages that are incomplete or not answered, in protocols that count them."""
    held_per_sandbox: int = 50_000_000

    @property
    def sweep_interval(self) -> float:
        """Seconds between two sweeps over the connections."""
        return min(self.first, self.head, self.body, self.request, self.idle) / SWEEPS_PER_TIMEOUT


class TrackedConnection(Protocol):
    """The part of a connection that the table uses."""

    @property
    def is_evictable(self) -> bool:
        """Whether it can be closed without interrupting a request."""

    @property
    def progress(self) -> int:
        """How far a connection without a sandbox has got; those with the least progress are evicted first."""

    def drop(self) -> None:
        """Close it at once."""

    def leave(self) -> None:
        """Close it once its pending replies are sent."""

    async def end(self) -> None:
        """Close it at once, and wait for its running task."""

    def sweep(self, now: float) -> None:
        """Close it if it has exceeded a timeout."""


Connections = OrderedDict[TrackedConnection, None]


@dataclass
class ConnectionTable:
    """The open connections of one listener, on all its ports. Used in the listener's event loop only."""

    limits: ConnectionLimits
    max_connections: int
    """At most `limits.connections`, and fewer if the process may open fewer files."""
    held: int = 0
    """Bytes held by all connections."""
    _unclaimed: Connections = field(default_factory=OrderedDict)
    """Connections that belong to no sandbox, the least recently used first."""
    _of_sandbox: dict[str, Connections] = field(default_factory=dict)
    """The others by sandbox, the least recently used first."""
    _sandbox: dict[TrackedConnection, str] = field(default_factory=dict)
    _refused: set[TrackedConnection] = field(default_factory=set)
    _holding: dict[TrackedConnection, tuple[str, int]] = field(default_factory=dict)
    _held: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.max_connections = min(self.max_connections, self.limits.connections)

    def __len__(self) -> int:
        """Count the connections, without the refused ones."""
        return len(self._unclaimed) + len(self._sandbox)

    def __iter__(self) -> Iterator[TrackedConnection]:
        """Iterate over a copy, refused connections included."""
        return iter([*self._unclaimed, *self._sandbox, *self._refused])

    def enter(self, connection: TrackedConnection) -> bool:
        """Add a connection; return False if the table is full and no connection can be evicted."""
        if len(self) >= self.max_connections and not self._evict():
            return False
        self._unclaimed[connection] = None
        return True

    def refuse(self, connection: TrackedConnection) -> bool:
        """Add a connection to the refused ones; return False if there are too many, so that it is closed without a
        reason.
        """
        if len(self._refused) < MAX_REFUSED:
            self._refused.add(connection)
        return connection in self._refused

    def touch(self, connection: TrackedConnection) -> None:
        """Make a connection that belongs to no sandbox the most recently used one."""
        if connection in self._unclaimed:
            self._unclaimed.move_to_end(connection)

    def claim(self, connection: TrackedConnection, sandbox: str) -> bool:
        """Assign a connection to a sandbox, as its most recently used one; return False if the sandbox has too many."""
        if self._sandbox.get(connection) == sandbox:
            self._of_sandbox[sandbox].move_to_end(connection)
            return True
        others = self._of_sandbox.get(sandbox)
        if others is not None and len(others) >= self.limits.per_sandbox and not self._evict_from(others):
            return False
        self._forget(connection)
        self._of_sandbox.setdefault(sandbox, OrderedDict())[connection] = None
        self._sandbox[connection] = sandbox
        return True

    def is_claimed(self, connection: TrackedConnection) -> bool:
        """Return whether a connection belongs to a sandbox."""
        return connection in self._sandbox

    def is_late(self, connection: TrackedConnection, age: float) -> bool:
        """Return whether a connection has sent no first message in time; only checked once the table is half full."""
        return age > self.limits.first and connection in self._unclaimed and len(self) * 2 > self.max_connections

    def leave(self, connection: TrackedConnection) -> None:
        """Remove a connection that is closed."""
        self._forget(connection)
        self._refused.discard(connection)
        self.hold(connection, "", 0)

    def hold(self, connection: TrackedConnection, sandbox: str, size: int) -> bool:
        """Set the number of bytes that a connection holds for a sandbox; return False if a limit is exceeded."""
        old_sandbox, old_size = self._holding.pop(connection, ("", 0))
        self._held[old_sandbox] -= old_size
        if not self._held[old_sandbox]:
            del self._held[old_sandbox]
        self.held += size - old_size
        if not size:
            return True
        self._holding[connection] = sandbox, size
        self._held[sandbox] += size
        return self.held <= self.limits.held and (not sandbox or self._held[sandbox] <= self.limits.held_per_sandbox)

    def _forget(self, connection: TrackedConnection) -> None:
        self._unclaimed.pop(connection, None)
        sandbox = self._sandbox.pop(connection, None)
        if sandbox is not None:
            others = self._of_sandbox[sandbox]
            others.pop(connection, None)
            if not others:
                del self._of_sandbox[sandbox]

    def _evict(self) -> bool:
        """Close one connection: one without a sandbox if possible, else one of the sandbox that has the most."""
        if self._evict_from(self._unclaimed):
            return True
        return bool(self._of_sandbox) and self._evict_from(max(self._of_sandbox.values(), key=len))

    def _evict_from(self, connections: Connections) -> bool:
        """Close the connection with the least progress; among equals, the least recently used one."""
        chosen: TrackedConnection | None = None
        for connection in connections:
            if connection.is_evictable and (chosen is None or connection.progress < chosen.progress):
                chosen = connection
                if not connection.progress:
                    break
        if chosen is None:
            return False
        self._forget(chosen)
        chosen.drop()
        return True
