"""`truncated`: the reply breaks off."""

from dataclasses import replace
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.model.frozen import Whole
from clerkship.sandbox.faults.contract import MAX_STREAM_PEEK, Fault, FaultEffect
from clerkship.sandbox.request import ByteStream, Reply


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
        kept = rng.randrange(whole) if self.keep is None else self.keep
        promised = whole if reply.delivery.promised is None else reply.delivery.promised
        cut = replace(reply, body=reply.body[:kept], delivery=replace(reply.delivery, promised=promised))
        return FaultEffect({"kept": kept, "of": whole}, reply=cut)

    def _cut_stream(self, reply: Reply, stream: ByteStream, rng: Random) -> FaultEffect | None:
        """Cut a stream after `keep` bytes, or at a random place near its start: its length is unknown."""
        start = stream.peek(MAX_STREAM_PEEK if self.keep is None else self.keep + 1)
        if len(start) <= (self.keep or 0):
            return None
        kept = rng.randrange(len(start)) if self.keep is None else self.keep
        cut = replace(reply, stream=ByteStream((start[:kept],)), delivery=replace(reply.delivery, promised=len(start)))
        return FaultEffect({"kept": kept}, reply=cut)
