"""What every reply has: a header, the number of its request, and parts of the request that it repeats."""

from datetime import datetime
from typing import NamedTuple

from clerkship.formats.x12.charset import X12Charset, clean_value
from clerkship.formats.x12.delimiters import DEFAULT_X12_DELIMITERS, X12Delimiters
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.writer import SetWriter, decode_elements
from clerkship.simulators.x12.transactions.dates import render_date
from clerkship.simulators.x12.transactions.text import MAX_REFERENCE, render_message


class ReplyHeader(NamedTuple):
    """The parts of a reply that do not come from the request or from the payer."""

    control_number: str
    """ST02 of the reply, such as `0001`."""
    sent: datetime
    """The simulated time, for BHT04 and BHT05."""
    delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS
    charset: X12Charset = "extended"


def begin_reply(code: str, request: Loop, header: ReplyHeader, *beginning: str) -> SetWriter:
    """Return a writer with ST and BHT.

    ST03 is the guide of the request. `beginning` is BHT01, BHT02 and, where there is one, BHT06. BHT03 is the number of
    the request, with which its sender matches the reply.
    """
    start, request_beginning = request.segment("ST"), request.segment("BHT")
    version = start.raw(3) if start else ""
    reference = request_beginning.raw(3) if request_beginning else ""
    writer = SetWriter(code, header.control_number, version, delimiters=header.delimiters, charset=header.charset)
    structure, purpose, *kind = beginning
    writer.add("BHT", structure, purpose, reference, render_date(header.sent), f"{header.sent:%H%M}", *kind)
    return writer


def repeat_segment(writer: SetWriter, loop: Loop | None, id: str) -> None:
    """Write the first segment with an id as the request has it, if it has one."""
    if loop is not None and (segment := loop.segment(id)) is not None:
        writer.copy(segment)


def repeat_traces(writer: SetWriter, loop: Loop) -> None:
    """Write the traces of a loop of the request, as those of its sender (TRN01 2)."""
    for segment in loop.segments_with_id("TRN"):
        writer.add("TRN", "2", *decode_elements(segment)[1:])


def write_message(writer: SetWriter, text: str) -> None:
    """Write MSG with free text, unless nothing remains of it in the character set of the reply."""
    if clean_value(message := render_message(text), writer.delimiters, writer.charset):
        writer.add("MSG", message)


def write_reference(writer: SetWriter, qualifier: str, number: str | None) -> None:
    """Write REF with a number, if there is one."""
    if number and (cleaned := clean_value(number, writer.delimiters, writer.charset)):
        writer.add("REF", qualifier, cleaned[:MAX_REFERENCE])
