"""Records of a dataset by query: by path with matchers, and of FHIR by its search parameters too."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from clerkship.fhir.chart import Chart, Untouched
from clerkship.fhir.charts import chart_of
from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.evaluation.collection import PathError
from clerkship.fhir.expectation import fits
from clerkship.fhir.expression import BadPath
from clerkship.fhir.fhirpath import values_at
from clerkship.fhir.issue import Invalid
from clerkship.fhir.parameters import parameters_of
from clerkship.fhir.resource import parse
from clerkship.fhir.search import Meaning, find, parse_query
from clerkship.fhir.wording import title
from clerkship.model.dataset import Dataset, Record
from clerkship.model.matcher import describe, holds, is_matcher
from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup
from clerkship.model.pattern import PatternTooSlow
from clerkship.model.task import Entity

K = TypeVar("K", bound=Hashable)
_SHOWN = 5
_FEW = 50
_SORT, _COUNT = "_sort", "_count"
"""Of what shapes a result these two have a meaning here: which come first, and how many of them are meant."""


class BadBinding(Exception):
    """A query that finds no record, or more than one, or is none."""


class PathIndex(Generic[K]):
    """What stands at one path of many records: a literal is looked up, a matcher tried on each value."""

    def __init__(self, pairs: Iterable[tuple[K, Sequence[Any]]], fit: Callable[[Any, Sequence[Any]], bool]) -> None:
        self._values = dict(pairs)
        self._fit = fit
        self._keys: dict[Hashable, list[K]] = {}
        for key, values in self._values.items():
            for value in dict.fromkeys(map(_hashable, values)):
                self._keys.setdefault(value, []).append(key)

    @property
    def is_empty(self) -> bool:
        """Whether no record has anything there."""
        return not self._keys

    def fitting(self, expected: Any) -> Sequence[K]:
        """The records that have what is expected."""
        wanted = _hashable(expected)
        if wanted is not None and not is_matcher(expected):
            return self._keys.get(wanted, ())
        return [key for key, values in self._values.items() if self._fit(expected, values)]


def _hashable(value: Any) -> Hashable:
    """A literal to look up by: equal as JSON has it; None for what is no such thing."""
    if isinstance(value, bool):
        return ("flag", value)
    if isinstance(value, int | float):
        return ("number", float(value)) if abs(value) < 2**53 else None
    return ("text", value) if isinstance(value, str) else None


class Finder:
    """Finds in the datasets of one folder; what it has gone through once it remembers."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[str, str], PathIndex[int]] = {}

    def find(self, query: Entity, dataset: Dataset, zone: int = 0) -> list[Record]:
        """All that fit, in the dataset's order; raises BadBinding for what is no query. Dates that say no zone are
        days in the one that is so many minutes ahead of UTC."""
        if dataset.type == "files":
            raise BadBinding(f"`{query.id}` finds no {asked(query)} in {dataset.name}; it holds files, not records")
        try:
            return (
                self._find_fhir(query, dataset, zone) if dataset.type == "fhir" else self._find_records(query, dataset)
            )
        except PatternTooSlow as slow:
            raise BadBinding(f"`{query.id}`: {slow}") from None

    def find_one(self, query: Entity, dataset: Dataset, zone: int = 0) -> Record:
        """The one record that is meant."""
        found = self.find(query, dataset, zone)
        if len(found) == 1:
            return found[0]
        if not found:
            raise BadBinding(f"`{query.id}` finds no {asked(query)} in {dataset.name}; {_instead(query, dataset)}")
        names = ", ".join(_named(record) for record in found[:_SHOWN])
        more = ", …" if len(found) > _SHOWN else ""
        count = f"{len(found):,} of {dataset.name} fit {asked(query)}"
        raise BadBinding(f"`{query.id}` must find one record, but {count}: {names}{more}")

    def _find_records(self, query: Entity, dataset: Dataset) -> list[Record]:
        kept = set(range(len(dataset.records)))
        for path, expected in query.where.items():
            kept &= set(self._index(dataset, path).fitting(expected))
        found = [dataset.records[number] for number in sorted(kept)]
        return [r for r in found if query.type in (None, r.get("type"), r.get("resourceType"))]

    def _index(self, dataset: Dataset, path: str) -> PathIndex[int]:
        key = (dataset.name, path)
        if key not in self._indexes:
            pairs = ((number, (lookup(record, path),)) for number, record in enumerate(dataset.records))
            self._indexes[key] = PathIndex(pairs, lambda expected, values: holds(expected, values[0]))
        return self._indexes[key]

    def _find_fhir(self, query: Entity, dataset: Dataset, zone: int) -> list[Record]:
        chart = chart_of([dataset])
        if query.type is not None and query.type not in RESOURCE_TYPES:
            hint = did_you_mean(query.type, RESOURCE_TYPES)
            raise BadBinding(f"`{query.id}`: R4 has no resource `{query.type[:60]}`; {hint}")
        searched = {key: str(text) for key, text in query.where.items() if is_searched(query.type, key, text)}
        keys: Sequence[str] = chart.of_type(query.type) if query.type is not None else list(chart)
        count = None
        if searched and query.type is not None:
            try:
                asking = parse_query(query.type, list(searched.items()), meaning=Meaning(zone=zone))
                keys, count = find(Untouched(chart, zone), asking).keys, asking.count
            except Invalid as invalid:
                raise BadBinding(f"`{query.id}`: {invalid}") from None
            keys = keys if asking.sort else sorted(keys, key=lambda key: key.split("/"))
        for path, expected in query.where.items():
            if path not in searched:
                keys = self._fitting(query, chart, keys, path, expected)
        return [parse(chart[key]) for key in keys[:count]]

    def _fitting(self, query: Entity, chart: Chart, keys: Sequence[str], path: str, expected: Any) -> list[str]:
        """Those that have what is expected at a path: a few are looked at, of many there is an index."""
        if path == "id" and isinstance(expected, str) and query.type is not None:
            return [key for key in (f"{query.type}/{expected}",) if key in chart and key in keys]
        try:
            if len(keys) <= _FEW:
                return [key for key in keys if fits(expected, values_at(parse(chart[key]), path))]
            fitting = set(path_index(chart, query.type, path).fitting(expected))
        except (BadPath, PathError) as bad:
            raise BadBinding(f"`{query.id}`: {bad}") from None
        return [key for key in keys if key in fitting]


def path_index(chart: Chart, type: str | None, path: str) -> PathIndex[str]:
    """What stands at a path of the resources of a type; built when first asked for."""

    def build() -> PathIndex[str]:
        keys = chart.of_type(type) if type is not None else list(chart)
        return PathIndex(((key, values_at(parse(chart[key]), path)) for key in keys), fits)

    return chart.once(("path", type, path), build)


def is_searched(type: str | None, key: str, value: Any) -> bool:
    """Whether a key is a search parameter, with a modifier or a chain perhaps, and no path into the resource."""
    if type is None or not isinstance(value, str):
        return type is not None and key == _COUNT and isinstance(value, int)
    if key.startswith("_has:") or key in (_SORT, _COUNT):
        return True
    known = parameters_of(type)
    name, _, chain = key.partition(".")
    name, _, modifier = name.partition(":")
    if name not in known:
        return False
    if not chain:
        return True
    targets = [modifier] if modifier else known[name].targets
    following = chain.partition(".")[0].partition(":")[0]
    return known[name].type == "reference" and any(following in parameters_of(target) for target in targets)


def asked(query: Entity) -> str:
    """A query in words."""
    told = ", ".join(f"{path} {describe(expected)}" for path, expected in query.where.items())
    return f"{query.type or 'record'}{f' with {told}' if told else ''}"


def _named(record: Record) -> str:
    return title(record) if "resourceType" in record else str(record.get("id") or record)[:40]


def _instead(query: Entity, dataset: Dataset) -> str:
    """What there is, where nothing fits; and which part of the query nothing could."""
    if dataset.type != "fhir":
        return f"it has {len(dataset.records)} records"
    chart = chart_of([dataset])
    keys: Sequence[str] = chart.of_type(query.type) if query.type is not None else list(chart)
    if not keys:
        return f"it has {', '.join(f'{len(chart.of_type(type)):,} {type}' for type in chart.types[:8]) or 'nothing'}"
    count = f"it has {len(keys):,} {query.type or 'resource'}{'s' * (len(keys) != 1)}"
    for path, expected in query.where.items():
        if is_searched(query.type, path, expected) or path == "id" or not path_index(chart, query.type, path).is_empty:
            continue
        known = parameters_of(query.type) if query.type is not None else {}
        if path in known:
            return f"{count}; `{path}` is a search parameter, and takes text such as {_example(known[path].type)}"
        there = [*known, *dict.fromkeys(name for key in keys[:50] for name in parse(chart[key]))]
        return f"{count}, and none has `{path}`; {did_you_mean(path, there)}"
    return count


def _example(type: str) -> str:
    return {"date": "`ge2020-01-01`", "quantity": "`gt5`", "number": "`gt5`"}.get(type, "`active`")


def name_of(record: Record, number: int) -> str:
    """What a record is called in the name of the task that is about it."""
    name = record.get("id")
    return name if isinstance(name, str) and name else str(name) if isinstance(name, int) else str(number + 1)
