"""`drip`: the reply arrives slowly, in pieces."""

from dataclasses import replace
from itertools import chain
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from clerkship.model.duration import Duration, render_duration
from clerkship.model.frozen import Whole
from clerkship.sandbox.faults.contract import MAX_STREAM_PEEK, Fault, FaultEffect
from clerkship.sandbox.request import ByteStream, Reply


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
