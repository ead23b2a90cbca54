"""Times of day in a text: `2:30pm`, `14:30`, `half past two`, `2 in the afternoon`, `noon`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_HOUR, _MINUTE = r"(?P<hour>\d{1,2})", r"(?P<minute>[0-5]\d)"
_HALF_OF_DAY = r" ?(?P<half>[ap])\.? ?m\b\.?"
_PART_OF_DAY = r",? (?:in the (?P<part>morning|afternoon|evening)|at (?P<night>night))\b"
_SUFFIX = rf"(?:{_HALF_OF_DAY}|{_PART_OF_DAY})"
_ALONE = r"(?<![\d:/.+$-])"
_TIME_AFTER = r"\d{1,2}(?:[:.][0-5]\d(?!\d)| ?[ap]\.? ?m\b| ?o['’ ]?clock\b|,? in the )"
"""The second of two times, which tells that a number before it is the first: `9 or 10 in the morning`."""
_CERTAIN = (
    re.compile(rf"{_ALONE}{_HOUR} ?: ?{_MINUTE}(?::[0-5]\d)?(?!\d|:\d){_SUFFIX}?"),
    re.compile(rf"{_ALONE}{_HOUR}(?:[ .h] ?{_MINUTE})?{_SUFFIX}"),
    re.compile(rf"{_ALONE}{_HOUR} ?h ?{_MINUTE}\b"),
    re.compile(rf"{_ALONE}{_HOUR}(?: {_MINUTE})? ?o['’ ]?clock\b{_SUFFIX}?"),
    re.compile(rf"\bhalf past {_HOUR}\b{_SUFFIX}?"),
    re.compile(rf"\b(?:a )?quarter (?P<quarter>past|after|to|before|of) {_HOUR}\b{_SUFFIX}?"),
    re.compile(rf"{_ALONE}(?P<count>5|10|20|25)(?: minutes)? (?P<side>past|to) {_HOUR}\b{_SUFFIX}?"),
    re.compile(r"\b(?P<word>noon|midday|midnight)\b"),
)
_POSSIBLE = (
    re.compile(rf"\b(?:at|by|before|until|till|from|after|around) {_HOUR}(?:[ -]{_MINUTE})?(?! ?[\d:/.%-]\d| ?%)\b"),
    re.compile(rf"{_ALONE}{_HOUR}[ -](?P<minute>00|15|30|45)\b(?![:/.-]?\d)"),
    re.compile(rf"{_ALONE}{_HOUR}\.{_MINUTE}(?![\d%]|[.:/-]\d| %)"),
    re.compile(rf"{_ALONE}{_HOUR}(?= ?(?:or|and|to|-) ?(?:at )?{_TIME_AFTER})"),
)
_WORDS = {"noon": 720, "midday": 720, "midnight": 0}
_DAY, _HALF_DAY = 1440, 720
_VALUE = re.compile(r"(\d{1,2}):([0-5]\d)")


class WrittenTime(NamedTuple):
    """A time of day in a text, with its possible readings as minutes after midnight."""

    start: int
    end: int
    readings: frozenset[int]
    is_certain: bool
    """Whether it can only be a time: `at 5` may be another number."""


def parse_time(value: str) -> int | None:
    """Return a time such as `14:30` as minutes after midnight; None for anything else."""
    match = _VALUE.fullmatch(value)
    minutes = int(match[1]) * 60 + int(match[2]) if match is not None else _DAY
    return minutes if minutes < _DAY else None


def find_times(text: str) -> Iterator[WrittenTime]:
    """Yield the times in a text in lower case, with numbers in digits. Without `am` or `pm` there are two readings.

    What is part of another time is none: `2 in the afternoon` in `half past 2 in the afternoon`.
    """
    end = 0
    for each in sorted(_list_times(text), key=lambda each: (each.start, -each.end, not each.is_certain)):
        if each.end > end:
            yield each
            end = each.end if each.is_certain else end


def _list_times(text: str) -> Iterator[WrittenTime]:
    for patterns, is_certain in ((_CERTAIN, True), (_POSSIBLE, False)):
        for pattern in patterns:
            for match in pattern.finditer(text):
                readings = frozenset(_read(match))
                if readings:
                    yield WrittenTime(match.start(), match.end(), readings, is_certain)


def _read(match: re.Match[str]) -> Iterator[int]:
    groups = match.groupdict()
    if groups.get("word"):
        yield _WORDS[groups["word"]]
        return
    hour, minute = int(groups["hour"]), _read_minute(match[0], groups)
    if hour > 24:
        return
    is_early = groups.get("half") == "a" or groups.get("part") == "morning"
    is_late = groups.get("half") == "p" or groups.get("part") in ("afternoon", "evening")
    if hour > 12 or hour == 0:
        yield (hour * 60 + minute) % _DAY
        return
    early = (hour % 12 * 60 + minute) % _DAY
    yield from [] if is_late else [early]
    yield from [] if is_early else [early + _HALF_DAY if early + _HALF_DAY < _DAY else early]


def _read_minute(text: str, groups: dict[str, str | None]) -> int:
    """Return the minutes after the hour; below zero for `quarter to`."""
    if text.startswith("half past"):
        return 30
    if groups.get("quarter"):
        return 15 if groups["quarter"] in ("past", "after") else -15
    if groups.get("count"):
        count = int(groups["count"] or 0)
        return count if groups["side"] == "past" else -count
    return int(groups.get("minute") or 0)
