"""Parse the answer of a model: the JSON object in its text, without fences, thoughts and comments around it."""

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
    """Return the object in a text that has the shape.

    Raise BadAnswer if there is none, or if there are several that differ: one may be quoted from the text to be
    judged. A leading `<think>` block is removed first. Others are removed only if the text cannot be parsed with
    them, because the answer may quote an agent's thoughts.
    """
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
    """Yield the outermost JSON objects in a text."""
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
    """Describe validation errors in a line that the model can act on."""
    parts = [f"{'.'.join(map(str, part['loc'])) or 'it'}: {part['msg']}" for part in error.errors()[:5]]
    return "; ".join(parts)[:500]
