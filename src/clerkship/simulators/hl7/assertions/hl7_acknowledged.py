"""`hl7_acknowledged`: the agent said of the messages that came for it what it should have said."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.contract import Check
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.events.query import to_evidence_value
from clerkship.model.duration import Duration, render_duration
from clerkship.model.frozen import Flag
from clerkship.model.matcher import check_expected, describe_expected, is_matcher, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.simulators.hl7.assertions.meant import AboutMessages, listed, patient_of
from clerkship.simulators.hl7.intake import ACK
from clerkship.simulators.hl7.state import CODES, Hl7State, Incoming, Said


class Hl7Acknowledged(AboutMessages):
    """Every message that came for the agent, or each of those that are meant, was acknowledged so: over HTTP or MLLP.
    `input_entity_id` of a Patient narrows it to messages whose PID-3 names them."""

    name: ClassVar[str] = "hl7_acknowledged"
    simulator: ClassVar[str | None] = "hl7"
    scoped: ClassVar[bool] = True
    control_id: Annotated[str | None, Field(description="of the message that was to be acknowledged")] = None
    code: Annotated[Expected, Field(description="AA, AE, AR, CA, CE or CR, or a matcher such as {in: [AA, CA]}")] = "AA"
    text: Annotated[Expected | None, Field(description="what MSA-3 must say: literal or matcher")] = None
    within: Annotated[Duration | None, Field(description="how soon after the message came, in simulated time")] = None
    count: Annotated[
        CountExpectation | None, Field(description="how many must be acknowledged so; all if not given")
    ] = None
    none: Annotated[Flag, Field(description="none may be acknowledged so")] = False

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        check_expected(self.code)
        if not is_matcher(self.code) and self.code not in CODES:
            raise ValueError(f"`code` is one of {', '.join(CODES)}, or a matcher")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Look at what the agent said to each."""
        state, patient = evidence.state(Hl7State, self.sandbox), patient_of(evidence)
        arrived = [each for each in state.inbox.values() if self._may_be_meant(each)]
        found = self.meant(arrived, patient)
        rows = [self._row(entry) for entry in found]
        asked = self.asked(patient) + (f" {self.control_id}" if self.control_id is not None else "")
        if self.none or self.count is not None:
            return self._by_number(asked, found, rows)
        if not found:
            there = list(state.inbox.values())
            other = f"; there is {listed(there)}" if there else "; nothing arrived"
            row = FieldCheck(path="arrived", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"no {asked} arrived{other}", row)
        wrong = [entry for entry, row in zip(found, rows, strict=True) if not row.passed]
        told = f"{len(found) - len(wrong)} of {len(found)} {asked} acknowledged {self._so()}"
        return Check.of_fields(rows, told + (f"; not {self._instead(wrong)}" if wrong else ""))

    def _may_be_meant(self, entry: Incoming) -> bool:
        """Acknowledgements are not acknowledged, and so are not meant unless they are asked for."""
        named = self.type is not None or self.control_id is not None
        return self.control_id in (None, entry.control_id) and (named or not entry.type.startswith(ACK))

    def _by_number(self, asked: str, found: Sequence[Incoming], rows: Sequence[FieldCheck]) -> Check:
        expected: Any = 0 if self.none else self.count
        good = [entry for entry, row in zip(found, rows, strict=True) if row.passed]
        passed = matches_expected(expected, len(good))
        seq = self._fitting(good[0]).seq if good else None
        row = FieldCheck(path="count", expected=expected, actual=len(good), passed=passed, seq=seq)
        told = f"{asked} acknowledged {self._so()}: {listed(good)} (expected {describe_expected(expected)})"
        if passed or self.none:
            return Check.of(passed, told, row)
        wrong = [entry for entry in found if entry not in good]
        return Check.of(passed, told + (f"; not {self._instead(wrong)}" if wrong else ""), row, *rows)

    def _row(self, entry: Incoming) -> FieldCheck:
        fitting = next((said for said in entry.said if self._fits(entry, said)), None)
        said = fitting or (entry.said[-1] if entry.said else None)
        actual: Any = MISSING if said is None else f"{said.code} {said.text}".strip()
        return FieldCheck(
            path=f"{entry.type} {entry.control_id} (message {entry.id})",
            expected=self.code,
            actual=to_evidence_value(actual) if said is None or fitting is None or said.text else said.code,
            passed=fitting is not None,
            seq=said.seq if said is not None else entry.seq,
        )

    def _fitting(self, entry: Incoming) -> Said:
        return next(said for said in entry.said if self._fits(entry, said))

    def _fits(self, entry: Incoming, said: Said) -> bool:
        return (
            matches_expected(self.code, said.code)
            and (self.text is None or matches_expected(self.text, said.text))
            and (self.within is None or said.at - entry.at <= self.within)
        )

    def _so(self) -> str:
        """How, in words."""
        words = f"with {describe_expected(self.code)}"
        words += f" and the text {describe_expected(self.text)}" if self.text is not None else ""
        return words + (f" within {render_duration(self.within)}" if self.within is not None else "")

    def _instead(self, entries: Sequence[Incoming]) -> str:
        """What was said of those that were not acknowledged so."""
        return occurrence.join_first(entries, lambda entry: f"{listed([entry])}: {_said(entry)}")


def _said(entry: Incoming) -> str:
    if not entry.said:
        return "never acknowledged" if entry.handed else "never taken"
    return ", then ".join(
        f"{said.code}{f' ({said.text})' if said.text else ''} after {render_duration(said.at - entry.at)}"
        for said in entry.said
    )
