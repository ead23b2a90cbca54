"""`hl7_acknowledged`: the agent acknowledged the messages in its inbox as expected."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import compare_count
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.events.query import to_evidence_value
from clerkship.model.closed import OneOf
from clerkship.model.duration import Duration, render_duration
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Check
from clerkship.simulators.hl7.assertions.selection import MessageAssertion, find_message_subject, list_messages
from clerkship.simulators.hl7.config import CONTROL_ID
from clerkship.simulators.hl7.intake import ACK
from clerkship.simulators.hl7.state import ACK_CODES, AckRecord, Hl7State, InboxEntry


class Hl7Acknowledged(MessageAssertion):
    """Every message in the agent's inbox, or every selected one, was acknowledged as expected, over HTTP or MLLP.
    `input_entity_id` of a Patient selects messages that name the patient in PID-3; of another record, those that have
    its id or identifier.
    """

    name: ClassVar[str] = "hl7_acknowledged"
    simulator: ClassVar[str | None] = "hl7"
    scoped: ClassVar[bool] = True
    control_id: Annotated[str | None, CONTROL_ID, Field(description="control id of the message to be acknowledged")] = (
        None
    )
    code: Annotated[
        Expected, OneOf(*ACK_CODES), Field(description="AA, AE, AR, CA, CE or CR, or a matcher such as {in: [AA, CA]}")
    ] = "AA"
    text: Annotated[Expected | None, Field(description="expected MSA-3: literal or matcher")] = None
    within: Annotated[Duration | None, Field(description="how soon after the message arrived, in simulated time")] = (
        None
    )
    count: Annotated[CountExpectation | None, Field(description="how many must be acknowledged so; by default all")] = (
        None
    )
    none: Annotated[Flag, Field(description="whether none may be acknowledged so")] = False

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
        """Compare the agent's acknowledgments of each message."""
        state, patient = evidence.state(Hl7State, self.sandbox), find_message_subject(evidence)
        arrived = [each for each in state.inbox.values() if self._is_candidate(each)]
        selected = self.select_messages(arrived, patient)
        rows = [self._compare_entry(entry) for entry in selected]
        selection = self.describe_selection(patient) + (f" {self.control_id}" if self.control_id is not None else "")
        if self.none or self.count is not None:
            return self._check_count(selection, selected, rows)
        if not selected:
            others = list(state.inbox.values())
            other = f"; there is {list_messages(others)}" if others else "; nothing arrived"
            row = FieldCheck(path="arrived", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"no {selection} arrived{other}", row)
        failed = [entry for entry, row in zip(selected, rows, strict=True) if not row.passed]
        detail = (
            f"{len(selected) - len(failed)} of {len(selected)} {selection} acknowledged {self._describe_expected()}"
        )
        return Check.of_fields(rows, detail + (f"; not {self._describe_others(failed)}" if failed else ""))

    def _is_candidate(self, entry: InboxEntry) -> bool:
        """Leave out acknowledgments unless they are selected explicitly: they are never acknowledged."""
        named = self.type is not None or self.control_id is not None
        return self.control_id in (None, entry.control_id) and (named or not entry.type.startswith(ACK))

    def _check_count(self, selection: str, selected: Sequence[InboxEntry], rows: Sequence[FieldCheck]) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [entry for entry, row in zip(selected, rows, strict=True) if row.passed]
        row = compare_count(expected, len(matching), self._find_match(matching[0]).seq if matching else None)
        detail = f"{selection} acknowledged {self._describe_expected()}: {list_messages(matching)}"
        detail += f" (expected {describe_expected(expected)})"
        if row.passed or self.none:
            return Check.of(row.passed, detail, row)
        failed = [entry for entry in selected if entry not in matching]
        return Check.of(False, detail + (f"; not {self._describe_others(failed)}" if failed else ""), row, *rows)

    def _compare_entry(self, entry: InboxEntry) -> FieldCheck:
        match = next((ack for ack in entry.acks if self._matches(entry, ack)), None)
        ack = match or (entry.acks[-1] if entry.acks else None)
        actual: Any = MISSING if ack is None else f"{ack.code} {ack.text}".strip()
        return FieldCheck(
            path=f"{entry.type} {entry.control_id} (message {entry.id})",
            expected=self.code,
            actual=to_evidence_value(actual) if ack is None or match is None or ack.text else ack.code,
            passed=match is not None,
            seq=ack.seq if ack is not None else entry.seq,
        )

    def _find_match(self, entry: InboxEntry) -> AckRecord:
        return next(ack for ack in entry.acks if self._matches(entry, ack))

    def _matches(self, entry: InboxEntry, ack: AckRecord) -> bool:
        return (
            matches_expected(self.code, ack.code)
            and (self.text is None or matches_expected(self.text, ack.text))
            and (self.within is None or ack.at - entry.at <= self.within)
        )

    def _describe_expected(self) -> str:
        text = f"with {describe_expected(self.code)}"
        text += f" and the text {describe_expected(self.text)}" if self.text is not None else ""
        return text + (f" within {render_duration(self.within)}" if self.within is not None else "")

    def _describe_others(self, entries: Sequence[InboxEntry]) -> str:
        return occurrence.join_first(entries, lambda entry: f"{list_messages([entry])}: {_describe_acks(entry)}")


def _describe_acks(entry: InboxEntry) -> str:
    if not entry.acks:
        return "never acknowledged" if entry.delivery_count else "never read"
    return ", then ".join(
        f"{ack.code}{f' ({ack.text})' if ack.text else ''} after {render_duration(ack.at - entry.at)}"
        for ack in entry.acks
    )
