"""A parsed search: criteria that resources must meet, and how results are returned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from clerkship.formats.fhir.issue import Issue
from clerkship.formats.fhir.search_parameters import ParameterPath

Prefix = Literal["eq", "ne", "gt", "ge", "lt", "le", "sa", "eb", "ap"]
Summary = Literal["true", "text", "data", "count", "false"]
Total = Literal["none", "estimate", "accurate"]


class TokenValue(NamedTuple):
    """`system|code`; None for a part that is not given, and an empty system for `|code`."""

    system: str | None
    code: str | None


class TextValue(NamedTuple):
    """A normalized text or a URI."""

    text: str
    how: Literal["starts", "contains", "same", "above"] = "starts"
    """`above`: the URI itself and its parents."""


class DateValue(NamedTuple):
    """A date range with its prefix."""

    prefix: Prefix
    low: int
    high: int


class QuantityValue(NamedTuple):
    """A number with its prefix and, for a quantity, its unit."""

    prefix: Prefix
    value: float
    low: float
    high: float
    system: str | None = None
    code: str | None = None


class ReferenceValue(NamedTuple):
    """A reference, in every form it may have in a resource."""

    spellings: tuple[str, ...]


SearchValue = TokenValue | TextValue | DateValue | QuantityValue | ReferenceValue
IndexKind = Literal[
    "token", "label", "of-type", "string", "exact", "date", "amount", "link", "link-identifier", "uri", "present"
]
"""The kinds of values that an index holds."""
DEFAULT_INDEX_KINDS: dict[str, IndexKind] = {
    "token": "token",
    "string": "string",
    "reference": "link",
    "uri": "uri",
    "date": "date",
    "number": "amount",
    "quantity": "amount",
}
"""The kind of index by parameter type, without a modifier."""


@dataclass(frozen=True, slots=True)
class ValueCriterion:
    """One of the values is found at the paths of a parameter; if negated, none is."""

    index_kind: IndexKind
    paths: tuple[ParameterPath, ...]
    values: tuple[SearchValue, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class MissingCriterion:
    """There is no value at the paths of a parameter; if `missing` is False, there is one."""

    paths: tuple[ParameterPath, ...]
    missing: bool


@dataclass(frozen=True, slots=True)
class IdCriterion:
    """The id is one of these; if negated, none of these."""

    ids: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ChainCriterion:
    """A reference refers to a resource that meets an inner criterion, by type."""

    paths: tuple[ParameterPath, ...]
    inner: tuple[tuple[str, "Criterion"], ...]


@dataclass(frozen=True, slots=True)
class ReverseChainCriterion:
    """A resource of a type that meets an inner criterion refers to this one."""

    type: str
    paths: tuple[ParameterPath, ...]
    inner: "Criterion"


@dataclass(frozen=True, slots=True)
class CompositeCriterion:
    """For one of the alternatives, all components match the same element."""

    roots: tuple[ParameterPath, ...]
    alternatives: tuple[tuple[ValueCriterion, ...], ...]


@dataclass(frozen=True, slots=True)
class AnyCriterion:
    """One of several criteria is met."""

    criteria: tuple["Criterion", ...]


Criterion = (
    ValueCriterion
    | MissingCriterion
    | IdCriterion
    | ChainCriterion
    | ReverseChainCriterion
    | CompositeCriterion
    | AnyCriterion
)


class SortKey(NamedTuple):
    """One key of `_sort`."""

    name: str
    descending: bool


class Include(NamedTuple):
    """One `_include` or `_revinclude`: `Observation:patient:Patient`; `*` for every parameter."""

    source: str
    parameter: str
    target: str = ""
    iterate: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A whole search."""

    type: str
    """The resource type; empty for a search of the whole system."""
    criteria_by_type: tuple[tuple[str, tuple[Criterion, ...]], ...]
    """The criteria of each resource type."""
    pairs: tuple[tuple[str, str], ...] = ()
    """The parameters that were used, in canonical order."""
    ignored: tuple[Issue, ...] = ()
    includes: tuple[Include, ...] = ()
    revincludes: tuple[Include, ...] = ()
    count: int | None = None
    total: Total | None = None
    summary: Summary | None = None
    elements: tuple[str, ...] = ()
    sort: tuple[SortKey, ...] = ()
    cursor: str = ""
    base: str = ""
    zone: int = 0

    def link(self, cursor: str = "") -> str:
        """Return the query string as it was used, with a cursor if there is one."""
        pairs: Sequence[tuple[str, str]] = [*self.pairs, ("_cursor", cursor)] if cursor else self.pairs
        return urlencode(pairs, safe=":/,|$*")


class SearchContext(NamedTuple):
    """How values are read: the base URL, the zone in minutes ahead of UTC, and the time, if known."""

    base: str = ""
    zone: int = 0
    now: int | None = None
    """In microseconds since the year 1, UTC: see ranges.to_microseconds."""
    depth: int = 0
    """The number of links in the chain so far."""

    @property
    def next_level(self) -> "SearchContext":
        """The context one link further in a chain."""
        return self._replace(depth=self.depth + 1)
