"""`hl7_structural`: the right message was sent, or arrived, with the right values in it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.contract import Check
from clerkship.assertions.field_rows import Rows, prefix_paths, share_passed
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.hl7.message import Hl7Message
from clerkship.hl7.path import BadMessagePath, parse_path
from clerkship.hl7.validation import validate_message
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.simulators.hl7.assertions.meant import AboutMessages, Kept, Patient, listed, patient_of
from clerkship.simulators.hl7.assertions.value import Hl7Field, compare
from clerkship.simulators.hl7.state import Hl7State, Outgoing

MAX_REASONS = 3


def _segment(name: str) -> str:
    if parse_path(name).field is not None:
        raise BadMessagePath(f"`{name}` is no segment; write its name alone, such as OBX")
    return name


class Hl7Structural(AboutMessages):
    """A message that the agent sent and that was taken, or with `direction: arrived` one that came for it, has these
    values and so many segments, and is valid; or there are so many such messages, or none. `input_entity_id` of a
    Patient narrows it to messages whose PID-3 names them."""

    name: ClassVar[str] = "hl7_structural"
    simulator: ClassVar[str | None] = "hl7"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "type"
    direction: Annotated[Literal["sent", "arrived"], Field(description="what the agent sent, or what came for it")] = (
        "sent"
    )
    fields: Annotated[tuple[Hl7Field, ...], Field(description="paths in the message, and what must be there")] = ()
    segments: Annotated[
        dict[Annotated[str, AfterValidator(_segment)], CountExpectation], Field(description="segment -> how many of it")
    ] = {}
    valid: Annotated[Flag, Field(description="it must be valid by the standard")] = True
    count: Annotated[CountExpectation | None, Field(description="how many such messages there must be")] = None
    none: Annotated[Flag, Field(description="no such message may be there")] = False

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Compare every message that is meant; the best one decides."""
        state, patient = evidence.state(Hl7State, self.sandbox), patient_of(evidence)
        kept: Sequence[Kept] = self._kept(state)
        found = self.meant(kept, patient)
        looked_at = [(each, tuple(self._rows(each.message, each.seq))) for each in found]
        if self.none or self.count is not None:
            return self._by_number(looked_at, state, patient)
        if not looked_at:
            return self._missing(state, patient)
        best, rows = max(looked_at, key=lambda pair: share_passed(pair[1]))
        wrong = [row.path for row in rows if not row.passed]
        told = f"{listed([best])} is as expected"
        if wrong:
            of = f" (the nearest of {len(found)})" if len(found) > 1 else ""
            told = f"{listed([best])} is there{of}, but not as expected: {', '.join(wrong)}"
        return Check.of_fields(rows, told + self._tried(state, patient, wrong))

    def _kept(self, state: Hl7State) -> Sequence[Kept]:
        if self.direction == "arrived":
            return list(state.inbox.values())
        return [each for each in state.sent if each.taken]

    def _rows(self, message: Hl7Message, seq: int) -> Iterator[FieldCheck]:
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
            yield compare(message, "MSH.9", {"exists": True}, seq)

    def _by_number(self, looked_at: list[tuple[Kept, Rows]], state: Hl7State, patient: Patient | None) -> Check:
        expected: Any = 0 if self.none else self.count
        good = [each for each, rows in looked_at if all(row.passed for row in rows)]
        passed = matches_expected(expected, len(good))
        row = FieldCheck(
            path="count", expected=expected, actual=len(good), passed=passed, seq=good[0].seq if good else None
        )
        wanted = ", ".join(f"{field.path} {describe_expected(field.expected)}" for field in self.fields)
        that = f" that has {wanted}" if wanted else ""
        told = f"{self.asked(patient)}{that}, {self.direction}: {listed(good)} (expected {describe_expected(expected)})"
        if passed or self.none:
            return Check.of(passed, told, row)
        rest = [check for each, rows in looked_at if each not in good for check in prefix_paths(each.control_id, rows)]
        return Check.of(passed, told + self._tried(state, patient), row, *rest[:100])

    def _missing(self, state: Hl7State, patient: Patient | None) -> Check:
        row = FieldCheck(path=self.type or "message", expected={"gte": 1}, actual=0, passed=False)
        sent = self.direction == "sent"
        told = f"the agent sent no {self.asked(patient)}" if sent else f"no {self.asked(patient)} arrived"
        near = list(self._but_for(state, patient))
        if not near:
            every = self._kept(state)
            near = [f"it sent {listed(every)}" if sent else f"there is {listed(every)}"] if every else []
        return Check.of(False, "; ".join([told, *near]) + self._tried(state, patient), row)

    def _but_for(self, state: Hl7State, patient: Patient | None) -> Iterator[str]:
        """Each condition without which there would be something."""
        kept = self._kept(state)
        for path, expected in self.correlate_by.items():
            found = self.meant(kept, patient, but=path)
            if found:
                said = found[0].message.value(path)
                yield f"but for {path} {describe_expected(expected)} it would be {listed(found)}, with {said!r}"
        found = self.meant(kept, None) if patient is not None else []
        if found:
            yield f"about others there is {listed(found)}"

    def _tried(self, state: Hl7State, patient: Patient | None, wrong: Sequence[str] = ("",)) -> str:
        """What the agent sent of the sort that was not taken, and why."""
        if self.direction != "sent" or not wrong:
            return ""
        refused = [each for each in state.sent if not each.taken]
        found: list[Outgoing] = self.meant(refused, patient) or self.meant(refused, None)
        if not found:
            return ""
        last = found[-1]
        reasons = "; ".join(last.reasons[:MAX_REASONS])
        more = f", the last of {len(found)}" if len(found) > 1 else ""
        return f"; it tried {listed([last])}{more}, which was refused with {last.ack}: {reasons}"
