"""Question sets: which questions are asked about which procedures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected
from clerkship.model.names import did_you_mean
from clerkship.payer.code_pattern import CodePatterns
from clerkship.simulators.portal.questions.question import SetQuestion

MAX_QUESTIONS = 60
Conditions = Mapping[tuple[str, str], JsonValue]
"""The answers with which a question is asked, by the question whose `when` has them and the one that is answered."""


class QuestionSet(Frozen):
    """The questions about some procedures."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,59}$", description="its id")]
    title: Annotated[str, Field(min_length=1, description="heading above the questions")]
    procedure_codes: Annotated[CodePatterns, Field(description="codes, patterns such as 721*, or ranges")]
    questions: Annotated[
        tuple[SetQuestion, ...],
        Field(min_length=1, max_length=MAX_QUESTIONS, description="the questions in order"),
    ]

    @model_validator(mode="after")
    def _check_questions(self) -> Self:
        mistakes = list(_find_mistakes(self.questions))
        if mistakes:
            raise build_located_error(mistakes)
        return self


def _find_mistakes(questions: Sequence[SetQuestion]) -> Iterator[tuple[FieldPath, str]]:
    """Yield repeated ids, and conditions with which a question can never be asked.

    A question whose own condition is wrong counts as asked, so that those that depend on it are not reported too.
    """
    ids = {question.id for question in questions}
    earlier: dict[str, SetQuestion] = {}
    needed: dict[str, Conditions] = {}
    for place, question in enumerate(questions):
        if question.id in earlier:
            yield ("questions", place, "id"), f"an earlier question has the id `{question.id}` too; choose another"
            continue
        mistakes = list(_find_wrong_conditions(question, earlier, ids))
        conditions: dict[tuple[str, str], JsonValue] = {}
        for id, expected in () if mistakes else question.when.items():
            conditions |= {**needed[id], (question.id, id): expected}
        mistakes += _find_contradictions(question, conditions, earlier)
        yield from ((("questions", place, "when", *path), text) for path, text in mistakes)
        earlier[question.id], needed[question.id] = question, {} if mistakes else conditions


def _find_wrong_conditions(
    question: SetQuestion, earlier: Mapping[str, SetQuestion], ids: set[str]
) -> Iterator[tuple[FieldPath, str]]:
    for id, expected in question.when.items():
        if id in earlier:
            text = earlier[id].possible_answers.explain_mismatch(expected)
        elif id == question.id:
            text = "a question cannot depend on itself; name an earlier one"
        elif id in ids:
            text = f"`{id}` is asked later; move it before this question"
        else:
            text = f"unknown question `{id}`; {did_you_mean(id, earlier) or 'name one that is asked before'}"
        if text:
            yield (id,), text


def _find_contradictions(
    question: SetQuestion, conditions: Conditions, earlier: Mapping[str, SetQuestion]
) -> Iterator[tuple[FieldPath, str]]:
    for answered in dict.fromkeys(id for _, id in conditions):
        expected = [each for (_, id), each in conditions.items() if id == answered]
        possible, stops = earlier[answered].possible_answers, [stop.answer for stop in earlier[answered].stop]
        if possible.can_match(expected, stops):
            continue
        reason = f"every answer to `{answered}` with which it is asked stops the request"
        if not possible.can_match(expected):
            words = " and ".join(map(describe_expected, expected))
            reason = f"the answer to `{answered}` would have to be {words}"
        yield (answered,) if answered in question.when else (), f"it can never be asked: {reason}"
