"""The code lists and question sets of one portal, as its forms need them."""

from collections.abc import Mapping, Sequence

from clerkship.simulators.portal.codes.choices import find_label
from clerkship.simulators.portal.codes.code_list import load_diagnoses, load_procedures
from clerkship.simulators.portal.config import PortalConfig
from clerkship.simulators.portal.questions.answering import (
    AnswerValue,
    AskedQuestion,
    ask_questions,
    list_answer_problems,
    list_answers,
)
from clerkship.simulators.portal.questions.question_set import QuestionSet
from clerkship.simulators.portal.questions.shipped import find_question_sets, merge_question_sets
from clerkship.simulators.portal.views import FieldMistake


class CodeLists:
    """The codes of one portal."""

    def __init__(self, config: PortalConfig) -> None:
        self.procedures, self.diagnoses = load_procedures(config.codes), load_diagnoses()

    def check_modifier(self, modifier: str) -> str:
        """Return why a modifier cannot be used; empty if it can."""
        return "" if find_label("modifiers", modifier) else f"{modifier[:10]} is not a known modifier. Check it."

    def write_diagnosis(self, code: str) -> str:
        """Return a diagnosis code with its dot."""
        listed = self.diagnoses.find(code)
        if listed is not None:
            return listed.code
        return code if "." in code or len(code) <= 3 else f"{code[:3]}.{code[3:]}"


class RequestQuestions:
    """The clinical questions about the procedures of a request."""

    def __init__(self, config: PortalConfig, procedure_codes: Sequence[str]) -> None:
        self.sets: tuple[QuestionSet, ...] = find_question_sets(
            merge_question_sets(config.question_sets), procedure_codes
        )
        self._date_format = config.friction.date_format

    @property
    def title(self) -> str:
        """The headings of the question sets."""
        return ", ".join(each.title for each in self.sets)

    def ask(self, typed: Mapping[str, str]) -> tuple[AskedQuestion, ...]:
        """Return the questions that are asked, given the typed answers."""
        return ask_questions(self.sets, typed, self._date_format)

    def check(self, typed: Mapping[str, str], *, with_missing: bool = True) -> tuple[FieldMistake, ...]:
        """Return what is wrong with typed answers."""
        return list_answer_problems(self.ask(typed), with_missing=with_missing)

    def read(self, typed: Mapping[str, str]) -> dict[str, AnswerValue]:
        """Return the answers as the payer gets them."""
        return list_answers(self.ask(typed))

    def find_text(self, id: str) -> str:
        """Return the text of a question; its id if no set has it."""
        return next((each.text for set in self.sets for each in set.questions if each.id == id), id)


def check_place(place: str) -> str:
    """Return why a place of service cannot be used; empty if it can."""
    return "" if find_label("places", place) else "Choose a place of service of the list."
