"""One way to read what was said, and whether a value is in it."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from clerkship.text.respelled_text import RespelledText, SpokenToken

_SPLIT_YEAR = re.compile(r"(?<![\d/.\-])(19|20)[ \-](?:(\d\d)|0[ \-](\d))(?![\d/])")
_SPELLED_DIGITS = re.compile(r"(?<!\d)\d(?:(?:, ?|[ \-])\d){3,}(?!\d)")
_PAUSE = re.compile(r"\.{2,}[ ,]{0,3}| {2,}")
_SHORT_WORD_LIST = """
a all am an and any are as at back be but by call can did do for from get go had has have he her here hi him his how i
if in into is it its just let like may me met more my new no not now of off oh on or our out over own per put say see
set she so some take than that the them then there they this time to too up us was way we well were what when who why
will with yes yet you your
"""
_SHORT_WORDS = frozenset(_SHORT_WORD_LIST.split())
"""Common words that are parts of many others: `in a moment` is not Ina, and `we can certify` not cancer."""
MIN_UNFINISHED = 6
"""Letters of a word that is found although it is in parts and goes on: `dia betics` for `diabet`."""


class ValueForm(NamedTuple):
    """A value as it is compared: its words, with numbers in digits."""

    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words without spaces."""
        return "".join(self.words)


class SpokenReading:
    """One way to read a text, as one string of all tokens without spaces."""

    def __init__(self, plain: str, tokens: Sequence[SpokenToken]) -> None:
        self._plain, self._tokens = plain, tokens
        self._joined = "".join(token.text for token in tokens)
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        place = 0
        for number, token in enumerate(tokens):
            self._starts[place] = number
            place += len(token.text)
            self._ends[place] = number

    def find(self, form: ValueForm, *, loose: bool, start: int) -> tuple[int, int] | None:
        """Return where a value is first, from a place on; None if it is not in the text."""
        text = form.text
        place = self._joined.find(text)
        while place >= 0:
            first, last = self._starts.get(place), self._ends.get(place + len(text))
            if first is not None and last is None and loose:
                last = self._find_prefix_end(place + len(text))
            if (
                first is not None
                and last is not None
                and self._tokens[first].start >= start
                and (loose or not (self._goes_on(first - 1) or self._goes_on(last)))
                and self._has_whole_words(form, place)
            ):
                return self._tokens[first].start, self._tokens[last].end
            place = self._joined.find(text, place + 1)
        return None

    def _find_prefix_end(self, end: int) -> int | None:
        """Return the word within which a match ends; None for a number."""
        place = end
        while place < len(self._joined) and place not in self._ends:
            place += 1
        number = self._ends.get(place)
        return number if number is not None and self._tokens[number].text.isalpha() else None

    def _has_whole_words(self, form: ValueForm, place: int) -> bool:
        """Return whether each word of a value is one in the text, or in parts that are no words by themselves."""
        ends = list(accumulate((len(word) for word in form.words), initial=place))
        return all(
            self._is_one_word(start, end)
            for start, end, word in zip(ends, ends[1:], form.words, strict=False)
            if word.isalpha()
        )

    def _is_one_word(self, start: int, end: int) -> bool:
        cuts = [place for place in range(start + 1, end) if place in self._starts]
        if not cuts:
            return True
        parts = [self._joined[one:other] for one, other in zip([start, *cuts], [*cuts, end], strict=True)]
        if all(len(part) == 1 for part in parts):
            return end in self._ends  # `a.m. your` is not Amy
        tokens = [self._tokens[self._starts[cut]] for cut in ([start] if start in self._starts else []) + cuts]
        if any(len(token.text) == 1 < token.end - token.start for token in tokens):  # `Hi, Victor` is not HIV
            return False
        if end in self._ends:
            return not _SHORT_WORDS.issuperset(parts)
        return end - start >= MIN_UNFINISHED and _SHORT_WORDS.isdisjoint(parts[:-1])

    def _goes_on(self, place: int) -> bool:
        """Return whether a token and the next are digits of one number that is read digit by digit."""
        if not 0 <= place < len(self._tokens) - 1:
            return False
        token, following = self._tokens[place], self._tokens[place + 1]
        gap = self._plain[token.end : following.start]
        return token.is_digit and following.is_digit and not gap.strip(" ,-")

    def respell(self) -> RespelledText:
        """Return the text with numbers in digits, letters for code words, and without pauses."""
        text = RespelledText.of(self._plain).replace(token for token in self._tokens if self._is_respelled(token))
        text = text.substitute(_SPLIT_YEAR, lambda match: f"{match[1]}{match[2] or f'0{match[3]}'}")
        text = text.substitute(_PAUSE, lambda match: ", " if "." in match[0] else " ")
        return text.substitute(_SPELLED_DIGITS, lambda match: "".join(filter(str.isdigit, match[0])))

    def _is_respelled(self, token: SpokenToken) -> bool:
        return token.text != self._plain[token.start : token.end].lower().replace("'", "").replace("’", "")
