"""What a person that a model plays may not say: rules that hold before a line of theirs is said. Pure, and cheap.

They would rather let an odd line pass than call a good one bad: a rule that strikes wrongly costs a trial.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import orjson

from clerkship.actors.person_facts import Facts
from clerkship.actors.person_likeness import LEAST_WORDS, NEAR, covered, echoed, is_near, repeats, sentences, words
from clerkship.actors.person_patterns import Breach, assistant_phrase, matched_breach, rule_breach
from clerkship.model.pattern import fits

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
    """The first rule that a line breaks; none if it can be said."""
    return next((found for rule in _RULES if (found := rule(line, bounds, moment)) is not None), None)


def stops_early(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    """Refuse to leave before the agent has answered `min_turns` lines that the model found."""
    if not line.done or moment.may_leave or moment.answers >= bounds.min_turns:
        return None
    if not moment.answers:
        return Breach(
            "stops_early", "the agent has not answered what you came for yet: go on with it, and set `done` to false"
        )
    return Breach(
        "stops_early",
        f"the agent must answer at least {bounds.min_turns} lines of yours that are not scripted, and has answered "
        f"{moment.answers}: set `done` to false",
    )


def _says_nothing(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    if line.done or line.message.strip():
        return None
    return Breach("says_nothing", "the message is empty: say something, or leave with `done`")


def _is_too_long(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    if len(line.message) <= LONGEST:
        return None
    return Breach("too_long", f"the message has {len(line.message):,} characters: people write one or two sentences")


def _is_no_speech(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    message = line.message.strip()
    return rule_breach("format") if _is_json(message) else matched_breach(message, "format", "noise")


def _is_json(message: str) -> bool:
    try:
        return message.startswith(("{", "[")) and isinstance(orjson.loads(message), dict | list)
    except orjson.JSONDecodeError:
        return False


def _gives_its_orders_away(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    message = " ".join(_words(line.message))
    if any(sentence in message for sentence in bounds.told):
        return Breach("tells_its_orders", "the message repeats what you were told to do; that is not for the agent")
    return None


def _repeats_the_frame(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    """Refuse a line that is, or contains, the request of this turn: to reply, or to try again and why."""
    message = words(line.message)
    parts = [message, *sentences(line.message)]
    for told in sentences(moment.frame):
        is_part = len(told) >= _ORDER and covered(told, message) >= NEAR
        if is_part or (len(told) >= _FRAME and any(is_near(part, told) for part in parts)):
            return Breach(
                "tells_its_orders",
                "the message repeats the request that you were sent: write only what the person says",
            )
    return None


def _speaks_as_the_agent(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    labelled = matched_breach(line.message, "as_agent", "as_label")
    phrase = None if labelled or bounds.may_help else assistant_phrase(line.message, moment.heard)
    if phrase is None:
        return labelled
    return Breach(
        "speaks_as_agent",
        f"{phrase!r} is what the agent would say: you are the one who needs something, so say what the person says",
    )


def _admits(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    return matched_breach(line.message, "admits")


def _echoes(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    said = _words(line.message)
    heard = (*moment.heard, "\n".join(moment.heard))
    exact = len(said) >= LEAST_WORDS and any(said == _words(text) for text in heard)
    if exact or echoed(line.message, moment.heard):
        return Breach("echoes", "the message repeats the agent's words: answer them")
    return None


def _is_stuck(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    same = [repeats(line.message, before) for before in moment.own]
    if same[-_STUCK:] == [True] * _STUCK or sum(same) > _STUCK:
        return Breach("repeats_itself", "you have said nearly the same before, twice: say something else, or leave")
    return None


def _is_forbidden(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    pattern = next((each for each in bounds.never_says if fits(each, line.message)), None)
    if pattern is None:
        return None
    return Breach("never_says", f"this person never says what fits the pattern {pattern!r}")


def _contradicts(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    wrong = bounds.facts.contradicted(line.message, moment.facts)
    if wrong is None:
        return None
    return Breach("contradicts", f"you say {wrong.said!r}, and what you were given is {wrong.given!r}")


def _reveals(line: Uttered, bounds: Bounds, moment: Moment) -> Breach | None:
    if bounds.may_invent:
        return None
    made_up = bounds.facts.unknown(line.message, moment.facts)
    if made_up is None:
        return None
    return Breach(
        "makes_up",
        f"nobody gave you {made_up!r}: say only what you were given; where you do not know something, say that you "
        "do not have it",
    )


Rule = Callable[[Uttered, Bounds, Moment], Breach | None]
_RULES: Iterable[Rule] = (
    _says_nothing,
    stops_early,
    _is_too_long,
    _is_no_speech,
    _gives_its_orders_away,
    _repeats_the_frame,
    _speaks_as_the_agent,
    _admits,
    _echoes,
    _is_stuck,
    _is_forbidden,
    _contradicts,
    _reveals,
)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
