"""Translate a 278 of 5010 into 4010, for pyx12: it is the only published validator of a 278, and knows 4010 alone.

Payer, requester, subscriber and dependent are the same levels in both. Where 5010 has an event (EV) with services (SS),
4010 has a provider (19) with services: the event becomes a provider with one more service, which holds its segments.
pyx12's map of the 4010 response has services below a dependent alone, so a response for a subscriber gets a dependent.
Segments are renamed or left out where they stand and never sorted, so that a wrong order stays wrong.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Level(NamedTuple):
    """One HL of the 278, with the segments below it."""

    id: str
    parent: str
    code: str
    segments: list[str]


DIAGNOSES = {"ABK": "BK", "ABJ": "BJ", "ABF": "BF"}
NOT_IN_4010 = {"20": (), "21": ("N3", "N4", "PER"), "22": ("N3", "N4", "INS"), "23": ("N3", "N4")}
NOT_IN_SERVICES = ("N3", "N4", "PER", "PRV", "CRC", "SV3")
NOT_IN_4010_SERVICES = (("REF", "NT"), ("DTP", "AAH"))
DEPENDENT = Level("dependent", "", "23", ["NM1*QC*1*RIVERA*LEO"])


def as_4010(segments: Sequence[str]) -> list[str]:
    """Return the segments of an interchange with one 278 of 5010 as an interchange of 4010."""
    isa, gs, _, bht, *body, _, ge, iea = segments
    first = next((place for place, segment in enumerate(body) if segment.startswith("HL*")), len(body))
    is_response = not bht.startswith("BHT*0007*13")
    levels = read_levels(body[first:])
    if is_response:
        levels = with_dependent(levels)
    inside = [bht.replace("BHT*0007", "BHT*0078", 1), *body[:first], *write_levels(levels, is_response)]
    return [
        isa.replace("*^*00501*", "*U*00401*"),
        gs.rpartition("*")[0] + "*004010X094A1",
        "ST*278*0001",
        *inside,
        f"SE*{len(inside) + 2}*0001",
        ge,
        iea,
    ]


def read_levels(body: Iterable[str]) -> list[Level]:
    """Split the segments at HL."""
    levels: list[Level] = []
    for segment in body:
        name, *elements = segment.split("*")
        if name == "HL":
            levels.append(Level(elements[0], elements[1], elements[2], []))
        else:
            levels[-1].segments.append(segment)
    return levels


def with_dependent(levels: list[Level]) -> list[Level]:
    """Return the levels with a dependent between the subscriber and the event, if there is none."""
    codes = [level.code for level in levels]
    if "EV" not in codes or "23" in codes:
        return levels
    place = codes.index("EV")
    event = levels[place]._replace(parent=DEPENDENT.id)
    dependent = DEPENDENT._replace(parent=levels[place].parent)
    return [*levels[:place], dependent, event, *levels[place + 1 :]]


def write_levels(levels: Sequence[Level], is_response: bool) -> list[str]:
    """Return the levels of 4010, with new numbers."""
    events = [level for level in levels if level.code == "EV"]
    diagnoses = [diagnosis(segment) for event in events for segment in event.segments if is_diagnosis(segment)]
    event_um = next((segment for event in events for segment in event.segments if segment.startswith("UM*")), "")
    patient = next((level.id for level in reversed(levels) if level.code in ("22", "23")), "")
    numbers: dict[str, int] = {}
    written: list[str] = []
    count = 0
    for level in levels:
        count += 1
        numbers[level.id] = count
        parent = numbers.get(level.parent, level.parent)
        if level.code == "EV":
            written += [f"HL*{count}*{parent}*19*1", *provider(level, levels), f"HL*{count + 1}*{count}*SS*0"]
            written += service(level.segments, "", is_response)
            count += 1
        elif level.code == "SS":
            written += [f"HL*{count}*{parent}*SS*0", *service(level.segments, event_um, is_response)]
        else:
            left_out = NOT_IN_4010.get(level.code, ())
            written += [f"HL*{count}*{parent}*{level.code}*1", *(diagnoses if level.id == patient else [])]
            written += [taxonomy(segment) for segment in level.segments if segment.split("*")[0] not in left_out]
    return written


def provider(event: Level, levels: Sequence[Level]) -> list[str]:
    """Return the provider of an event, which 4010 demands; the requester if the event names none."""
    named = [segment for segment in event.segments if segment.startswith(("NM1*SJ", "NM1*FA"))][:1]
    requesters = [segment for level in levels if level.code == "21" for segment in level.segments]
    return named or [
        "NM1*SJ" + segment.removeprefix("NM1*1P") for segment in requesters if segment.startswith("NM1*1P")
    ]


def service(segments: Sequence[str], event_um: str, is_response: bool) -> list[str]:
    """Return the segments of an event or a service as those of a service of 4010."""
    written = []
    for segment in segments:
        name, *elements = segment.split("*")
        if name == "NM1":
            break
        if not is_left_out(name, elements):
            written.append(rewritten(name, elements, is_response))
    if event_um and not any(segment.startswith("UM*") for segment in written):
        # The service of 5010 inherits the event's UM, that of 4010 has its own, after TRN and AAA.
        place = next((n for n, segment in enumerate(written) if segment[:3] not in ("TRN", "AAA")), len(written))
        written.insert(place, rewritten("UM", event_um.split("*")[1:], is_response))
    return written


def is_left_out(name: str, elements: list[str]) -> bool:
    """Whether a service of 4010 has no place for a segment: an administrative number, the date of the event."""
    qualified = (name, elements[0] if elements else "")
    return is_diagnosis("*".join([name, *elements])) or name in NOT_IN_SERVICES or qualified in NOT_IN_4010_SERVICES


def rewritten(name: str, elements: list[str], is_response: bool) -> str:
    """Return one segment as in 4010: procedures in HI; UM09 is required in a request and unused in a response."""
    if name in ("SV1", "SV2"):
        code = elements[0 if name == "SV1" else 1].split(":")[1]
        return f"HI*BO:{code}"
    if name == "UM":
        padded = [*elements, *[""] * 8][:8]
        return "*".join(["UM", *elements[:4]] if is_response else ["UM", *padded, "Y"])
    if name == "HCR":
        elements = [element.split("^")[0] for element in elements]
    return "*".join([name, *elements])


def is_diagnosis(segment: str) -> bool:
    """Whether a segment is an HI with diagnoses."""
    return segment.startswith("HI*AB")


def diagnosis(segment: str) -> str:
    """Return an HI with the qualifiers of 4010."""
    codes = [element.split(":") for element in segment.split("*")[1:]]
    return "*".join(["HI", *(":".join([DIAGNOSES.get(qualifier, qualifier), code]) for qualifier, code, *_ in codes)])


def taxonomy(segment: str) -> str:
    """Return a PRV with the qualifier of 4010; any other segment as it is."""
    return segment.replace("*PXC*", "*ZZ*", 1) if segment.startswith("PRV*") else segment
