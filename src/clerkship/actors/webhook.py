"""`http:<address>`: an agent behind an address, sent one POST per turn or task.

With a secret, each message is signed as in Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import orjson
from pydantic import JsonValue

from clerkship.actors.agent_job import ACCEPTED, AgentJob
from clerkship.actors.contract import NO_FACTS, Agent, AgentError, Message, ReplyPart
from clerkship.actors.messages import (
    MAX_REPLY_BYTES,
    MessageAgent,
    excerpt,
    parse_object,
    parse_say,
    parse_task_answer,
    task_message,
)
from clerkship.kit.http_body import ResponseTooLarge
from clerkship.kit.http_client import CONNECT_TIMEOUT, check_reachable, get, open_client, parse_address, post
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.model.run import IsolationLevel
from clerkship.sandbox.handle import LaterReply, Sandboxes
from clerkship.settings import Settings

if TYPE_CHECKING:
    import httpx

_REPLY = "its reply"
NO_HINTS: Mapping[int, str] = {}
_OTHER_FORMAT = "if it has its own format, describe it with --request and --reply"
_STATUS_HINTS = dict.fromkeys((400, 415, 422), _OTHER_FORMAT)


class WebhookAgent(MessageAgent):
    """A remote agent in one trial. No connection stays open between messages."""

    def __init__(self, address: str, key: bytes, trial: int) -> None:
        super().__init__()
        self._address, self._key, self._trial = address, key, trial
        self._conversation = new_name("conversation")
        self._unfinished = ""

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Post the message and return the `say` of the reply."""
        return parse_say(await self._ask(self.turn_message(message, sandboxes), sandboxes), _REPLY, sandboxes)

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Post the task and return the `answer` of the reply."""
        return parse_task_answer(await self._ask(task_message(task_item, sandboxes), sandboxes), _REPLY)

    def close(self) -> Mapping[str, JsonValue]:
        """Return what was seen of a job that did not end in time."""
        return {"agent_job": self._unfinished} if self._unfinished else NO_FACTS

    async def _ask(self, message: dict[str, Any], sandboxes: Sandboxes) -> Mapping[str, Any]:
        about = {"conversation": self._conversation, "trial": self._trial}
        expect_reply = sandboxes.services.expect_reply
        if expect_reply is None:
            return self._check_reply(await self._exchange(message | about, None), message, sandboxes)
        with expect_reply() as later:
            about |= {
                "message_id": later.id,
                "deadline": later.deadline.isoformat(timespec="milliseconds"),
                "callback": {"url": later.url, "token": later.token},
            }
            return self._check_reply(await self._exchange(message | about, later), message, sandboxes)

    async def _exchange(self, message: Mapping[str, Any], later: LaterReply | None) -> Mapping[str, Any]:
        """Post a message; return the reply, which may come later."""
        body, name = orjson.dumps(message), new_name("msg") if later is None else later.id
        headers = {"idempotency-key": name, **self._sign(body, name)}
        response, data = await call_agent(self._address, headers, body)
        if response.status_code == ACCEPTED and later is not None:
            return await self._wait(AgentJob(self._address, response), later)
        check_status(response, data, _STATUS_HINTS)
        return parse_object(data, _REPLY)

    async def _wait(self, job: AgentJob, later: LaterReply) -> Mapping[str, Any]:
        """Wait for the reply of a job: from its location, or at the callback address."""

        async def pause(seconds: float) -> bool:
            return await later.wait(seconds) is not None

        async def fetch(address: str) -> "tuple[httpx.Response, bytes]":
            return await call_agent(address, self._sign(b"", new_name("msg")))

        try:
            polled = await job.poll(fetch, pause) if job.location else None
            reply = await later.wait() if polled is None else None
        except asyncio.CancelledError:
            self._unfinished = job.describe(later.problem)
            raise
        if polled is not None:
            check_status(*polled, _STATUS_HINTS)
            return parse_object(polled[1], _REPLY)
        assert reply is not None
        return reply

    def _sign(self, body: bytes, name: str) -> dict[str, str]:
        return sign(self._key, body, name) if self._key else {}

    def _check_reply(
        self, reply: Mapping[str, Any], message: Mapping[str, Any], sandboxes: Sandboxes
    ) -> Mapping[str, Any]:
        """Return a reply to a message, and log what it reports. Raise AgentError if it is none."""
        if not reply.keys() & {"say", "answer"}:
            keys = ", ".join(map(repr, sorted(reply)[:10])) or "nothing"
            expected = "say" if message["type"] == "turn" else "answer"
            raise AgentError(f"{_REPLY} has no `{expected}`; found: {keys}; {_OTHER_FORMAT}")
        self.take_reports(reply, sandboxes)
        return reply


async def call_agent(
    address: str, headers: dict[str, str], body: bytes | None = None, cookies: "httpx.Cookies | None" = None
) -> "tuple[httpx.Response, bytes]":
    """Post a body to an agent's address, or get it if there is none. Raise AgentError if no complete response comes.

    `cookies` are sent, and those of the response are added. The timeout of the turn or task applies.
    """
    import httpx  # noqa: PLC0415  (most agents need no HTTP)

    try:
        async with open_client(address, read_within=None) as client:
            if cookies is not None:
                client.cookies = cookies
            if body is None:
                response, data = await get(client, address, headers, MAX_REPLY_BYTES)
            else:
                response, data = await post(client, address, headers, body, MAX_REPLY_BYTES)
            if cookies is not None:
                cookies.update(client.cookies)
            return response, data
    except ResponseTooLarge:
        raise AgentError(f"its reply has more than {MAX_REPLY_BYTES:,} bytes") from None
    except httpx.ConnectTimeout:
        raise AgentError(f"{_host(address)} did not answer within {CONNECT_TIMEOUT:g} seconds") from None
    except httpx.ConnectError as error:
        raise AgentError(f"{_host(address)} cannot be reached: {error}") from None
    except httpx.HTTPError as error:
        words = str(error) or type(error).__name__
        raise AgentError(f"the connection to {_host(address)} failed: {words}") from None


def check_status(response: "httpx.Response", data: bytes, hints: Mapping[int, str] = NO_HINTS) -> None:
    """Raise AgentError unless the status is from 200 to 299; `hints` say what to do about a status."""
    status = response.status_code
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        there = response.headers.get("location", "nowhere")[:200]
        raise AgentError(f"it redirects ({status}) to {there}; redirects are not followed, so use that address")
    hint = f"; {hints[status]}" if status in hints else ""
    raise AgentError(f"it replied with status {status}: {excerpt(data)}{hint}")


def _host(address: str) -> str:
    return urlsplit(address).netloc


def sign(key: bytes, body: bytes, name: str) -> dict[str, str]:
    """Return the headers of Standard Webhooks for a message: its id, timestamp and signature."""
    moment = str(int(now().timestamp()))
    digest = hmac.digest(key, f"{name}.{moment}.".encode() + body, hashlib.sha256)
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": name, "webhook-timestamp": moment, "webhook-signature": signature}


OMITTED_QUERY = "?…"
"""Replaces the query of an address in names."""


def parse_secret(text: str) -> bytes:
    """Decode `whsec_` and base64, as in Standard Webhooks; any other text is used unchanged."""
    if not text.startswith("whsec_"):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise InputError.of(
            "CLERKSHIP_WEBHOOK_SECRET starts with whsec_, but the rest is not base64", hint="copy it again"
        ) from None


class WebhookSolver:
    """An address, and the key that signs messages to it."""

    isolation: IsolationLevel = "remote"
    uses_protocols = True

    def __init__(self, address: str, key: bytes) -> None:
        # A query may contain a key, and the name is shown and stored.
        parts = urlsplit(address)
        self.name = f"http:{urlunsplit(parts._replace(query='', fragment=''))}{OMITTED_QUERY if parts.query else ''}"
        self.host = parts.hostname or ""
        self._address, self._key = address, key

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        return WebhookAgent(self._address, self._key, trial)

    def preflight(self) -> None:
        """Connect to the address, without sending a message."""
        check_reachable(self._address, self.name)


def load_http(rest: str, settings: Settings) -> WebhookSolver:
    """Build a solver from `http:https://host/path`, or from the rest of `http://host/path`."""
    address = f"http:{rest}" if rest.startswith("//") else rest
    if address.endswith(OMITTED_QUERY):
        raise InputError.of(
            f"agent http:{address}: the query is not stored, because it may contain a key",
            hint="give the whole address with --agent",
        )
    return WebhookSolver(parse_address(address, f"http:{rest}"), parse_secret(settings.webhook_secret))
