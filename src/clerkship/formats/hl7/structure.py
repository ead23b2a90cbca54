"""Message structures: checks the order of segments with an automaton, and describes where a message deviates.

See docs/decisions/0014-hl7-v2-and-mllp.md.
"""

import re
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from clerkship.formats.hl7.tables import load_tables

_TOKENS = re.compile(r"[\[\]{}<>|]|\w+")
_START = -1
State = frozenset[int]


class StructureDeviation(NamedTuple):
    """A place where a message deviates from its structure."""

    name: str
    """The segment that is missing or misplaced."""
    at: int
    """The index where it is, or is expected."""
    text: str


class StructureFragment(NamedTuple):
    """A part of a structure in Glushkov's construction: the positions it can start and end with."""

    first: frozenset[int]
    last: frozenset[int]
    is_optional: bool
    """Whether it may be missing entirely."""


class MessageStructure:
    """A message structure as an automaton: one position for each segment in it, and which positions may follow which.

    A state is a set of positions. Transitions are cached, so checking a message costs one look-up per segment.
    """

    def __init__(self, name: str, notation: str) -> None:
        self.name = name
        self.positions: list[str] = []
        self._follow: list[set[int]] = []
        reader = _NotationParser(self.positions, self._follow)
        fragment = reader.parse(notation)
        self._choices = reader.choices
        self._first = fragment.first
        self._last = fragment.last | ({_START} if fragment.is_optional else frozenset())
        self.names = frozenset(self.positions)
        self._next: dict[State, dict[str, State]] = {}

    def find_deviations(self, names: Sequence[str], limit: int) -> list[StructureDeviation]:
        """Return where these segments deviate from the structure, up to a limit. Z segments are allowed anywhere."""
        return _StructureChecker(self, names, limit).check()

    def step(self, state: State, name: str) -> State:
        """Return the state after one more segment; empty if the segment is not allowed there."""
        if name not in self.names:  # do not cache unknown names: senders could fill the memory
            return frozenset()
        transitions = self._next.setdefault(state, {})
        following = transitions.get(name)
        if following is None:
            following = frozenset(position for position in self.followers(state) if self.positions[position] == name)
            transitions[name] = following
        return following

    def followers(self, state: State) -> list[int]:
        """Return the positions that may follow, in the order of the structure."""
        positions: set[int] = set()
        for position in state:
            positions |= self._first if position == _START else self._follow[position]
        return sorted(positions)

    def can_end(self, state: State) -> bool:
        """Return whether a message may end in this state."""
        return not self._last.isdisjoint(state)

    def find_path(self, state: State, name: str | None) -> list[int] | None:
        """Return the shortest path of later positions to a segment; None if there is none.

        If the name is None, return the shortest path to the end of the structure.
        """
        previous: dict[int, int | None] = dict.fromkeys(self.followers(state))
        last = max(state)
        previous = {position: None for position in previous if position > last}
        queue = deque(previous)
        while queue:
            position = queue.popleft()
            if self.positions[position] == name or (name is None and position in self._last):
                return _trace_back(position, previous)
            for following in sorted(self._follow[position]):
                if following > position and following not in previous:
                    previous[following] = position
                    queue.append(following)
        return None

    def alternatives(self, position: int) -> list[str]:
        """Return the segment names allowed at a position: one, or those of a choice."""
        return [self.positions[other] for other in sorted(self._choices.get(position, {position}))]


def _trace_back(position: int, previous: dict[int, int | None]) -> list[int]:
    path: list[int] = []
    current: int | None = position
    while current is not None:
        path.append(current)
        current = previous[current]
    return path[::-1]


class _NotationParser:
    """Parser of HL7's notation for structures; records which position may follow which."""

    def __init__(self, positions: list[str], follow: list[set[int]]) -> None:
        self._positions = positions
        self._follow = follow
        self._tokens: list[str] = []
        self.choices: dict[int, frozenset[int]] = {}
        """For each position that starts an alternative of a choice: the positions that start any of them."""

    def parse(self, notation: str) -> StructureFragment:
        self._tokens = _TOKENS.findall(notation)[::-1]
        return self._parse_sequence("")

    def _parse_sequence(self, end: str) -> StructureFragment:
        fragment = StructureFragment(frozenset(), frozenset(), True)
        while self._tokens and self._tokens[-1] != end:
            fragment = self._concatenate(fragment, self._parse_item())
        if self._tokens:
            self._tokens.pop()
        return fragment

    def _parse_item(self) -> StructureFragment:
        token = self._tokens.pop()
        if token == "[":
            return self._parse_sequence("]")._replace(is_optional=True)
        if token == "{":
            part = self._parse_sequence("}")
            self._link(part.last, part.first)
            return part
        if token == "<":
            return self._parse_choice()
        self._positions.append(token)
        self._follow.append(set())
        position = frozenset({len(self._positions) - 1})
        return StructureFragment(position, position, False)

    def _parse_choice(self) -> StructureFragment:
        alternatives = [self._parse_alternative()]
        while self._tokens.pop() == "|":
            alternatives.append(self._parse_alternative())
        first = frozenset(position for part in alternatives for position in part.first)
        self.choices |= dict.fromkeys(first, first)
        return StructureFragment(first, frozenset(position for part in alternatives for position in part.last), False)

    def _parse_alternative(self) -> StructureFragment:
        """Parse one alternative of a choice: a segment, with the segments that belong to it."""
        fragment = self._parse_item()
        while self._tokens[-1] not in "|>":
            fragment = self._concatenate(fragment, self._parse_item())
        return fragment

    def _concatenate(self, left: StructureFragment, right: StructureFragment) -> StructureFragment:
        self._link(left.last, right.first)
        first = left.first | right.first if left.is_optional else left.first
        last = left.last | right.last if right.is_optional else right.last
        return StructureFragment(first, last, left.is_optional and right.is_optional)

    def _link(self, before: frozenset[int], after: frozenset[int]) -> None:
        for position in before:
            self._follow[position] |= after


class _StructureChecker:
    """Checks the segments of one message in a single pass."""

    def __init__(self, structure: MessageStructure, names: Sequence[str], limit: int) -> None:
        self._structure = structure
        self._names = names
        self._limit = limit
        self._deviations: list[StructureDeviation] = []
        self._state: State = frozenset({_START})
        self._last_index = 0
        """Index of the last segment that matched the structure."""
        self._reported_late: set[str] = set()
        """Names reported as too late, so that they are not reported again when they are reached."""

    def check(self) -> list[StructureDeviation]:
        step = self._structure.step
        for index, name in enumerate(self._names):
            if name[:1] == "Z":
                continue
            state = step(self._state, name)
            if state:
                self._state, self._last_index = state, index
                continue
            self._handle_unexpected(index, name)
            if len(self._deviations) >= self._limit:
                return self._deviations
        self._check_end()
        return self._deviations[: self._limit]

    def _handle_unexpected(self, index: int, name: str) -> None:
        number = index + 1
        if name not in self._structure.names:
            self._report(
                name, index, f"{_quote_name(name)} (segment {number}) does not belong in {self._structure.name}"
            )
            return
        path = self._structure.find_path(self._state, name)
        if path is not None:
            *skipped, target = path
            for missing in skipped:
                self._report_missing(missing, index, name)
            self._state, self._last_index = frozenset({target}), index
        elif name in self._reported_late:
            self._reported_late.remove(name)
        elif name == self._names[self._last_index]:
            self._report(name, index, f"{name} (segment {number}) may occur here only once")
        else:
            self._report(name, index, f"{name} (segment {number}) may not follow {self._names[self._last_index]}")

    def _report_missing(self, position: int, index: int, name: str) -> None:
        expected = self._structure.positions[position]
        later = next((at for at in range(index + 1, len(self._names)) if self._names[at] == expected), None)
        if later is None:
            self._report(
                expected, index, f"{self._expected_names(position)} is missing after {self._names[self._last_index]}"
            )
        else:
            self._reported_late.add(expected)
            self._report(name, index, f"{name} (segment {index + 1}) may not precede {expected} (segment {later + 1})")

    def _check_end(self) -> None:
        if self._structure.can_end(self._state):
            return
        for position in self._structure.find_path(self._state, None) or []:
            name = self._structure.positions[position]
            before = self._names[self._last_index] if self._names else "the beginning"
            self._report(name, len(self._names), f"{self._expected_names(position)} is missing after {before}")

    def _expected_names(self, position: int) -> str:
        return " or ".join(self._structure.alternatives(position))

    def _report(self, name: str, index: int, text: str) -> None:
        self._deviations.append(StructureDeviation(name, index, text))


def _quote_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Z][A-Z0-9]{2}", name) else repr(name[:20])


@lru_cache(maxsize=400)
def find_structure(version: str, name: str) -> MessageStructure:
    """Return a structure of a version; built once."""
    return MessageStructure(name, load_tables(version)["structures"][name])
