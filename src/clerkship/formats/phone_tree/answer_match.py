"""Which answer of a script a question asks for, and remarks that are no questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from clerkship.formats.phone_tree.grammar import list_stems, match_choice
from clerkship.formats.phone_tree.representative_script import RepresentativeAnswer
from clerkship.formats.phone_tree.tree import Choice

MIN_COMMON_PART = 0.5
"""Part of the words of a phrase that a question must contain."""
_REMARKS: Mapping[str, Sequence[str]] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
"""What callers say that is no question."""


def find_answer(answers: Sequence[RepresentativeAnswer], text: str, *, exact: bool = False) -> int | None:
    """Return the index of the answer whose phrase has the most words in common with a question.

    None if no phrase has half of its words in it, or if two answers share parts of it equally. With `exact`, all words
    of a phrase must be there.
    """
    words = list_stems(text)
    scores: dict[int, tuple[int, float]] = {}
    for index, answer in enumerate(answers):
        for phrase in answer.asks:
            wanted = list_stems(phrase)
            common = len(wanted & words)
            part = common / len(wanted) if wanted else 0.0
            if common and part >= (1.0 if exact else MIN_COMMON_PART):
                scores[index] = max(scores.get(index, (0, 0.0)), (common, part))
    best = max(scores.values(), default=(0, 0.0))
    indexes = [index for index, score in scores.items() if score == best]
    return indexes[0] if len(indexes) == 1 or (indexes and best[1] == 1.0) else None


def find_remark(text: str) -> str | None:
    """Return what kind of remark a text is: `end`, `repeat`, `wait` or `thanks`; None if it is another text."""
    for kind, phrases in _REMARKS.items():
        if match_choice((Choice(speech=tuple(phrases), next=kind),), text) is not None:
            return kind
    return None
