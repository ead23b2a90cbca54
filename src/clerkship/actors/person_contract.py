"""Rules for the lines of a person that a model plays, checked before a line is sent. The checks are pure and fast.

They prefer to accept an odd line over rejecting a good one, because a wrong rejection invalidates a trial.

See docs/decisions/0016-simulated-people.md.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile
from typing import NamedTuple

import orjson

from clerkship.actors.person_facts import Facts
from clerkship.actors.person_labels import SpokenLine, find_contradicted_value
from clerkship.actors.person_patterns import Breach, find_assistant_phrase, find_pattern_breaches, rule_breach
from clerkship.model.pattern import has_match_in_time

MIN_SIMILARITY = 0.8
"""With this share of words one text repeats the other; calibrated with `tests/actors/near_lines.yml`."""
MIN_PARTIAL_SIMILARITY = 0.4
"""With this share of words one text repeats a part of the other, such as all but its last sentence."""
MIN_WORDS = 4
"""Shorter lines ("yes", "I see") do not count as repetitions."""
MAX_ANSWER_WORDS = 8
"""The longest statement with a number that counts as an answer, which may be given again."""
_RUN = 3
_FILLERS = frozenset(
    {"um", "uh", "er", "hm", "hmm", "well", "so", "ok", "okay", "oh", "ah", "please", "just", "really", "actually"}
    | {"look", "sorry", "hello", "hi", "hey", "but", "and", "now", "again"}
)
_NEGATIONS = frozenset({"no", "not", "never", "none", "nothing", "neither", "nor", "without", "cannot"})
_CONTRACTED = ((r"\bcan['’]t\b", "can not"), (r"n['’]t\b", " not"), (r"['’]m\b", " am"), (r"['’]re\b", " are"))
_CONTRACTIONS = (*_CONTRACTED, (r"['’]ve\b", " have"), (r"['’]ll\b", " will"), (r"['’]d\b", " would"))
_SENTENCE = re.compile(r"[^.!?:;\n]+")
MAX_LINE_LENGTH = 1_500
"""Characters of one message."""
_MAX_REPEATS = 2
"""Times in a row that a person may say nearly the same. A line that repeats only a part counts half."""
_MIN_ORDER_WORDS = 6
"""The shortest sentence of the instructions, in words, that a person does not say by chance."""
_MIN_REQUEST_WORDS = 3
"""The shortest sentence of the request, in words, that is not a person's whole line by chance."""


def split_words(text: str) -> list[str]:
    """Split a text into words, without case, punctuation, contractions and fillers."""
    return _remove_fillers(_expand_contractions(text))


def split_sentences(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence of a text; sentences without words are left out."""
    return (split for match in _SENTENCE.finditer(_expand_contractions(text)) if (split := _remove_fillers(match[0])))


def measure_coverage(text: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of a text's words that lie in a run of words which the other text also has."""
    if not text:
        return 0.0
    size = min(_RUN, len(text))
    runs = set(_runs(other, size))
    places = {
        place for start, run in enumerate(_runs(text, size)) if run in runs for place in range(start, start + size)
    }
    return len(places) / len(text)


def is_similar(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether each text is covered by the other."""
    return measure_coverage(one, other) >= MIN_SIMILARITY and measure_coverage(other, one) >= MIN_SIMILARITY


def measure_repetition(line: str, before: str) -> float:
    """Return 1 if a line repeats an earlier one, 0.5 if it repeats a large part of it, and 0 otherwise.

    Short lines and short answers with a number are not repetitions. A line with other numbers or another negation
    repeats a part at most.
    """
    new, old = split_words(line), split_words(before)
    if len(new) < MIN_WORDS or _is_answer(line, new):
        return 0.0
    share = min(measure_coverage(new, old), measure_coverage(old, new))
    if share >= MIN_SIMILARITY and _significant_words(new) == _significant_words(old):
        return 1.0
    return 0.5 if share >= MIN_PARTIAL_SIMILARITY else 0.0


def is_echo(line: str, heard: Iterable[str]) -> bool:
    """Return whether a line consists of sentences of the agent's last messages, or nearly so."""
    new = split_words(line)
    if len(new) < MIN_WORDS:
        return False
    taken: list[str] = []
    for text in heard:
        for sentence in split_sentences(text):
            if measure_coverage(sentence, new) >= MIN_SIMILARITY:
                taken += sentence
    return measure_coverage(new, taken) >= MIN_SIMILARITY and len(taken) >= MIN_WORDS


def _expand_contractions(text: str) -> str:
    text = text.casefold()
    for pattern, full in _CONTRACTIONS:
        text = re.sub(pattern, full, text)
    return text


def _remove_fillers(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word not in _FILLERS]


def _runs(text: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(text[start : start + size]) for start in range(len(text) - size + 1))


def _is_answer(line: str, split: Sequence[str]) -> bool:
    return "?" not in line and len(split) <= MAX_ANSWER_WORDS and any(_has_digit(word) for word in split)


def _significant_words(split: Sequence[str]) -> frozenset[str]:
    """Return the words that change the meaning of a line: numbers and negations."""
    return frozenset(word for word in split if _has_digit(word) or word in _NEGATIONS)


def _has_digit(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


@dataclass(frozen=True)
class PersonLimits:
    """What the person knows, and what the author does not allow them to say."""

    given: str
    """Everything they know, as text."""
    orders: str = ""
    """The instructions to the model; the agent must not see them."""
    never_says: tuple[str, ...] = ()
    may_invent: bool = False
    may_help: bool = False
    """Whether the agent contacts them, so that they may ask how they can help."""
    min_turns: int = 1

    @cached_property
    def facts(self) -> Facts:
        return Facts.of(self.given)

    @cached_property
    def told(self) -> tuple[str, ...]:
        """Sentences of the instructions to the model, each as its words."""
        parts = (_split_plain_words(part) for part in re.split(r"[.!?:;\n]+", self.orders))
        return tuple(" ".join(part) for part in parts if len(part) >= _MIN_ORDER_WORDS)


@dataclass(frozen=True)
class LineContext:
    """The conversation at the point where the line would be sent."""

    heard: tuple[str, ...] = ()
    """The agent's messages since their last line."""
    so_far: str = ""
    """Everything said or shown before."""
    answers: int = 0
    """How many improvised lines the agent has replied to; scripted lines do not count."""
    may_leave: bool = False
    """Whether they may leave at any time, because the author's script decides that."""
    own: tuple[str, ...] = ()
    """Their own lines, oldest first."""
    statements: tuple[SpokenLine, ...] = ()
    """Their own lines with what the agent said before each, oldest first."""
    frame: str = ""
    """This turn's request to the model, without the agent's words."""

    @cached_property
    def facts(self) -> Facts:
        """The facts in the conversation so far."""
        return Facts.of(self.so_far)


class PersonLine(NamedTuple):
    """A line that the person would send, and whether they leave with it."""

    message: str
    done: bool = False


def find_breach(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Breach | None:
    """Return the first rule that a line breaks; None if it may be sent."""
    return next(chain.from_iterable(rule(line, bounds, moment) for rule in _RULES), None)


def check_early_end(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    """Reject leaving before the agent has replied to `min_turns` improvised lines."""
    if not line.done or moment.may_leave or moment.answers >= bounds.min_turns:
        return
    reason = "the agent has not answered what you came for yet: go on with it, and set `done` to false"
    if moment.answers:
        reason = (
            f"the agent must answer at least {bounds.min_turns} lines of yours that are not scripted, and has answered "
            f"{moment.answers}: set `done` to false"
        )
    yield Breach("stops_early", reason)


def _check_length(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    length = len(line.message)
    if not line.done and not line.message.strip():
        yield Breach("says_nothing", "the message is empty: say something, or leave with `done`")
    yield from check_early_end(line, bounds, moment)
    if length > MAX_LINE_LENGTH:
        yield Breach("too_long", f"the message has {length:,} characters: people write one or two sentences")


def _check_format(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    message = line.message.strip()
    if _is_json(message):
        yield rule_breach("format")
    yield from find_pattern_breaches(message, "format", "noise")


def _is_json(message: str) -> bool:
    try:
        return message.startswith(("{", "[")) and isinstance(orjson.loads(message), dict | list)
    except orjson.JSONDecodeError:
        return False


def _check_orders(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    """Reject a line that repeats a sentence of the instructions or of this turn's request."""
    plain = " ".join(_split_plain_words(line.message))
    if any(sentence in plain for sentence in bounds.told):
        yield Breach("tells_its_orders", "the message repeats what you were told to do; that is not for the agent")
    message = split_words(line.message)
    parts = [message, *split_sentences(line.message)]
    for order in split_sentences(moment.frame):
        is_part = len(order) >= _MIN_ORDER_WORDS and measure_coverage(order, message) >= MIN_SIMILARITY
        if is_part or (len(order) >= _MIN_REQUEST_WORDS and any(is_similar(part, order) for part in parts)):
            reason = "the message repeats the request that you were sent: write only what the person says"
            yield Breach("tells_its_orders", reason)


def _check_role(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    yield from find_pattern_breaches(line.message, "as_agent", "as_label")
    phrase = None if bounds.may_help else find_assistant_phrase(line.message, moment.heard)
    if phrase is not None:
        reason = "is what the agent would say: you are the one who needs something, so say what the person says"
        yield Breach("speaks_as_agent", f"{phrase!r} {reason}")
    yield from find_pattern_breaches(line.message, "admits")


def _check_repetition(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    """Reject the agent's own words, and what the person has said twice before."""
    words = _split_plain_words(line.message)
    heard = (*moment.heard, "\n".join(moment.heard))
    exact = len(words) >= MIN_WORDS and any(words == _split_plain_words(text) for text in heard)
    if exact or is_echo(line.message, moment.heard):
        yield Breach("echoes", "the message repeats the agent's words: answer them")
    repeats = [measure_repetition(line.message, before) for before in moment.own]
    in_a_row = list(takewhile(bool, reversed(repeats)))
    if (sum(in_a_row) >= _MAX_REPEATS and 1.0 in in_a_row) or repeats.count(1.0) > _MAX_REPEATS:
        yield Breach("repeats_itself", "you have said nearly the same before, twice: say something else, or leave")


def _check_never_says(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    for pattern in bounds.never_says:
        if has_match_in_time(pattern, line.message):
            yield Breach("never_says", f"this person never says what fits the pattern {pattern!r}")


def find_made_up_facts(message: str, bounds: PersonLimits, moment: LineContext) -> tuple[str, ...]:
    """Return the numbers, codes, dates and addresses in a message that were neither given nor said before."""
    return tuple(dict.fromkeys(bounds.facts.find_unknown(message, moment.facts)))


def _check_facts(line: PersonLine, bounds: PersonLimits, moment: LineContext) -> Iterator[Breach]:
    """Reject a value that differs from a given one or, if the person made it up, from what they said before."""
    wrong = bounds.facts.contradicted(line.message, moment.facts)
    if wrong is not None:
        yield Breach("contradicts", f"you say {wrong.said!r}, and what you were given is {wrong.given!r}")
    statement = SpokenLine("\n".join(moment.heard), line.message)
    known = (bounds.facts, moment.facts)
    changed = find_contradicted_value(statement, moment.statements, bounds.given, known)
    if changed is not None:
        new, before = changed
        yield Breach(
            "contradicts",
            f"you say that the {new.label} is {new.value!r}, and before it was {before.value!r}: keep to that",
        )
    made_up = None if bounds.may_invent else next(bounds.facts.find_unknown(line.message, moment.facts), None)
    if made_up is not None:
        reason = "say only what you were given; where you do not know something, say that you do not have it"
        yield Breach("makes_up", f"nobody gave you {made_up!r}: {reason}")


LineRule = Callable[[PersonLine, PersonLimits, LineContext], Iterator[Breach]]
_RULES: Iterable[LineRule] = (
    _check_length,
    _check_format,
    _check_orders,
    _check_role,
    _check_repetition,
    _check_never_says,
    _check_facts,
)


def _split_plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
