"""The page about the HL7 v2 interface."""

from collections.abc import Iterator

from clerkship.formats.hl7.message import ERROR_CONDITIONS, Hl7Message, build_segment
from clerkship.formats.hl7.tables import DEFAULT_VERSION, VERSIONS, load_tables
from clerkship.formats.hl7.validation import CHECKED_TIMES
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import SENT_EVENTS
from clerkship.simulators.hl7.intake import MAX_FLAWS, UNSUPPORTED, AckOutcome, MessageVerdict, plan_acks
from scripts.reference.render import render_page
from scripts.reference.tables import rows

_DECISION = "../decisions/0014-hl7-v2-and-mllp.md"
_CODES = {
    "100": "a segment is missing or misplaced; the envelope of a batch is invalid",
    "101": "a required field or component is empty; without MSH-10 the message is rejected",
    "102": "a value does not fit the data type of its field",
    "103": "a value is not in the table of its field: MSH-9.3, MSH-18, OBX-2",
    "200": "unsupported message type: rejected",
    "201": "a trigger event that the type does not have in this version: rejected; one that no reaction supports",
    "202": "MSH-11 is not P, D or T: rejected",
    "203": "unsupported version: rejected",
    "204": "the target of a reaction does not know the patient or record",
    "205": "MSH-10 was used for another message of this sender (MSH-3, MSH-4); the content contradicts existing data",
    "207": "larger than `max_message`: rejected, and only the MSH is stored; a reaction failed for another reason",
}


def hl7_page() -> str:
    """Return the page of the HL7 v2 interface."""
    assert set(UNSUPPORTED) <= _CODES.keys()
    return render_page(
        "hl7.md",
        DECISION=_DECISION,
        DEFAULT_VERSION=DEFAULT_VERSION,
        MAX_FLAWS=MAX_FLAWS,
        acknowledgments=rows(_acknowledgments()),
        codes=rows((code, ERROR_CONDITIONS[code], _CODES[code]) for code in sorted(_CODES)),
        config=Hl7Config(),
        messages=rows((type, f"`hl7.{type.lower()}.sent`", _trigger_events(type)) for type in SENT_EVENTS),
        times=", ".join(f"{segment}-{field}" for segment, fields in CHECKED_TIMES.items() for field in fields),
        versions=", ".join(VERSIONS),
    )


def _trigger_events(type: str) -> str:
    return ", ".join(sorted({event for version in VERSIONS for event in load_tables(version)["events"].get(type, {})}))


def _acknowledgments() -> Iterator[tuple[str, str, str, str]]:
    conditions = ("AL", "SU", "ER", "NE")
    for accept, application in (("", ""), *((first, second) for first in conditions for second in conditions)):
        accepted, flawed = (_acknowledge(accept, application, fate) for fate in ("A", "E"))
        yield accept or "(empty)", application or "(empty)", accepted, flawed


def _acknowledge(accept: str, application: str, fate: AckOutcome) -> str:
    message = Hl7Message([build_segment("MSH", {9: "ADT^A01", 10: "1", 15: accept, 16: application})])
    plan = plan_acks(message, MessageVerdict(fate))
    return f"{plan.code if plan.is_immediate else '–'}, {plan.deferred or '–'}"
