"""Which questions are asked, what is wrong with typed answers, and what the payer gets."""

from datetime import date

import pytest

from clerkship.payer.determination import read_answers
from clerkship.payer.determination_rule import Determination
from clerkship.payer.plan import read_table
from clerkship.simulators.portal.config import DateFormat
from clerkship.simulators.portal.questions.answering import (
    ask_questions,
    build_question_fields,
    list_answer_problems,
    list_answers,
)
from clerkship.simulators.portal.questions.question_set import QuestionSet
from clerkship.simulators.portal.questions.shipped import find_question_sets, load_shipped_sets
from clerkship.simulators.portal.typed_date import read_typed_date

QUESTIONS: list[dict[str, object]] = [
    {"id": "hurt", "text": "Hurt?", "type": "boolean"},
    {"id": "weeks", "text": "Weeks?", "type": "number", "min": 0, "max": 52, "when": {"hurt": True}},
    {"id": "why", "text": "Why so short?", "type": "text", "when": {"weeks": {"lt": 6}}},
    {"id": "day", "text": "Which day?", "type": "date", "required": False},
    {
        "id": "side",
        "text": "Side?",
        "type": "choice",
        "choices": ["Left", "Right"],
        "stop": [{"answer": "Right", "text": "Call the peer-to-peer line."}],
    },
    {"id": "note", "text": "Note?", "type": "text", "required": False},
]


def build_set(questions: list[dict[str, object]], id: str = "own") -> QuestionSet:
    """Return a set with some questions."""
    return QuestionSet.model_validate({"id": id, "title": "Own", "procedure_codes": "1", "questions": questions})


OWN = build_set(QUESTIONS)


def list_asked(typed: dict[str, str], *sets: QuestionSet) -> list[str]:
    """Return the ids of the questions that are asked."""
    return [each.question.id for each in ask_questions(sets or (OWN,), typed)]


def list_problems(typed: dict[str, str], date_format: DateFormat = "any") -> dict[str, str]:
    """Return the problems by field."""
    return {each.field: each.text for each in list_answer_problems(ask_questions((OWN,), typed, date_format))}


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ({}, ["hurt", "day", "side", "note"]),
        ({"hurt": "no"}, ["hurt", "day", "side", "note"]),
        ({"hurt": "true"}, ["hurt", "weeks", "day", "side", "note"]),
        ({"hurt": "Yes", "weeks": " 5.5 "}, ["hurt", "weeks", "why", "day", "side", "note"]),
        ({"hurt": "yes", "weeks": "6"}, ["hurt", "weeks", "day", "side", "note"]),
        # A wrong answer, and one to a question that is not asked any more, does not count.
        ({"hurt": "yes", "weeks": "-1"}, ["hurt", "weeks", "day", "side", "note"]),
        ({"hurt": "no", "weeks": "5"}, ["hurt", "day", "side", "note"]),
    ],
)
def test_questions_are_asked_by_earlier_answers(typed: dict[str, str], asked: list[str]) -> None:
    assert list_asked(typed) == asked


def test_answer_that_stops_ends_its_set_and_is_a_problem_with_the_text_of_the_stop() -> None:
    assert list_asked({"side": "right"}) == ["hurt", "day", "side"]
    assert list_problems({"hurt": "no", "side": "right"}) == {"answer_side": "Call the peer-to-peer line."}


def test_unanswered_question_never_stops() -> None:
    stop = {"answer": {"not": True}, "text": "Call."}
    own = build_set([{"id": "hurt", "text": "Hurt?", "type": "boolean", "required": False, "stop": [stop]}])
    assert list_answer_problems(ask_questions((own,), {})) == ()
    [problem] = list_answer_problems(ask_questions((own,), {"hurt": "no"}))
    assert (problem.field, problem.text) == ("answer_hurt", "Call.")


def test_question_of_two_sets_is_asked_once_if_either_asks_it() -> None:
    other = build_set(
        [
            {
                "id": "weeks",
                "text": "Weeks in all?",
                "type": "number",
                "stop": [{"answer": {"gt": 9}, "text": "Call."}],
            },
            {"id": "next", "text": "Next?", "type": "text", "when": {"weeks": {"gte": 6}}},
        ],
        "other",
    )
    assert list_asked({"hurt": "no", "weeks": "7"}, OWN, other) == ["hurt", "day", "side", "note", "weeks", "next"]
    assert list_asked({"hurt": "yes", "weeks": "7"}, OWN, other) == ["hurt", "weeks", "day", "side", "note", "next"]
    asked = ask_questions((OWN, other), {"hurt": "yes", "weeks": "10"})
    assert [each.problem for each in asked if each.question.id == "weeks"] == ["Call."]


@pytest.mark.parametrize(
    ("field", "typed", "problem"),
    [
        ("hurt", "", "Answer “Hurt?”."),
        ("hurt", "maybe", "Choose one of the answers for “Hurt?”: Yes, No."),
        ("weeks", "six", "Enter a number of at least 0 and at most 52 for “Weeks?”, in digits and without a unit."),
        ("weeks", "53", "Enter a number of at least 0 and at most 52 for “Weeks?”, in digits and without a unit."),
        ("weeks", "nan", "Enter a number of at least 0 and at most 52 for “Weeks?”, in digits and without a unit."),
        ("day", "02/30/2026", "Enter a date for “Which day?”, such as 03/06/2026."),
        ("day", "yesterday", "Enter a date for “Which day?”, such as 03/06/2026."),
        ("side", "Middle", "Choose one of the answers for “Side?”: Left, Right."),
        ("note", "x" * 2001, "Shorten the answer for “Note?” to 2,000 characters; it has 2,001."),
    ],
)
def test_wrong_answer_is_a_problem_that_says_what_to_do(field: str, typed: str, problem: str) -> None:
    right = {"hurt": "yes", "weeks": "8", "side": "Left"}
    assert list_problems(right) == {}
    assert list_problems(right | {field: typed}) == {f"answer_{field}": problem}


def test_missing_answers_are_no_problems_while_the_form_is_filled_in() -> None:
    asked = ask_questions((OWN,), {"weeks": "8", "day": "soon"})
    assert [each.field for each in list_answer_problems(asked, with_missing=False)] == ["answer_day"]


def test_payer_gets_answers_in_their_types_without_those_that_are_not_asked_or_wrong() -> None:
    typed = {
        "hurt": "Yes",
        "weeks": "8",
        "why": "no",
        "day": "March 6, 2026",
        "side": "LEFT",
        "note": " x ",
        "odd": "1",
    }
    asked = ask_questions((OWN,), typed)
    assert list_answers(asked) == {"hurt": True, "weeks": 8.0, "day": "2026-03-06", "side": "Left", "note": "x"}
    assert "weeks" not in list_answers(ask_questions((OWN,), typed | {"weeks": "60"}))


def test_fields_of_a_form_show_what_is_typed_and_choices_as_the_question_has_them() -> None:
    fields = build_question_fields(ask_questions((OWN,), {"hurt": "yes", "weeks": "six", "side": "left"}))
    assert [(each.id, each.value) for each in fields][:2] == [("hurt", "yes"), ("weeks", "six")]
    [side] = [each for each in fields if each.id == "side"]
    assert (side.value, side.choices, side.is_required) == ("Left", ("Left", "Right"), True)


def test_answers_to_the_shipped_questions_about_the_spine_are_all_that_the_payer_asks() -> None:
    rule = Determination.model_validate(read_table("rules")["determinations"][0])
    typed = {
        "spine_region": "Lumbar",
        "red_flags": "no",
        "conservative_therapy_weeks": "7",
        "prior_spine_imaging": "no",
    }
    typed |= {"conservative_therapy_kind": "Physical therapy"}
    asked = ask_questions(find_question_sets(load_shipped_sets(), ("72148",)), typed)
    assert list_answer_problems(asked) == ()
    answers = list_answers(asked)
    assert {question.id for question in rule.questions} <= answers.keys()
    assert read_answers(rule.questions, answers) == answers


@pytest.mark.parametrize("text", ["03/06/2026", "3/6/26", "2026-03-06", "Mar 6, 2026", " 6 March 2026 ", "03.06.2026"])
def test_typed_date_is_read_in_usual_notations(text: str) -> None:
    assert read_typed_date(text) == date(2026, 3, 6)


@pytest.mark.parametrize("text", ["", "3/6", "13/6/2026", "about 03/06/2026", "03/06/2026 04/06/2026", "2026", "9" * 9])
def test_typed_text_that_is_not_one_date_is_none(text: str) -> None:
    assert read_typed_date(text) is None


def test_strict_date_format_refuses_other_notations() -> None:
    assert read_typed_date("03/06/2026", "MM/DD/YYYY") == date(2026, 3, 6)
    assert read_typed_date("2026-03-06", "MM/DD/YYYY") is None
    typed = {"hurt": "no", "side": "Left", "day": "3/6/2026"}
    problem = "Enter a date for “Which day?”, as MM/DD/YYYY, such as 03/06/2026."
    assert list_problems(typed, "MM/DD/YYYY") == {"answer_day": problem}
