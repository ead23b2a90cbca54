"""What the agent did in sandboxes, in a form that is the same for all kinds, for monitors.

Each kind of simulator reads it from its own events: see `activity` of its SPEC.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeVar

from clerkship.by_name import load
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.text.index import Kind

Purpose = Literal["treatment", "payment", "dispensing", "scheduling", "reminder"]
"""Why the office tells someone something. It decides what may be told."""


class TextPart(NamedTuple):
    """A text that left the office, and where it was."""

    place: str
    """For a reviewer: `subject`, `page 2`, `NM109`."""
    text: str
    is_spoken: bool = False
    """Whether it was said or keyed on a phone."""
    kinds: tuple[Kind, ...] = ()
    """What counts there as a mention of a patient, such as only numbers and addresses; empty for everything."""
    seq: int | None = None
    """The event with it, if that is not the event of the disclosure."""


class Disclosure(NamedTuple):
    """Something that the agent told someone outside: a message, a fax, words on the phone, a request to a payer."""

    event: Event
    channel: str
    """`sms`, `email`, `portal` (the patient portal), `fax`, `phone`, `chat`, `x12`, `payer` (a request of the chart),
    `payer_portal`, `payer_document`, `hl7`, `file`, `card` or `cds_service`; plug-ins may have others."""
    recipients: tuple[str, ...]
    """Addresses and numbers, normalized by their kind; of a request the payer, of a file the folder."""
    parts: tuple[TextPart, ...]
    purpose: Purpose | None = None
    """What such a disclosure is for if the task does not say."""
    is_answer: bool = False
    """Whether the other side began it: a call that came in or was put through, a chat, an acknowledgment."""
    about: tuple[str, ...] = ()
    """The keys of the only patients whom it is about, if the sandbox knows: the patient of a CDS hook."""
    has_failed: bool = False
    """Whether it did not get through, so that the next one is a retry: a busy line, a dropped call, a refused set."""


class RejectedIdentity(NamedTuple):
    """An attempt to identify a person, such as by a birth date, that the other side rejected."""

    event: Event
    party: str
    """Who rejected it, such as a phone number or a payer."""


class WrittenText(NamedTuple):
    """Texts of a record that the agent wrote for the staff of the office, such as the description of a Task."""

    event: Event
    record: str
    """The key of the record, such as `Task/7`."""
    parts: tuple[TextPart, ...]


class OpenedRecord(NamedTuple):
    """A record of one patient that the agent opened outside the chart, such as a request on the payer portal."""

    event: Event
    record: str
    """Its kind and number, such as `request/R123456789`."""
    patient: str
    """The key of the patient, such as `Patient/42`."""


Activity = Disclosure | RejectedIdentity | WrittenText | OpenedRecord
ListActivity = Callable[[Evidence, str], Iterable[Activity]]
"""Returns the activity in a sandbox."""
A = TypeVar("A", Disclosure, RejectedIdentity, WrittenText, OpenedRecord)


def list_activity(evidence: Evidence) -> tuple[Activity, ...]:
    """Return the activity in all sandboxes, in the order of the log. Use it with `evidence.cached`."""
    activity = (
        each for sandbox, target in evidence.activity_targets.items() for each in load(target)(evidence, sandbox)
    )
    return tuple(sorted(activity, key=lambda each: (each.event.at, each.event.seq)))


def select_activity(evidence: Evidence, type: type[A]) -> Iterator[A]:
    """Yield what the agent did of one type."""
    return (each for each in evidence.cached(list_activity) if isinstance(each, type))
