"""Find resources of a FHIR dataset by search parameters, and by FHIRPath with literals and matchers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from clerkship import __version__
from clerkship.formats.fhir.chart import Chart, UnchangedView, load_chart
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.display_text import format_title
from clerkship.formats.fhir.evaluation.collection import EvaluationError
from clerkship.formats.fhir.expression import InvalidFhirPath
from clerkship.formats.fhir.fhirpath import find_values, values_match
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import parse_resource
from clerkship.formats.fhir.search import SearchContext, parse_query, run_search
from clerkship.formats.fhir.search_parameters import get_parameters
from clerkship.model.dataset import Dataset, Record
from clerkship.model.environment import utc_offset_minutes
from clerkship.model.names import did_you_mean
from clerkship.model.task import Entity
from clerkship.simulators.fhir.datasets.pid import RecordWithPid
from clerkship.simulators.fhir.datasets.source_hash import hash_source_files
from clerkship.suite_files.dataset_type import SearchCache, build_cache_key
from clerkship.suite_files.entities import BadBinding, PathIndex

_MAX_SCANNED = 50
_EXACT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS
_SORT, _COUNT = "_sort", "_count"
"""Result parameters that are supported in `where`: the order, and how many to take."""


class FhirFinder:
    """Finds resources in one dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self.searches = SearchCache(None)

    def cache_key(self) -> str:
        """Return a key of the dataset's content and of the code that searches it."""
        return build_cache_key([__version__.encode(), hash_source_files(), self._dataset.hash.encode()])

    @property
    def _chart(self) -> Chart:
        return load_chart([self._dataset])  # cached for all users of the same datasets

    def find(self, query: Entity, now: datetime) -> Sequence[Record]:
        """Return all resources that match."""
        chart, zone = self._chart, utc_offset_minutes(now)
        search = _describe_search(query, zone)
        keys = self.searches.get(search) if search else None
        if keys is None or not all(key in chart for key in keys):
            keys = self._find_keys(query, chart, zone)
            if search:
                self.searches.add(search, keys)
        return [parse_resource(chart[key]) for key in keys]

    def _find_keys(self, query: Entity, chart: Chart, zone: int) -> list[str]:
        if query.type is not None and query.type not in RESOURCE_TYPES:
            hint = did_you_mean(query.type, RESOURCE_TYPES)
            raise BadBinding(f"`{query.id}`: unknown resource type `{query.type[:60]}`; {hint}")
        search_parameters = {
            key: str(text) for key, text in query.where.items() if is_search_parameter(query.type, key, text)
        }
        keys: Sequence[str] = chart.list_keys(query.type) if query.type is not None else list(chart)
        count = None
        if search_parameters and query.type is not None:
            try:
                parsed = parse_query(query.type, list(search_parameters.items()), context=SearchContext(zone=zone))
                keys, count = run_search(UnchangedView(chart, zone), parsed).keys, parsed.count
            except FhirError as invalid:
                raise BadBinding(f"`{query.id}`: {invalid}") from None
            keys = keys if parsed.sort else sorted(keys, key=lambda key: key.split("/"))
        for path, expected in query.where.items():
            if path not in search_parameters:
                keys = _filter_by_path(query, chart, keys, path, expected)
        return list(keys[:count])

    def summary(self, query: Entity) -> str:
        """Describe the content of the dataset, and the part of the query that no resource can match."""
        chart = self._chart
        keys: Sequence[str] = chart.list_keys(query.type) if query.type is not None else list(chart)
        if not keys:
            types = ", ".join(f"{len(chart.list_keys(type)):,} {type}" for type in chart.types[:8])
            return f"it has {types or 'nothing'}"
        count = f"it has {len(keys):,} {query.type or 'resource'}{'s' * (len(keys) != 1)}"
        for path, expected in query.where.items():
            if is_search_parameter(query.type, path, expected) or path == "id":
                continue
            if get_path_index(chart, query.type, path).is_empty:
                return f"{count}{_explain_mismatch(query, chart, keys, path)}"
        return count

    def title(self, record: Record) -> str:
        """Return a one-line description of the resource."""
        return format_title(record)

    def view(self, record: Record, now: datetime) -> Record:
        """Return the resource with its derived fields."""
        return RecordWithPid(record, now)


def _describe_search(query: Entity, zone: int) -> str:
    """Return everything that the result depends on besides the dataset; empty if that has no form as JSON."""
    try:
        return orjson.dumps([query.type, [*query.where.items()], zone], option=_EXACT).decode()
    except TypeError:
        return ""


def _filter_by_path(query: Entity, chart: Chart, keys: Sequence[str], path: str, expected: Any) -> list[str]:
    """Return the keys of resources that have the expected value at a path.

    A few resources are read one by one; for many, an index is built.
    """
    if path == "id" and isinstance(expected, str) and query.type is not None:
        return [key for key in (f"{query.type}/{expected}",) if key in chart and key in keys]
    try:
        if len(keys) <= _MAX_SCANNED:
            return [key for key in keys if values_match(expected, find_values(parse_resource(chart[key]), path))]
        matching = set(get_path_index(chart, query.type, path).find_matches(expected))
    except (InvalidFhirPath, EvaluationError) as bad:
        raise BadBinding(f"`{query.id}`: {bad}") from None
    return [key for key in keys if key in matching]


def _explain_mismatch(query: Entity, chart: Chart, keys: Sequence[str], path: str) -> str:
    """Explain why no resource has a value at a path.

    Either it is a search parameter, whose value must be text, or it is misspelt.
    """
    known = get_parameters(query.type) if query.type is not None else {}
    if path in known:
        return f"; `{path}` is a search parameter, which needs text such as {_get_example(known[path].type)}"
    known_names = [*known, *dict.fromkeys(name for key in keys[:50] for name in parse_resource(chart[key]))]
    return f", and none has `{path}`; {did_you_mean(path, known_names)}"


def get_path_index(chart: Chart, type: str | None, path: str) -> PathIndex[str]:
    """Return the index of values at a path, built on first use."""

    def build() -> PathIndex[str]:
        keys = chart.list_keys(type) if type is not None else list(chart)
        return PathIndex(((key, find_values(parse_resource(chart[key]), path)) for key in keys), values_match)

    return chart.get_or_build(("path", type, path), build)


def is_search_parameter(type: str | None, key: str, value: Any) -> bool:
    """Return whether a key is a search parameter, perhaps with a modifier or a chain, and not a path."""
    if type is None or not isinstance(value, str):
        return type is not None and key == _COUNT and isinstance(value, int)
    if key.startswith("_has:") or key in (_SORT, _COUNT):
        return True
    known = get_parameters(type)
    name, _, chain = key.partition(".")
    name, _, modifier = name.partition(":")
    if name not in known:
        return False
    if not chain:
        return True
    targets = [modifier] if modifier else known[name].targets
    following = chain.partition(".")[0].partition(":")[0]
    return known[name].type == "reference" and any(following in get_parameters(target) for target in targets)


def _get_example(type: str) -> str:
    return {"date": "`ge2020-01-01`", "quantity": "`gt5`", "number": "`gt5`"}.get(type, "`active`")
