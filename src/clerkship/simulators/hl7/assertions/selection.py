"""Select the messages of a criterion by type, values and patient, and compare their values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import AfterValidator, Field

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import MAX_NAMES, compare_texts, matches_texts
from clerkship.assertions.narrowing import find_subject
from clerkship.assertions.selection import SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.formats.hl7.message import Hl7Message, parse_path
from clerkship.formats.hl7.tables import VERSIONS, load_tables
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import describe_expected
from clerkship.model.names import did_you_mean
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.simulators.hl7.events import ARRIVED_EVENTS

if TYPE_CHECKING:
    from clerkship.assertions.patients.subject import RecordSubject


def _check_path(path: str) -> str:
    parse_path(path)
    return path


PathText = Annotated[str, AfterValidator(_check_path)]
"""A path into a message, such as `PID.5.1` or `OBX[2].5`; an invalid one is an error with its line."""


class Hl7Field(Frozen):
    """A path into a message, and a literal or matcher for its value; `[*]` matches any of several values."""

    path: PathText
    expected: Expected

    def compare(self, message: Hl7Message, seq: int | None = None) -> FieldCheck:
        """Compare the value at the path."""
        return compare_path(message, self.path, self.expected, seq)


def compare_path(message: Hl7Message, path: str, expected: Any, seq: int | None = None) -> FieldCheck:
    """Compare the value at a path with what is expected."""
    return compare_texts(path, expected, values_at(message, path), seq)


def values_at(message: Hl7Message, path: str) -> list[str]:
    """Return the values at a path that are not empty."""
    return [value for value in message.values(path) if value]


_TYPE = re.compile(r"[A-Z]{3}(\^[A-Z0-9]{3})?")


class StoredMessage(Protocol):
    """A message that was sent or that arrived."""

    @property
    def seq(self) -> int:
        """The number of its event."""

    @property
    def type(self) -> str:
        """The message type and trigger event, such as `ORU^R01`."""

    @property
    def control_id(self) -> str:
        """The control id (MSH-10)."""

    @property
    def message(self) -> Hl7Message:
        """The parsed message."""


MessageT = TypeVar("MessageT", bound=StoredMessage)


def _check_type(text: str) -> str:
    kind, _, event = text.partition("^")
    if _TYPE.fullmatch(text) is None:
        raise ValueError(f"`{text[:40]}` is not a message type (expected: ORU or ORU^R01, for example)")
    if kind not in ARRIVED_EVENTS:
        raise ValueError(f"unknown message type {kind}; {did_you_mean(kind, ARRIVED_EVENTS)}")
    if event and kind != "ACK" and event not in (known := _trigger_events(kind)):
        raise ValueError(f"unknown trigger event {event} of {kind}; {did_you_mean(event, known)}".removesuffix("; "))
    return text


def _trigger_events(kind: str) -> set[str]:
    return {event for version in VERSIONS for event in load_tables(version)["events"].get(kind, ())}


class MessageSubject(Protocol):
    """The record that a criterion is about, as far as messages name it."""

    def is_named_in(self, message: Hl7Message) -> bool:
        """Return whether a message is about the record."""


class PatientSubject:
    """The patient of a criterion, identified by PID-3."""

    def __init__(self, name: str, record: Mapping[str, Any]) -> None:
        self.name = name
        identifiers = record.get("identifier")
        values = (
            [item.get("value") for item in identifiers if isinstance(item, dict)]
            if isinstance(identifiers, list)
            else []
        )
        self.ids = {str(value) for value in (*values, record.get("id")) if value}

    def is_named_in(self, message: Hl7Message) -> bool:
        """Return whether a PID of the message names the patient."""
        return any(value in self.ids for value in values_at(message, "PID[*].3[*].1"))

    def __str__(self) -> str:
        return f"{self.name} (PID-3 {', '.join(sorted(self.ids))})"


class OtherSubject:
    """Another record, which a message is about if it has its number or, of a person, what identifies them."""

    def __init__(self, subject: "RecordSubject") -> None:
        self._subject = subject

    def is_named_in(self, message: Hl7Message) -> bool:
        """Return whether the text of a message identifies the record."""
        return self._subject.concerns(message.render.split("\r"))

    def __str__(self) -> str:
        return str(self._subject)


def find_message_subject(evidence: Evidence) -> MessageSubject | None:
    """Return the record that the criterion is about, if it has one."""
    record = evidence.record
    if evidence.subject is not None and record is not None and record.get("resourceType") == "Patient":
        return PatientSubject(evidence.subject, record)
    subject = find_subject(evidence)
    return None if subject is None else OtherSubject(subject)


class MessageAssertion(SelectionAssertion):
    """An assertion about messages of an interface engine."""

    simulator: ClassVar[str | None] = "hl7"
    scoped: ClassVar[bool] = True
    type: Annotated[
        str | None,
        AfterValidator(lambda text: text and _check_type(text)),
        Field(description="ORU, or ORU^R01; any if not given"),
    ] = None
    correlate_by: Annotated[
        dict[PathText, Expected],
        Field(description="path -> literal or matcher that selects messages, such as {PID.3.1: 4711}"),
    ] = {}
    sandbox: Annotated[str | None, Field(description="which engine; the only one if not given")] = None

    def select_messages(
        self, stored: Iterable[MessageT], patient: MessageSubject | None, *, ignore_path: str = ""
    ) -> list[MessageT]:
        """Return the selected messages. `ignore_path` leaves out one condition of `correlate_by`."""
        return [each for each in stored if self._is_selected(each, patient, ignore_path)]

    def _is_selected(self, stored: StoredMessage, patient: MessageSubject | None, ignore_path: str) -> bool:
        if self.type is not None and self.type not in (stored.type, stored.type.partition("^")[0]):
            return False
        if not self.correlate_by and patient is None:
            return True
        message = stored.message
        return (patient is None or patient.is_named_in(message)) and all(
            matches_texts(expected, values_at(message, path))
            for path, expected in self.correlate_by.items()
            if path != ignore_path
        )

    def describe_selection(self, evidence: Evidence) -> str:
        patient = find_message_subject(evidence)
        where = ", ".join(f"{path} is {describe_expected(expected)}" for path, expected in self.correlate_by.items())
        about = f" about {patient}" if patient is not None else ""
        return (self.type or "message") + about + (f" where {where}" if where else "")


def list_messages(messages: Sequence[StoredMessage]) -> str:
    """List the first few messages, and how many more there are."""
    return occurrence.join_first(messages, name_message, most=MAX_NAMES) or "none"


def name_message(message: StoredMessage) -> str:
    """Return a message in words."""
    return f"{message.type} {message.control_id or '(no control id)'} (#{message.seq})"
