"""Clinical questions and their answers, which a 278 carries as free text (MSG).

X12 asks clinical questions by LOINC codes or in words. Here they are asked in words, one to a MSG segment:

    MSG*QUESTION red_flags (boolean): Are there warning signs?~

and answered in MSG segments of an update, by the id of the question. A `;` separates several answers:

    MSG*red_flags=no; conservative_therapy_weeks=8~

Other text is a note.
"""

import re
from collections.abc import Iterable

from clerkship.domains.payer.answer import ClinicalQuestion
from clerkship.simulators.x12.transactions.text import render_message
from clerkship.x12.loop import Loop

_ANSWER = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)\s*=\s*(\S.*)")


def read_messages(loops: Iterable[Loop]) -> tuple[dict[str, str | bool | float], str]:
    """Return the answers to clinical questions, by the id of the question, and the other text as a note.

    The payer reads an answer as the type of its question.
    """
    answers: dict[str, str | bool | float] = {}
    notes: list[str] = []
    texts = [segment.raw(1) for loop in loops for segment in loop.segments if segment.id == "MSG"]
    for part in (part.strip() for text in texts for part in text.split(";")):
        if match := _ANSWER.fullmatch(part):
            answers[match[1]] = match[2]
        elif part:
            notes.append(part)
    return answers, "; ".join(notes)


def render_question(question: ClinicalQuestion) -> str:
    """Return the text of a MSG segment that asks a question."""
    choices = f": {', '.join(question.choices)}" if question.choices else ""
    return render_message(f"QUESTION {question.id} ({question.type}{choices}): {question.text}")
