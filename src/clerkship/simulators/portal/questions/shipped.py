"""The question sets that ship, those of a config beside them, and those for the procedures of a request."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.payer.code_pattern import matches_any_code
from clerkship.simulators.portal.questions.question_set import QuestionSet
from clerkship.suite_files.yaml import parse_yaml

SET_FOLDER = Path(__file__).parent / "sets"


@cache
def load_shipped_sets() -> tuple[QuestionSet, ...]:
    """Return the question sets that ship, in order of their files."""
    return tuple(
        QuestionSet.model_validate(parse_yaml(path.read_text(encoding="utf-8"), path.name).data)
        for path in sorted(SET_FOLDER.glob("*.yml"))
    )


def merge_question_sets(own: Sequence[QuestionSet]) -> tuple[QuestionSet, ...]:
    """Return the question sets of a config, then those that ship, except for those with the same id."""
    ids = {each.id for each in own}
    return (*own, *(each for each in load_shipped_sets() if each.id not in ids))


def find_question_sets(sets: Sequence[QuestionSet], procedure_codes: Sequence[str]) -> tuple[QuestionSet, ...]:
    """Return the sets for some procedures, in the order of these: for each code the first set that has it."""
    by_code = [[each for each in sets if matches_any_code(each.procedure_codes, (code,))] for code in procedure_codes]
    return tuple({found[0].id: found[0] for found in by_code if found}.values())


def _check_sets(own: tuple[QuestionSet, ...]) -> tuple[QuestionSet, ...]:
    """Refuse repeated ids of sets, and a question that another set asks with another type: a form may have both."""
    mistakes: list[tuple[FieldPath, str]] = []
    ids: set[str] = set()
    shipped = merge_question_sets(own)[len(own) :] if own else ()
    known = {question.id: (question, each.id) for each in shipped for question in each.questions}
    for place, question_set in enumerate(own):
        if question_set.id in ids:
            mistakes.append(((place, "id"), f"an earlier set has the id `{question_set.id}` too; choose another"))
        ids.add(question_set.id)
        for number, question in enumerate(question_set.questions):
            other, source = known.setdefault(question.id, (question, question_set.id))
            if (other.type, other.choices) != (question.type, question.choices):
                answers = ", ".join((other.type, *other.choices))
                text = f"the set `{source}` asks `{question.id}` as {answers}; do the same, or choose another id"
                mistakes.append(((place, "questions", number), text))
    if mistakes:
        raise build_located_error(mistakes)
    return own


QuestionSets = Annotated[tuple[QuestionSet, ...], AfterValidator(_check_sets)]
"""The question sets of a config."""
