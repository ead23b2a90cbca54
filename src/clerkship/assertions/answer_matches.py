"""`answer_matches`: what the agent answered is what was expected."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from clerkship.assertions.contract import Assertion, Check, FieldMatch, compared
from clerkship.events.evidence import Evidence
from clerkship.model.matcher import describe
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected


class AnswerMatches(Assertion):
    """The answer as a whole, or fields of it."""

    name: ClassVar[str] = "answer_matches"
    shorthand: ClassVar[str | None] = "expected"
    expected: Annotated[Expected | None, Field(description="literal or matcher for the whole answer")] = None
    fields: Annotated[tuple[FieldMatch, ...], Field(description="paths in an answer that is an object")] = ()

    @model_validator(mode="after")
    def _something(self) -> "AnswerMatches":
        if not self.fields and "expected" not in self.model_fields_set:
            raise ValueError("expected `expected` or `fields`")
        return self

    def _unanswered(self) -> Check:
        asked = [(field.path, field.expected) for field in self.fields]
        if "expected" in self.model_fields_set:
            asked.append(("answer", self.expected))
        wanted = ", ".join(f"{path} {describe(expected)}" for path, expected in asked)
        rows = (FieldCheck(path=path, expected=want, actual="(none)", passed=False) for path, want in asked)
        return Check.of(False, f"the agent gave no answer; expected {wanted}", *rows)

    def check(self, evidence: Evidence) -> Check:
        """Compare the answer, field by field."""
        if not evidence.answered:
            return self._unanswered()
        checks = [field.compare(evidence.answer) for field in self.fields]
        if "expected" in self.model_fields_set:
            checks.append(compared("answer", self.expected, evidence.answer))
        wrong = [check.path for check in checks if not check.passed]
        return Check.of_fields(checks, f"not as expected: {', '.join(wrong)}" if wrong else "the answer is as expected")
