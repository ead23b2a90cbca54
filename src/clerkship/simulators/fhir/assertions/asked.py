"""What was asked for: the quantities that a change may hold and the patients that it may name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clerkship.fhir import exact
from clerkship.fhir.chart import Chart, UnchangedView
from clerkship.fhir.resource import parse_resource
from clerkship.fhir.search.find import list_compartment_keys
from clerkship.model.matcher import is_matcher, is_number
from clerkship.simulators.fhir.assertions.quantities import Measure, as_float, measures, normalised_unit

HARMLESS = frozenset({0.0, 1.0})
"""Numbers that need not have been asked for where no unit follows them."""


class Asked:
    """Quantities: in the task item, the scenario, the criterion, and the chart of the patients concerned."""

    def __init__(self, chart: Chart, patients: Iterable[str], sources: Iterable[Iterable[Measure]]) -> None:
        self._chart = chart
        self._patients = tuple(sorted(patients))
        self._measures = {measure for source in sources for measure in source}

    def allows(self, measure: Measure) -> bool:
        """Whether a quantity was asked for; the charts are read only if nothing else holds it."""
        if measure in self._measures or (not measure.unit and measure.number in HARMLESS):
            return True
        known = [self._measures, *(_in_chart(self._chart, patient) for patient in self._patients)]
        if measure.unit:
            return any(measure in each for each in known)
        return any(measure.number == other.number for each in known for other in each)


def _in_chart(chart: Chart, patient: str) -> frozenset[Measure]:
    """The quantities in a patient's record, as the dataset has it."""

    def read() -> frozenset[Measure]:
        keys = list_compartment_keys(UnchangedView(chart), *patient.split("/", 1))
        return frozenset(measure for key in keys for measure in measures_in(parse_resource(chart[key])))

    return chart.once(("fhir.quantities", patient), read)


def measures_in(data: Any) -> Iterator[Measure]:
    """Yield every quantity in plain data: in its texts, its numbers, and its Quantity values with their units."""
    if isinstance(data, Mapping):
        yield from measures_of(data.get("value"), data.get("unit"), data.get("code"))
        for value in data.values():
            yield from measures_in(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from measures_in(item)
    elif isinstance(data, str):
        yield from measures(data)
    elif is_number(data):
        yield Measure(as_float(data))


def measures_of(value: Any, *units: Any) -> Iterator[Measure]:
    """Yield a number with each of its units: `unit` and `code` of a Quantity may differ."""
    if is_number(value):
        known = {normalised_unit(unit) for unit in units if isinstance(unit, str)} - {""}
        yield from (Measure(as_float(exact.to_plain(value)), unit) for unit in known)


def measures_expected(expected: Mapping[str, Any]) -> Iterator[Measure]:
    """Yield the quantities in a map of path -> expectation: `dose.value: 400` beside `dose.unit: mg` is 400 mg."""
    values = {path: list(literals(expectation)) for path, expectation in expected.items()}
    for path, found in values.items():
        parent, _, name = path.rpartition(".")
        units = [unit for sibling in ("unit", "code") for unit in values.get(f"{parent}.{sibling}", ())]
        for value in found:
            yield from measures_in(value)
            yield from measures_of(value, *units) if name == "value" else ()


def literals(expected: Any) -> Iterator[Any]:
    """Yield the values that an expectation names; bounds and patterns name none."""
    if not is_matcher(expected):
        yield expected
        return
    for name, argument in expected.items():
        if name in ("equals", "contains"):
            yield argument
        elif name == "in":
            yield from argument
        elif name == "approx":
            yield argument["value"] if isinstance(argument, Mapping) else argument
