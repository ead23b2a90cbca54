"""The grammar of a transaction: its loops, segments and elements, compiled from `tables/*.json`."""

from collections.abc import Mapping
from typing import NamedTuple

from clerkship.formats.x12.segment import X12Delimiters, X12Segment
from clerkship.formats.x12.segment_pattern import (
    MAX_CACHED_DELIMITERS,
    ElementSpec,
    SegmentMatch,
    SegmentRule,
    Situation,
    build_segment_pattern,
    match_nothing,
)

NO_RULES = 1_000_000
"""`first_rule_position` of segments without rules."""


class RequiredItem(NamedTuple):
    """A segment or loop that must be in a loop."""

    place: int
    key: int
    """The number of the item in its loop, under which its occurrences are counted."""
    segment: str
    loop: str


class SegmentSpec:
    """A segment at one place of a grammar: what it is for, how often it may stand there, and its elements."""

    __slots__ = (
        "_patterns",
        "compiled",
        "elements",
        "first_rule_position",
        "id",
        "is_required",
        "label",
        "max",
        "qualifier",
        "qualifiers",
        "rules",
        "situations",
    )

    def __init__(self, id: str, label: str, elements: tuple[ElementSpec, ...], rules: tuple[SegmentRule, ...]) -> None:
        self.id = id
        self.label = label
        self.elements = elements
        self.rules = rules
        self.situations: tuple[Situation, ...] = ()
        self.first_rule_position = NO_RULES
        """A segment that ends before this element breaks no rule and no situation."""
        self.is_required = False
        self.max = 1
        self.qualifier = 0
        """The element that tells the uses of this segment apart; 0 if none does."""
        self.qualifiers: frozenset[str] | None = None
        self.compiled: tuple[X12Delimiters | None, SegmentMatch] = (None, match_nothing)
        """The delimiters used last, and what matches only valid texts with them; some valid texts do not match."""
        self._patterns: dict[X12Delimiters, SegmentMatch] = {}

    def use_delimiters(self, delimiters: X12Delimiters) -> SegmentMatch:
        """Return what matches valid texts with these delimiters, and keep it in `compiled`."""
        match = self._patterns.get(delimiters)
        if match is None:
            if len(self._patterns) >= MAX_CACHED_DELIMITERS:
                self._patterns.clear()
            match = self._patterns[delimiters] = build_segment_pattern(self.id, self.elements, delimiters)
        self.compiled = delimiters, match
        return match


class LoopItem(NamedTuple):
    """A segment or a loop at its place in a loop."""

    place: int
    """Segments with the same id that follow one another share a place: their order is free."""
    key: int
    segment: SegmentSpec
    """The segment, or the first segment of the loop."""
    loop: "LoopSpec | None"
    max: int


class LoopSpec:
    """One loop of a grammar."""

    def __init__(self, id: str, label: str) -> None:
        self.id = id
        self.label = label
        self.is_required = False
        self.max = 1
        self.level = ""
        """HL03 of the loop; empty if it is not a hierarchical level."""
        self.rank = 0
        """The place of the level among the levels of the grammar, from 1; 0 for other loops."""
        self.is_patient = False
        """Whether the loop is the level of a subscriber or a dependent."""
        self.inner_segment_ids: frozenset[str] = frozenset()
        """The ids of the segments of the loop and the loops inside it, without those of levels below."""
        self.items: tuple[LoopItem, ...] = ()
        self.items_by_id: Mapping[str, tuple[LoopItem, ...]] = {}
        self.required: tuple[RequiredItem, ...] = ()
        self.together: tuple[RequiredItem, ...] = ()
        """Items of which all must be there if one is: LS, the loop between, and LE."""
        self.levels: tuple[LoopSpec, ...] = ()
        """The hierarchical levels directly below."""
        self.needs_level_below = False
        self.needs_unless_level_below: tuple[str, ...] = ()
        """Loops of which one is needed if no level follows below, because then this level is the patient."""

    def nested_segment_ids(self) -> frozenset[str]:
        """Return the ids of the segments of the loop, the loops inside it and the levels below it."""
        return self.inner_segment_ids.union(*(level.nested_segment_ids() for level in self.levels))

    def segment_spec(self, segment: X12Segment) -> SegmentSpec | None:
        """Return the specification of a segment in this loop; the closest one if its qualifier fits none."""
        same_id = [item.segment for item in self.items_by_id.get(segment.id, ()) if item.loop is None]
        for spec in same_id:
            if spec.qualifiers is None or segment.raw(spec.qualifier) in spec.qualifiers:
                return spec
        return same_id[0] if same_id else None


class Grammar:
    """The grammar of one transaction in one direction."""

    def __init__(self, key: str, name: str, root: LoopSpec) -> None:
        self.key = key
        """The name of the grammar, such as `278_request`."""
        self.name = name
        self.code = ""
        self.versions: tuple[str, ...] = ()
        self.purposes: tuple[str, ...] = ()
        """The values of BHT02 that select this grammar among those of the same transaction and version."""
        self.root = root
        self.element_counts: dict[str, int] = {}
        """The number of elements of each segment it uses, by id."""
        self.segment_ids: frozenset[str] = frozenset()
        self.known_segments: frozenset[str] = frozenset()
        """The ids of all X12 segments in the tables, of this transaction or another."""
        self.loops: dict[str, LoopSpec] = {}
        self.levels: dict[str, LoopSpec] = {}
        """The hierarchical levels by HL03."""
        self.level_place = 0
        """The place of the hierarchical levels among the items of the root."""
        self.parents: dict[str, frozenset[str]] = {}
        """The ids of the loops that may be the parent of a level."""
