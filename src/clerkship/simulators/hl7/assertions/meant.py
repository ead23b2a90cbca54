"""Which messages a criterion means: of a type, with certain values in them, about a patient."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import AfterValidator, Field

from clerkship.assertions import occurrence
from clerkship.assertions.contract import Assertion
from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.text_value import matches_texts
from clerkship.events.evidence import Evidence
from clerkship.hl7.message import Hl7Message
from clerkship.hl7.tables import VERSIONS, load_tables
from clerkship.model.errors import InputError
from clerkship.model.matcher import describe_expected
from clerkship.model.names import did_you_mean
from clerkship.model.scenario import Expected
from clerkship.simulators.hl7.assertions.value import PathText, values_at
from clerkship.simulators.hl7.events import ARRIVED

_TYPE = re.compile(r"[A-Z]{3}(\^[A-Z0-9]{3})?")


class Kept(Protocol):
    """A message that was sent or that arrived."""

    @property
    def seq(self) -> int:
        """Its event."""

    @property
    def type(self) -> str:
        """`ORU^R01`."""

    @property
    def control_id(self) -> str:
        """MSH-10."""

    @property
    def message(self) -> Hl7Message:
        """It, read."""


K = TypeVar("K", bound=Kept)


def _type(text: str) -> str:
    kind, _, event = text.partition("^")
    if _TYPE.fullmatch(text) is None:
        raise ValueError(f"`{text[:40]}` is no type of message; write ORU or ORU^R01")
    if kind not in ARRIVED:
        raise ValueError(f"no message is of type {kind}; {did_you_mean(kind, ARRIVED)}")
    if event and kind != "ACK" and event not in (known := _events(kind)):
        raise ValueError(f"no version has an event {event} of {kind}; {did_you_mean(event, known)}".removesuffix("; "))
    return text


def _events(kind: str) -> set[str]:
    """Of a type of message, in any version."""
    return {event for version in VERSIONS for event in load_tables(version)["events"].get(kind, ())}


class Patient:
    """The patient that a criterion is about: a message is about whom its PID-3 names."""

    def __init__(self, name: str, record: Mapping[str, Any]) -> None:
        if record.get("resourceType") != "Patient":
            raise InputError.of(f"the entity `{name}` is no Patient", hint="leave out `input_entity_id`")
        self.name = name
        found = record.get("identifier")
        known = [item.get("value") for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        self.ids = {str(value) for value in (*known, record.get("id")) if value}

    def is_in(self, message: Hl7Message) -> bool:
        """Whether one of its PIDs is theirs."""
        return any(value in self.ids for value in values_at(message, "PID[*].3[*].1"))

    def __str__(self) -> str:
        """As a sentence of detail has it."""
        return f"{self.name} (PID-3 {', '.join(sorted(self.ids))})"


def patient_of(evidence: Evidence) -> Patient | None:
    """The patient that the criterion at hand is about, if it is about one."""
    return None if evidence.subject is None else Patient(evidence.subject, evidence.record or {})


class AboutMessages(Assertion):
    """A check on some messages."""

    type: Annotated[
        str | None,
        AfterValidator(lambda text: text and _type(text)),
        Field(description="ORU, or ORU^R01; any if not given"),
    ] = None
    correlate_by: Annotated[
        dict[PathText, Expected],
        Field(description="path -> literal or matcher: which message is meant, such as {PID.3.1: 4711}"),
    ] = {}
    sandbox: Annotated[str | None, Field(description="which engine; the only one if not given")] = None

    def meant(self, kept: Iterable[K], patient: Patient | None, *, but: str = "") -> list[K]:
        """Those of some messages that are meant; with `but`, were it not for one path."""
        return [each for each in kept if self._is_meant(each, patient, but)]

    def _is_meant(self, kept: Kept, patient: Patient | None, but: str) -> bool:
        if self.type is not None and self.type not in (kept.type, kept.type.partition("^")[0]):
            return False
        if not self.correlate_by and patient is None:
            return True
        message = kept.message
        return (patient is None or patient.is_in(message)) and all(
            matches_texts(expected, values_at(message, path))
            for path, expected in self.correlate_by.items()
            if path != but
        )

    def asked(self, patient: Patient | None) -> str:
        """What is looked for, in words."""
        where = ", ".join(f"{path} is {describe_expected(expected)}" for path, expected in self.correlate_by.items())
        about = f" about {patient}" if patient is not None else ""
        return (self.type or "message") + about + (f" where {where}" if where else "")


def listed(kept: Sequence[Kept]) -> str:
    """The first few, and how many more."""
    names = [f"{each.type} {each.control_id or '(no control id)'} (#{each.seq})" for each in kept]
    return occurrence.join_first(names, most=MAX_NAMES) or "none"
