"""`drip`: the answer trickles in."""

from dataclasses import replace
from itertools import chain
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from clerkship.faults.contract import MAX_STREAM_PEEK, Fault, FaultEffect
from clerkship.model.duration import Duration, render_duration
from clerkship.model.frozen import Whole
from clerkship.sandbox.request import ByteStream, Reply


class DripFault(Fault):
    """The answer's body comes in small pieces. Over HTTP it is really sent so: on a paced clock the pieces are spread
    over this time, on a stepped clock the time is simulated and they come one right after the other. In Python, where
    a body comes whole, only the time passes. An answer without a body is not struck."""

    name: ClassVar[str] = "drip"
    over: Duration
    pieces: Annotated[Whole, Field(ge=2, le=1000, description="how many, if the body has as many bytes")] = 8

    def on_reply(self, reply: Reply, rng: object, *, wants_body: bool = True) -> FaultEffect | None:
        """Take it apart."""
        start = reply.body if reply.stream is None else reply.stream.peek(MAX_STREAM_PEEK)
        if not wants_body or not start:
            return None
        delivery = replace(reply.delivery, pieces=self.pieces, over=reply.delivery.over + self.over.total_seconds())
        pieces = delivery.divide(start)
        details: dict[str, JsonValue] = {"pieces": len(pieces), "over": render_duration(self.over)}
        if reply.stream is not None:  # its start in pieces, and then the rest
            next(reply.stream)
            reply = replace(reply, stream=ByteStream(chain(pieces, reply.stream)))
        return FaultEffect(details, reply=replace(reply, delivery=delivery))
