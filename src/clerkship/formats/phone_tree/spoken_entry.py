"""Numbers, codes, dates and amounts that a caller says or types."""

import re
from collections.abc import Sequence

from clerkship.formats.phone_tree.nodes import EntryFormat
from clerkship.formats.phone_tree.spoken_money import parse_money
from clerkship.text.dates import parse_date
from clerkship.text.spoken_words import (
    CODE_WORDS,
    CORRECTIONS,
    HESITATIONS,
    LETTER_NAMES,
    NUMBER_WORDS,
    REPEATS,
    SHORT_LETTER_NAMES,
    read_number_below_hundred,
    split_words,
    to_word_set,
)

MAX_ENTRY = 60
"""Longest entry, in characters."""
_BETWEEN = HESITATIONS | to_word_set(
    "and then dash hyphen space dot slash comma let me see followed by next capital uppercase lowercase"
)
"""Words between the parts of an entry that do not end it."""
_SPELLING = (("as", "in"), ("like", "in"), ("is", "for"), ("for",), ("like",), ("as",))
"""What stands between a letter and the word that spells it: `C as in Charlie`."""
_W_SOUNDS = ("u", "you", "yoo")
"""What follows `double` in the name of the letter W."""
_PREFIX = re.compile(r"[a-z]{2,3}")
_PREFIX_CAPITALS = re.compile(r"\b[A-Z]{2,4}\b")
_NOT_A_PREFIX = SHORT_LETTER_NAMES.keys() | to_word_set(
    "id is my its the it for was dob npi and are has him her his our you one two six ten per no nr hi yes of to in on "
    "at by so as or an am be we us me ssn mrn ok uh um er ref tax fax he she but not old new can may did do"
)


def parse_entry(format: EntryFormat, text: str) -> str | None:
    """Return what a caller entered, in the form of its format; None if it is not understood.

    Digits and letters are returned without spaces, letters in upper case. A date is returned as `1985-03-02`, an amount
    as `1240.50`. Words around the entry, such as "my member ID is", are ignored.
    """
    if format == "date":
        return parse_date(text)
    if format == "money":
        return parse_money(text)
    return _parse_code(text, has_letters=format == "letters_and_digits")


def _parse_code(text: str, *, has_letters: bool) -> str | None:
    words = split_words(text)
    prefixes = {prefix.lower() for prefix in _PREFIX_CAPITALS.findall(text)} if text != text.upper() else set()
    starts = [place + 1 for place, word in enumerate(words) if word in CORRECTIONS]
    reader = _CodeReader(words, prefixes, has_letters=has_letters)
    for start in (*starts[-1:], 0):  # what follows a correction replaces what was said before it
        runs = reader.read_runs(start)
        if runs:
            longest = max(len(run) for run in runs)
            entries = {run for run in runs if len(run) == longest}
            return entries.pop() if len(entries) == 1 and longest <= MAX_ENTRY else None
    return None


def is_code_word(word: str) -> bool:
    """Return whether a code can begin with a word: a number, a letter, or a word that stands for one."""
    is_number = any(char.isdigit() for char in word) or word in NUMBER_WORDS or word in REPEATS
    return is_number or word in CODE_WORDS or word in LETTER_NAMES or (len(word) == 1 and word.isalpha())


class _CodeReader:
    """Reads the digits and letters among the words of a caller."""

    def __init__(self, words: Sequence[str], prefixes: set[str], *, has_letters: bool) -> None:
        self._words = words
        self._prefixes = prefixes
        self._has_letters = has_letters

    def read_runs(self, start: int) -> list[str]:
        """Return the entries in the words from a place on; another word ends an entry."""
        runs: list[list[str]] = [[]]
        place = start
        while place < len(self._words):
            part = self._read_part(place)
            if part is not None:
                runs[-1].append(part[0])
                place += part[1]
                continue
            if self._words[place] not in _BETWEEN and runs[-1]:
                runs.append([])
            place += 1
        return [run for run in map("".join, runs) if run]

    def _read_part(self, place: int) -> tuple[str, int] | None:
        """Return the characters that stand at a place, and how many words they take."""
        word = self._words[place]
        if self._has_letters and word == "double" and self._word(place + 1) in _W_SOUNDS:
            return "W", 2 + self._count_spelling(place + 1, "w")
        if word in REPEATS:
            repeated = self._read_single(place + 1)
            return None if repeated is None else (repeated[0] * REPEATS[word], 1 + repeated[1])
        number = self._read_number(place)
        if number is not None:
            return number
        return self._read_letters(place) if self._has_letters else None

    def _read_single(self, place: int) -> tuple[str, int] | None:
        """Return the one digit or letter that stands at a place."""
        part = self._read_part(place) if place < len(self._words) and self._words[place] not in REPEATS else None
        return part if part is not None and len(part[0]) == 1 else None

    def _read_number(self, place: int) -> tuple[str, int] | None:
        word = self._words[place]
        if word.isdigit():
            return word, 1
        if word == "o" and not self._has_letters:
            return "0", 1
        number = read_number_below_hundred(self._words, place)
        if number is None:
            return None
        value, count = number
        zeros = {"hundred": "00", "thousand": "000"}.get(self._word(place + count), "")
        return (f"{value}{zeros}", count + 1) if zeros and value else (str(value), count)

    def _read_letters(self, place: int) -> tuple[str, int] | None:
        word = self._words[place]
        if len(word) == 1:
            return None if self._is_plain_word(place) else (word.upper(), 1 + self._count_spelling(place, word))
        if word in CODE_WORDS:
            return CODE_WORDS[word], 1
        letter = LETTER_NAMES.get(word) or (SHORT_LETTER_NAMES.get(word) if self._is_between(place) else None)
        if letter is not None:
            return letter, 1 + self._count_spelling(place, letter.lower())
        if any(char.isdigit() for char in word):
            return word.upper(), 1
        if self._is_prefix(place):
            return word.upper(), 1
        return None

    def _is_plain_word(self, place: int) -> bool:
        """Return whether a letter is the word `I` or `a` of a sentence: `that is 3 0 5. I appreciate your help`."""
        following = self._word(place + 1)
        if self._words[place] not in ("a", "i") or len(following) < 2 or following in _BETWEEN or following in REPEATS:
            return False
        return self._count_spelling(place, self._words[place]) == 0 and self._read_part(place + 1) is None

    def _is_between(self, place: int) -> bool:
        """Return whether parts of a code stand on both sides of a word, or a letter and another part after it."""
        before, after, last = (self._word(each) if each >= 0 else "" for each in (place - 1, place + 1, place + 2))
        if is_code_word(after) and (is_code_word(before) or before in SHORT_LETTER_NAMES):
            return True
        is_letter = after in SHORT_LETTER_NAMES or after in LETTER_NAMES or after in CODE_WORDS or after == "ray"
        return (is_letter or (len(after) == 1 and after.isalpha())) and is_code_word(last)

    def _count_spelling(self, place: int, letter: str) -> int:
        """Return how many words after a letter only spell it: three for `C as in Charlie`."""
        if letter == "x" and self._word(place + 1) == "ray":  # `x-ray`, `ex ray`
            return 1
        if CODE_WORDS.get(self._word(place + 1)) == letter.upper():
            return 1
        for link in _SPELLING:
            after = place + 1 + len(link)
            if tuple(self._words[place + 1 : after]) == link and self._word(after).startswith(letter):
                return len(link) + (2 if self._word(after) == "x" and self._word(after + 1) == "ray" else 1)
        return 0

    def _is_prefix(self, place: int) -> bool:
        """Return whether a short word is the beginning of a code: letters with digits right after them."""
        word = self._words[place]
        if word in _NOT_A_PREFIX or not (_PREFIX.fullmatch(word) or word in self._prefixes):
            return False
        place += 1
        while word in self._prefixes and self._word(place) in _BETWEEN:  # `CM, then 232`
            place += 1
        following = self._word(place)
        return following in REPEATS or following.isdigit() or read_number_below_hundred((following,), 0) is not None

    def _word(self, place: int) -> str:
        return self._words[place] if place < len(self._words) else ""
