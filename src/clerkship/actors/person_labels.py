"""Values of which a person has only one, such as a PIN or a date of birth, found in a text by their name.

A person who once said that their PIN is 4321 contradicts that by another PIN. Only plain statements are recognized,
because a wrong rejection invalidates a trial: `my PIN is 4321`, `PIN: 4321`, `4321 is my PIN`, and `4321` after a
question for the PIN.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clerkship.actors.person_facts import Facts, ValueSort, find_first_value

MAX_VALUE_LENGTH = 80
"""Characters after a name in which its value is looked for."""
MAX_TEXT_LENGTH = 20_000
"""Characters of a text that are searched: names of values are short, and stand in the beginning of long texts."""
_LABELS: dict[str, tuple[ValueSort, str]] = {
    "PIN": ("code", r"pin(?: code)?"),
    "password": ("code", r"pass ?(?:word|code)"),
    "account number": ("code", r"account"),
    "card number": ("code", r"card"),
    "customer number": ("code", r"customer"),
    "member number": ("code", r"member(?:ship)?"),
    "policy number": ("code", r"policy"),
    "ZIP code": ("code", r"zip(?: ?code)?|post(?:al )?code"),
    "social security number": ("code", r"social security|ssn"),
    "medical record number": ("code", r"medical record|mrn"),
    "phone number": ("code", r"(?:tele)?phone"),
    "e-mail address": ("address", r"e-?mail"),
    "date of birth": ("date", r"date of birth|birth ?da(?:te|y)|dob|born"),
}
_NAMES = {
    label: (sort, re.compile(rf"\b(?:{name})\b(?:[ _](?:number|no|id|address)\b)?\.?", re.IGNORECASE))
    for label, (sort, name) in _LABELS.items()
}
_LINK = re.compile(r"""(?:[\s:="'`#,(]|\b(?:is|was|it's|on|the)\b){0,12}""", re.IGNORECASE)
"""Words and signs between a name and its value."""
_REVERSED = re.compile(r"(?P<value>[^\s,;]{3,64}) (?:is|was) (?:my|your|the) (?P<name>[^.,;!?\n]{2,40})", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_AGAIN = re.compile(r"\b(?:again|retry|once more)\b", re.IGNORECASE)
_FILLERS = frozenset(
    {"it", "is", "its", "it's", "my", "the", "sure", "yes", "yeah", "ok", "okay", "here", "you", "go", "that's", "that"}
    | {"would", "be", "please", "number", "um", "so", "and", "then", "sorry", "maybe"}
)
"""Words of an answer that consists of a value only."""
_OTHERS = re.compile(
    r"\b(?:other|another|second|third|new|old|former|previous|alternative|different|change[ds]?|home|work|office|mobile"
    r"|cell|backup|his|her|their|(?:husband|wife|spouse|partner|son|daughter|child|mother|father|mom|dad|doctor)(?:'s)?)\b",
    re.IGNORECASE,
)
"""Words by which a person speaks of another value than before, or of the value of another person."""


class StatedValue(NamedTuple):
    """A value that a text gives, and what it is."""

    label: str
    value: str


class SpokenLine(NamedTuple):
    """A line of a person, and what the agent said before it."""

    question: str
    line: str


def find_stated_values(text: str) -> Iterator[StatedValue]:
    """Yield the values in a text that are named, such as `my PIN is 4321`."""
    text = text[:MAX_TEXT_LENGTH]
    for label, (sort, pattern) in _NAMES.items():
        for match in pattern.finditer(text):
            link = _LINK.match(text, match.end())
            start = link.end() if link is not None else match.end()
            yield from _read_value(label, sort, text[start : start + MAX_VALUE_LENGTH])
    for match in _REVERSED.finditer(text):
        for label, (sort, pattern) in _NAMES.items():
            if pattern.match(match["name"]):
                yield from _read_value(label, sort, match["value"])


def find_contradicted_value(
    spoken: SpokenLine, earlier: Iterable[SpokenLine], given: str, known: tuple[Facts, Facts]
) -> tuple[StatedValue, StatedValue] | None:
    """Return a new value in a line and the different one that was given or said before; None if there is none.

    A value is new if it is in no collection of known facts: neither given nor said in the conversation.
    """
    new = [value for value in _find_values(spoken) if any(known[0].find_unknown(value.value, known[1]))]
    if not new or _OTHERS.search(spoken.line) or any(_OTHERS.search(part) for part in _questions(spoken.question)):
        return None
    before = {value.label: value for value in find_stated_values(given)}
    for statement in earlier:
        before = {value.label: value for value in _find_values(statement)} | before
    return next(((value, before[value.label]) for value in new if value.label in before), None)


def _find_values(spoken: SpokenLine) -> list[StatedValue]:
    """Return the values that a line gives by their names, or as the bare answer to a question for one."""
    named = list(find_stated_values(spoken.line))
    if named:
        return named
    labels = {label for part in _questions(spoken.question) for label, (_, name) in _NAMES.items() if name.search(part)}
    if len(labels) != 1:
        return []
    [label] = labels
    line = spoken.line.strip()
    while line and (word := re.match(r"[^\s]+\s*", line)) and word[0].strip(" .,:;!").casefold() in _FILLERS:
        line = line[word.end() :]
    values = list(_read_value(label, _NAMES[label][0], line))
    return values if values and not line[len(values[0].value) :].strip(" .!,") else []


def _questions(text: str) -> list[str]:
    """Return the sentences of an agent's text that ask for something: the last question, or the last sentence.

    If that is a request to try again, what is asked for is in the sentence before it.
    """
    sentences = [part.strip() for part in _SENTENCE.findall(text[-MAX_TEXT_LENGTH:]) if part.strip()]
    asking = [part for part in sentences if part.endswith("?")]
    count = 2 if not asking and sentences and _AGAIN.search(sentences[-1]) else 1
    return (asking or sentences)[-count:]


def _read_value(label: str, sort: ValueSort, text: str) -> Iterator[StatedValue]:
    value = find_first_value(text)
    if value is not None and value[0] == sort:
        yield StatedValue(label, value[1])
