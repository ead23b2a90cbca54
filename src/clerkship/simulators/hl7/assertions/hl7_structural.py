"""`hl7_structural`: the expected message was sent or arrived, with the expected values."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from clerkship.assertions.answer_matches import read_answer
from clerkship.assertions.field_rows import describe_fields
from clerkship.assertions.occurrence import CountExpectation
from clerkship.assertions.selection import Compared
from clerkship.events.evidence import Evidence
from clerkship.formats.hl7.message import BadMessagePath, Hl7Message, parse_path
from clerkship.formats.hl7.validation import validate_message
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import compare_value
from clerkship.simulators.hl7.assertions.selection import (
    Hl7Field,
    MessageAssertion,
    MessageSubject,
    StoredMessage,
    compare_path,
    find_message_subject,
    list_messages,
    name_message,
)
from clerkship.simulators.hl7.state import Hl7State, SentMessage

MAX_REASONS = 3


def _check_segment(name: str) -> str:
    if parse_path(name).field is not None:
        raise BadMessagePath(f"`{name}` is not a segment (expected: a name such as OBX)")
    return name


class Hl7Structural(MessageAssertion):
    """A message that the agent sent and that was accepted, or with `direction: arrived` a message in its inbox, has
    these values and segment counts and is valid; or the number of such messages is as expected. `input_entity_id` of
    a Patient selects messages that name the patient in PID-3; of another record, those that have its id or identifier.
    """

    name: ClassVar[str] = "hl7_structural"
    shorthand: ClassVar[str | None] = "type"
    direction: Annotated[
        Literal["sent", "arrived"], Field(description="messages that the agent sent, or that arrived in its inbox")
    ] = "sent"
    fields: Annotated[tuple[Hl7Field, ...], Field(description="paths in the message, and the expected values")] = ()
    segments: Annotated[
        dict[Annotated[str, AfterValidator(_check_segment)], CountExpectation],
        Field(description="segment -> expected number of it"),
    ] = {}
    answer: Annotated[str | None, Field(description="path in the answer where its control id must be")] = None
    valid: Annotated[Flag, Field(description="whether the message must be valid by the standard")] = True

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each message that is selected."""
        messages = self._messages(evidence.state(Hl7State, self.sandbox))
        for each in self.select_messages(messages, find_message_subject(evidence)):
            rows = [*self._compare_message(each.message, each.seq), *self._compare_answer(each, evidence)]
            yield Compared(name_message(each), tuple(rows))

    def describe_selection(self, evidence: Evidence) -> str:
        return f"{self.direction} {super().describe_selection(evidence)}"

    def describe_expectation(self) -> str:
        return describe_fields(self.fields)

    def _messages(self, state: Hl7State) -> Sequence[StoredMessage]:
        if self.direction == "arrived":
            return list(state.inbox.values())
        return [each for each in state.sent if each.is_accepted]

    def _compare_message(self, message: Hl7Message, seq: int) -> Iterator[FieldCheck]:
        for field in self.fields:
            yield field.compare(message, seq)
        for name, expected in self.segments.items():
            number = len(message.all(parse_path(name).segment))
            yield compare_value(f"{name} segments", expected, number, seq)
        if self.valid:
            flaws = [flaw.text for flaw in validate_message(message)[:MAX_REASONS]]
            actual: Any = "; ".join(flaws) or True
            yield FieldCheck(path="valid", expected=True, actual=actual, passed=not flaws, seq=seq)
        if not self.fields and not self.segments and not self.valid:
            yield compare_path(message, "MSH.9", {"exists": True}, seq)

    def _compare_answer(self, message: StoredMessage, evidence: Evidence) -> Iterator[FieldCheck]:
        if self.answer is not None:
            yield compare_value(
                f"answer.{self.answer}", message.control_id, read_answer(evidence, self.answer), message.seq
            )

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterable[str]:
        """Yield which messages there are if none is selected, and which were refused."""
        state, patient = evidence.state(Hl7State, self.sandbox), find_message_subject(evidence)
        hints = list(self._explain_missing(state, patient)) if not compared else []
        messages = self._messages(state)
        if not compared and not hints and messages:
            hints = [f"there is {list_messages(messages)}"]
        return [*hints, *self._describe_refused(state, patient)]

    def _explain_missing(self, state: Hl7State, patient: MessageSubject | None) -> Iterator[str]:
        """Name each condition without which a message would be selected."""
        messages = self._messages(state)
        for path, expected in self.correlate_by.items():
            selected = self.select_messages(messages, patient, ignore_path=path)
            if selected:
                value = selected[0].message.value(path)
                condition = f"{path} {describe_expected(expected)}"
                yield f"without the condition {condition}: {list_messages(selected)}, with {value!r}"
        selected = self.select_messages(messages, None) if patient is not None else []
        if selected:
            yield f"about other patients: {list_messages(selected)}"

    def _describe_refused(self, state: Hl7State, patient: MessageSubject | None) -> Iterator[str]:
        """Yield the last of the selected messages that were refused, and why."""
        is_wanted = self.direction == "sent" and not self.none
        refused = [each for each in state.sent if is_wanted and not each.is_accepted]
        selected: list[SentMessage] = self.select_messages(refused, patient) or self.select_messages(refused, None)
        if selected:
            last, reasons = selected[-1], "; ".join(selected[-1].reasons[:MAX_REASONS])
            more = f", the last of {len(selected)}" if len(selected) > 1 else ""
            yield f"the agent sent {name_message(last)}{more}, which was refused with {last.ack}: {reasons}"
