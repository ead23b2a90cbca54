"""What a connection to the HTTP listener may take. Seconds are of the wall clock, whatever the simulated time does."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of one listener; tests shorten the times."""

    connections: int = 2000
    """Open at once; fewer where the system has fewer descriptors."""
    first: float = 30.0
    """From the start of a connection to the first byte of its first request."""
    head: float = 10.0
    """From the first byte of a request to the end of its headers."""
    body: float = 30.0
    """Between two pieces of a body."""
    request: float = 300.0
    """From the first byte of a request to its last."""
    idle: float = 120.0
    """Between a reply and the next request, and for a client that does not read its replies. Longer than most clients
    keep a connection, so that it is the client that closes it, and no request meets a connection that just closed."""

    @property
    def shortest(self) -> float:
        """The shortest of the times."""
        return min(self.first, self.head, self.body, self.request, self.idle)
