"""Acknowledgements as they answer what came: one after another, or as a batch where a batch came."""

from collections.abc import Sequence
from datetime import datetime

from clerkship.hl7.message import Message, Segment, write_segment
from clerkship.hl7.stream import Batch
from clerkship.sandbox.state import ActionContext


def render_answers(batch: Batch, acks: Sequence[Message], act: ActionContext) -> str:
    """The text of the answer; empty if nothing in it is to be answered. A file is answered with a file (FHS), a batch
    with a batch (BHS), which name what they answer (HL7 v2.5.1 §2.10.3)."""
    written = "".join(ack.render for ack in acks)
    if not written or not batch.headers:
        return written
    for name, trailer in (("BHS", "BTS"), ("FHS", "FTS")):
        found = [segment for segment in batch.headers if segment.name == name]
        if found:
            number = len(acks) if name == "BHS" else 1
            head = _head(found, act.ids.new("ack"), act.now)
            written = _lines(head, written, write_segment(trailer, {1: str(number)}, head.delimiters))
    return written


def _lines(head: Segment, written: str, trailer: Segment) -> str:
    return f"{head.render()}\r{written}{trailer.render()}\r"


def _head(found: Sequence[Segment], id: str, at: datetime) -> Segment:
    """Back to whom the first one came from; of several batches there is one answer, and it names none of them."""
    asked = found[0]
    values = {3: asked.raw(5), 4: asked.raw(6), 5: asked.raw(3), 6: asked.raw(4), 7: at.strftime("%Y%m%d%H%M%S%z")}
    values |= {11: id} | ({12: asked.raw(11)} if len(found) == 1 and asked.raw(11) else {})
    return write_segment(asked.name, values, asked.delimiters)
