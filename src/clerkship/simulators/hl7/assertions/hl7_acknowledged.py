"""`hl7_acknowledged`: the agent acknowledged the messages in its inbox as expected."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.assertions import occurrence
from clerkship.assertions.selection import Compared
from clerkship.events.evidence import Evidence
from clerkship.events.query import to_evidence_value
from clerkship.model.closed import OneOf
from clerkship.model.duration import Duration, describe_duration
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Check
from clerkship.simulators.hl7.assertions.selection import (
    MessageAssertion,
    find_message_subject,
    list_messages,
    name_message,
)
from clerkship.simulators.hl7.config import CONTROL_ID
from clerkship.simulators.hl7.intake import ACK
from clerkship.simulators.hl7.state import ACK_CODES, AckRecord, Hl7State, InboxEntry


class Hl7Acknowledged(MessageAssertion):
    """Every message in the agent's inbox, or every selected one, was acknowledged as expected, over HTTP or MLLP.
    `input_entity_id` of a Patient selects messages that name the patient in PID-3; of another record, those that have
    its id or identifier.
    """

    name: ClassVar[str] = "hl7_acknowledged"
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

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each message that is selected, with the agent's acknowledgment."""
        arrived = [each for each in evidence.state(Hl7State, self.sandbox).inbox.values() if self._is_candidate(each)]
        for entry in self.select_messages(arrived, find_message_subject(evidence)):
            yield Compared(name_message(entry), (self._compare_entry(entry),), entry)

    def check_best(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Report all messages: every one must be acknowledged."""
        return self.check_every(compared, evidence)

    def describe_selection(self, evidence: Evidence) -> str:
        name = f" {self.control_id}" if self.control_id is not None else ""
        return f"arrived {super().describe_selection(evidence)}{name}"

    def describe_expectation(self) -> str:
        text = f" acknowledged with {describe_expected(self.code)}"
        text += f" and the text {describe_expected(self.text)}" if self.text is not None else ""
        return text + (f" within {describe_duration(self.within)}" if self.within is not None else "")

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield how the other messages were acknowledged, or what arrived if none is selected."""
        failed = [each for each in compared if not each.passed]
        if failed:
            yield occurrence.join_first(failed, lambda each: f"{each.name}: {_describe_acks(each.item)}")
        if not compared:
            others = list(evidence.state(Hl7State, self.sandbox).inbox.values())
            yield f"there is {list_messages(others)}" if others else "nothing arrived"

    def _is_candidate(self, entry: InboxEntry) -> bool:
        """Leave out acknowledgments unless they are selected explicitly: they are never acknowledged."""
        named = self.type is not None or self.control_id is not None
        return self.control_id in (None, entry.control_id) and (named or not entry.type.startswith(ACK))

    def _compare_entry(self, entry: InboxEntry) -> FieldCheck:
        match = next((ack for ack in entry.acks if self._matches(entry, ack)), None)
        ack = match or (entry.acks[-1] if entry.acks else None)
        actual: Any = MISSING if ack is None else f"{ack.code} {ack.text}".strip()
        return FieldCheck(
            path="acknowledged",
            expected=self.code,
            actual=to_evidence_value(actual) if ack is None or match is None or ack.text else ack.code,
            passed=match is not None,
            seq=ack.seq if ack is not None else entry.seq,
        )

    def _matches(self, entry: InboxEntry, ack: AckRecord) -> bool:
        return (
            matches_expected(self.code, ack.code)
            and (self.text is None or matches_expected(self.text, ack.text))
            and (self.within is None or ack.at - entry.at <= self.within)
        )


def _describe_acks(entry: InboxEntry) -> str:
    if not entry.acks:
        return "never acknowledged" if entry.delivery_count else "never read"
    return ", then ".join(
        f"{ack.code}{f' ({ack.text})' if ack.text else ''} after {describe_duration(ack.at - entry.at)}"
        for ack in entry.acks
    )
