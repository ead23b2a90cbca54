"""Compile tables to grammars.

`tables/elements.json` has the elements of the X12 dictionary: type and length; `closed` if only the codes in
`codes.json` are valid. `segments.json` has the elements of segments and composites: number, usage (R required,
S situational, N not used), label and, if it repeats, how often; the rules between them; and the element that tells
uses apart (`qualifier`).

The table of a transaction lists the items of its root and of each hierarchical level (`levels`, each `below` others).
An item is a segment or a loop. What it says about `elements` replaces the shared table: a usage, a list of codes, or
both; `1.2` is component 2 of element 1, `2-8` a range. `N3 S 2` is short for a segment, its usage and its maximum;
names in capitals stand for `segments` of the same table. A loop with `same_as` has the items of another one. A table
with `based_on` is another one with `changes`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clerkship.formats.x12.grammar import NO_RULES, Grammar, LoopItem, LoopSpec, RequiredItem, SegmentSpec
from clerkship.formats.x12.segment_pattern import ElementSpec, SegmentRule, Situation, parse_rule

UNLIMITED = 1_000_000
"""`max` of loops and segments that may occur any number of times."""

_Override = Mapping[str, Any]
_NO_OVERRIDE: _Override = {}


class GrammarCompiler:
    """Compiles the tables of transactions, with the tables of elements, segments and codes they share."""

    def __init__(self, elements: Mapping[str, Any], segments: Mapping[str, Any], codes: Mapping[str, Any]) -> None:
        self._elements = elements
        self._segments: Mapping[str, Any] = segments["segments"]
        self._composites: Mapping[str, Any] = segments["composites"]
        self._codes: Mapping[str, Mapping[str, str]] = codes
        self.known_segments = frozenset([*self._segments, *segments["other_segments"]])

    def compile(self, key: str, table: Mapping[str, Any]) -> Grammar:
        """Compile the table of one transaction."""
        root = LoopSpec("", table["name"])
        builder = _LoopBuilder(self, table)
        builder.fill(root, table["items"])
        grammar = Grammar(key, table["name"], root)
        grammar.known_segments = self.known_segments
        grammar.loops = builder.loops
        self._add_levels(grammar, builder, table)
        grammar.element_counts = builder.element_counts
        grammar.segment_ids = frozenset(builder.element_counts)
        return grammar

    def _add_levels(self, grammar: Grammar, builder: "_LoopBuilder", table: Mapping[str, Any]) -> None:
        levels: Mapping[str, Any] = table.get("levels", {})
        for loop_id, level in levels.items():
            loop = builder.build_loop({**level, "loop": loop_id})
            loop.needs_level_below = level.get("needs_level_below", False)
            loop.needs_unless_level_below = tuple(level.get("needs_unless_level_below", ()))
            loop.rank = len(grammar.levels) + 1
            loop.is_patient = loop.level in {"22", "23"}
            grammar.levels[loop.level] = loop
        parents: dict[str, set[str]] = {}
        for loop_id, level in levels.items():
            below = level.get("below", [""])
            for parent in below:
                parents.setdefault(loop_id, set()).add(parent)
            for parent in below:
                if parent:
                    grammar.loops[parent].levels += (grammar.loops[loop_id],)
                else:
                    grammar.root.levels += (grammar.loops[loop_id],)
        grammar.parents = {loop_id: frozenset(ids) for loop_id, ids in parents.items()}
        # The levels stand between the other segments of the root and SE, which is the last.
        grammar.level_place = grammar.root.items[-1].place if levels else 0

    def build_segment(self, segment_id: str, use: Mapping[str, Any]) -> SegmentSpec:
        """Compile the use of a segment: the shared table, and what the transaction says about this place."""
        shared = self._segments[segment_id]
        overrides = _by_position(use.get("elements", {}))
        rules = tuple(parse_rule(text) for text in shared.get("rules", ()))
        elements = self._build_elements(shared["elements"], overrides)
        spec = SegmentSpec(segment_id, use.get("label", shared["name"]), elements, _effective_rules(rules, elements))
        spec.situations = tuple(_build_situation(situation) for situation in use.get("situations", ()))
        spec.first_rule_position = _find_first_rule_position(spec)
        spec.is_required = use["usage"] == "R"
        spec.max = _to_max(use.get("max", 1))
        qualifier = shared.get("qualifier", 0)
        if qualifier and elements[qualifier - 1].codes is not None:
            spec.qualifier = qualifier
            spec.qualifiers = elements[qualifier - 1].codes
        return spec

    def _build_elements(
        self, rows: Sequence[Sequence[Any]], overrides: Mapping[int, Mapping[int, Any]]
    ) -> tuple[ElementSpec, ...]:
        numbers = [row[0] for row in rows]
        return tuple(
            self._build_element(index + 1, row, overrides.get(index + 1, {}), numbers) for index, row in enumerate(rows)
        )

    def _build_element(
        self, position: int, row: Sequence[Any], overrides: Mapping[int, Any], numbers: Sequence[str]
    ) -> ElementSpec:
        number, usage, label = row[:3]
        repeats = row[3] if len(row) > 3 else 1
        override = _normalize(overrides.get(0, _NO_OVERRIDE))
        usage, label = override.get("usage", usage), override.get("label", label)
        repeats = override.get("repeats", repeats)
        if number in self._composites:
            composite = self._composites[number]
            inner = {component: {0: value} for component, value in overrides.items() if component}
            components = self._build_elements(composite["elements"], inner)
            rules = tuple(parse_rule(text) for text in composite.get("rules", ()))
            return ElementSpec(
                position,
                number,
                label,
                usage,
                "",
                1,
                0,
                repeats,
                None,
                {},
                components,
                _effective_rules(rules, components),
            )
        shared = self._elements[number]
        meanings = self._codes.get(override.get("meanings", number), {})
        codes = override.get("codes", list(meanings) if shared.get("closed") else None)
        format_position = position - 1 if number == "1251" and numbers[position - 2] == "1250" else 0
        return ElementSpec(
            position,
            number,
            label,
            usage,
            shared["type"],
            override.get("min", shared["min"]),
            override.get("max", shared["max"]),
            repeats,
            frozenset(codes) if codes is not None else None,
            meanings,
            format_position=format_position,
        )


class _LoopBuilder:
    """Builds the loops of one grammar."""

    def __init__(self, compiler: GrammarCompiler, table: Mapping[str, Any]) -> None:
        self._compiler = compiler
        self._shared: Mapping[str, Any] = table.get("segments", {})
        self._sources: dict[str, Mapping[str, Any]] = {}
        self.loops: dict[str, LoopSpec] = {}
        self.element_counts: dict[str, int] = {}

    def build_loop(self, source: Mapping[str, Any]) -> LoopSpec:
        """Build one loop and the loops inside it."""
        source = self._copied(source)
        loop = LoopSpec(source["loop"], source["label"])
        loop.is_required = source["usage"] == "R"
        loop.max = _to_max(source.get("max", 1))
        loop.level = source.get("level", "")
        self._sources[loop.id] = source
        self.loops[loop.id] = loop
        self.fill(loop, source["items"])
        together = source.get("together", ())
        loop.together = tuple(_to_required(item) for item in loop.items if item.segment.id in together)
        return loop

    def _copied(self, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give a loop with `same_as` the items of the other; the ids of inner loops get its last letter."""
        if "same_as" not in source:
            return source
        other = self._sources[source["same_as"]]
        return {**other, **source, "items": [_rename(item, source["loop"][-1]) for item in other["items"]]}

    def fill(self, loop: LoopSpec, sources: Sequence[Any]) -> None:
        """Compile the items of a loop."""
        items: list[LoopItem] = []
        place = -1
        previous: tuple[str, bool] | None = None
        for key, source in enumerate(sources):
            item = self._build_item(source)
            kind = (item.segment.id, item.loop is None)
            # Uses of one segment that stand together in the guide share a position of the standard: order is free.
            # The first segment of a loop is a place of its own, since it opens the loop.
            if kind != previous or len(items) == 1:
                place += 1
            previous = kind
            items.append(item._replace(place=place, key=key))
        loop.items = tuple(items)
        loop.inner_segment_ids = frozenset(item.segment.id for item in items).union(
            *(item.loop.inner_segment_ids for item in items if item.loop is not None)
        )
        loop.items_by_id = _group_by_id(items)
        # The first segment of a loop opens it, so it cannot be missing; the root is always open.
        loop.required = tuple(_list_required(items[1:] if loop.id else items))

    def _build_item(self, source: Any) -> LoopItem:
        use = self._expand(source)
        if "loop" in use:
            loop = self.build_loop(use)
            return LoopItem(0, 0, loop.items[0].segment, loop, loop.max)
        spec = self._compiler.build_segment(use["segment"], use)
        self.element_counts[spec.id] = len(spec.elements)
        return LoopItem(0, 0, spec, None, spec.max)

    def _expand(self, source: Any) -> Mapping[str, Any]:
        """Return an item written as text, `N3 S` or `AAA S 9`, in its long form; a name stands for a shared segment."""
        if not isinstance(source, str):
            expanded: Mapping[str, Any] = source
            return expanded
        name, usage, *limit = source.split()
        shared: Mapping[str, Any] = self._shared.get(name, {"segment": name})
        return {**shared, "usage": usage, "max": limit[0] if limit else shared.get("max", 1)}


def _rename(item: Any, letter: str) -> Any:
    if isinstance(item, str) or "loop" not in item:
        return item
    return {**item, "loop": item["loop"][:-1] + letter, "items": [_rename(inner, letter) for inner in item["items"]]}


def _group_by_id(items: Iterable[LoopItem]) -> dict[str, tuple[LoopItem, ...]]:
    groups: dict[str, list[LoopItem]] = {}
    for item in items:
        groups.setdefault(item.segment.id, []).append(item)
    return {segment_id: tuple(group) for segment_id, group in groups.items()}


def _list_required(items: Iterable[LoopItem]) -> Iterable[RequiredItem]:
    for item in items:
        required = item.loop.is_required if item.loop is not None else item.segment.is_required
        if required:
            yield _to_required(item)


def _to_required(item: LoopItem) -> RequiredItem:
    return RequiredItem(item.place, item.key, item.segment.id, item.loop.id if item.loop is not None else "")


def _by_position(overrides: Mapping[str, Any]) -> dict[int, dict[int, Any]]:
    """Return overrides by element and component: `3` is element 3, `1.2` component 2 of element 1, `9-12` a range."""
    positions: dict[int, dict[int, Any]] = {}
    for key, value in overrides.items():
        elements, _, component = key.partition(".")
        first, _, last = elements.partition("-")
        for element in range(int(first), int(last or first) + 1):
            positions.setdefault(element, {})[int(component or 0)] = value
    return positions


def _normalize(override: Any) -> _Override:
    if isinstance(override, str):
        return {"usage": override}
    if isinstance(override, list):
        return {"codes": override}
    normalized: _Override = override
    return normalized


def _effective_rules(rules: Iterable[SegmentRule], elements: Sequence[ElementSpec]) -> tuple[SegmentRule, ...]:
    """Leave out the rules that always hold here, because elements are required or not used."""
    return tuple(rule for rule in rules if not _always_holds(rule, [elements[at - 1].usage for at in rule.positions]))


def _always_holds(rule: SegmentRule, usages: Sequence[str]) -> bool:
    match rule.kind:
        case "P":
            return set(usages) in ({"R"}, {"N"})
        case "R":
            return "R" in usages
        case "E":
            return len(usages) - usages.count("N") <= 1
        case "C":
            return usages[0] == "N" or set(usages[1:]) == {"R"}
        case _:
            return usages[0] == "N" or "R" in usages[1:]


def _find_first_rule_position(spec: SegmentSpec) -> int:
    positions = [0 if rule.kind == "R" else min(rule.positions) for rule in spec.rules]
    positions += [situation.element for situation in spec.situations]
    return min(positions, default=NO_RULES)


def _build_situation(table: Mapping[str, Any]) -> Situation:
    ((element, values),) = table["if"].items()
    return Situation(int(element), frozenset(values), tuple(table["needs"]))


def _to_max(value: str | int) -> int:
    return UNLIMITED if value == ">1" else int(value)
