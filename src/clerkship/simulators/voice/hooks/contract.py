"""The contract of a hook of phone trees and representatives, and what hooks have in common."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import ClassVar, NamedTuple

from clerkship.events.event import Event, Payload
from clerkship.formats.fhir.chart import Chart
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.voice.events import CaseOpened
from clerkship.simulators.voice.records import PhoneCall
from clerkship.text.dates import parse_date, parse_iso_date


class CaseTable:
    """The cases by the member whom they are about, oldest first. Cases about no member are not kept."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (CaseOpened,)

    def __init__(self) -> None:
        self.by_member: dict[str, list[str]] = {}
        """Member id -> numbers of cases."""

    def apply(self, event: Event) -> None:
        """Add a case that was opened. Other events change nothing."""
        if isinstance(event.payload, CaseOpened) and event.payload.member_id:
            self.by_member.setdefault(event.payload.member_id, []).append(event.payload.reference)

    def find_newest(self, member_id: str) -> str | None:
        """Return the number of the newest case of a member; None if there is none."""
        numbers = self.by_member.get(member_id)
        return numbers[-1] if numbers else None


class HookResult(NamedTuple):
    """What a hook found."""

    outcome: str
    values: Mapping[str, str] = {}
    """Values for the prompts and nodes that follow."""


class HookContext(NamedTuple):
    """The call in which a hook runs, and the means to change state."""

    action: ActionContext
    """`action.domain(PayerState)` returns the payer."""
    call: PhoneCall
    records: Chart
    """The resources of the FHIR datasets; empty if the environment has none."""
    cases: CaseTable
    """The cases that were opened before."""


class Hook(NamedTuple):
    """Something that a phone tree can look up or change."""

    name: str
    """Area and verb, such as `payer.find_member`."""
    summary: str
    inputs: tuple[str, ...]
    """Names of its arguments, which must all be given."""
    outcomes: tuple[str, ...]
    outputs: tuple[str, ...]
    """Names of the values that it may return."""
    run: Callable[[HookContext, Mapping[str, str]], HookResult]
    needs: str = ""
    """The kind of domain that it asks, such as `payer`; empty if none."""
    optional: tuple[str, ...] = ()
    """Names of arguments that may be missing or empty."""

    def complete(self, arguments: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
        """Return its arguments. A required one that is not given is the value of its name."""
        required = {name: arguments.get(name, values.get(name, "")) for name in self.inputs}
        return required | {name: arguments[name] for name in self.optional if arguments.get(name)}


_NOT_A_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
MAX_DATE_LENGTH = 10


def read_date(text: str) -> date | None:
    """Return a date in ISO form, or as eight digits with the month first; None if the text is no date."""
    return parse_iso_date(parse_date(text)) if len(text.strip()) <= MAX_DATE_LENGTH else None


def normalize_reference(text: str) -> str:
    """Return a reference number as it is compared: without spaces and hyphens, in upper case."""
    return _NOT_A_LETTER_OR_DIGIT.sub("", text).upper()


def is_same_reference(entry: str, known: str | None) -> bool:
    """Return whether a caller means a number on file. The keypad has no letters, so the digits alone are enough."""
    if not known:
        return False
    entered, filed = normalize_reference(entry), normalize_reference(known)
    return bool(entered) and entered in (filed, "".join(each for each in filed if each.isdigit()))
