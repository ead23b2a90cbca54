"""The quantities that a change may contain: those of the task, the criterion and the patient's chart."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.chart import Chart, UnchangedView
from clerkship.formats.fhir.resource import parse_resource
from clerkship.formats.fhir.search.find import list_compartment_keys
from clerkship.model.matcher import is_matcher, is_number
from clerkship.simulators.fhir.assertions.quantities import ParsedQuantity, find_quantities, normalize_unit, to_float

ALWAYS_ALLOWED_NUMBERS = frozenset({0.0, 1.0})
"""Numbers that are allowed if no unit follows them."""
ONCE = ParsedQuantity(1.0, "time")
"""`one time daily` is `once daily`, which has no number."""


class AllowedQuantities:
    """Quantities in the task item, the scenario, the criterion and the charts of the patients concerned."""

    def __init__(self, chart: Chart, patients: Iterable[str], sources: Iterable[Iterable[ParsedQuantity]]) -> None:
        self._chart = chart
        self._patients = tuple(sorted(patients))
        self._quantities = {quantity for source in ((ONCE,), *sources) for quantity in source}

    def allows(self, quantity: ParsedQuantity) -> bool:
        """Return whether a quantity is allowed. The charts are searched only if no other source has it."""
        if quantity in self._quantities or (not quantity.unit and quantity.number in ALWAYS_ALLOWED_NUMBERS):
            return True
        known = [self._quantities, *(_find_chart_quantities(self._chart, patient) for patient in self._patients)]
        if quantity.unit:
            return any(quantity in each for each in known)
        return any(quantity.number == other.number for each in known for other in each)


def _find_chart_quantities(chart: Chart, patient: str) -> frozenset[ParsedQuantity]:
    """Return the quantities in a patient's compartment in the dataset."""

    def read() -> frozenset[ParsedQuantity]:
        keys = list_compartment_keys(UnchangedView(chart), *patient.split("/", 1))
        return frozenset(quantity for key in keys for quantity in find_quantities_in_data(parse_resource(chart[key])))

    return chart.get_or_build(("fhir.quantities", patient), read)


def find_quantities_in_data(data: Any) -> Iterator[ParsedQuantity]:
    """Yield every quantity in plain data: in texts, numbers, and Quantity values with their units."""
    if isinstance(data, Mapping):
        yield from pair_with_units(data.get("value"), data.get("unit"), data.get("code"))
        for value in data.values():
            yield from find_quantities_in_data(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from find_quantities_in_data(item)
    elif isinstance(data, str):
        yield from find_quantities(data)
    elif is_number(data):
        yield ParsedQuantity(to_float(data))


def pair_with_units(value: Any, *units: Any) -> Iterator[ParsedQuantity]:
    """Yield a number with each of its units: `unit` and `code` of a Quantity may differ."""
    if is_number(value):
        known = {normalize_unit(unit) for unit in units if isinstance(unit, str)} - {""}
        yield from (ParsedQuantity(to_float(exact.to_plain(value)), unit) for unit in known)


def find_expected_quantities(expected: Mapping[str, Any]) -> Iterator[ParsedQuantity]:
    """Yield the quantities in a map of path -> expectation: `dose.value: 400` beside `dose.unit: mg` is 400 mg."""
    values = {path: list(list_literals(expectation)) for path, expectation in expected.items()}
    for path, literals in values.items():
        parent, _, name = path.rpartition(".")
        units = [unit for sibling in ("unit", "code") for unit in values.get(f"{parent}.{sibling}", ())]
        for value in literals:
            yield from find_quantities_in_data(value)
            yield from pair_with_units(value, *units) if name == "value" else ()


def list_literals(expected: Any) -> Iterator[Any]:
    """Yield the values that an expectation names. Bounds and patterns name none."""
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
