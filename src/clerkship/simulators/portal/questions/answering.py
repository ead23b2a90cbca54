"""The questions that are asked given the answers typed so far, what is wrong with these, and what the payer gets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from clerkship.model.matcher import matches_expected
from clerkship.payer.determination import read_answer
from clerkship.simulators.portal.config import DateFormat
from clerkship.simulators.portal.questions.question import SetQuestion
from clerkship.simulators.portal.questions.question_set import QuestionSet
from clerkship.simulators.portal.typed_date import DATE_WORDS, read_typed_date
from clerkship.simulators.portal.views import FieldMistake, QuestionField

AnswerValue = str | bool | float
MAX_ANSWER = 2000
"""Characters of a text."""


class AskedQuestion(NamedTuple):
    """A question that is asked, with what is typed so far."""

    question: SetQuestion
    typed: str
    value: AnswerValue | None = None
    """The answer as the payer gets it; None if it is missing or wrong."""
    problem: str = ""
    """What is wrong with the answer, or missing, in words that say what to do."""


def ask_questions(
    sets: Sequence[QuestionSet], typed: Mapping[str, str], date_format: DateFormat = "any"
) -> tuple[AskedQuestion, ...]:
    """Return the questions of some sets that are asked, given the typed answers by id; each question once.

    Answers to questions that are not asked do not count, nor do wrong ones. After an answer that stops the request, its
    set asks nothing more.
    """
    asked: dict[str, AskedQuestion] = {}
    for question_set in sets:
        for each in _ask_set(question_set, typed, date_format):
            previous = asked.setdefault(each.question.id, each)
            if each.problem and not previous.problem:
                asked[each.question.id] = each
    return tuple(asked.values())


def _ask_set(question_set: QuestionSet, typed: Mapping[str, str], date_format: DateFormat) -> Iterator[AskedQuestion]:
    answers: dict[str, AnswerValue] = {}
    for question in question_set.questions:
        if not all(id in answers and matches_expected(each, answers[id]) for id, each in question.when.items()):
            continue
        text = typed.get(question.id, "").strip()
        value = _read_typed(question, text, date_format)
        if value is None:
            yield AskedQuestion(question, text, None, _explain(question, text, date_format))
            continue
        answers[question.id] = value
        stops = [each.text for each in question.stop if matches_expected(each.answer, value)]
        yield AskedQuestion(question, text, value, "".join(stops[:1]))
        if stops:
            return


def _read_typed(question: SetQuestion, text: str, date_format: DateFormat) -> AnswerValue | None:
    """Return a typed answer; None if it is missing or wrong."""
    if question.type == "date":
        day = read_typed_date(text, date_format)
        return None if day is None else day.isoformat()
    value = read_answer(question.type, question.choices, text)
    if question.type == "number" and isinstance(value, float):
        return value if question.possible_answers.is_in_range(value) else None
    return None if len(text) > MAX_ANSWER else value


def _explain(question: SetQuestion, text: str, date_format: DateFormat) -> str:
    """Return what to do about a missing or wrong answer; empty if it may be left open."""
    about = f"for “{question.text}”"
    if not text:
        return f"Answer “{question.text}”." if question.required else ""
    if question.type == "number":
        return f"Enter {question.possible_answers.describe()} {about}, in digits and without a unit."
    if question.type == "date":
        return f"Enter a date {about}, {DATE_WORDS[date_format]}."
    if question.type == "text":
        return f"Shorten the answer {about} to {MAX_ANSWER:,} characters; it has {len(text):,}."
    return f"Choose one of the answers {about}: {', '.join(question.choices or ('Yes', 'No'))}."


def list_answer_problems(asked: Iterable[AskedQuestion], *, with_missing: bool = True) -> tuple[FieldMistake, ...]:
    """Return what is wrong with the answers; without missing ones while the form is still being filled in."""
    wrong = [each for each in asked if each.problem and (each.typed or with_missing)]
    return tuple(FieldMistake(f"answer_{each.question.id}", each.problem) for each in wrong)


def list_answers(asked: Iterable[AskedQuestion]) -> dict[str, AnswerValue]:
    """Return the right answers by the id of the question, as the payer gets them: dates in ISO format."""
    return {each.question.id: each.value for each in asked if each.value is not None}


def build_question_fields(asked: Iterable[AskedQuestion]) -> tuple[QuestionField, ...]:
    """Return the questions as a form shows them. A choice is written as the question has it."""
    return tuple(
        QuestionField(
            *(question.id, question.text, question.type, question.choices),
            value=str(value) if question.type == "choice" and value else typed,
            hint=question.hint,
            is_required=question.required,
        )
        for question, typed, value, _ in asked
    )
