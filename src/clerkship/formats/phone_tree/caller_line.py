"""What a line of the caller means to a representative: what is asked, which values it states, and what else it does."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from clerkship.formats.phone_tree.grammar import list_stems, match_choice
from clerkship.formats.phone_tree.nodes import Choice
from clerkship.formats.phone_tree.prompts import find_names
from clerkship.formats.phone_tree.representative_script import RepresentativeAnswer, RepresentativeScript
from clerkship.formats.phone_tree.session import RepresentativeSession
from clerkship.formats.phone_tree.spoken_names import find_patient_name
from clerkship.formats.phone_tree.stated_values import MAX_TEXT, PATIENT_NAMES, REQUEST_NAMES, find_format, find_values
from clerkship.text.spoken_words import CORRECTIONS, fold_speech, split_words

Act = Literal["end", "repeat", "wait", "person", "thanks"]
"""`end`: goodbye. `person`: another person is asked for. `wait`: the caller looks for something."""
MIN_COMMON_PART = 0.5
"""Part of a phrase that a question must contain, by the weight of its words."""
_TABLE: Mapping[str, Any] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
_ACTS: Mapping[Act, Choice] = {act: Choice(speech=tuple(each), next=act) for act, each in _TABLE["acts"].items()}
_IGNORED = list_stems(_TABLE["ignored"])
_SYNONYMS = {
    stem: next(iter(list_stems(word))) if list_stems(word) else word
    for word, others in _TABLE["synonyms"].items()
    for other in others.split()
    for stem in list_stems(other, kept=frozenset({other}))
}
_KEPT = frozenset({"need", "needs", "your"})
_OTHER_PERSON = re.compile(r"\b(?:(?:another|next|other|different|second) (?:patient|member|one|person)|born|birth)\b")
"""What says that a caller now speaks of another person."""
_NO_MEANING = re.compile(
    r"\b(?<!do )(?<!does )(?<!would )(?<!will )(?:i|we|you|they)(?:ll|d)? "
    r"(?:just |only |also |really |would |will |do )*need\b"
    r"|\bcall(?:ing|ed)\b|\b(?:never|didnt|wasnt|isnt|arent|doesnt|cant|cannot|wont|havent|hasnt)\b"
)
"""What does not tell what a question is about: that the caller needs something, or that something did not happen."""
_REQUIRED = re.compile(r"\bha(?:s|ve) to be\b|\bmust\b")
"""What asks whether something is required, in words that alone mean nothing."""


class CallerLine(NamedTuple):
    """What a line means."""

    act: Act | None
    intent: int | None
    """The number of the answer that is asked for."""
    values: dict[str, str]
    person: str | None
    """The name of the person whom it is about, if one is named."""
    is_implied: bool
    """Whether only the number of a request tells what is asked."""


def read_line(script: RepresentativeScript, session: RepresentativeSession, text: str) -> CallerLine:
    """Return what a line means to a representative who remembers the session."""
    text = text[:MAX_TEXT]
    act, asked_for = find_act(text), session.asked_for
    intent = find_intent(script.answers, text, exact=bool(asked_for) or act in ("repeat", "person", "thanks"))
    if (intent is not None or act is not None) and find_format(asked_for) is None:
        asked_for = ""  # the line is not the answer to the question
    pending = intent if intent is not None else int(session.intent) if session.intent else None
    own_names = list_value_names(script.answers[pending]) if pending is not None else ()
    names = tuple(dict.fromkeys((*script.verify, *own_names, *REQUEST_NAMES)))
    open_names = _list_open_names(script, session, own_names, text)
    first = [name for name in own_names if name == "procedure_code"] if intent is not None else []
    values = find_values(names, text, asked_for, open_names, first)
    is_implied = intent is None and act is None and not session.intent
    if is_implied:
        intent = _find_only_answer(script.answers, values)
    return CallerLine(act, intent, values, find_patient_name(text), is_implied)


def _find_only_answer(answers: Sequence[RepresentativeAnswer], values: Mapping[str, str]) -> int | None:
    """Return the number of the only answer that uses the number of a request: who states it asks about the request."""
    names = [name for name in REQUEST_NAMES if name in values]
    numbers = [
        number for number, answer in enumerate(answers) if any(name in list_value_names(answer) for name in names)
    ]
    return numbers[0] if len(numbers) == 1 else None


def list_value_names(answer: RepresentativeAnswer) -> tuple[str, ...]:
    """Return the names of the values that a caller may state for an answer."""
    return (*list_argument_names(answer), *answer.optional)


def list_argument_names(answer: RepresentativeAnswer) -> tuple[str, ...]:
    """Return the names of the values that the arguments of an answer use."""
    return tuple(name for text in answer.arguments.values() for name in find_names(text))


def _list_open_names(
    script: RepresentativeScript, session: RepresentativeSession, own_names: Sequence[str], text: str
) -> list[str]:
    """Return the names of the values that are recognized by their form alone.

    These are values that are still missing or in doubt, and those that the caller corrects.
    """
    is_correction = not CORRECTIONS.isdisjoint(split_words(text))
    is_other = _OTHER_PERSON.search(fold_speech(text)) is not None
    slots, names = session.slots, list[str]()
    for name in script.verify:
        is_open = name not in slots or slots[name].state == "doubted" or is_correction
        if (is_open and not session.is_verified) or (is_other and session.is_verified) or name in PATIENT_NAMES:
            names.append(name)
    return [*names, *(name for name in own_names if name in ("procedure_code", "service_date"))]


def find_act(text: str) -> Act | None:
    """Return what a line does besides stating values; None if it does nothing else."""
    return next((act for act, choice in _ACTS.items() if match_choice((choice,), text) is not None), None)


def find_intent(answers: Sequence[RepresentativeAnswer], text: str, *, exact: bool = False) -> int | None:
    """Return the number of the answer whose phrase has the most in common with a question.

    A word that belongs to several answers counts less. None if no phrase has half of its weight in the question, or if
    two answers share parts of it equally. With `exact`, all words of a phrase must be there.
    """
    words, all_words = _list_words(text), list_stems(text)
    phrases = [[(_list_words(phrase), phrase) for phrase in answer.asks] for answer in answers]
    counts = Counter(word for each in phrases for word in frozenset().union(*(phrase for phrase, _ in each)))
    scores: dict[int, tuple[float, float, float]] = {}
    for index, each in enumerate(phrases):
        for phrase, written in each:
            whole = sum(1 / counts[word] for word in phrase)
            common = sum(1 / counts[word] for word in phrase & words)
            part = common / whole if whole else 0.0
            if part >= (1.0 if exact else MIN_COMMON_PART):
                stems = list_stems(written)
                nearness = len(stems & all_words) / max(len(stems), 1)  # `open a case` or `case that was opened`
                score = (round(common, 6), round(part, 6), nearness)
                scores[index] = max(scores.get(index, score), score)
    best = max(scores.values(), default=(0.0, 0.0, 0.0))
    indexes = [index for index, score in scores.items() if score == best]
    return indexes[0] if len(indexes) == 1 or (indexes and best[1] == 1.0) else None


@lru_cache(maxsize=2_000)
def _list_words(text: str) -> frozenset[str]:
    """Return the words of a question that carry its meaning, one for each group of synonyms."""
    stems = list_stems(_REQUIRED.sub("required", _NO_MEANING.sub(" ", fold_speech(text))), kept=_KEPT)
    return frozenset(_SYNONYMS.get(stem, stem) for stem in stems - _IGNORED)
