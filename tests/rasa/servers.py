"""A minimal Rasa server for tests, over real HTTP, with the responses that tests/live/test_shapes.py sees on a real
one.
"""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from tests.actors.servers import Answered, Asked, Served

Row = dict[str, Any]
DATA = dict.fromkeys(("elements", "quick_replies", "buttons", "attachment", "image", "custom"))
LISTEN: Row = {"event": "action", "name": "action_listen", "policy": None, "confidence": None}
START: tuple[Row, ...] = (
    {"event": "action", "name": "action_session_start", "policy": None, "confidence": 1.0},
    {"event": "session_started"},
    LISTEN,
)


def bot(text: str | None, utter: str | None = None, **data: Any) -> Row:
    """Return a bot event."""
    return {"event": "bot", "text": text, "data": DATA | data, "metadata": {"utter_action": utter} if utter else {}}


def slot(name: str, value: Any) -> Row:
    """Return a slot event."""
    return {"event": "slot", "name": name, "value": value}


def action(name: str) -> Row:
    """Return an action event."""
    return {"event": "action", "name": name, "policy": "RulePolicy", "confidence": 1.0}


def reply(data: Any, status: int = 200, kind: str = "application/json") -> Answered:
    """Return a reply with a body."""
    return status, {"Content-Type": kind}, data if isinstance(data, bytes) else json.dumps(data).encode()


Override = Callable[[Asked], Answered | None]


class SmallRasa:
    """Answers each message with the next of its turns. Answers to single paths can be replaced."""

    def __init__(self, turns: Sequence[Sequence[Row]] = (), start: Sequence[Row] = START, **others: Any) -> None:
        self.trackers: dict[str, list[Row]] = {}
        self.messages: list[Row] = []
        self.asked: list[Asked] = []
        self.others: dict[str, Override] = others
        """By the last word of the path: `webhook`, `tracker`, `events`, `domain`, `flows`, `status`, `version`."""
        self._turns, self._start = list(turns), start
        self._time = itertools.count(1000.0)

    def __call__(self, asked: Asked) -> Answered | None:
        self.asked.append(asked)
        last = urlsplit(asked.path).path.rpartition("/")[2]
        if last in self.others:
            return self.others[last](asked)
        if last == "webhook":
            return reply(self._hear(json.loads(asked.body)))
        found = re.fullmatch(r"/conversations/([^/]+)/tracker(/events)?", urlsplit(asked.path).path)
        if found is None:
            return reply(b"<!DOCTYPE html><h1>Not Found</h1>", 404, "text/html")
        tracker = self.trackers.setdefault(found[1], [])
        if found[2]:
            self._add(tracker, json.loads(asked.body))
        return reply({"sender_id": found[1], "slots": {}, "events": tracker})

    def _hear(self, message: Row) -> list[Row]:
        self.messages.append(message)
        tracker = self.trackers.setdefault(message["sender"], [])
        before = len(tracker)
        if not tracker:
            self._add(tracker, self._start)
        if message["message"] == "/session_start":
            self._add(tracker, [{"event": "user", "text": "/session_start"}, *self._start])
        else:
            turn = self._turns.pop(0) if self._turns else []
            self._add(tracker, [{"event": "user", "text": message["message"]}, *turn, LISTEN])
        return [
            {"recipient_id": message["sender"], "text": row["text"]}
            for row in tracker[before:]
            if row["event"] == "bot" and row["text"]
        ]

    def _add(self, tracker: list[Row], rows: Sequence[Row]) -> None:
        tracker += [{"timestamp": next(self._time), "metadata": {}} | row for row in rows]

    def served(self) -> Served:
        """Serve on loopback while the context is open."""
        return Served(self)
