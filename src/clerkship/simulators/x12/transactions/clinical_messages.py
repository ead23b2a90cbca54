"""Clinical questions and their answers, which a 278 carries as free text (MSG).

X12 asks clinical questions by LOINC codes or in words. Here they are asked in words:

    MSG*QUESTION red_flags (boolean) - Are there warning signs? QUESTION side (left/right) - Which side?~

A loop has one MSG segment. Questions that do not fit in that of the event stand in those of the services. They are
answered in the MSG segments of an update, by the id of the question. A `;` separates several answers:

    MSG*red_flags=no; side=left~

Other text is a note.
"""

import re
from collections.abc import Iterable, Sequence

from clerkship.formats.x12.charset import X12Charset
from clerkship.formats.x12.loop import Loop
from clerkship.payer.answer import ClinicalQuestion
from clerkship.simulators.x12.transactions.text import MAX_MESSAGE, render_message

MIN_QUESTION = 20
"""Characters of a question that are kept if there is not enough space."""
_ANSWER = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)\s*=\s*(\S.*)")


def read_messages(loops: Iterable[Loop]) -> tuple[dict[str, str | bool | float], str]:
    """Return the answers to clinical questions, by the id of the question, and the other text as a note.

    The payer reads an answer as the type of its question.
    """
    answers: dict[str, str | bool | float] = {}
    notes: list[str] = []
    texts = [segment.raw(1) for loop in loops for segment in loop.segments_with_id("MSG")]
    for part in (part.strip() for text in texts for part in text.split(";")):
        if match := _ANSWER.fullmatch(part):
            answers[match[1]] = match[2]
        elif part:
            notes.append(part)
    return answers, "; ".join(notes)


def render_question_id(id: str, charset: X12Charset) -> str:
    """Return the id of a question. The basic character set has no `_`; the payer takes `-` for it."""
    return id.replace("_", "-") if charset == "basic" else id


def pack_messages(
    text: str, questions: Sequence[ClinicalQuestion], slots: int, charset: X12Charset = "extended"
) -> list[str]:
    """Return the texts of at most `slots` MSG segments: an explanation, and all questions.

    If there is not enough space, the explanation is left out, then the questions are shortened. Every id is there.
    """
    whole = [_render_question(question, charset) for question in questions]
    if packed := _pack([*([render_message(text)] if text else []), *whole], slots):
        return packed
    for max_length in range(MAX_MESSAGE, MIN_QUESTION, -1):
        if packed := _pack([question[:max_length].strip() for question in whole], slots):
            return packed
    return [render_message(" ".join(whole))] if whole else []


def _pack(texts: Sequence[str], slots: int) -> list[str]:
    """Return the texts joined to at most `slots` messages, in order; an empty list if they do not fit."""
    messages: list[str] = []
    for text in texts:
        if messages and len(messages[-1]) + 1 + len(text) <= MAX_MESSAGE:
            messages[-1] += f" {text}"
        else:
            messages.append(text)
    return messages if len(messages) <= slots else []


def _render_question(question: ClinicalQuestion, charset: X12Charset) -> str:
    kind = "/".join(question.choices) or question.type
    return render_message(f"QUESTION {render_question_id(question.id, charset)} ({kind}) - {question.text}")
