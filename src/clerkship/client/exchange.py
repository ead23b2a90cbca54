"""How a call is carried out: what is sent, when it is sent again, and what the answer means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from clerkship import __version__
from clerkship.client.calls import ServerCall
from clerkship.client.errors import ServerUnreachable, parse_problem
from clerkship.kit.secrets import new_name
from clerkship.model.server_objects import LoggedEvent

T = TypeVar("T")
PAUSES = (0.1, 0.5, 1.0, 2.0)
"""Seconds before a request is sent again whose connection broke."""
MAX_WAITS = 120
"""How often a request is sent again because the server asks for it."""
MAX_RETRY_AFTER = 5.0


def describe_loss(url: str, error: httpx.TransportError) -> ServerUnreachable:
    """Return the error for a request without an answer."""
    is_refused = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
    return ServerUnreachable(url, str(error) or type(error).__name__, is_refused=is_refused)


class Exchange(Generic[T]):
    """One call: the request to send now, after a pause, and the result once there is an answer."""

    def __init__(self, call: ServerCall[T], url: str, headers: Mapping[str, str]) -> None:
        self._call, self._url = call, url
        own = {"content-type": call.media} if call.body else {}
        if call.method == "POST" and call.is_repeatable:
            own["idempotency-key"] = new_name("request")
        self.request: dict[str, Any] = {
            "method": call.method,
            "url": url + call.path,
            "params": dict(call.query),
            "content": call.body,
            "headers": {**headers, **own},
        }
        self.pause = 0.0
        """Seconds to wait before sending the request."""
        self.is_over = False
        self.result: T
        self._losses = self._waits = 0

    def lose(self, error: httpx.TransportError) -> None:
        """Handle a connection that broke before the answer. Raise ServerUnreachable after the last attempt."""
        if not self._call.is_repeatable or self._losses == len(PAUSES):
            raise describe_loss(self._url, error) from None
        self.pause = PAUSES[self._losses]
        self._losses += 1

    def receive(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Handle an answer. Raise ServerProblem if it is a refusal that lasts."""
        if 200 <= status < 300:
            self.result, self.is_over = self._call.parse(body), True
            return
        retry_after = headers.get("retry-after", "")
        if not (retry_after.isdecimal() and self._call.is_repeatable and self._waits < MAX_WAITS):
            raise parse_problem(status, body)
        self.pause = min(float(retry_after), MAX_RETRY_AFTER)
        self._waits += 1


@dataclass
class ReceivedEvents:
    """The events of a log while they happen, over as many connections as it takes."""

    url: str
    task_run_id: str
    after: int = 0
    kind: str | None = None
    source: str | None = None
    is_over: bool = False
    pause: float = 0.0
    """Seconds to wait before connecting."""
    _losses: int = 0
    _data: str = ""
    _name: str = ""

    def build_request(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the request for the events after the last one."""
        query = {"after": self.after, "kind": self.kind, "source": self.source}
        return {
            "method": "GET",
            "url": f"{self.url}/v1/task-runs/{self.task_run_id}/events",
            "params": {name: value for name, value in query.items() if value is not None},
            "headers": {**headers, "accept": "text/event-stream"},
        }

    def read(self, line: str) -> LoggedEvent | None:
        """Read a line. Return the event that it completes."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data = value
        elif name == "event":
            self._name = value
        elif not line:
            data, event, self._data, self._name = self._data, self._name, "", ""
            self.is_over = self.is_over or event == "end"
            if data and not event:
                found = LoggedEvent.model_validate_json(data)
                self.after, self._losses = found.seq, 0
                return found
        return None

    def lose(self, error: httpx.TransportError) -> None:
        """Handle a connection that broke. Raise ServerUnreachable if that is so again and again."""
        if self._losses == len(PAUSES):
            raise describe_loss(self.url, error) from None
        self.pause, self._data, self._name = PAUSES[self._losses], "", ""
        self._losses += 1


def build_headers(key: str) -> dict[str, str]:
    """Return the headers of every request."""
    own = {"authorization": f"Bearer {key}"} if key else {}
    return {"user-agent": f"clerkship/{__version__}", "accept": "application/json", **own}
