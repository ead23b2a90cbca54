"""Patterns for the lines of a simulated person: formats, noise, admissions, and typical assistant phrases.

They are in `person_patterns.yml`, in English, and favour precision, because a false match makes a trial invalid.
What a customer could also say ("Let me check", "You're welcome", "What is your phone number?") is not matched.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_CLOSING_PART = re.compile(r"[^.!?,;:…\n–—]+")
_QUOTED = re.compile(r"[\"“„«][^\"“”»\n]{1,400}[\"”»]")
_REPORTING = re.compile(r"\b(?:says|said|saying|told|tells|reads|stat(?:es|ed)|wrote|writes|promised|asks|asked)\b")
"""Reported speech is not the speaker's own offer."""


class Breach(NamedTuple):
    """A rule that a line breaks, and the reason, written for the model that plays the person."""

    rule: str
    reason: str


@cache
def _load_patterns() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    return data


@cache
def _compile_patterns(*path: str) -> re.Pattern[str]:
    """Compile the patterns at a path of the file into one, with fragments filled in."""
    patterns = _load_patterns()
    for key in path:
        patterns = patterns[key]
    return re.compile("|".join(map(_fill_fragments, patterns)), re.IGNORECASE)


def _fill_fragments(pattern: str) -> str:
    return re.sub(r"\{([A-Z]+)\}", lambda match: _fill_fragments(_load_patterns()["fragments"][match[1]]), pattern)


def rule_breach(name: str) -> Breach:
    """Return the breach of a rule of the file."""
    rule = _load_patterns()["rules"][name]
    return Breach(rule["rule"], rule["reason"])


def find_pattern_breaches(message: str, *names: str) -> Iterator[Breach]:
    """Yield the breaches of the given rules whose patterns match a message."""
    return (rule_breach(name) for name in names if _compile_patterns("rules", name, "patterns").search(message))


def find_assistant_phrase(message: str, heard: Sequence[str] = ()) -> str | None:
    """Return the first phrase in a message that only an assistant says; None if there is none.

    Quoted text and reported speech do not count, nor does a question that repeats the agent's own (`heard`).
    """
    for sentence in _unquoted_sentences(_QUOTED.sub(" ", message)):
        match = _compile_patterns("assistant").search(sentence)
        if match is not None:
            return match[0]
        question = _compile_patterns("asks").search(sentence)
        if question is not None and not any(question[0].casefold() in text.casefold() for text in heard):
            return question[0]
    return None


def is_closing(message: str, side: Literal["person", "agent"]) -> bool:
    """Return whether a message only ends a conversation: thanks and goodbyes, and "no" to an offer of more help."""
    parts = [part for part in map(str.strip, _CLOSING_PART.findall(message)) if any(map(str.isalnum, part))]
    ends, neutral = _compile_closings(side), _compile_patterns("closing", "neutral")
    others = [part for part in parts if not ends.fullmatch(part)]
    return len(others) < len(parts) and all(neutral.fullmatch(part) for part in others)


def ends_with_closing(message: str) -> bool:
    """Return whether an agent's message asks nothing and ends with a goodbye or an offer of more help."""
    *others, last = [match[0] for match in _SENTENCE.finditer(message)] or [""]
    return is_closing(last, "agent") and not any("?" in sentence for sentence in others)


@cache
def _compile_closings(side: str) -> re.Pattern[str]:
    closing = _load_patterns()["closing"]
    return re.compile("|".join(map(_fill_fragments, (*closing["both"], *closing[side]))), re.IGNORECASE)


def _unquoted_sentences(text: str) -> Iterable[str]:
    """Yield each sentence up to where it reports another speaker's words."""
    for match in _SENTENCE.finditer(text):
        reporting = _REPORTING.search(match[0].casefold())
        yield match[0] if reporting is None else match[0][: reporting.start()]
