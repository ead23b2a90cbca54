"""`hl7_structural`: the expected message was sent or arrived, with the expected values."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.field_rows import Rows, compare_count, describe_fields, prefix_paths, share_passed
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.formats.hl7.message import Hl7Message
from clerkship.formats.hl7.path import BadMessagePath, parse_path
from clerkship.formats.hl7.validation import validate_message
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Check
from clerkship.simulators.hl7.assertions.selection import (
    MessageAssertion,
    MessageSubject,
    StoredMessage,
    find_message_subject,
    list_messages,
)
from clerkship.simulators.hl7.assertions.value import Hl7Field, compare_path
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
    simulator: ClassVar[str | None] = "hl7"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "type"
    direction: Annotated[
        Literal["sent", "arrived"], Field(description="messages that the agent sent, or that arrived in its inbox")
    ] = "sent"
    fields: Annotated[tuple[Hl7Field, ...], Field(description="paths in the message, and the expected values")] = ()
    segments: Annotated[
        dict[Annotated[str, AfterValidator(_check_segment)], CountExpectation],
        Field(description="segment -> expected number of it"),
    ] = {}
    valid: Annotated[Flag, Field(description="whether the message must be valid by the standard")] = True
    count: Annotated[CountExpectation | None, Field(description="expected number of such messages")] = None
    none: Annotated[Flag, Field(description="whether there must be no such message")] = False

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Compare every selected message; the best one decides."""
        state, patient = evidence.state(Hl7State, self.sandbox), find_message_subject(evidence)
        messages: Sequence[StoredMessage] = self._messages(state)
        selected = self.select_messages(messages, patient)
        compared = [(each, tuple(self._compare_message(each.message, each.seq))) for each in selected]
        if self.none or self.count is not None:
            return self._check_count(compared, state, patient)
        if not compared:
            return self._report_missing(state, patient)
        best, rows = max(compared, key=lambda pair: share_passed(pair[1]))
        failed = [row.path for row in rows if not row.passed]
        detail = f"{list_messages([best])} is as expected"
        if failed:
            of = f" (the nearest of {len(selected)})" if len(selected) > 1 else ""
            detail = f"{list_messages([best])} is there{of}, but not as expected: {', '.join(failed)}"
        return Check.of_fields(rows, detail + self._describe_refused(state, patient, failed))

    def _messages(self, state: Hl7State) -> Sequence[StoredMessage]:
        if self.direction == "arrived":
            return list(state.inbox.values())
        return [each for each in state.sent if each.is_accepted]

    def _compare_message(self, message: Hl7Message, seq: int) -> Iterator[FieldCheck]:
        for field in self.fields:
            yield field.compare(message, seq)
        for name, expected in self.segments.items():
            number = len(message.all(parse_path(name).segment))
            passed = matches_expected(expected, number)
            yield FieldCheck(path=f"{name} segments", expected=expected, actual=number, passed=passed, seq=seq)
        if self.valid:
            flaws = [flaw.text for flaw in validate_message(message)[:MAX_REASONS]]
            actual: Any = "; ".join(flaws) or True
            yield FieldCheck(path="valid", expected=True, actual=actual, passed=not flaws, seq=seq)
        if not self.fields and not self.segments and not self.valid:
            yield compare_path(message, "MSH.9", {"exists": True}, seq)

    def _check_count(
        self, compared: list[tuple[StoredMessage, Rows]], state: Hl7State, patient: MessageSubject | None
    ) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [each for each, rows in compared if all(row.passed for row in rows)]
        row = compare_count(expected, len(matching), matching[0].seq if matching else None)
        selection = f"{self.describe_selection(patient)}{describe_fields(self.fields)}"
        detail = f"{selection}, {self.direction}: {list_messages(matching)} (expected {describe_expected(expected)})"
        if row.passed or self.none:
            return Check.of(row.passed, detail, row)
        others = [
            check for each, rows in compared if each not in matching for check in prefix_paths(each.control_id, rows)
        ]
        return Check.of(False, detail + self._describe_refused(state, patient), row, *others[:100])

    def _report_missing(self, state: Hl7State, patient: MessageSubject | None) -> Check:
        row = FieldCheck(path=self.type or "message", expected={"gte": 1}, actual=0, passed=False)
        sent = self.direction == "sent"
        selection = self.describe_selection(patient)
        detail = f"the agent sent no {selection}" if sent else f"no {selection} arrived"
        hints = list(self._explain_missing(state, patient))
        if not hints:
            messages = self._messages(state)
            listing = list_messages(messages)
            hints = [f"it sent {listing}" if sent else f"there is {listing}"] if messages else []
        return Check.of(False, "; ".join([detail, *hints]) + self._describe_refused(state, patient), row)

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

    def _describe_refused(self, state: Hl7State, patient: MessageSubject | None, failed: Sequence[str] = ("",)) -> str:
        """Describe the selected messages that were refused, and why."""
        if self.direction != "sent" or not failed:
            return ""
        refused = [each for each in state.sent if not each.is_accepted]
        selected: list[SentMessage] = self.select_messages(refused, patient) or self.select_messages(refused, None)
        if not selected:
            return ""
        last = selected[-1]
        reasons = "; ".join(last.reasons[:MAX_REASONS])
        more = f", the last of {len(selected)}" if len(selected) > 1 else ""
        return f"; it sent {list_messages([last])}{more}, which was refused with {last.ack}: {reasons}"
