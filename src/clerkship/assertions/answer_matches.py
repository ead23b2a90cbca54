"""`answer_matches`: the answer of the agent is as expected."""

from contextlib import suppress
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field, model_validator

from clerkship.events.evidence import Evidence
from clerkship.model.matcher import describe_expected, is_matcher, matches_expected
from clerkship.model.path import MISSING, lookup_all, split_path
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Assertion, Check, FieldMatch, compare_value

_FENCE = "```"


def parse_answer(text: str) -> Any:
    """Parse an answer as JSON: the whole text, or the one fenced block or the one object in it. Return MISSING if there
    is none.
    """
    blocks = _find_fenced_blocks(text)
    parts = blocks if len(blocks) == 1 else [text]
    if not blocks:  # from the first brace to the last; that is no JSON if there are two objects
        parts.append(text[text.find("{") : text.rfind("}") + 1])
    for part in parts:
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(part)
    return MISSING


def read_answer(evidence: Evidence, path: str) -> Any:
    """Return the value at a path of the answer; MISSING if there is none."""
    answer = evidence.answer if evidence.answered else MISSING
    data = parse_answer(answer) if isinstance(answer, str) else answer
    return next(lookup_all(data, split_path(path)), MISSING) if data is not MISSING else MISSING


def _find_fenced_blocks(text: str) -> list[str]:
    """Return the contents of fenced blocks, in one pass, since an agent may have written anything."""
    blocks: list[str] = []
    block: list[str] | None = None
    for line in text.split("\n"):
        mark = line.strip()
        if block is None:
            block = [] if mark.endswith((_FENCE, f"{_FENCE}json")) else None
        elif mark.startswith(_FENCE):
            blocks.append("\n".join(block))
            block = None
        else:
            block.append(line)
    return blocks


class AnswerMatches(Assertion):
    """The answer as a whole, or fields of it, is as expected. Text that is JSON, or that has one JSON block or one
    JSON object, is parsed, since many agents can only answer in text.
    """

    name: ClassVar[str] = "answer_matches"
    unscoped_reason: ClassVar[str] = "a task has one answer"
    shorthand: ClassVar[str | None] = "expected"
    expected: Annotated[Expected | None, Field(description="literal or matcher for the whole answer")] = None
    fields: Annotated[tuple[FieldMatch, ...], Field(description="paths in an answer that is an object")] = ()

    @model_validator(mode="after")
    def _check_not_empty(self) -> "AnswerMatches":
        if not self.fields and "expected" not in self.model_fields_set:
            raise ValueError("expected `expected` or `fields`")
        return self

    def _report_unanswered(self) -> Check:
        expectations = [(field.path, field.expected) for field in self.fields]
        if "expected" in self.model_fields_set:
            expectations.append(("answer", self.expected))
        described = ", ".join(f"{path} {describe_expected(expected)}" for path, expected in expectations)
        rows = (FieldCheck(path=path, expected=want, actual="(none)", passed=False) for path, want in expectations)
        return Check.of(False, f"the agent gave no answer; expected {described}", *rows)

    def check(self, evidence: Evidence) -> Check:
        """Compare the answer, field by field."""
        if not evidence.answered:
            return self._report_unanswered()
        answer, parsed = evidence.answer, MISSING
        if isinstance(answer, str):
            parsed = parse_answer(answer)
        data = answer if parsed is MISSING else parsed
        checks = [field.compare(data) for field in self.fields]
        if "expected" in self.model_fields_set:
            # Apply `not` to the text and the parsed value: as text, an answer of "5" would always pass `not: 5`.
            denies = isinstance(self.expected, dict) and is_matcher(self.expected) and "not" in self.expected
            as_text = parsed is MISSING or matches_expected(self.expected, answer) != denies
            checks.append(compare_value("answer", self.expected, answer if as_text else parsed))
        failed = [check.path for check in checks if not check.passed]
        if failed and self.fields and isinstance(data, str | None):  # it has no fields, so none of them is right
            detail = "the answer is null" if data is None else f"the answer is text, not JSON: {data[:200]!r}"
            return Check.of(False, detail, *checks)
        return Check.of_fields(
            checks, f"not as expected: {', '.join(failed)}" if failed else "the answer is as expected"
        )
