"""People and organizations: NM1 with DMG, read from requests and written to replies."""

from clerkship.formats.x12.charset import clean_value
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.writer import SetWriter
from clerkship.payer.answer import Member
from clerkship.payer.inquiry import PersonQuery
from clerkship.simulators.x12.transactions.codes import CODES, GENDER_CODES
from clerkship.simulators.x12.transactions.dates import parse_date, render_date
from clerkship.simulators.x12.transactions.references import read_reference
from clerkship.simulators.x12.transactions.text import MAX_GIVEN_NAME, MAX_MIDDLE_NAME, render_name

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
