"""Replies that agents send after the response to a message: `POST /replies/{message}` with the token of the message."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Self, cast

from clerkship.actors.contract import AgentError
from clerkship.actors.messages import MAX_REPLY_BYTES, parse_object
from clerkship.kit.secrets import new_name, new_token
from clerkship.kit.wall import now
from clerkship.playground.handlers import RequestContext
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.authentication.credentials import SecretTable
from clerkship.sandbox.request import Refusal, Reply, Request, refuse_as_json
from clerkship.sandbox.route import HttpCall

REPLIES = "replies"
"""The first part of the path, where other paths have the id of a playground."""
MAX_ENDED_MESSAGES = 4096
"""Messages that have ended and are remembered, so that a reply that comes again or late is told so."""


class ExpectedReply:
    """A message to an agent that may be answered later."""

    def __init__(self, table: "ReplyTable", base_url: str, seconds_left: float) -> None:
        self.id = new_name("msg")
        self.token = new_token("clk_rep")
        self.url = f"{base_url}/{REPLIES}/{self.id}"
        self.deadline = now() + timedelta(seconds=seconds_left)
        self.body = b""
        """The reply, once it has arrived."""
        self.problem = ""
        self._table = table
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Future[Mapping[str, Any]] = self._loop.create_future()

    def __enter__(self) -> Self:
        self._table.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._table.end(self)

    async def wait(self, seconds: float | None = None) -> Mapping[str, Any] | None:
        """Return the reply, or None if it does not arrive within `seconds`."""
        await asyncio.wait([self._arrived], timeout=seconds)
        return self._arrived.result() if self._arrived.done() else None

    def take(self, body: bytes, reply: Mapping[str, Any]) -> None:
        """Pass a reply to the trial that waits for it. Can be called from any thread."""
        self.body = body
        self._loop.call_soon_threadsafe(self._set, reply)

    def _set(self, reply: Mapping[str, Any]) -> None:
        if not self._arrived.done():
            self._arrived.set_result(reply)


class ReplyTable:
    """The messages that wait for a reply, and the last ones that did."""

    def __init__(self) -> None:
        self._open, self._ended = SecretTable[ExpectedReply](), SecretTable[bytes]()
        self._lock = threading.Lock()

    def expect(self, base_url: Callable[[], str], seconds_left: Callable[[], float]) -> ExpectedReply:
        """Return a new message. While it is entered as a context, its reply is accepted."""
        return ExpectedReply(self, base_url(), seconds_left())

    def add(self, message: ExpectedReply) -> None:
        """Accept the reply to a message."""
        with self._lock:
            self._open.add(message.token, message)

    def end(self, message: ExpectedReply) -> None:
        """Accept no more replies to a message."""
        with self._lock:
            self._open.pop(message.token)
            self._ended.add(message.token, message.body)
            if len(self._ended) > MAX_ENDED_MESSAGES:
                self._ended.drop_oldest()

    def try_answer(self, context: RequestContext) -> Reply:
        """Answer a request to the callback address of a message."""
        return self.answer(context)

    def answer(self, context: RequestContext) -> Reply:
        """Answer a request to the callback address of a message."""
        try:
            if context.transport_refusal is not None:
                raise context.transport_refusal
            self._take(cast(HttpCall, context.call).request)
        except Refusal as refusal:
            return refuse_as_json(refusal)
        return Reply(204)

    def _take(self, request: Request) -> None:
        """Take the reply in a request. The same reply may come again, as queues send it; another one is refused."""
        if request.method != "POST":
            raise Refusal(405, "method_not_allowed", "send the reply with POST")
        token = parse_bearer_token(request.headers)
        with self._lock:
            message = self._open.get(token)
            accepted = self._ended.get(token) if message is None else message.body
            if accepted is None:
                raise Refusal(401, "unauthorized", "the bearer token is not that of a message (`callback.token`)")
            if accepted and accepted == request.body:
                return
            if message is None:
                raise Refusal(410, "too_late", "the message has its reply, or its deadline is over")
            if accepted:
                raise Refusal(409, "already_replied", "the message has another reply")
            try:
                message.take(request.body, _parse_reply(request.body))
            except Refusal as refusal:
                message.problem = refusal.reason
                raise


def _parse_reply(body: bytes) -> Mapping[str, Any]:
    if len(body) > MAX_REPLY_BYTES:
        raise Refusal(413, "too_large", f"a reply may have at most {MAX_REPLY_BYTES:,} bytes")
    try:
        return parse_object(body, "the reply")
    except AgentError as error:
        raise Refusal(400, "bad_reply", str(error)) from None
