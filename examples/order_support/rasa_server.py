"""A stand-in for a Rasa server, around the bot beside it: its REST channel, its trackers, its API, over real HTTP.

python rasa_server.py                                    listens on 127.0.0.1:5005
python rasa_server.py --port 0 --token … --jwt-secret …  on any free port; the first line it prints is its address

It has no model and trains nothing. What it answers has the shapes of a server with flows, so that whatever talks to one
can be tried without one; `--trouble` makes it misbehave.
"""

import argparse
import base64
import hashlib
import hmac
import importlib
import itertools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml

from clerkship.plugin import (
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowResumed,
    FlowStarted,
    Message,
    ReplyPart,
    Say,
    SlotSet,
    Start,
)

Row = dict[str, Any]
HERE = Path(__file__).parent
VERSION = "3.17.0"
MODEL = {"model_id": "0c1d7e5b2f8a4e6d9b3a", "assistant_id": "order-support"}
NO_DATA = dict.fromkeys(("elements", "quick_replies", "buttons", "attachment", "image", "custom"))
TEMPLATES = "TemplatedNaturalLanguageGenerator"
TROUBLES = {
    "slow": "answers a message only after a while",
    "html": "answers everything with a page, as a proxy in front of it may",
    "empty": "does not answer messages: an empty list",
    "crash": "breaks down on each message, and does not say so: an empty list",
    "hang_up": "hears each message, and breaks the connection off",
    "no_events": "has trackers without events",
    "no_model": "has no model loaded: 409",
}
ENDINGS: dict[type, str] = {
    FlowCompleted: "flow_completed",
    FlowCancelled: "flow_cancelled",
    FlowInterrupted: "flow_interrupted",
    FlowResumed: "flow_resumed",
}
NEEDED: dict[str, tuple[str, ...]] = {
    "slot": ("name",),
    "action": ("name",),
    "user": ("text",),
    "bot": ("text",),
    "session_started": (),
    "restart": (),
    "reset_slots": (),
    "followup": ("name",),
    **dict.fromkeys(("flow_started", *ENDINGS.values()), ("flow_id",)),
}
"""What may be put into a tracker from outside, and what each must have."""
FILLED: Row = {"filled_by": None, "anonymized_at": None}


class Bot(Protocol):
    """What it serves."""

    slots: dict[str, Any]

    def on_start(self, start: Start) -> list[ReplyPart]:
        """A conversation begins."""
        ...

    def on_turn(self, message: Message) -> list[ReplyPart]:
        """A person says something."""
        ...


def order_bot() -> Callable[[], Bot]:
    """The class in the file beside this one, which may be run as a program or imported as a package."""
    found = importlib.import_module(f"{__package__}.bot" if __package__ else "bot")
    return cast(Callable[[], Bot], found.OrderBot)


class Refused(Exception):
    """The request is not served, in Rasa's own words."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body: Row = {
            "version": VERSION,
            "status": "failure",
            "message": message,
            "reason": reason,
            "details": {},
            "help": None,
            "code": status,
        }


class Conversation:
    """One tracker: what happened, in order, and the bot that it happened to."""

    def __init__(self, sender: str, make: Callable[[], Bot], slots: Sequence[str]) -> None:
        self.sender = sender
        self.lock = threading.Lock()
        self.rows: list[Row] = []
        self._make = make
        self._known = slots
        self._bot = make()
        self._last = 0.0
        self._turns = itertools.count(1)

    def begin(self, metadata: Mapping[str, Any] | None = None) -> None:
        """A new session. What was before it is let go when the tracker is next written to."""
        self._bot = self._make()
        if metadata:
            self._add("slot", name="session_started_metadata", value=dict(metadata), **FILLED)
        self._act("action_session_start")
        self._add("session_started")
        self._tell(self._bot.on_start(Start()))
        self._act("action_listen")

    def hear(self, text: str, metadata: Mapping[str, Any], channel: str, *, breaks: bool = False) -> list[Row]:
        """Take a message in; what the channel answers. A bot that breaks down has said nothing."""
        self._open(metadata)
        before = len(self.rows)
        self._add("user", **_user(text, metadata, channel, f"{self.sender}-{len(self.rows)}"))
        if text == "/session_start":
            self.begin(metadata)
        else:
            try:
                if breaks:
                    raise RuntimeError("the action server is down")
                self._tell(self._bot.on_turn(Message(text, next(self._turns), "rest", None, metadata)))
            except Exception as error:  # as the real one: it is in the server's own log, and nowhere else
                self._add("error", error_code=type(error).__name__)
            self._act("action_listen")
        said = (row for row in self.rows[before:] if row["event"] == "bot")
        return [message for row in said for message in _messages(self.sender, row)]

    def inject(self, events: Any, *, instead: bool = False) -> None:
        """Put events in from outside; those that are none are left out, and nothing but such is refused."""
        given = events if isinstance(events, list) else [events]
        good = [event for event in given if _is_event(event)]
        if not good:
            words = f"Couldn't extract a proper event from the request body. Request body: '{json.dumps(events)}'."
            raise Refused(400, "BadRequest", words)
        if not instead:
            self._open()
        for event in good:
            known = {"value": None, **FILLED} if event["event"] == "slot" else {}
            known |= _user(event["text"], {}, None, "") if event["event"] == "user" else {}
            fields = {key: value for key, value in event.items() if key not in ("event", "timestamp")}
            self._add(**{"event": event["event"], **known, **fields})
            self._believe(event)

    def dump(self, verbosity: str, until: float) -> Row:
        """The tracker as the API has it."""
        rows = [row for row in self.rows if row["timestamp"] <= until]
        restarts = [number for number, row in enumerate(rows) if row["event"] == "restart"]
        shown = rows[restarts[-1] + 1 :] if restarts and verbosity != "ALL" else rows
        users = [row for row in rows if row["event"] == "user"]
        actions = [row["name"] for row in rows if row["event"] == "action"]
        return {
            "sender_id": self.sender,
            "slots": {**dict.fromkeys(self._known), **self._bot.slots},
            "latest_message": users[-1]["parse_data"] if users else _user("", {}, "rest", "")["parse_data"],
            "latest_event_time": rows[-1]["timestamp"] if rows else None,
            "followup_action": None,
            "paused": False,
            "inactive": False,
            "terminated": False,
            "stack": [{"frame_id": flow, "flow_id": flow, "type": "flow"} for flow in getattr(self._bot, "stack", ())],
            "events": None if verbosity == "NONE" else shown,
            "latest_input_channel": users[-1]["input_channel"] if users else None,
            "active_loop": {},
            "latest_action": {"action_name": actions[-1]} if actions else {},
            "latest_action_name": actions[-1] if actions else None,
            "user_id": self.sender,
            "conversation_started_timestamp": rows[0]["timestamp"] if rows else None,
            "current_session_id": self.sender,
        }

    def _open(self, metadata: Mapping[str, Any] | None = None) -> None:
        if not self.rows:
            self.begin(metadata)
        starts = [number for number, row in enumerate(self.rows) if row.get("name") == "action_session_start"]
        del self.rows[: starts[-1] if len(starts) > 1 else 0]  # of several sessions the last is kept

    def _believe(self, event: Mapping[str, Any]) -> None:
        """What is put in is true for the bot too."""
        if event["event"] == "slot":
            self._bot.slots[event["name"]] = event.get("value")
        elif event["event"] == "reset_slots":
            self._bot.slots.clear()
        elif event["event"] == "restart":
            self._bot = self._make()

    def _tell(self, told: Sequence[ReplyPart]) -> None:
        """What the bot did and said, as a tracker has it."""
        under_way: str | None = None
        for part in told:
            match part:
                case Say():
                    self._say(part, under_way)
                case ActionExecuted(name=name):
                    self._act(name)
                case SlotSet(name=name, value=value):
                    self._add("slot", name=name, value=value, **FILLED)
                case FlowStarted(flow_id=flow):
                    under_way = flow
                    self._add("flow_started", {"flow_id": flow, "frame_type": "regular"}, flow_id=flow)
                case ClarificationOffered(flow_ids=flow_ids, names=names):
                    self.rows[-1]["metadata"] |= {"names": list(names), "clarification_ids": list(flow_ids)}
                case FlowCompleted() | FlowCancelled() | FlowInterrupted() | FlowResumed():
                    self._add(ENDINGS[type(part)], flow_id=part.flow_id, step_id=part.flow_step_id)

    def _say(self, said: Say, flow: str | None) -> None:
        named = {"utter_action": said.utter_name, "utter_source": TEMPLATES} if said.utter_name else {}
        data = NO_DATA | {"buttons": list(said.buttons) or None, "custom": said.custom}
        metadata = {**named, "active_flow": flow, **(said.metadata or {})}
        self._add("bot", metadata, text=said.text or None, data=data, anonymized_at=None)

    def _act(self, name: str) -> None:
        policy = None if name in ("action_session_start", "action_listen") else "FlowPolicy"
        self._add("action", name=name, policy=policy, confidence=1.0, action_text=None, hide_rule_turn=False)

    def _add(self, event: str, metadata: Mapping[str, Any] | None = None, **fields: Any) -> None:
        self._last = max(time.time(), self._last + 0.000001)  # no two at once, so that order is never in doubt
        along = {**MODEL, **(metadata or {})}
        self.rows.append({"event": event, "timestamp": self._last, "metadata": along, **fields})


def _user(text: str, metadata: Mapping[str, Any], channel: str | None, message_id: str) -> Row:
    intent = {"name": text[1:] if text.startswith("/") else None, "confidence": 1.0 if text.startswith("/") else 0.0}
    parsed = {"intent": intent, "entities": [], "text": text, "message_id": message_id, "metadata": dict(metadata)}
    return {
        "text": text,
        "parse_data": {**parsed, "commands": []},
        "input_channel": channel,
        "message_id": message_id,
        "metadata": dict(metadata),
        "anonymized_at": None,
    }


def _messages(recipient: str, bot: Row) -> list[Row]:
    """One utterance as the REST channel sends it: paragraphs apart, unless there are buttons; a payload by itself."""
    to, data = {"recipient_id": recipient}, bot["data"]
    texts = [bot["text"]] if data["buttons"] else (bot["text"] or "").split("\n\n")
    said = [{**to, "text": text.strip()} for text in texts if text and text.strip()]
    if data["buttons"]:
        said[-1:] = [{**(said[-1] if said else to), "buttons": data["buttons"]}]
    return said + [{**to, key: data[key]} for key in ("custom", "image", "attachment") if data[key]]


def _is_event(event: Any) -> bool:
    sort = event.get("event") if isinstance(event, dict) else None
    return sort in NEEDED and all(isinstance(event.get(key), str) for key in NEEDED[sort])


class Keys(NamedTuple):
    """Who may use the API. The channel is open to everybody, as the real one's is."""

    token: str = ""
    jwt_secret: str = ""

    def check(self, query: Mapping[str, str], authorization: str, sender: str | None) -> None:
        """By the token, or by a JWT of an admin, or of the person whose conversation it is."""
        if not (self.token or self.jwt_secret) or (self.token and query.get("token") == self.token):
            return
        user = self._user(authorization) if self.jwt_secret else None
        if user is None:
            raise Refused(401, "NotAuthenticated", "User is not authenticated.")
        if user.get("role") != "admin" and (user.get("role") != "user" or user.get("username") != sender):
            raise Refused(403, "NotAuthorized", "User has insufficient permissions.")

    def _user(self, authorization: str) -> Row | None:
        """Whoever a JWT signed with our secret names (RFC 7519, HS256 alone)."""
        said, _, signature = authorization.removeprefix("Bearer ").rpartition(".")
        digest = base64.urlsafe_b64encode(hmac.digest(self.jwt_secret.encode(), said.encode(), hashlib.sha256))
        if not said or not hmac.compare_digest(digest.rstrip(b"=").decode(), signature):
            return None
        try:
            header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in said.split("."))
            user = claims["user"] if header["alg"] == "HS256" else None
        except (ValueError, KeyError, TypeError):
            return None
        return user if isinstance(user, dict) else None


class RasaServer(ThreadingHTTPServer):
    """Listens; keeps the conversations."""

    daemon_threads = True

    def __init__(self, port: int, bot: Callable[[], Bot], keys: Keys) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.keys = keys
        self.trouble = ""
        """One of TROUBLES, from now on."""
        self.delay = 30.0
        """Seconds that a slow one takes."""
        self.heard: list[Row] = []
        """Messages in the order they came."""
        self.stopped = threading.Event()
        self.domain = yaml.safe_load((HERE / "domain.yml").read_text(encoding="utf-8"))
        flows = yaml.safe_load((HERE / "data" / "flows.yml").read_text(encoding="utf-8"))["flows"]
        self.flows = [{"id": name, **flow} for name, flow in flows.items()]
        self._bot = bot
        self._lock = threading.Lock()
        self._conversations: dict[str, Conversation] = {}

    def conversation(self, sender: str) -> Conversation:
        """The one of this name, new if there is none."""
        with self._lock:
            if sender not in self._conversations:
                self._conversations[sender] = Conversation(sender, self._bot, tuple(self.domain["slots"]))
            return self._conversations[sender]

    def forget(self, sender: str) -> None:
        """As if it had never been."""
        with self._lock:
            self._conversations.pop(sender, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hangs up in the middle is no error of ours."""


class Handler(BaseHTTPRequestHandler):
    """One request: to the channel, to a tracker, or about the assistant."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_GET  # noqa: N815  (as the standard library calls them)
    do_PUT = do_GET  # noqa: N815
    do_DELETE = do_GET  # noqa: N815

    def _serve(self) -> None:
        self.site = cast(RasaServer, self.server)
        address = urlsplit(self.path)
        self.query = dict(parse_qsl(address.query))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if self.site.trouble == "html":
                self._reply(200, b"<!DOCTYPE html><h1>Please sign in</h1>", "text/html")
            else:
                self._route(self.command, address.path)
        except Refused as refused:
            self._json(refused.body, refused.status)

    def _route(self, method: str, path: str) -> None:
        parts = [unquote(part) for part in path.split("/") if part]
        match method, parts:
            case "POST", ["webhooks", "rest", "webhook"]:
                self._message()
            case "GET", ["webhooks", "rest"]:
                self._json({"status": "ok"})
            case "GET", []:
                self._reply(200, f"Hello from Rasa: {VERSION}".encode(), "text/plain; charset=utf-8")
            case "GET", ["version"]:
                self._json({"version": VERSION, "minimum_compatible_version": "3.17.0"})
            case _, ["conversations", sender, "tracker", *rest] if rest in ([], ["events"]):
                self._allow(sender)
                self._tracker(method, sender, events=bool(rest))
            case "GET", ["status" | "domain" | "flows" as what]:
                self._allow()
                self._about(what)
            case _:
                self._reply(404, b"<!DOCTYPE html><h1>404 - Not Found</h1>", "text/html; charset=utf-8")

    def _allow(self, sender: str | None = None) -> None:
        self.site.keys.check(self.query, self.headers.get("Authorization", ""), sender)
        if self.site.trouble == "no_model":
            raise Refused(409, "Conflict", "No agent loaded. To continue processing, a model has to be loaded.")

    def _message(self) -> None:
        given = self._given()
        if not isinstance(given, dict) or not isinstance(given.get("message"), str):
            raise Refused(400, "BadRequest", "expected a JSON object with `sender` and `message`")
        self.site.heard.append(given)
        trouble, sender = self.site.trouble, str(given.get("sender") or "default")
        answer: list[Row] = []
        if trouble not in ("empty", "no_model"):
            talk = self.site.conversation(sender)
            channel, metadata = str(given.get("input_channel") or "rest"), given.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            with talk.lock:
                answer = talk.hear(given["message"], metadata, channel, breaks=trouble == "crash")
        if trouble == "slow":
            self.site.stopped.wait(self.site.delay)
        if trouble == "hang_up":
            self.close_connection = True
        elif self.query.get("stream") == "true":
            self._reply(200, b"".join(json.dumps(row).encode() + b"\n" for row in answer), "text/event-stream")
        else:
            self._json(answer)

    def _tracker(self, method: str, sender: str, *, events: bool) -> None:
        if method == "DELETE" and not events:
            self.site.forget(sender)
            return self._reply(204, b"", "application/json")
        if method == "PUT" and events:
            self.site.forget(sender)
        elif (method, events) not in (("GET", False), ("POST", True)):
            raise Refused(405, "MethodNotAllowed", f"{method} is not for this")
        talk = self.site.conversation(sender)
        with talk.lock:
            if events:
                talk.inject(self._given(), instead=method == "PUT")
            elif not talk.rows and self.query.get("start_session", "true") == "true":
                talk.begin()
            return self._show(talk)

    def _show(self, talk: Conversation) -> None:
        verbosity = self.query.get("include_events", "AFTER_RESTART")
        if verbosity not in ("NONE", "APPLIED", "AFTER_RESTART", "ALL"):
            raise Refused(400, "BadRequest", f"Invalid parameter value for 'include_events': {verbosity}")
        try:
            until = float(self.query.get("until", "inf"))
        except ValueError:
            raise Refused(400, "BadRequest", "Invalid parameter value for 'until'") from None
        found = talk.dump(verbosity, until)
        if self.site.trouble == "no_events":
            del found["events"]
        self._json(found)

    def _about(self, what: str) -> None:
        if what == "status":
            model = {"model_file": "models/order-support.tar.gz", "model_id": MODEL["model_id"]}
            self._json({**model, "num_active_training_jobs": 0})
        elif what == "flows":
            self._json(self.site.flows)
        elif "yaml" in self.headers.get("Accept", ""):
            self._reply(200, yaml.safe_dump(self.site.domain).encode(), "application/x-yaml")
        else:
            self._json(self.site.domain)

    def _given(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise Refused(400, "BadRequest", "the body is not JSON") from None

    def _json(self, data: Any, status: int = 200) -> None:
        self._reply(status, json.dumps(data).encode(), "application/json")

    def _reply(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def serve(
    port: int = 0, bot: Callable[[], Bot] | None = None, token: str = "", jwt_secret: str = ""
) -> Iterator[RasaServer]:
    """A server that listens while this is open; `url` is where, `trouble` what is wrong with it."""
    server = RasaServer(port, bot or order_bot(), Keys(token, jwt_secret))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=5005)
    parser.add_argument("--token", default="", help="what `?token=` must be")
    parser.add_argument("--jwt-secret", default="", help="what a JWT must be signed with (HS256)")
    parser.add_argument("--trouble", default="", choices=("", *TROUBLES), help="what is wrong with it")
    given = parser.parse_args()
    try:
        with serve(given.port, token=given.token, jwt_secret=given.jwt_secret) as server:
            server.trouble = given.trouble
            print(server.url, flush=True)
            threading.Event().wait()
    except OSError as error:
        sys.exit(f"port {given.port} cannot be had: {error.strerror}; choose another with --port")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
