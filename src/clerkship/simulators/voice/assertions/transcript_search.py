"""Search what was said in calls: by whom, heard or not, and what else became of words that are missing."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from clerkship.simulators.voice.call_log import group_passages
from clerkship.simulators.voice.records import CallTurn, PhoneCall
from clerkship.text.index import Kind
from clerkship.text.spoken_text import Alternatives, SpokenText, read_spoken

SpeakerChoice = Literal["agent", "far_end", "line", "representative", "person", "any"]
"""Whose words are meant; `far_end` is the other side, whatever it is."""

JOINED_KINDS: tuple[Kind, ...] = ("birth_date", "number")
"""What may be told in parts, with words of the other side between them."""


class Passage(NamedTuple):
    """What one speaker said without the other side between."""

    call: PhoneCall
    turns: tuple[CallTurn, ...]
    text: SpokenText

    def find_turn(self, place: int) -> CallTurn:
        """Return the turn in which a place of the text is."""
        end = -1
        for turn in self.turns:
            end += len(read_spoken(turn.heard).plain) + 1
            if place < end:
                return turn
        return self.turns[-1]


class Hit(NamedTuple):
    """Where a value was said."""

    number: int
    """The place of the passage in the call."""
    end: int
    turn: CallTurn
    excerpt: str

    def describe(self) -> str:
        """Return the speaker and the words."""
        return f"{self.turn.speaker}: {self.excerpt}"


def is_by(turn: CallTurn, speaker: SpeakerChoice) -> bool:
    """Return whether a turn is of a speaker."""
    return speaker in ("any", turn.speaker) or (speaker == "far_end" and turn.speaker != "agent")


def list_passages(call: PhoneCall, is_selected: Callable[[CallTurn], bool]) -> list[Passage]:
    """Return what was said in some turns of a call."""
    return [
        Passage(call, turns, read_spoken(" ".join(turn.heard for turn in turns)))
        for turns in group_passages(call.turns, is_selected)
    ]


def join_texts(texts: Iterable[SpokenText]) -> SpokenText:
    """Return what was told in several parts, with words of the other side between them, as one text."""
    return read_spoken(", ".join(text.plain.strip(" ,.;:!?") for text in texts))


def find_value(
    passages: Iterable[Passage], value: Alternatives, *, loose: bool = False, after: Hit | None = None
) -> Hit | None:
    """Return where a value was said first, after an earlier hit; None if it was not."""
    for number, passage in enumerate(passages):
        if after is not None and number < after.number:
            continue
        start = after.end if after is not None and number == after.number else 0
        place = passage.text.find(value, loose=loose, start=start)
        if place is not None:
            return Hit(number, place[1], passage.find_turn(place[0]), passage.text.excerpt(place))
    return None


def explain_missing(call: PhoneCall, value: Alternatives, speaker: SpeakerChoice) -> str:
    """Return what became of words that were not said by a speaker, or not heard."""
    for turn in call.turns:
        is_own = is_by(turn, speaker)
        if is_own and turn.is_cut and read_spoken(turn.text).find(value) and _is_unsaid(turn, value):
            return f"(cut before it was said, #{turn.seq})"
        if is_own and not turn.is_heard and read_spoken(turn.heard).find(value):
            return f"(said, but the far end could not hear it, #{turn.seq})"
    for turn in call.turns:
        if not is_by(turn, speaker) and read_spoken(turn.heard).find(value):
            return f"(said by {turn.speaker}, #{turn.seq})"
    for keys in call.keys:
        if read_spoken(keys.digits.replace("*", " ").replace("#", " ")).find(value):
            return f"(pressed as keys, not said, #{keys.seq})"
    return "(not said)"


def _is_unsaid(turn: CallTurn, value: Alternatives) -> bool:
    return read_spoken(turn.heard).find(value) is None
