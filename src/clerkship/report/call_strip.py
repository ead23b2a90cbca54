"""Places of a call's moments in a drawing: rows of time, one below the other, in which long silence is short."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clerkship.model.duration import describe_duration
from clerkship.report.call_moments import CallMoment, ShownCall, format_seconds

MAX_QUIET = 9.0
"""Seconds in which nothing happens that are drawn as they are; a longer time is compressed."""
QUIET_WIDTH = 5.0
"""Seconds as which a longer time is drawn."""
LABEL_SECONDS = 1.5
"""Seconds that a label keeps free behind its moment."""
ROW_SECONDS = 34.0
"""Seconds in a row of a short call."""
MAX_ROW_SECONDS = 80.0
ROWS_AIM = 8
"""Rows above which each row takes more seconds."""
TICK_SECONDS = 10
ROW_PIXELS = 750
"""The least width at which a row is drawn, in a window of 1,280 pixels; labels are placed for it."""
LABEL_PIXELS, FLAG_PIXELS, CHARACTER_PIXELS, KEY_PIXELS = 26, 40, 6.6, 13.5
MAX_LABEL = 60
"""Characters of a label."""
EDGE = 0.1
"""Seconds by which a speech may seem to overlap the next one, because times are rounded."""
SAME_TIME = 0.3
"""Seconds between nodes that are named in one label."""
UNLABELLED = ("speech", "node")
"""Moments that are not drawn as a label between the lanes."""
_DIGITS = re.compile(r"\d+|first|second|third|fourth|fifth|next")
Span = tuple[float, float]


@dataclass(frozen=True)
class TimeScale:
    """Converts seconds of a call to places in a drawing. Each piece is its start, its place, and its rate."""

    starts: list[float]
    places: list[float]
    rates: list[float]
    gaps: tuple[tuple[float, float], ...]
    """Times that are compressed."""

    def place(self, seconds: float) -> float:
        """Return where a time is drawn."""
        piece = max(bisect_right(self.starts, seconds) - 1, 0)
        return self.places[piece] + (seconds - self.starts[piece]) * self.rates[piece]

    def is_compressed(self, seconds: float) -> bool:
        """Whether a time is within one that is compressed."""
        return any(start < seconds < end for start, end in self.gaps)


def find_repeated_announcements(moments: Sequence[CallMoment], cited: Collection[int]) -> dict[int, int]:
    """Return the announcements on hold that repeat an earlier one but for numbers: event -> event of the hold.

    They are drawn as a part of the hold. One that a criterion names is drawn as any other speech.
    """
    repeated: dict[int, int] = {}
    for hold in (moment for moment in moments if moment.sort == "hold"):
        known: set[str] = set()
        for moment in moments:
            if moment.sort != "speech" or moment.is_by_agent or not hold.start <= moment.start < hold.end:
                continue
            words = _DIGITS.sub("", moment.text.lower())
            if words in known and moment.seq not in cited:
                repeated[moment.seq] = hold.seq
            known.add(words)
    return repeated


def build_strip(call: ShownCall, moments: Sequence[CallMoment], cited: Collection[int]) -> list[dict[str, Any]]:
    """Return the rows of the drawing. Places and widths are percent of a row; `at` is the index of a moment."""
    repeated = find_repeated_announcements(moments, cited)
    drawn = [(place, moment) for place, moment in enumerate(moments) if moment.seq not in repeated]
    scale = build_scale([moment for _, moment in drawn], call.end)
    length = max(scale.place(call.end), LABEL_SECONDS)
    size = min(max(ROW_SECONDS, length / ROWS_AIM), MAX_ROW_SECONDS)
    breaks = _find_breaks([moment for _, moment in drawn if moment.sort == "speech"], scale, length, size)
    counts = Counter(repeated.values())
    widest = max(*(end - start for start, end in breaks), min(size, ROW_SECONDS))
    return [_Row(start, end, widest, scale, cited).build(drawn, counts, call.end) for start, end in breaks]


def build_scale(moments: Sequence[CallMoment], end: float) -> TimeScale:
    """Build a scale on which a time without speech, keys or labels is short."""
    busy = _merge([_find_busy(moment) for moment in moments if moment.sort != "hold"])
    starts, places, rates, gaps = [0.0], [0.0], [1.0], list[tuple[float, float]]()
    quiet_from = 0.0
    for begin, stop in (*busy, (end, end)):
        quiet = begin - quiet_from
        if quiet > MAX_QUIET:
            for at, rate in ((quiet_from, QUIET_WIDTH / quiet), (begin, 1.0)):
                places.append(places[-1] + (at - starts[-1]) * rates[-1])
                starts.append(at)
                rates.append(rate)
            gaps.append((quiet_from, begin))
        quiet_from = max(stop, quiet_from)
    return TimeScale(starts, places, rates, tuple(gaps))


def _find_busy(moment: CallMoment) -> Span:
    return moment.start, max(moment.end, moment.start + LABEL_SECONDS)


def _merge(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _find_breaks(speech: Sequence[CallMoment], scale: TimeScale, length: float, size: float) -> list[Span]:
    """Divide the drawing into rows, if possible where a speech begins and no other is cut in two."""
    spoken = [(scale.place(moment.start), scale.place(moment.end)) for moment in speech]
    merged = _merge([(start, max(end - EDGE, start)) for start, end in spoken])
    rows: list[Span] = []
    start = 0.0
    while length - start > size:
        pauses = [begin for begin, _ in merged if start + size * 0.5 < begin <= start + size]
        end = pauses[-1] if pauses else start + size
        rows.append((start, end))
        start = end
    return [*rows, (start, length)]


class _Row:
    """One row of a drawing, from a place to a place."""

    def __init__(self, start: float, end: float, size: float, scale: TimeScale, cited: Collection[int]) -> None:
        self.start, self.end, self.size, self.scale, self.cited = start, end, size, scale, cited

    def build(
        self, drawn: Sequence[tuple[int, CallMoment]], repeated: Mapping[int, int], call_end: float
    ) -> dict[str, Any]:
        bars, holds = [], []
        for at, moment in drawn:
            span = self.scale.place(moment.start), self.scale.place(moment.end)
            if moment.sort == "hold" and span[0] < self.end and span[1] > self.start:
                holds.append(self._cut(at, span))
            elif moment.sort == "speech" and span[0] < self.end and max(span[1], span[0] + 0.01) > self.start:
                bars.append(self._cut(at, span))
        inside = [(at, moment) for at, moment in drawn if self.is_inside(moment.start, call_end)]
        return {
            "bars": bars,
            "holds": holds,
            "nodes": self._place_labels(_group_nodes(inside), dict(inside)),
            "labels": self._place_labels(
                [
                    ([at], _describe_label(moment, repeated.get(moment.seq, 0)), moment.start)
                    for at, moment in inside
                    if moment.sort not in UNLABELLED
                ],
                dict(inside),
            ),
            "ticks": list(self._list_ticks(call_end)),
            "gaps": list(self._list_gaps()),
            "width": self._to_percent(self.end - self.start),
        }

    def is_inside(self, seconds: float, call_end: float) -> bool:
        """Whether a time is in this row; the end of the call is in the last one."""
        place = self.scale.place(seconds)
        is_last = self.end >= self.scale.place(call_end)
        return self.start <= place and (place < self.end or is_last)

    def _to_percent(self, width: float) -> float:
        return round(width / self.size * 100, 2)

    def _cut(self, at: int, span: Span) -> dict[str, Any]:
        left, right = max(span[0], self.start), min(span[1], self.end)
        return {
            "at": at,
            "x": self._to_percent(left - self.start),
            "width": self._to_percent(right - left),
            "goes_on": span[1] > self.end,
            "began": span[0] < self.start,
        }

    def _place_labels(
        self, labels: Sequence[tuple[list[int], str, float]], known: Mapping[int, CallMoment]
    ) -> list[dict[str, Any]]:
        """Place labels so that none covers another: at its time if there is space, else on the level below."""
        ends: list[float] = []
        placed = []
        for moments, text, seconds in labels:
            character = KEY_PIXELS if known[moments[0]].sort == "keys" else CHARACTER_PIXELS
            flags = sum(known[moment].seq in self.cited for moment in moments) * FLAG_PIXELS
            width = (min(len(text), MAX_LABEL) * character + LABEL_PIXELS + flags) * self.size / ROW_PIXELS
            tick = self.scale.place(seconds) - self.start
            x = max(min(tick, self.size - width), 0.0)
            level = next((level for level, end in enumerate(ends) if end <= x), len(ends))
            ends[level : level + 1] = [x + width]
            places = {"x": self._to_percent(x), "tick": self._to_percent(tick), "level": level}
            placed.append(
                {"moments": moments, "text": text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…", **places}
            )
        return placed

    def _list_ticks(self, call_end: float) -> Iterator[dict[str, Any]]:
        for seconds in range(0, int(call_end) + 1, TICK_SECONDS):
            place = self.scale.place(seconds)
            if self.start <= place < self.end and not self.scale.is_compressed(seconds):
                yield {"x": self._to_percent(place - self.start), "text": format_seconds(seconds)}

    def _list_gaps(self) -> Iterator[dict[str, Any]]:
        for start, end in self.scale.gaps:
            left, right = max(self.scale.place(start), self.start), min(self.scale.place(end), self.end)
            if right > left:
                x, width = self._to_percent(left - self.start), self._to_percent(right - left)
                yield {"x": x, "width": width, "text": describe_duration(end - start)}


def _describe_label(moment: CallMoment, repeated: int) -> str:
    if moment.sort != "hold":
        return moment.text
    by = " by the agent" if moment.is_by_agent else ""
    again = f", {repeated} repeated announcement{'s' * (repeated != 1)}" if repeated else ""
    return f"{moment.text}{by}{again}"


def _group_nodes(inside: Sequence[tuple[int, CallMoment]]) -> list[tuple[list[int], str, float]]:
    """Return a label for each node, or for several that a call passes at the same time."""
    groups: list[list[tuple[int, CallMoment]]] = []
    for at, moment in inside:
        if moment.sort != "node":
            continue
        if groups and moment.start - groups[-1][0][1].start <= SAME_TIME:
            groups[-1].append((at, moment))
        else:
            groups.append([(at, moment)])
    return [
        ([at for at, _ in group], " › ".join(moment.text for _, moment in group), group[0][1].start) for group in groups
    ]
