"""What every reply has: a header, the number of its request, and parts of the request that it repeats."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple, TypeVar

from clerkship.formats.x12.charset import X12Charset, clean_value
from clerkship.formats.x12.dates import parse_date
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters
from clerkship.formats.x12.writer import SetWriter, decode_elements
from clerkship.payer.answer import Member, Rejection
from clerkship.payer.inquiry import PersonQuery
from clerkship.simulators.x12.transactions.codes import CODES, GENDER_CODES, Transaction, to_aaa
from clerkship.simulators.x12.transactions.text import (
    MAX_GIVEN_NAME,
    MAX_MIDDLE_NAME,
    MAX_REFERENCE,
    render_date,
    render_message,
    render_name,
)

ORGANIZATION = "2"
"""NM102."""


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


def write_payer(writer: SetWriter, loop: Loop | None, name: str) -> None:
    """Write the NM1 of the payer: its own name, and the rest as asked; all as asked if there is no name."""
    segment = loop.segment("NM1") if loop is not None else None
    on_file = clean_value(render_name(name), writer.delimiters, writer.charset)
    if segment is None or not on_file:
        repeat_segment(writer, loop, "NM1")
    else:
        writer.add("NM1", segment.raw(1), ORGANIZATION, on_file, *[""] * 4, *decode_elements(segment)[7:])


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


def read_reference(loop: Loop, *qualifiers: str) -> str | None:
    """Return the first number of a loop with one of the qualifiers, tried in their order."""
    numbers = {each.raw(1): each.raw(2).strip() for each in reversed(loop.segments_with_id("REF"))}
    return next((numbers[qualifier] for qualifier in qualifiers if numbers.get(qualifier)), None)


Item = TypeVar("Item")


def group_by_loop(items: Sequence[Item], get_loop: Callable[[Item], Loop]) -> list[tuple[Loop, list[Item]]]:
    """Group items that follow each other by a loop. Loops are compared by identity: two may have the same content."""
    groups = [list(group) for _, group in groupby(items, key=lambda item: id(get_loop(item)))]
    return [(get_loop(group[0]), group) for group in groups]


MAX_AAA = 9


def write_aaa(writer: SetWriter, rejections: Iterable[Rejection], transaction: Transaction) -> None:
    """Write the AAA segments of one loop: one per different rejection."""
    codes = dict.fromkeys(to_aaa(rejection, transaction) for rejection in rejections)
    for aaa in list(codes)[:MAX_AAA]:
        writer.add("AAA", aaa.is_valid, "", aaa.reason, aaa.action)


UNKNOWN_NAME = "UNKNOWN"


def read_id(loop: Loop | None) -> str:
    """Return the id of the person or organization of a loop (NM109); empty if there is none."""
    name = loop.segment("NM1") if loop is not None else None
    return name.raw(9).strip() if name else ""


def read_person(name_loop: Loop | None, demographics_loop: Loop | None = None) -> PersonQuery:
    """Return what a request says of a person. DMG is in the loop of NM1, or in the one given (276)."""
    name = name_loop.segment("NM1") if name_loop is not None else None
    holder = name_loop if demographics_loop is None else demographics_loop
    demographics = holder.segment("DMG") if holder is not None else None
    return PersonQuery(
        member_id=_read_member_id(name_loop),
        family=(name.raw(3).strip() or None) if name else None,
        given=(name.raw(4).strip() or None) if name else None,
        birth_date=parse_date(demographics.raw(2)) if demographics else None,
        gender=CODES.genders.get(demographics.raw(3)) if demographics else None,
    )


def _read_member_id(loop: Loop | None) -> str | None:
    """Return the member id from NM109, else from REF 1W, where a 270 may state it."""
    if number := read_id(loop):
        return number
    return read_reference(loop, "1W") if loop is not None else None


def write_member_name(writer: SetWriter, entity: str, member: Member, *, with_id: bool) -> None:
    """Write the NM1 of a person as the payer has them on file."""
    given, middle = [*member.given, "", ""][:2]
    # A family name in characters that the reply cannot have leaves nothing, and the element is required.
    family = clean_value(render_name(member.family), writer.delimiters, writer.charset) or UNKNOWN_NAME
    names = (family, render_name(given, MAX_GIVEN_NAME), render_name(middle, MAX_MIDDLE_NAME))
    id = ("MI", member.member_id) if with_id else ()
    writer.add("NM1", entity, "1", *names, "", "", *id)


def write_demographics(writer: SetWriter, member: Member) -> None:
    """Write the DMG of a person as the payer has them on file."""
    writer.add("DMG", "D8", render_date(member.birth_date), GENDER_CODES[member.gender])
