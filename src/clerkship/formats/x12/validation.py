"""Check a transaction set against its grammar, and divide it into loops, in one pass over its segments.

Errors have the codes of the 999 acknowledgment: IK304 for segments, IK403 for elements (X12 005010X231A1).
See docs/decisions/0020-x12-clearinghouse.md.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from clerkship.formats.x12.charset import X12Charset, outside_pattern
from clerkship.formats.x12.element_checks import check_elements, check_rules, find_bad_characters
from clerkship.formats.x12.grammar import Grammar, LoopItem, LoopSpec, RequiredItem, SegmentSpec
from clerkship.formats.x12.grammar_tables import UnsupportedSet, find_grammar
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.problems import ElementError, SegmentError
from clerkship.formats.x12.segment import X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet

MAX_SET_ERRORS = 100
"""Errors reported for one set. The rest of the set is still divided into loops."""

MAX_ID_LENGTH = 20
"""Characters of the id of an unknown segment that an error keeps."""


class ValidatedSet(NamedTuple):
    """A transaction set divided into loops, and what is wrong with it."""

    tree: Loop
    errors: list[SegmentError]
    grammar: Grammar | None
    """None if the transaction is not supported; then the tree has no loops and nothing was checked."""
    segments: Sequence[X12Segment]
    """The segments in their order."""
    unsupported: UnsupportedSet | None = None


def validate_set(transaction: TransactionSet, charset: X12Charset | None = None) -> ValidatedSet:
    """Check a set against the grammar for its ST01, ST03 and BHT02, and against a character set. It never raises."""
    segments = transaction.segments
    grammar = find_grammar(transaction.code, transaction.version, segments)
    if isinstance(grammar, UnsupportedSet):
        return ValidatedSet(Loop("", list(segments)), [], None, segments, grammar)
    outside = outside_pattern(transaction.delimiters, charset) if charset else None
    if outside and not outside.search(transaction.render()):
        outside = None  # as in nearly all sets: segments need not be searched one by one
    reader = _SetReader(grammar, segments, outside)
    return ValidatedSet(reader.root.loop, reader.read(), grammar, segments)


class _Frame:
    """A loop that is open while the set is read."""

    __slots__ = ("counts", "has_levels", "loop", "next_required", "outer", "parent", "place", "position", "spec")

    def __init__(self, spec: LoopSpec, parent: "_Frame | None", outer: "_Frame | None", position: int) -> None:
        self.spec = spec
        self.loop = Loop(spec.id)
        self.parent = parent
        """The loop this one is in."""
        self.outer = outer
        """The next loop in which a segment is looked for. A segment never goes back to the level above."""
        self.place = 0
        self.next_required = 0
        self.counts: dict[int | str, int] = {} if parent is None else {0: 1}
        """Occurrences of each item, by its key, and of the levels below, by their loop id."""
        self.has_levels = False
        """Whether a hierarchical level is below."""
        self.position = position
        """The position of the first segment."""


class _SetReader:
    """Reads one set."""

    def __init__(
        self, grammar: Grammar, segments: Sequence[X12Segment], bad_characters: re.Pattern[str] | None
    ) -> None:
        self._grammar = grammar
        self._segments = segments
        self._bad_characters = bad_characters
        self._errors: list[tuple[SegmentError, _Frame]] = []
        self.root = _Frame(grammar.root, None, None, 1)
        self._frame = self.root
        self._level = self.root
        self._level_count = 0
        self._levels_by_number: dict[str, _Frame] = {}

    def read(self) -> list[SegmentError]:
        """Divide the segments into loops and return the errors, by position."""
        has_levels = bool(self._grammar.levels)
        reported, bad_characters = self._errors, self._bad_characters
        for position, segment in enumerate(self._segments, 1):
            hl_errors: list[ElementError] | None = None
            if has_levels and segment.id == "HL":
                hl_errors = []
                spec: SegmentSpec | None = self._open_level(segment, position, hl_errors)
            else:
                spec = self._find_place(segment, position)
            self._frame.loop.segments.append(segment)
            if spec is None or len(reported) >= MAX_SET_ERRORS:
                continue
            delimiters, elements = segment.delimiters, segment.elements
            compiled_for, match = spec.compiled
            if compiled_for is not delimiters:
                match = spec.use_delimiters(delimiters)
            if bad_characters and (bad := find_bad_characters(segment, spec, bad_characters)):
                errors = bad
            elif match(delimiters.element.join(elements)) is None:
                errors = check_elements(segment, spec)
            elif len(elements) > spec.first_rule_position:
                errors = check_rules(segment, spec)
            elif not hl_errors:
                continue
            else:
                errors = []
            if errors or hl_errors:
                self._report_elements(segment, position, errors + (hl_errors or []))
        self._close_until(self.root, len(self._segments))
        self._finish(self.root, len(self._segments))
        return _finish_errors(self._errors)

    def _find_place(self, segment: X12Segment, position: int) -> SegmentSpec | None:
        """Open or close loops so that the current one is the loop of the segment; return its specification there."""
        segment_id, elements = segment.id, segment.elements
        frame: _Frame | None = self._frame
        while frame is not None:
            items = frame.spec.items_by_id.get(segment_id)
            if items is not None:
                current_place, counts = frame.place, frame.counts
                for item in items:
                    place, key, spec, _loop, limit = item
                    if place < current_place or (key in counts and counts[key] >= limit):
                        continue
                    qualifiers, qualifier = spec.qualifiers, spec.qualifier
                    if qualifiers is None or (qualifier < len(elements) and elements[qualifier] in qualifiers):
                        return self._enter(frame, item, position)
            frame = frame.outer
        return self._place_wrong(segment, position)

    def _enter(self, frame: _Frame, item: LoopItem, position: int) -> SegmentSpec:
        if self._frame is not frame:
            self._close_until(frame, position)
        place, key, spec, loop, _limit = item
        if place != frame.place:
            if frame.spec.required:
                self._report_missing(frame, place, position)
            frame.place = place
        counts = frame.counts
        counts[key] = counts[key] + 1 if key in counts else 1
        if loop is not None:
            self._open(loop, frame, frame, position)
        return spec

    def _open(self, spec: LoopSpec, parent: _Frame, outer: _Frame, position: int) -> _Frame:
        frame = _Frame(spec, parent, outer, position)
        parent.loop.loops.append(frame.loop)
        self._frame = frame
        return frame

    def _place_wrong(self, segment: X12Segment, position: int) -> SegmentSpec | None:
        """Place a segment that fits nowhere as close as possible and report why it does not fit."""
        over = self._find_item(segment, with_qualifier=True)
        if over is not None:
            frame, item = over
            self._enter(frame, item, position)
            if item.loop is not None:
                self._report(segment, position, "4", f"loop {item.loop.id} occurs more than {item.max} times here")
                return item.segment
            text = f"{segment.id} ({item.segment.label}) occurs more than {_times(item.max)} here"
            self._report(segment, position, "5", text)
            return None
        # The qualifier is wrong: the segment takes the place of the first one with its id, and the check of its
        # elements reports the qualifier.
        other = self._find_item(segment, with_qualifier=False)
        if other is not None:
            return self._enter(*other, position)
        self._report(segment, position, *self._describe_misplaced(segment))
        return None

    def _find_item(self, segment: X12Segment, with_qualifier: bool) -> tuple[_Frame, LoopItem] | None:
        frame: _Frame | None = self._frame
        while frame is not None:
            for item in frame.spec.items_by_id.get(segment.id, ()):
                spec = item.segment
                if item.place < frame.place or (item.key == 0 and frame is not self.root):
                    continue
                if with_qualifier:
                    if spec.qualifiers is None or segment.raw(spec.qualifier) in spec.qualifiers:
                        return frame, item
                elif frame.counts.get(item.key, 0) < item.max:
                    return frame, item
            frame = frame.outer
        return None

    def _describe_misplaced(self, segment: X12Segment) -> tuple[str, str]:
        segment_id, level = segment.id, self._level.spec
        shown = segment_id[:MAX_ID_LENGTH]
        if segment_id not in self._grammar.known_segments:
            return "1", f"`{shown}` is not a segment of X12"
        if segment_id not in self._grammar.segment_ids:
            return "6", f"{shown} is not a segment of transaction {self._grammar.code}"
        # With its first element, which tells the uses of most segments apart: `NM1*1P`.
        shown += f"*{segment.raw(1)[:MAX_ID_LENGTH]}" if segment.raw(1) else ""
        where = f"in loop {level.id}" if level.id else "before the first level" if self._grammar.levels else "here"
        if segment_id in level.inner_segment_ids or segment_id in self._grammar.root.items_by_id:
            return "7", f"{shown} is out of order {where}"
        return "2", f"{shown} is not expected {where}"

    def _open_level(self, segment: X12Segment, position: int, errors: list[ElementError]) -> SegmentSpec:
        """Open the loop of an HL segment below its parent."""
        self._level_count += 1
        number, parent_number = segment.raw(1), segment.raw(2)
        if number and number != str(self._level_count):
            text = f"HL01 (number) is `{number[:12]}`; levels count from 1, so {self._level_count} was expected"
            errors.append(ElementError(1, "I12", text, element_number="628", value=number[:99]))
        spec = self._grammar.levels.get(segment.raw(3)) or self._guess_level()
        parent = self._find_parent(spec, parent_number, position, errors)
        self._close_until(parent, position)
        if not parent.has_levels:
            parent.has_levels = True
            parent.place = self._grammar.level_place if parent is self.root else len(parent.spec.items)
            self._report_missing(parent, parent.place, position)
        count = parent.counts[spec.id] = parent.counts.get(spec.id, 0) + 1
        self._level = self._open(spec, parent, self.root, position)
        if count > spec.max:
            self._report(segment, position, "4", f"loop {spec.id} occurs more than {_times(spec.max)} here")
        self._levels_by_number[number] = self._frame
        return spec.items[0].segment

    def _guess_level(self) -> LoopSpec:
        """Return the level to assume for an HL03 that the grammar does not have."""
        below = self._level.spec.levels
        return below[0] if below else self._level.spec

    def _find_parent(self, spec: LoopSpec, number: str, position: int, errors: list[ElementError]) -> _Frame:
        allowed = self._grammar.parents[spec.id]
        if "" in allowed:
            return self.root
        named = self._levels_by_number.get(number)
        nearest: _Frame | None = None
        above: _Frame | None = None
        frame: _Frame | None = self._level
        # A level is only ever placed below one with a lower rank, so there are few levels to go through.
        while frame is not None and frame is not self.root:
            if frame.spec.id in allowed:
                if frame is named:
                    return frame
                nearest = nearest or frame
            if above is None and frame.spec.rank < spec.rank:
                above = frame
            frame = frame.parent
        if nearest is None:
            missing = min(allowed)
            text = f"HL (loop {missing}) is missing before loop {spec.id}"
            self._add(SegmentError("HL", position, missing, "3", text), above or self.root)
            return above or self.root
        if number:
            expected = nearest.loop.segments[0].raw(1)
            text = f"HL02 (parent) is `{number[:12]}`; the level above is `{expected[:12]}`"
            errors.append(ElementError(2, "I12", text, element_number="734", value=number[:99]))
        return nearest

    def _close_until(self, target: _Frame, position: int) -> None:
        frame = self._frame
        while frame is not target:
            self._finish(frame, position)
            parent = frame.parent
            if parent is None:
                break
            if frame is self._level:
                self._level = parent
            frame = parent
        self._frame = frame

    def _finish(self, frame: _Frame, position: int) -> None:
        """Report what a loop lacks when it ends."""
        spec = frame.spec
        if frame.next_required < len(spec.required):
            self._report_missing(frame, len(spec.items), position)
        # The place reached is not before the first of them if one of them is there.
        if spec.together and frame.place >= spec.together[0].place:
            self._finish_together(frame, position)
        if spec.level or frame is self.root:
            self._finish_level(frame, position)

    def _finish_together(self, frame: _Frame, position: int) -> None:
        items = frame.spec.together
        if any(item.key in frame.counts for item in items):
            for item in items:
                self._report_if_missing(frame, item, position)

    def _finish_level(self, frame: _Frame, position: int) -> None:
        spec = frame.spec
        has_below = frame.has_levels
        if frame is not self.root:
            self._check_has_children(frame, has_below)
        if not has_below and (spec.needs_level_below or frame is self.root):
            for below in spec.levels:
                if below.is_required:
                    self._add(SegmentError("HL", position, below.id, "3", f"HL (loop {below.id}) is missing"), frame)
        if spec.needs_unless_level_below and not has_below:
            needed = spec.needs_unless_level_below
            if all(frame.loop.first(loop_id) is None for loop_id in needed):
                first = self._grammar.loops[needed[0]].items[0].segment.id
                text = f"{first} (loop {needed[0]}) is missing: no level follows, so this is the patient"
                self._add(SegmentError(first, position, needed[0], "I6", text), frame)

    def _check_has_children(self, frame: _Frame, has_below: bool) -> None:
        stated = frame.loop.segments[0].raw(4)
        if stated not in {"0", "1"} or (stated == "1") == has_below:
            return
        text = f"HL04 (has children) is `{stated}`, but {'a' if has_below else 'no'} level follows below"
        error = ElementError(4, "I12", text, element_number="736", value=stated)
        self._add(SegmentError("HL", frame.position, frame.spec.id, "8", text, (error,)), frame)

    def _report_missing(self, frame: _Frame, place: int, position: int) -> None:
        """Report the required items before a place that did not occur."""
        required = frame.spec.required
        while frame.next_required < len(required) and required[frame.next_required].place < place:
            self._report_if_missing(frame, required[frame.next_required], position)
            frame.next_required += 1

    def _report_if_missing(self, frame: _Frame, item: RequiredItem, position: int) -> None:
        if item.key not in frame.counts:
            loop_id = item.loop or frame.spec.id
            where = f" (loop {loop_id})" if loop_id else ""
            text = f"{item.segment}{where} is missing"
            self._add(SegmentError(item.segment, position, loop_id, "3", text), frame)

    def _report_elements(self, segment: X12Segment, position: int, elements: list[ElementError]) -> None:
        elements.sort(key=lambda error: error.position)
        text = "; ".join(error.text for error in elements[:3]) + (" …" if len(elements) > 3 else "")
        loop_id = self._frame.spec.id
        self._add(SegmentError(segment.id, position, loop_id, "8", text, tuple(elements)), self._frame)

    def _report(self, segment: X12Segment, position: int, code: str, text: str) -> None:
        self._add(SegmentError(segment.id[:MAX_ID_LENGTH], position, self._frame.spec.id, code, text), self._frame)

    def _add(self, error: SegmentError, frame: _Frame) -> None:
        if len(self._errors) < MAX_SET_ERRORS:
            self._errors.append((error, frame))


def _finish_errors(errors: list[tuple[SegmentError, _Frame]]) -> list[SegmentError]:
    """Sort errors by position, join the element errors of one segment, and add the trace numbers."""
    joined: dict[tuple[int, str, str], SegmentError] = {}
    for error, frame in sorted(errors, key=lambda pair: pair[0].position):
        key = (error.position, error.code, error.segment + error.loop)
        earlier = joined.get(key)
        if earlier is None or error.code != "8":
            joined[key] = error._replace(trace=_find_trace(frame))
        else:
            joined[key] = earlier._replace(
                elements=earlier.elements + error.elements, text=f"{earlier.text}; {error.text}"
            )
    return list(joined.values())


def _find_trace(frame: _Frame) -> str:
    """Return TRN02 of the request an error belongs to: from its loop, a level above, or below the patient."""
    current: _Frame | None = frame
    while current is not None and current.spec.id:
        segment = current.loop.segment("TRN")
        if segment is None and current.spec.is_patient:
            segment = next((s for loop in current.loop.walk() if (s := loop.segment("TRN")) is not None), None)
        if segment is not None:
            return segment.raw(2)
        current = current.parent
    return ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
