"""What a person that a model plays may not say: rules that hold before a line of theirs is said. Pure, and cheap.

They would rather let an odd line pass than call a good one bad: a rule that strikes wrongly costs a trial.

See docs/decisions/0016-simulated-people.md.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import orjson

from clerkship.actors.person_facts import Facts
from clerkship.actors.person_likeness import LEAST_WORDS, NEAR, covered, echoed, is_near, repeats, sentences, words
from clerkship.actors.person_patterns import Breach, assistant_phrase, matched_breaches, rule_breach
from clerkship.model.pattern import has_match_in_time

LONGEST = 1_500
"""Characters of one message."""
_STUCK = 2
"""Times in a row that a person may say nearly the same; once more, and they are stuck."""
_ORDER = 6
"""Words of their own orders that nobody says by chance."""
_FRAME = 3
"""Words of a sentence of the request that are nobody's whole line by chance."""


@dataclass(frozen=True)
class Bounds:
    """What the person was given, and what their author will not have them say."""

    given: str
    """All they know of themselves and of their matter, in any form."""
    orders: str = ""
    """What the one who plays them was told; none of it is for the agent."""
    never_says: tuple[str, ...] = ()
    may_invent: bool = False
    may_help: bool = False
    """Whether the agent came to them: then it may be they who ask how they can help."""
    min_turns: int = 1

    @cached_property
    def facts(self) -> Facts:
        """What they were given, by its facts."""
        return Facts.of(self.given)

    @cached_property
    def told(self) -> tuple[str, ...]:
        """Sentences that were said to the one who plays them, each as its words."""
        parts = (_words(part) for part in re.split(r"[.!?:;\n]+", self.orders))
        return tuple(" ".join(part) for part in parts if len(part) >= _ORDER)


@dataclass(frozen=True)
class Moment:
    """Where in the conversation the line would be said."""

    heard: tuple[str, ...] = ()
    """What the agent said since their last line, text by text."""
    so_far: str = ""
    """All that anybody said or showed before."""
    answers: int = 0
    """How many times the agent has answered a line that the model found; scripted lines do not count."""
    may_leave: bool = False
    """Whether leaving is always in order: an author's script decides when they leave."""
    own: tuple[str, ...] = ()
    """What they have said themselves, the oldest first."""
    frame: str = ""
    """What the model was told in this turn beside the agent's words: how to go on, and why to try again."""

    @cached_property
    def facts(self) -> Facts:
        """What was said so far, by its facts."""
        return Facts.of(self.so_far)


class Uttered(NamedTuple):
    """What they would say, and whether that is the end for them."""

    message: str
    done: bool = False


def breach(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    """Return the first rule that a line breaks; None if it can be said."""
    return next(chain.from_iterable(rule(line, bounds, moment) for rule in _RULES), None)


def stops_early(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    """Refuse to leave before the agent has answered `min_turns` lines that the model found."""
    if not line.done or moment.may_leave or moment.answers >= bounds.min_turns:
        return
    reason = "the agent has not answered what you came for yet: go on with it, and set `done` to false"
    if moment.answers:
        reason = (
            f"the agent must answer at least {bounds.min_turns} lines of yours that are not scripted, and has answered "
            f"{moment.answers}: set `done` to false"
        )
    yield Breach("stops_early", reason)


def _has_wrong_length(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    length = len(line.message)
    if not line.done and not line.message.strip():
        yield Breach("says_nothing", "the message is empty: say something, or leave with `done`")
    yield from stops_early(line, bounds, moment)
    if length > LONGEST:
        yield Breach("too_long", f"the message has {length:,} characters: people write one or two sentences")


def _is_no_speech(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    message = line.message.strip()
    if _is_json(message):
        yield rule_breach("format")
    yield from matched_breaches(message, "format", "noise")


def _is_json(message: str) -> bool:
    try:
        return message.startswith(("{", "[")) and isinstance(orjson.loads(message), dict | list)
    except orjson.JSONDecodeError:
        return False


def _repeats_its_orders(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    """Refuse a line that contains a sentence of the orders, or the request of this turn: to reply, or to try again."""
    plain = " ".join(_words(line.message))
    if any(sentence in plain for sentence in bounds.told):
        yield Breach("tells_its_orders", "the message repeats what you were told to do; that is not for the agent")
    message = words(line.message)
    parts = [message, *sentences(line.message)]
    for told in sentences(moment.frame):
        is_part = len(told) >= _ORDER and covered(told, message) >= NEAR
        if is_part or (len(told) >= _FRAME and any(is_near(part, told) for part in parts)):
            reason = "the message repeats the request that you were sent: write only what the person says"
            yield Breach("tells_its_orders", reason)


def _is_out_of_role(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    yield from matched_breaches(line.message, "as_agent", "as_label")
    phrase = None if bounds.may_help else assistant_phrase(line.message, moment.heard)
    if phrase is not None:
        reason = "is what the agent would say: you are the one who needs something, so say what the person says"
        yield Breach("speaks_as_agent", f"{phrase!r} {reason}")
    yield from matched_breaches(line.message, "admits")


def _says_it_again(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    """Refuse the agent's own words, and what the person has said twice before."""
    said = _words(line.message)
    heard = (*moment.heard, "\n".join(moment.heard))
    exact = len(said) >= LEAST_WORDS and any(said == _words(text) for text in heard)
    if exact or echoed(line.message, moment.heard):
        yield Breach("echoes", "the message repeats the agent's words: answer them")
    same = [repeats(line.message, before) for before in moment.own]
    if same[-_STUCK:] == [True] * _STUCK or sum(same) > _STUCK:
        yield Breach("repeats_itself", "you have said nearly the same before, twice: say something else, or leave")


def _is_forbidden(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    for pattern in bounds.never_says:
        if has_match_in_time(pattern, line.message):
            yield Breach("never_says", f"this person never says what fits the pattern {pattern!r}")


def _has_other_facts(line: Uttered, bounds: Bounds, moment: Moment) -> Iterator[Breach]:
    wrong = bounds.facts.contradicted(line.message, moment.facts)
    if wrong is not None:
        yield Breach("contradicts", f"you say {wrong.said!r}, and what you were given is {wrong.given!r}")
    made_up = None if bounds.may_invent else bounds.facts.unknown(line.message, moment.facts)
    if made_up is not None:
        reason = "say only what you were given; where you do not know something, say that you do not have it"
        yield Breach("makes_up", f"nobody gave you {made_up!r}: {reason}")


Rule = Callable[[Uttered, Bounds, Moment], Iterator[Breach]]
_RULES: Iterable[Rule] = (
    _has_wrong_length,
    _is_no_speech,
    _repeats_its_orders,
    _is_out_of_role,
    _says_it_again,
    _is_forbidden,
    _has_other_facts,
)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
