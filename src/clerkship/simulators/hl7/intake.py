"""What an interface engine makes of a message before it takes it, and which acknowledgements that calls for."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from clerkship.hl7.ack import ack_mode, is_ack_wanted
from clerkship.hl7.flaw import Flaw
from clerkship.hl7.message import Hl7Message
from clerkship.hl7.validation import validate_message
from clerkship.sandbox.request import Refusal
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import SENT

MAX_FLAWS = 20
"""Told of one message: an acknowledgement is no report."""
UNSUPPORTED = ("200", "201", "202", "203")
"""HL7 table 0357: a type, an event, a processing id, a version that is not taken here. Such a message is rejected, not
in error."""
NEVER = "NE"
ACK = "ACK"
_OBJECTED = {404: "204", 501: "201", 409: "205"}
"""What somebody who should have followed a message said, in codes of table 0357: who or what it is about is not known;
such an event is not done; it contradicts what is there. All else is an internal error (207)."""
_PLACE = re.compile(r"\b([A-Z][A-Z0-9]{2})-(\d{1,2})\b")

Fate = Literal["A", "E", "R"]
"""Accepted, in error, rejected: the second letter of an acknowledgement's code (HL7 table 0008)."""


class Verdict(NamedTuple):
    """What becomes of a message, and why."""

    fate: Fate
    flaws: Sequence[Flaw] = ()

    @property
    def good(self) -> bool:
        """Whether it is taken."""
        return self.fate == "A"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Each flaw with its code of table 0357."""
        return tuple(f"{flaw.text} ({flaw.code})" for flaw in self.flaws)


def flaw(code: str, text: str, field: int | None = None) -> Flaw:
    """Something wrong with the MSH."""
    return Flaw(code, text, "MSH", 1, field)


def objection(message: Hl7Message, refusal: Refusal) -> Flaw:
    """What was said against a message that had been taken, as a flaw of it: at the field that is named, if one is."""
    code, reason = _OBJECTED.get(refusal.status, "207"), refusal.reason
    if code == "201":
        return flaw(code, reason, 9)
    for name, field in _PLACE.findall(reason):
        if message.first(name) is not None:
            return Flaw(code, reason, name, 1, int(field))
    return Flaw(code, reason, "PID", 1, 3) if code == "204" else Flaw(code, reason)


def weigh(message: Hl7Message, config: Hl7Config, around: Sequence[Flaw] = ()) -> Verdict:
    """What the engine says to a message, by the standard and by its config; of a batch that is broken `around` its
    messages nothing is taken."""
    if not message.control_id:
        return Verdict("R", [flaw("101", "MSH-10 is empty: a message needs a control id to be acknowledged by", 10)])
    if message.type not in SENT:
        kinds = ", ".join(SENT)
        return Verdict("R", [flaw("200", f"messages of type {message.type or '(none)'} are not taken; {kinds} are", 9)])
    flaws = [*around, *validate_message(message, config.validation)][:MAX_FLAWS]
    if any(each.code in UNSUPPORTED for each in flaws):
        return Verdict("R", [each for each in flaws if each.code in UNSUPPORTED])
    return Verdict("E" if flaws else "A", flaws)


class Answers(NamedTuple):
    """Which acknowledgements a message gets."""

    code: str
    """Of the one that answers it at once, whether or not it is asked for."""
    now: bool
    """Whether that one is sent."""
    later: str
    """The code of one that comes in a message of its own; empty if none does."""


def answers_after_all(message: Hl7Message, accepted: Answers) -> Answers:
    """Which acknowledgements a message gets that was accepted, and then could not be followed."""
    application = message.header.text(16) or NEVER
    if accepted.code[0] == "C":
        return accepted._replace(later="AE" if is_ack_wanted(application, good=False) else "")
    return Answers("AE", ack_mode(message) == "original" or is_ack_wanted(application, good=False), "")


def answers(message: Hl7Message, verdict: Verdict) -> Answers:
    """By MSH-15 and MSH-16 (HL7 v2.5.1 §2.9.2, §2.9.3).

    Where no accept acknowledgement is asked for, the application's is the answer: the standard calls the original mode
    the same as `NE` in MSH-15 and `AL` in MSH-16. Syntax is looked at before a message is accepted, so an error that
    the accept acknowledgement has told is not told again. An acknowledgement is never acknowledged, however wrong it
    is: two engines would go on for ever.
    """
    if message.type == ACK:
        return Answers("", now=False, later="")
    accept, application = (message.header.text(number) or NEVER for number in (15, 16))
    if ack_mode(message) == "original":
        return Answers(f"A{verdict.fate}", now=True, later="")
    if accept == NEVER:
        return Answers(f"A{verdict.fate}", is_ack_wanted(application, verdict.good), "")
    now = is_ack_wanted(accept, verdict.good)
    later = is_ack_wanted(application, verdict.good) and (verdict.good or not now)
    return Answers(f"C{verdict.fate}", now, f"A{verdict.fate}" if later else "")
