"""Names that users type: `-` and `_` are equivalent, and a wrong name gets the one that is meant as a hint.

`names.txt` has words that users write for the words in our names: words of other tools, and of the field. Each line has
the users' words, `>`, and ours, the most likely first. A line holds for whole names too, such as `call_made`.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from pathlib import Path


def canonical_name(name: str) -> str:
    """Return a name with `_` for each `-`, so that `sftp-file-present` equals `sftp_file_present`."""
    return name.replace("-", "_")


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FILLERS = frozenset(
    ("a", "an", "any", "be", "did", "do", "does", "has", "is", "it", "of", "should", "the", "was", "were")
)
_COMPARED_CHARACTERS = 120
_NEAR, _NEAR_KNOWN, _NEAR_SHORT = 0.6, 0.75, 0.5
"""The likeness from which on a name, a word of the field, or a short word is near."""
_NEAR_WHOLE, _NEAR_PAIR = 0.9, 0.65
"""The same for the letters of several words, and of two words if one of them is another word."""
_FEW_WORDS = 2
_LISTED_NAMES = 12
_NEGATIONS = frozenset(("not", "never", "no", "none", "without"))
_SAME, _SAME_STEM, _RELATED, _START = 1.0, 0.97, 0.95, 0.77
_LESS_LIKELY = 0.01
"""By how much each next word of a list of related words is less likely."""
_ENDINGS = ("s", "es", "ed", "d", "ing")


@cache
def list_related_words(written: str) -> tuple[str, ...]:
    """Return our words for a word of a user, the most likely first."""
    return _read_related_words().get(written, ())


@cache
def _read_related_words() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        written, _, ours = line.partition(" > ")
        for word in written.split():
            table.setdefault(word, {}).update(dict.fromkeys(each for each in ours.split() if each != word))
    return {word: tuple(ours) for word, ours in table.items()}


def find_similar_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name of a thing in a run, such as a file, that is spelled most alike; None if none is."""
    lowered = {each.lower(): each for each in sorted(names)}
    matches = get_close_matches(name.lower(), lowered, n=1)
    return lowered[matches[0]] if matches else None


def find_nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is meant: by related words first, then by spelling. None if none is near."""
    written = _WrittenName(name[:_COMPARED_CHARACTERS])
    rated = [(written.rate(candidate), candidate) for candidate in _select_family(name, sorted(known))]
    best = max((rating for rating, _ in rated), default=0.0)
    equal = [candidate for rating, candidate in rated if rating == best >= _NEAR]
    return max(equal, key=lambda each: (written.compare_whole(each), -abs(len(each) - len(name))), default=None)


def _select_family(name: str, known: Sequence[str]) -> Sequence[str]:
    """Return the names with the first part of a name with dots, and its related names; all if no name has this part."""
    family, dot, _ = name.lower().partition(".")
    inside = {each for each in known if dot and each.lower().startswith(f"{family}.")}
    return [each for each in known if each in inside or each in list_related_words(name.lower())] if inside else known


class _WrittenName:
    """A name as a user wrote it, to be compared with known names."""

    def __init__(self, name: str) -> None:
        self.name = name.lower()
        self.words = _split_words(name)
        self._whole = _build_matcher("".join(self.words))
        self._spellings = [_build_matcher(word) for word in self.words]
        self._near = [_get_near(word) if len(self.words) > 1 else _NEAR for word in self.words]

    def rate(self, known: str) -> float:
        """Return how likely a known name is meant, from 0 to 1."""
        if known.lower() == self.name:
            return _SAME
        related = list_related_words(self.name)
        if known in related:
            return _SAME - _LESS_LIKELY * (1 + related.index(known))
        words = _split_words(known[:_COMPARED_CHARACTERS])
        joined = 0.0 if len(words) == len(self.words) else _compare_spelling(self._whole, "".join(words), _NEAR_WHOLE)
        return max(_SAME_STEM * joined, self._rate_words(words))

    def compare_whole(self, known: str) -> float:
        """Return how much the spelling of a known name has in common with this one."""
        return _compare_spelling(self._whole, "".join(_split_words(known[:_COMPARED_CHARACTERS])), 0)

    def _rate_words(self, words: Sequence[str]) -> float:
        """Pair the words of both names, the most alike first. Two words that have no pair contradict each other.

        The first word of a name with dots is what it belongs to: that another one is meant is least likely.
        """
        pairs = sorted(
            (-self._rate_word(place, word), place, other)
            for place in range(len(self.words))
            for other, word in enumerate(words)
        )
        here, there = set(range(len(self.words))), set(range(len(words)))
        total = 0.0
        for likeness, place, other in pairs:
            if likeness and place in here and other in there:
                here.remove(place)
                there.remove(other)
                total -= likeness
        if _NEGATIONS.intersection((*(self.words[place] for place in here), *(words[other] for other in there))):
            return 0.0
        contradictions = min(len(here), len(there))
        ends_match = min(len(self.words), len(words)) > _FEW_WORDS and not {0, len(self.words) - 1} & here
        if contradictions == 1 and ends_match and not {0, len(words) - 1} & there:
            return _NEAR
        if contradictions and max(len(self.words), len(words)) == _FEW_WORDS and 0 not in here & there:
            return _NEAR if _compare_spelling(self._whole, "".join(words), _NEAR_PAIR) else 0.0
        if 0 in here and 0 in there:
            total -= 1
        unpaired = max(len(here), len(there)) - contradictions
        compared = min(len(self.words), len(words))
        return total / (compared + 0.5 * unpaired) - 0.25 * contradictions

    def _rate_word(self, place: int, word: str) -> float:
        written = self.words[place]
        if written == word:
            return _SAME
        if _has_same_stem(written, word):
            return _SAME_STEM
        related = list_related_words(written)
        if word in related:
            return _RELATED - _LESS_LIKELY * related.index(word)
        if written in _NEGATIONS and word not in _NEGATIONS:
            return 0.0
        start = _START if len(written) > _FEW_WORDS and word.startswith(written) else 0.0
        return max(start, _compare_spelling(self._spellings[place], word, self._near[place]))


def _get_near(word: str) -> float:
    """Return how alike another word must be spelled: a word of the field is seldom misspelled."""
    return _NEAR_KNOWN if list_related_words(word) else _NEAR_SHORT if len(word) <= 3 else _NEAR


def _split_words(name: str) -> tuple[str, ...]:
    name = name.lower() if "." in name else name  # a type in the name of an event is one word
    words = tuple(word.lower() for word in _WORD.findall(name))
    return tuple(word for word in words if word not in _FILLERS) or words or (name.lower(),)


def _has_same_stem(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > 2 and long.startswith(short) and long[len(short) :] in _ENDINGS


def _build_matcher(text: str) -> "SequenceMatcher[str]":
    return SequenceMatcher(None, "", text, autojunk=False)


def _compare_spelling(matcher: "SequenceMatcher[str]", text: str, least: float) -> float:
    """Return how much two texts have in common, from 0 to 1; 0 if it is less than `least`."""
    matcher.set_seq1(text)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= least else 0.0


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint for an error message: the nearest name, or all known names if there are few.

    Of many names with dots, those that begin as the name does are listed.
    """
    names = sorted(known)
    close = find_nearest_name(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    prefix, dot, _ = name.partition(".")
    if len(names) > _LISTED_NAMES:
        names = [each for each in names if dot and each.startswith(f"{prefix}.")]
    return f"known: {', '.join(names)}" if 0 < len(names) <= 2 * _LISTED_NAMES else ""


def find_matching_names(part: str, names: Iterable[str]) -> list[str]:
    """Return the name itself if it is known; otherwise all names that contain it, ignoring case."""
    known = list(names)
    return [part] if part in known else [name for name in known if part.lower() in name.lower()]
