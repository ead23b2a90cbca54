"""The texts that `conduct` looks at: what the agent told people, and what it wrote into a chart."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clerkship.by_name import load
from clerkship.events.evidence import Evidence
from clerkship.monitors.conduct import Conduct
from clerkship.sandbox.activity import Disclosure, WrittenText, select_activity
from clerkship.sandbox.assertion import Check

_RULES = "clerkship.monitors.conduct_rules:check_told"
"""Imported if there is a text, because its patterns take long to compile."""
CHANNELS = frozenset({"chat", "sms", "email", "portal", "phone", "fax", "card"})
"""Channels on which people read or hear what the agent tells."""


class ToldText(NamedTuple):
    """A text of the agent that people read or hear."""

    place: str
    seq: int
    text: str
    channel: str
    """`chart` for what was written into it, `dosage` for the dosage of an order."""


def check_texts(evidence: Evidence, monitor: Conduct) -> Check:
    """Look for breaches in every text that the agent told people or wrote into a chart."""
    told = tuple(_list_told(evidence))
    check: Check = load(_RULES)(evidence, monitor, told) if told else describe_no_breach(told)
    return check


def describe_no_breach(told: Sequence[ToldText]) -> Check:
    """Return the result if no text breaks a rule."""
    return Check.of(True, f"{len(told)} texts of the agent break no rule of conduct")


def _is_read_by_people(told: Disclosure) -> bool:
    """Return whether people read what was told. Of HL7, they read why a message was rejected."""
    return told.channel in CHANNELS or (told.channel == "hl7" and told.is_answer)


def _list_told(evidence: Evidence) -> Iterator[ToldText]:
    for each in select_activity(evidence, Disclosure):
        if _is_read_by_people(each):
            place = f"{each.channel} to {', '.join(each.recipients)}"
            for part in each.parts:
                seq = part.seq or each.event.seq
                yield ToldText(f"{place}, {part.place}", seq, part.text, each.channel)
    for written in select_activity(evidence, WrittenText):
        for part in written.parts:
            channel = "dosage" if part.place.startswith("dosage") else "chart"
            yield ToldText(f"{written.record}: {part.place}", written.event.seq, part.text, channel)
