"""`voice_case`: a line or representative opened a case, and the agent reported or recorded its number."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from clerkship.assertions.answer_matches import read_answer
from clerkship.assertions.narrowing import find_subject
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.formats.fhir.names import ResourceTypeName
from clerkship.model.frozen import Frozen
from clerkship.model.path import MISSING, lookup_all, split_path
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.payer.name_sorts import MEMBER_ID
from clerkship.sandbox.assertion import compare_given
from clerkship.simulators.voice.assertions.call_match import CallMatch
from clerkship.simulators.voice.events import CaseOpened

_SEPARATORS = re.compile(r"[\s,.-]+")


class RecordedIn(Frozen):
    """Where in the chart the number of a case must be."""

    type: Annotated[ResourceTypeName, Field(description="type of the resource, such as Communication")]
    path: Annotated[str, Field(description="path of a text that has the number, such as payload.*.contentString")]


class _LoggedCase(NamedTuple):
    """A case that was opened, and where in the log."""

    seq: int
    case: CaseOpened

    def describe(self) -> str:
        return f"case {self.case.reference} (#{self.seq}): {self.case.subject}"


class VoiceCaseOpened(SelectionAssertion, CallMatch):
    """In a call, a line or representative opened a case like this, and its number is in the answer and in the chart,
    where `answer` and `recorded` say. The number is drawn by the seed: only those who heard it know it. With `count` or
    `none`, as many cases as expected were like this. `input_entity_id` selects cases in calls about that record, and
    with its member id.
    """

    name: ClassVar[str] = "voice_case"
    simulator: ClassVar[str | None] = "voice"
    scoped: ClassVar[bool] = True
    subject: Annotated[Expected | None, Field(description="what it is about: text or a matcher")] = None
    member_id: Annotated[Expected | None, MEMBER_ID, Field(description="member id that was given, or a matcher")] = None
    answer: Annotated[str | None, Field(description="path in the answer where its number must be")] = None
    recorded: Annotated[
        RecordedIn | None, Field(description="resource that the agent must have written with its number")
    ] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.is_counted and (self.answer is not None or self.recorded is not None):
            raise ValueError("`answer` and `recorded` do not go with `count` or `none`")
        return self

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each case that was opened in the calls that are meant."""
        for case in self._list_cases(evidence):
            yield Compared(case.describe(), (*self._compare(case), *self._compare_reports(case, evidence)))

    def describe_selection(self, evidence: Evidence) -> str:
        return f"case that was opened in a call{self.describe_calls()}"

    def _list_cases(self, evidence: Evidence) -> Iterator[_LoggedCase]:
        """Yield the cases of the calls that are meant; of a record, those with its member id, or without one."""
        forbids = self.passes_on_inaction
        calls = {(call.source, call.id) for call in self.list_selected(evidence, forbids=forbids)}
        subject = find_subject(evidence)
        for event in evidence.of_kind(CaseOpened.kind):
            case = event.payload
            if isinstance(case, CaseOpened) and (event.source, case.call) in calls:
                about = [case.subject, f"member id {case.member_id}"]
                if subject is None or not case.member_id or subject.concerns(about, forbids=forbids):
                    yield _LoggedCase(event.seq, case)

    def _compare(self, logged: _LoggedCase) -> Iterator[FieldCheck]:
        case = logged.case
        values = [("subject", self.subject, case.subject), ("member_id", self.member_id, case.member_id)]
        yield from compare_given([*values, ("case", {"exists": True}, case.reference)], logged.seq)

    def _compare_reports(self, logged: _LoggedCase, evidence: Evidence) -> Iterator[FieldCheck]:
        reference = logged.case.reference
        if self.answer is not None:
            actual = read_answer(evidence, self.answer)
            passed = actual is not MISSING and _SEPARATORS.sub("", str(actual)) == reference
            yield field_check(f"answer.{self.answer}", reference, actual, passed=passed, seq=logged.seq)
        if self.recorded is not None:
            texts = list(_list_recorded(evidence, self.recorded, logged.seq))
            passed = any(_has_number(text, reference) for text in texts)
            actual = texts if len(texts) > 1 else texts[0] if texts else "(not written)"
            path = f"{self.recorded.type}.{self.recorded.path}"
            yield FieldCheck(path=path, expected=reference, actual=actual, passed=passed, seq=logged.seq)


def _list_recorded(evidence: Evidence, recorded: RecordedIn, after: int) -> Iterator[str]:
    """Yield the texts at a path of the resources that the agent wrote after the case was opened."""
    for event in evidence.of_kind("fhir.resource.created", "fhir.resource.updated"):
        resource = getattr(event.payload, "resource", None)
        is_own = event.seq > after and evidence.find_originator(event) == "agent"
        if is_own and isinstance(resource, dict) and resource.get("resourceType") == recorded.type:
            yield from (str(value) for value in lookup_all(resource, split_path(recorded.path)))


def _has_number(text: str, number: str) -> bool:
    """Return whether a text has a number, not as a part of a longer one; separators in it do not matter."""
    spaced = r"[\s,.-]*".join(map(re.escape, number))
    return re.search(rf"(?<!\d){spaced}(?!\d)", text) is not None
