"""Find a value, such as a name or an identifier, among the words of a page.

On the words that were drawn, a value is found exactly: only case, spaces and line breaks are free, and letters of other
alphabets that are drawn as Latin ones are Latin ones. On the words of an OCR engine, letters that engines confuse are
free too. A letter stands for one digit at most, and no chain is followed: 1 is read as l and l as i, but 1 is never 7.
So a wrong identifier is not taken for the right one.

A value that must not be on a page is found as a reader would find it: with other accents, and with O for 0 or l for 1.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Literal

from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.model.frozen import Frozen
from clerkship.text.folding import DRAWN_THE_SAME, MIN_SPELLED, SIGNS, fold, remove_accents
from clerkship.text.spoken_words import MONTH_NAMES, list_ordinals

MIN_UNSPACED = 6
"""Letters and digits of an identifier that may be written in groups: 1093 817 465."""
MIN_UNSPACED_OCR = 4
"""Letters and digits of a value that an OCR engine may split or join."""
SPACE, LINE_BREAK, COLUMN_GAP = " ", "\n", "\t"
Folding = Literal["exact", "lookalikes", "ocr"]
"""Which letters are the same: those with the same dots, those that a reader mixes up, or those that an engine does."""
_GAPS = frozenset((SPACE, LINE_BREAK, COLUMN_GAP))
_SPELLED_WORD = re.compile(rf"(?<![^\W_])[^\W\d_](?:[-.][^\W\d_]){{{MIN_SPELLED - 1},}}(?![^\W_])")
_MARKS = re.compile(r"[-.]")
_DIGITS = {"0": "OoQD", "1": "Iil|![]", "2": "Zz", "5": "Ss$", "6": "Gb", "8": "B&", "9": "gq"}
"""What an engine reads in place of each digit. The case counts: B looks like 8 and b like 6, so a B that an agent wrote
because it did not know the digit is not both."""
_PAIRS = (
    *("il", "i|", "i!", "i]", "i[", "ij", "l|", "l!", "l]", "l[", "oq", "ec", ".,", ";:", "'\"", "-_", "-~", "-="),
    *(letter.casefold() + digit for digit, letters in _DIGITS.items() for letter in letters),
)
_CONFUSABLE = frozenset(pairs for pair in _PAIRS for pairs in ((pair[0], pair[1]), (pair[1], pair[0])))
_GROUPS = (("m", "rn"), ("w", "vv"), ("d", "cl"), ("u", "ii"))
_SPECKS = frozenset("'\"~^°*·“”«»")
"""Marks that engines read in noise. Points and commas are not among them: 1.5 is not 15."""
_DRAWN_ALIKE = ("0o", "1i", "1l", "1|", "il", "i|", "l|", "3з", "4ч", "6б")


class ValueMatch(Frozen):
    """A place on a page where a value is, with the words that hold it."""

    text: str
    words: tuple[PageWord, ...]

    @property
    def boxes(self) -> tuple[tuple[int, int, int, int], ...]:
        """Left, top, width and height of each word, in dots."""
        return tuple((word.left, word.top, word.width, word.height) for word in self.words)


def find_value(value: str, words: PageWords, *, tolerant: bool = False, lookalikes: bool = False) -> list[ValueMatch]:
    """Return the places where a value is, from the top. It must be whole: `E11.6` is not in `E11.65`.

    `tolerant` is for the words of an OCR engine, `lookalikes` for a value that must not be on the page.
    """
    folding: Folding = "ocr" if tolerant else "lookalikes" if lookalikes else "exact"
    wanted = _fold_value(value, folding)
    if not wanted:
        return []
    page = _fold_page(words, folding)
    starts = page.list_starts(wanted[0])
    if not starts:
        return []
    rules = _Rules(folding, is_unspaced=_may_lose_spaces(wanted, tolerant=tolerant))
    matches, last_end = [], 0
    for start in starts:
        end = _match(wanted, page, start, rules) if start >= last_end else None
        if end is not None:
            matches.append(page.cut(start, end))
            last_end = end
    return matches


def find_any_value(values: tuple[str, ...], words: PageWords, *, tolerant: bool = False) -> list[ValueMatch]:
    """Return the places of all values, such as the forms of a date."""
    return [match for value in values for match in find_value(value, words, tolerant=tolerant)]


@lru_cache(maxsize=1024)
def list_date_forms(day: date) -> tuple[str, ...]:
    """Return the forms in which a date is written in letters in the United States, and the ISO form."""
    month, year = MONTH_NAMES[day.month - 1], f"{day.year:04}"
    forms = [
        day.isoformat(),
        f"{day.month:02}/{day.day:02}/{year}",
        f"{day.month}/{day.day}/{year}",
        f"{day.month:02}/{day.day:02}/{year[2:]}",
        f"{day.month}/{day.day}/{year[2:]}",
        f"{day.month:02}-{day.day:02}-{year}",
    ]
    for name in dict.fromkeys((month, month[:3], f"{month[:3]}.", "Sept" if month == "September" else month)):
        forms += [f"{name} {day.day}, {year}", f"{name} {day.day:02}, {year}", f"{name} {day.day} {year}"]
        forms += [f"{day.day} {name} {year}", f"{day.day:02} {name} {year}", f"{day.day:02}-{name}-{year}"]
        for ordinal in list_ordinals(day.day):
            forms += [f"{name} {ordinal}, {year}", f"{name} {ordinal} {year}", f"{name} the {ordinal}, {year}"]
            forms += [f"{ordinal} {name} {year}", f"{ordinal} of {name} {year}", f"{ordinal} of {name}, {year}"]
    return tuple(dict.fromkeys(forms))


@dataclass(frozen=True)
class _Rules:
    folding: Folding
    is_unspaced: bool
    """Whether spaces in the value and on the page need not be in the same places."""


@dataclass(frozen=True)
class _FoldedPage:
    """The letters of a page in reading order, with gaps between words, and the word that each is from."""

    words: tuple[PageWord, ...]
    letters: str
    """Without case."""
    printed: str
    """The same letters with their case."""
    origins: tuple[int, ...]
    folding: Folding
    _starts: dict[str, list[int]] = field(default_factory=dict)
    """Where a value can start, by its first letter. Most values are on no page, and end here."""

    def list_starts(self, first: str) -> list[int]:
        """Return where a value can start that has this first letter."""
        starts = self._starts.get(first)
        if starts is None:
            places = self._word_places if first.isalnum() else self._places
            alike = (places[key] for key in places if _may_be_first(first, *key, self.folding))
            starts = self._starts[first] = sorted(chain.from_iterable(alike))
        return starts

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[int]]:
        """The places of each letter, without and with its case."""
        places: dict[tuple[str, str], list[int]] = {}
        for place, key in enumerate(zip(self.letters, self.printed, strict=True)):
            if key[0] not in _GAPS:
                places.setdefault(key, []).append(place)
        return places

    @cached_property
    def _word_places(self) -> dict[tuple[str, str], list[int]]:
        """The places that are not inside a word or a longer identifier."""
        letters = self.letters
        return {
            key: [place for place in places if not place or not _is_joined(letters, place)]
            for key, places in self._places.items()
        }

    def cut(self, start: int, end: int) -> ValueMatch:
        """Return the words of some letters."""
        numbers = sorted({self.origins[index] for index in range(start, end) if self.letters[index] not in _GAPS})
        words = tuple(self.words[number] for number in numbers)
        return ValueMatch(text=" ".join(word.text for word in words), words=words)


@lru_cache(maxsize=4096)
def _fold_value(value: str, folding: Folding) -> str:
    return SPACE.join(_unify(value, folding).casefold().split())


@lru_cache(maxsize=64)
def _fold_page(words: PageWords, folding: Folding) -> _FoldedPage:
    printed: list[str] = []
    origins: list[int] = []
    spelled = set(_find_spelled(words.words)) if folding == "lookalikes" else ()
    for number, word in enumerate(words.words):
        if number and number not in spelled:
            printed.append(_gap(words.words[number - 1], word))
            origins.append(number)
        text = SPACE.join(_unify(word.text, folding).split())
        if folding == "lookalikes" and _SPELLED_WORD.search(text):
            text = _SPELLED_WORD.sub(lambda match: _MARKS.sub("", match[0]), text)
        printed += text
        origins += [number] * len(text)
    # Some letters without case are several: ß is ss.
    places = [place for place, letter in enumerate(printed) for _ in letter.casefold()]
    return _FoldedPage(
        words.words,
        letters="".join(printed).casefold(),
        printed="".join(printed[place] for place in places),
        origins=tuple(origins[place] for place in places),
        folding=folding,
    )


def _find_spelled(words: tuple[PageWord, ...]) -> Iterator[int]:
    """Yield the numbers of words that are single letters of a word that is spelled, without the first of each."""
    row: list[int] = []
    for number, word in enumerate(words):
        is_letter = len(word.text) == 1 and word.text.isalpha()
        if row and not (is_letter and _gap(words[number - 1], word) == SPACE):
            yield from row[1:] if len(row) >= MIN_SPELLED else ()
            row = []
        row += [number] if is_letter else []
    yield from row[1:] if len(row) >= MIN_SPELLED else ()


def _gap(left: PageWord, right: PageWord) -> str:
    """Return what is between two words: a space, a line break, or a gap so wide that another column begins."""
    if left.line != right.line:
        return LINE_BREAK
    distance = right.left - left.left - left.width
    # A space is about a quarter of the letters' height; groups of an identifier are printed up to one height apart.
    return COLUMN_GAP if distance > 1.5 * max(left.height, right.height, 12) else SPACE


def _unify(text: str, folding: Folding) -> str:
    """Return text in which dashes, quotes and letters that look the same are the same. Accents stay if it is exact."""
    # Before and after: some letters that look Latin are normalized to others that do not.
    text = text.translate(SIGNS)
    if folding == "lookalikes":
        return fold(text)
    unified = _to_latin_lookalikes(unicodedata.normalize("NFKC", _to_latin_lookalikes(text)))
    return remove_accents(unified) if folding == "ocr" else unified


@lru_cache(maxsize=4096)
def _may_lose_spaces(wanted: str, *, tolerant: bool) -> bool:
    count = sum(letter.isalnum() for letter in wanted)
    if tolerant:
        return count >= MIN_UNSPACED_OCR
    return count >= MIN_UNSPACED and any(letter.isdigit() for letter in wanted)


def _match(wanted: str, page: _FoldedPage, start: int, rules: _Rules) -> int | None:
    """Return where the value ends on the page if it starts at `start`; None if it is not there."""
    letters = page.letters
    pending, seen = [(0, start)], set[tuple[int, int]]()
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        index, position = state
        if index == len(wanted):
            if _ends_value(letters, position, wanted[-1]):
                return position
            continue
        # The last one is tried first: the plain reading.
        pending += reversed(list(_advance(wanted, index, page, position, rules)))
    return None


def _advance(wanted: str, index: int, page: _FoldedPage, position: int, rules: _Rules) -> Iterator[tuple[int, int]]:
    """Yield the states after one step: how much of the value, and of the page, is used up."""
    letter, letters = wanted[index], page.letters
    if letter == SPACE and rules.is_unspaced:
        yield index + 1, position
    if position >= len(letters):
        return
    read = letters[position]
    if read in _GAPS:
        if letter == SPACE:
            yield index + 1, position + 1
        elif rules.is_unspaced and index and read != COLUMN_GAP:
            yield index, position + 1
        return
    if letter == read:
        yield index + 1, position + 1
    if read == "-" and letters[position + 1 : position + 2] == LINE_BREAK:  # a value that is broken by a hyphen
        if index:
            yield index, position + 2
        if letter == "-":
            yield index + 1, position + 2
    if rules.folding == "lookalikes" and _is_drawn_alike(letter, read):
        yield index + 1, position + 1
    if rules.folding == "ocr" and letter != SPACE:
        yield from _confuse(wanted, index, page, position)


def _confuse(wanted: str, index: int, page: _FoldedPage, position: int) -> Iterator[tuple[int, int]]:
    """Yield the states after letters that an OCR engine confuses, or a speck that it takes for a letter."""
    letters = page.letters
    if is_confusable(wanted[index], page.printed[position]):
        yield index + 1, position + 1
    for one, other in _list_letter_groups(wanted[index]):
        if wanted.startswith(one, index) and letters.startswith(other, position):
            yield index + len(one), position + len(other)
    if index and letters[position] in _SPECKS:
        yield index, position + 1


def _may_be_first(wanted: str, letter: str, printed: str, folding: Folding) -> bool:
    """Return whether a value with this first letter can start with a letter of the page."""
    if wanted == letter:
        return True
    if folding == "lookalikes":
        return _is_drawn_alike(wanted, letter)
    if folding == "ocr":
        is_group = any(other.startswith(letter) for _, other in _list_letter_groups(wanted))
        return is_group or is_confusable(wanted, printed)
    return False


def _ends_value(letters: str, end: int, last: str) -> bool:
    return not last.isalnum() or end >= len(letters) or not _is_joined(letters, end)


def _is_joined(letters: str, position: int) -> bool:
    """Return whether the letters before and after a position belong to one word or identifier."""
    before, after = letters[position - 1], letters[position]
    if before.isalnum() and after.isalnum():
        return True
    left_end = position if before.isalnum() else position - 1
    right_start = position + 1 if before.isalnum() else position
    # Across the end of a line, `XQH-44-` and `0093` are one identifier.
    if letters[left_end - 1 : left_end] == "-" and letters[left_end : left_end + 1] == LINE_BREAK:
        left_end -= 1
    elif letters[left_end : left_end + 2] == "-" + LINE_BREAK:
        right_start = left_end + 2
    left, right = _token_before(letters, left_end), _token_after(letters, right_start)
    return _is_inside(left, letters[left_end : left_end + 1], right)


def _is_inside(left: str, mark: str, right: str) -> bool:
    """Return whether a mark between two runs of letters and digits is part of one identifier, number or date."""
    if not right or (not left and mark != "."):
        return False
    has_digits = any(letter.isdigit() for letter in left + right)
    are_numbers = left.isdigit() and right.isdigit()
    if mark == ".":  # E11.65, 1.5, .5; not No.123
        return any(letter.isdigit() for letter in left) or (not left and right[0].isdigit())
    if mark == "/":  # 07/14/1958, 120/80; not 72148/99214
        return are_numbers and len(left) <= 4 and len(right) <= 4
    if mark == ":":  # 09:14
        return are_numbers and len(left) <= 2 and len(right) <= 2
    if mark == ",":  # 1,200
        return are_numbers and len(left) <= 3 and len(right) == 3
    return mark in ("-", "_", "+", "@") and has_digits


def _token_before(letters: str, end: int) -> str:
    start = end
    while start and letters[start - 1].isalnum():
        start -= 1
    return letters[start:end]


def _token_after(letters: str, start: int) -> str:
    end = start
    while end < len(letters) and letters[end].isalnum():
        end += 1
    return letters[start:end]


def is_confusable(wanted: str, read: str) -> bool:
    """Return whether an engine may read a letter or digit as another; never a digit as two others.

    `wanted` is without case, `read` as it is on the page.
    """
    if wanted in _DIGITS:
        return read in _DIGITS[wanted]
    return (wanted, read.casefold()) in _CONFUSABLE


@cache
def _list_letter_groups(letter: str) -> tuple[tuple[str, str], ...]:
    """Return the groups that begin with a letter, each with the one it is confused with: m and rn."""
    both = (*_GROUPS, *((other, one) for one, other in _GROUPS))
    return tuple((one, other) for one, other in both if one.startswith(letter))


def _is_drawn_alike(wanted: str, read: str) -> bool:
    """Return whether a reader takes one letter or digit for another on a clean page: O for 0, and l for 1."""
    return f"{wanted}{read}" in _DRAWN_ALIKE or f"{read}{wanted}" in _DRAWN_ALIKE


def _to_latin_lookalikes(text: str) -> str:
    """Return text as it looks: letters of other alphabets that look Latin are, and what is not drawn is left out.

    Accents that are part of a letter stay, because they are dots of the page.
    """
    composed = unicodedata.normalize("NFC", text).translate(DRAWN_THE_SAME)
    return "".join(letter for letter in composed if unicodedata.category(letter) not in ("Mn", "Me", "Cf"))
