"""The faults that affect requests and replies: errors, delays, lost and damaged replies."""

import math
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from clerkship.model.duration import Duration, render_duration
from clerkship.model.frozen import Whole
from clerkship.sandbox.faults.contract import MAX_STREAM_PEEK, Fault, FaultEffect
from clerkship.sandbox.request import NO_REPLY, ByteStream, Refusal, Reply


class DripFault(Fault):
    """The body of the reply arrives in small pieces.

    Over HTTP it is really sent in pieces. On a paced clock they are spread over the given time. On a stepped clock
    the time is simulated, and the pieces follow one another at once. In Python, where a body arrives whole, only the
    time passes. A reply without a body is not affected.
    """

    name: ClassVar[str] = "drip"
    over: Duration
    pieces: Annotated[Whole, Field(ge=2, le=1000, description="how many pieces; fewer if the body is shorter")] = 8

    def on_reply(self, reply: Reply, rng: object, *, wants_body: bool = True) -> FaultEffect | None:
        """Split the body."""
        start = reply.body if reply.stream is None else reply.stream.peek(MAX_STREAM_PEEK)
        if not wants_body or not start:
            return None
        delivery = replace(reply.delivery, pieces=self.pieces, over=reply.delivery.over + self.over.total_seconds())
        pieces = delivery.divide(start)
        details: dict[str, JsonValue] = {"pieces": len(pieces), "over": render_duration(self.over)}
        if reply.stream is not None:  # the start in pieces, then the rest of the stream
            next(reply.stream)
            reply = replace(reply, stream=ByteStream(chain(pieces, reply.stream)))
        return FaultEffect(details, reply=replace(reply, delivery=delivery))


class DropFault(Fault):
    """The connection breaks and no reply arrives.

    This happens before the sandbox sees the request, or after it has handled it; the agent cannot tell which. Over
    HTTP the connection is closed without a byte. In Python `Dropped`, a ConnectionError, is raised. In a
    conversation the person does not get the agent's messages of that turn, waits a minute and repeats their last
    message. `when: reply` does not affect conversations, because a turn has no reply to lose.
    """

    name: ClassVar[str] = "drop"
    when: Annotated[Literal["request", "reply"], Field(description="what is lost")] = "request"

    @property
    def affects_turns(self) -> bool:
        """Whether it drops requests; a turn has no reply to lose."""
        return self.when == "request"

    def on_request(self, rng: object) -> FaultEffect | None:
        return self.on_turn(rng) if self.when == "request" else None

    def on_reply(self, reply: Reply, rng: object, *, wants_body: bool = True) -> FaultEffect:
        """Drop the reply. The log records its status."""
        return FaultEffect({"when": self.when, "status": reply.status}, reply=NO_REPLY)

    def on_turn(self, rng: object) -> FaultEffect:
        """Drop what the agent says."""
        return FaultEffect({"when": self.when}, reply=NO_REPLY)


class DuplicateFault(Fault):
    """The request arrives twice, as from a proxy that lost the first reply and retried.

    The sandbox handles it twice, a tick apart, and the agent gets the second reply. Both are logged as requests of
    the agent. The second one has the fault as its cause.
    """

    name: ClassVar[str] = "duplicate"
    repeats_request: ClassVar[bool] = True


class ErrorFault(Fault):
    """Answers with an error status; the sandbox never sees the request."""

    name: ClassVar[str] = "error"
    status: Annotated[Whole, Field(ge=400, le=599)] = 503
    reason: str = "the service is unavailable"
    retry_after: Annotated[
        Duration | None, Field(description="when to retry, sent as a Retry-After header in whole seconds")
    ] = None

    def on_request(self, rng: object) -> FaultEffect:
        """Answer with an error, and with Retry-After as in RFC 9110 §10.2.3."""
        details: dict[str, JsonValue] = {"status": self.status}
        headers: dict[str, str] = {}
        if self.retry_after is not None:
            seconds = math.ceil(self.retry_after.total_seconds())
            details["retry_after"], headers["Retry-After"] = seconds, str(seconds)
        refusal = Refusal(self.status, "injected_fault", self.reason)
        return FaultEffect(details, refusal=refusal, headers=headers)


REASON = "The access token expired"


class ExpiredFault(Fault):
    """The token has expired.

    The reply is a 401 in the format of the protocol, with `WWW-Authenticate: Bearer error="invalid_token"`. After
    `times` requests the same token works again, as if it had been renewed; without `times` it never does. `skip` is
    the number of requests for which it is valid.
    """

    name: ClassVar[str] = "expired"

    def on_request(self, rng: object) -> FaultEffect:
        """Refuse the request as in RFC 6750 §3.1."""
        challenge = f'Bearer realm="clerkship", error="invalid_token", error_description="{REASON}"'
        refusal = Refusal(401, "invalid_token", REASON)
        return FaultEffect({"status": 401}, refusal=refusal, headers={"WWW-Authenticate": challenge})


class LatencyFault(Fault):
    """Each request, and each turn of a conversation, takes longer.

    The delay is in simulated time, and over HTTP on a paced clock in real time too.
    """

    name: ClassVar[str] = "latency"
    by: Duration
    jitter: Annotated[
        Duration, Field(description="a random addition of at most this much, which depends on the seed")
    ] = timedelta(0)

    @property
    def affects_turns(self) -> bool:
        return True

    def on_request(self, rng: Random) -> FaultEffect:
        return self.on_turn(rng)

    def on_turn(self, rng: Random) -> FaultEffect:
        """Delay what the agent says."""
        delay = self.by
        if self.jitter:
            delay += timedelta(milliseconds=round(self.jitter / timedelta(milliseconds=1) * rng.random()))
        return FaultEffect({"by": render_duration(delay)}, delay=delay)


class TruncatedFault(Fault):
    """The body of the reply breaks off.

    Over HTTP the connection closes before the Content-Length is reached, and a client reports an incomplete read. In
    Python `Incomplete`, a Dropped, is raised with the short body in its `reply`. The sandbox has handled the
    request. A reply without a body, or with one no longer than `keep`, is not affected.
    """

    name: ClassVar[str] = "truncated"
    keep: Annotated[Whole | None, Field(ge=0, description="bytes that arrive; a random number if not given")] = None

    def on_reply(self, reply: Reply, rng: Random, *, wants_body: bool = True) -> FaultEffect | None:
        """Cut the body."""
        if reply.stream is not None and wants_body:
            return self._cut_stream(reply, reply.stream, rng)
        whole = len(reply.body) if wants_body else 0
        if whole <= (self.keep or 0):
            return None
        size = rng.randrange(whole) if self.keep is None else self.keep
        promised = whole if reply.delivery.promised is None else reply.delivery.promised
        cut = replace(reply, body=reply.body[:size], delivery=replace(reply.delivery, promised=promised))
        return FaultEffect({"kept": size, "of": whole}, reply=cut)

    def _cut_stream(self, reply: Reply, stream: ByteStream, rng: Random) -> FaultEffect | None:
        """Cut a stream after `keep` bytes, or at a random place near its start: its length is unknown."""
        start = stream.peek(MAX_STREAM_PEEK if self.keep is None else self.keep + 1)
        if len(start) <= (self.keep or 0):
            return None
        size = rng.randrange(len(start)) if self.keep is None else self.keep
        cut = replace(reply, stream=ByteStream((start[:size],)), delivery=replace(reply.delivery, promised=len(start)))
        return FaultEffect({"kept": size}, reply=cut)
