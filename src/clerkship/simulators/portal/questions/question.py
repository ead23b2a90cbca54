"""One clinical question."""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.simulators.portal.questions.possible_answers import MAX_NUMBER, AnswerType, PossibleAnswers

Limit = Annotated[Number | Whole, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
ChoiceText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class AnswerStop(Frozen):
    """Answers with which a request cannot be decided in the portal."""

    answer: Annotated[JsonValue, Field(description="the answer: a value or a matcher")]
    text: Annotated[str, Field(min_length=1, description="what the page says, such as whom to call")]


class SetQuestion(Frozen):
    """One question."""

    id: Annotated[
        str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="its id, by which the payer knows the answer")
    ]
    text: Annotated[str, Field(min_length=1, description="the question")]
    type: Annotated[AnswerType, Field(description="type of the answer")]
    choices: Annotated[tuple[ChoiceText, ...], Field(description="the possible answers, with `type: choice`")] = ()
    hint: Annotated[str, Field(description="a line below the question")] = ""
    required: Annotated[Flag, Field(description="false if it may be left open")] = True
    min: Annotated[Limit | None, Field(description="smallest number")] = None
    max: Annotated[Limit | None, Field(description="largest number")] = None
    when: Annotated[
        dict[str, JsonValue],
        Field(description="answers to earlier questions, by id, with which it is asked: values or matchers"),
    ] = {}
    stop: Annotated[
        tuple[AnswerStop, ...], Field(description="answers with which the request cannot be submitted, and what to do")
    ] = ()

    @property
    def possible_answers(self) -> PossibleAnswers:
        """The answers that it can have."""
        return PossibleAnswers(self.type, self.choices, self.min, self.max)

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        mistakes = list(self._find_type_mistakes()) or list(self._find_stop_mistakes())
        if mistakes:
            raise build_located_error(mistakes)
        return self

    def _find_type_mistakes(self) -> Iterator[tuple[FieldPath, str]]:
        if self.type != "choice" and self.choices:
            yield ("choices",), f"`choices` go with `type: choice`, not with `type: {self.type}`"
        elif self.type == "choice" and len(self.choices) < 2:
            yield ("choices",) if self.choices else (), "`type: choice` needs `choices`, at least two"
        elif len({choice.lower() for choice in self.choices}) < len(self.choices):
            yield ("choices",), "two choices are the same (capital letters do not count)"
        for name, limit in (("min", self.min), ("max", self.max)):
            if limit is not None and self.type != "number":
                yield (name,), f"`{name}` goes with `type: number`, not with `type: {self.type}`"
        if self.min is not None and self.max is not None and self.min > self.max:
            yield ("max",), f"`max` is less than `min`, which is {self.min:.12g}"

    def _find_stop_mistakes(self) -> Iterator[tuple[FieldPath, str]]:
        possible, answers = self.possible_answers, [each.answer for each in self.stop]
        for place, answer in enumerate(answers):
            if text := possible.explain_mismatch(answer):
                yield ("stop", place, "answer"), text
                return
            if not possible.can_match([answer], answers[:place]):
                yield ("stop", place, "answer"), "a `stop` before this one has all of these answers"
        if self.stop and not possible.can_match([], answers):
            yield ("stop",), "every answer stops the request; leave one with which it can be submitted"
