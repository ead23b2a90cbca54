"""A request and its reply, whichever door they come through."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """What an agent asks of a sandbox. The path is the sandbox's own, and decoded."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the sandbox answers. A delay is wall time, for listeners that can wait."""

    status: int
    body: bytes = b""
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it is a yes."""
        return self.status < 400


def json_reply(status: int, data: Any) -> Reply:
    """A reply with a JSON body."""
    return Reply(status, orjson.dumps(data))


class Refusal(Exception):
    """A sandbox says no; it carries the words its protocol has for that."""

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason


def refuse_as_json(refusal: Refusal) -> Reply:
    """The plain form of a refusal, for protocols that have none of their own."""
    return json_reply(refusal.status, {"error": {"code": refusal.code, "message": refusal.reason}})
