"""Wait for an agent that answered a message with 202: poll the location that it gave until its reply is there."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from clerkship.actors.contract import AgentError
from clerkship.actors.messages import excerpt
from clerkship.kit.wall import monotonic, now
from clerkship.llm.retry import parse_retry_after

if TYPE_CHECKING:
    import httpx

Fetch = Callable[[str], "Awaitable[tuple[httpx.Response, bytes]]"]
"""Gets an address; returns the response and its body."""
Pause = Callable[[float], Awaitable[bool]]
"""Waits for this many seconds; returns whether the reply has arrived in another way."""
ACCEPTED, SEE_OTHER = 202, 303
_NOT_READY = (ACCEPTED, 429, 503)
DEFAULT_POLL_SECONDS = 1.0
POLL_SECONDS = (0.1, 60.0)
"""The shortest and the longest time between two polls, whatever Retry-After says."""


class AgentJob:
    """What became of one message that the agent answered with 202."""

    def __init__(self, address: str, response: "httpx.Response") -> None:
        self._address, self._started, self._polls = address, monotonic(), 0
        self._last = ""
        self._pause = _read_pause(response)
        location = response.headers.get("location", "")
        self.location = self._resolve(location) if location else ""
        """The address to poll; empty if the agent gave none."""

    async def poll(self, fetch: Fetch, pause: Pause) -> "tuple[httpx.Response, bytes] | None":
        """Poll until the job is done; return the last response, or None if the reply came in another way."""
        while not await pause(self._pause):
            response, data = await fetch(self.location)
            self._polls += 1
            self._last = f"{response.status_code} {excerpt(data)}" if data else str(response.status_code)
            if response.status_code == SEE_OTHER:
                self.location = self._resolve(response.headers.get("location", ""))
            elif response.status_code not in _NOT_READY:
                return response, data
            self._pause = _read_pause(response)
        return None

    def describe(self, problem: str = "", *, has_callback: bool = True) -> str:
        """Return what was seen of a job that is not done; `problem` is why a callback was refused."""
        count = "once" if self._polls == 1 else f"{self._polls} times"
        polled = f"{self.location} was polled {count}" if self.location else "it gave no location to poll"
        last = f", the last answer was {self._last}" if self._last else ""
        refused = f"; a request to the callback address was refused: {problem}" if problem else "; no callback arrived"
        return (
            f"It answered 202. In {monotonic() - self._started:.0f} s {polled}{last}{refused if has_callback else ''}."
        )

    def _resolve(self, location: str) -> str:
        """Return a location as an address; raise AgentError for one at another host, which may not be the agent's."""
        address = urljoin(self._address, location)
        if urlsplit(address)[:2] != urlsplit(self._address)[:2]:
            where = repr(location[:200])
            raise AgentError(f"it gave the location {where}, which is not at its own address; give a path, as /jobs/1")
        return address


def _read_pause(response: "httpx.Response") -> float:
    """Return the seconds until the next poll: those of Retry-After, within limits."""
    seconds = parse_retry_after(response.headers.get("retry-after", ""), now())
    return min(max(DEFAULT_POLL_SECONDS if seconds is None else seconds, POLL_SECONDS[0]), POLL_SECONDS[1])
