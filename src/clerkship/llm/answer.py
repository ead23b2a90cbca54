"""What a model wrote, as the data it was asked for: fences, thoughts and chatter around it are passed over."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from clerkship.kit.text import replace_surrogates
from clerkship.llm.contract import BadAnswer
from clerkship.model.redaction import map_texts

T = TypeVar("T", bound=BaseModel)
MAX_STARTS = 50
"""Braces at which an object is looked for."""
_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_FIRST_THOUGHTS = re.compile(r"\A\s*<think>.*?(</think>|\Z)", re.DOTALL)
_DECODER = json.JSONDecoder()


def parse_answer(text: str, shape: type[T]) -> T:
    """The object in it that has the shape; raises BadAnswer, saying what is wrong, where none has, or where several
    have it and differ: one of them may be quoted from what was judged. Thoughts go before it; others are taken out only
    where it cannot be read with them, for an agent's thoughts may be quoted in it."""
    try:
        return _parse_object(_FIRST_THOUGHTS.sub("", text), shape)
    except BadAnswer:
        if "<think>" not in text:
            raise
    return _parse_object(_THOUGHTS.sub("", text), shape)


def _parse_object(text: str, shape: type[T]) -> T:
    wrong, answers = "there is no JSON object in it", list[T]()
    for found in _find_objects(text):
        try:
            answers.append(shape.model_validate(map_texts(found, replace_surrogates)))
        except ValidationError as error:
            wrong = _describe_errors(error)
    if not answers:
        raise BadAnswer(wrong)
    if any(answer != answers[0] for answer in answers):
        raise BadAnswer(f"there are {len(answers)} answers in it, and they differ")
    return answers[0]


def _find_objects(text: str) -> Iterator[Any]:
    """The JSON objects in a text, those inside others left out."""
    start, tried = text.find("{"), 0
    while start >= 0 and tried < MAX_STARTS:
        tried += 1
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            end = start + 1
        else:
            yield found
        start = text.find("{", end)


def _describe_errors(error: ValidationError) -> str:
    """What does not fit, in a line that a model can act on."""
    parts = [f"{'.'.join(map(str, part['loc'])) or 'it'}: {part['msg']}" for part in error.errors()[:5]]
    return "; ".join(parts)[:500]
