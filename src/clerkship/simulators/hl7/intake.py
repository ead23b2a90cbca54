"""Decide whether an interface engine accepts a message, and which acknowledgments it sends."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from clerkship.formats.hl7.ack import ack_mode, is_ack_wanted
from clerkship.formats.hl7.message import Flaw, Hl7Message
from clerkship.formats.hl7.validation import list_findings, validate_message
from clerkship.sandbox.request import Refusal
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import SENT_EVENTS

MAX_FLAWS = 20
"""Limit on flaws reported in one acknowledgment."""
UNSUPPORTED = ("200", "201", "202", "203")
"""HL7 table 0357: unsupported message type, trigger event, processing id or version. Such a message is rejected (AR),
not in error (AE)."""
NEVER_CONDITION = "NE"
ACK = "ACK"
_CODE_BY_STATUS = {404: "204", 501: "201", 409: "205"}
"""Status of a refusal -> code of table 0357: unknown key identifier, unsupported event, duplicate key. Any other
status is an application internal error (207)."""
_FIELD_REFERENCE = re.compile(r"\b([A-Z][A-Z0-9]{2})-(\d{1,2})\b")

AckOutcome = Literal["A", "E", "R"]
"""Accepted, error, rejected: the second letter of an acknowledgment code (HL7 table 0008)."""


class MessageVerdict(NamedTuple):
    """Whether a message is accepted, and why not."""

    outcome: AckOutcome
    flaws: Sequence[Flaw] = ()
    findings: Sequence[Flaw] = ()
    """What was wrong with a message that is accepted nevertheless."""

    @property
    def accepted(self) -> bool:
        return self.outcome == "A"

    @property
    def reasons(self) -> tuple[str, ...]:
        return describe_flaws(self.flaws)


def describe_flaws(flaws: Sequence[Flaw]) -> tuple[str, ...]:
    """Return the text of each flaw with its code of table 0357."""
    return tuple(f"{flaw.text} ({flaw.code})" for flaw in flaws)


def build_header_flaw(code: str, text: str, field: int | None = None) -> Flaw:
    """Return a flaw in the MSH."""
    return Flaw(code, text, "MSH", 1, field)


def build_objection_flaw(message: Hl7Message, refusal: Refusal) -> Flaw:
    """Convert a refusal of an accepted message to a flaw, located at the field that the reason names."""
    code, reason = _CODE_BY_STATUS.get(refusal.status, "207"), refusal.reason
    if code == "201":
        return build_header_flaw(code, reason, 9)
    for name, field in _FIELD_REFERENCE.findall(reason):
        if message.first(name) is not None:
            return Flaw(code, reason, name, 1, int(field))
    return Flaw(code, reason, "PID", 1, 3) if code == "204" else Flaw(code, reason)


def evaluate_message(message: Hl7Message, config: Hl7Config, batch_flaws: Sequence[Flaw] = ()) -> MessageVerdict:
    """Check a message against the standard and the config.

    If the batch has flaws, none of its messages is accepted on the level `strict`; on the level `lenient` they are
    findings of each of its messages.
    """
    if not message.control_id:
        return MessageVerdict(
            "R", [build_header_flaw("101", "MSH-10 (control id) is missing: the acknowledgment refers to it", 10)]
        )
    if message.type not in SENT_EVENTS:
        expected = ", ".join(SENT_EVENTS)
        return MessageVerdict(
            "R",
            [
                build_header_flaw(
                    "200", f"unsupported message type {message.type or '(none)'} (expected: {expected})", 9
                )
            ],
        )
    is_lenient = config.validation == "lenient"
    flaws = [*(() if is_lenient else batch_flaws), *validate_message(message, config.validation)][:MAX_FLAWS]
    if any(each.code in UNSUPPORTED for each in flaws):
        return MessageVerdict("R", [each for each in flaws if each.code in UNSUPPORTED])
    if is_lenient and not flaws:
        return MessageVerdict("A", findings=[*batch_flaws, *list_findings(message)][:MAX_FLAWS])
    return MessageVerdict("E" if flaws else "A", flaws)


class AckPlan(NamedTuple):
    """The acknowledgments that a message gets."""

    code: str
    """Code of the immediate acknowledgment, whether or not it is sent."""
    is_immediate: bool
    """Whether the immediate acknowledgment is sent."""
    deferred: str
    """Code of an acknowledgment that follows as a separate message; empty if there is none."""


def plan_acks_after_objection(message: Hl7Message, accepted: AckPlan) -> AckPlan:
    """Return the acknowledgments of a message that was accepted and then could not be processed."""
    application = message.header.text(16) or NEVER_CONDITION
    if accepted.code[0] == "C":
        return accepted._replace(deferred="AE" if is_ack_wanted(application, accepted=False) else "")
    return AckPlan("AE", ack_mode(message) == "original" or is_ack_wanted(application, accepted=False), "")


def plan_acks(message: Hl7Message, verdict: MessageVerdict) -> AckPlan:
    """Choose acknowledgments by MSH-15 and MSH-16 (HL7 v2.5.1 §2.9.2, §2.9.3).

    If no accept acknowledgment is requested, the application acknowledgment is the reply: the standard equates the
    original mode with `NE` in MSH-15 and `AL` in MSH-16. The syntax is checked before a message is accepted, so an
    error reported in the accept acknowledgment is not reported again. An acknowledgment is never acknowledged, even
    if it has errors: otherwise two engines would acknowledge each other without end.
    """
    if message.type == ACK:
        return AckPlan("", is_immediate=False, deferred="")
    accept, application = (message.header.text(number) or NEVER_CONDITION for number in (15, 16))
    if ack_mode(message) == "original":
        return AckPlan(f"A{verdict.outcome}", is_immediate=True, deferred="")
    if accept == NEVER_CONDITION:
        return AckPlan(f"A{verdict.outcome}", is_ack_wanted(application, verdict.accepted), "")
    is_immediate = is_ack_wanted(accept, verdict.accepted)
    is_deferred = is_ack_wanted(application, verdict.accepted) and (verdict.accepted or not is_immediate)
    return AckPlan(f"C{verdict.outcome}", is_immediate, f"A{verdict.outcome}" if is_deferred else "")
