"""The values of FHIRPath expressions: collections of elements of a resource and of System values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.evaluation.date_time import DateTimeKind, DateTimeValue
from clerkship.formats.fhir.evaluation.quantity import Quantity

MAX_EXPONENT = 400
"""Larger exponents become infinity or zero, as in any JSON parser."""
UCUM = "http://unitsofmeasure.org"
_DATE_TIME_KINDS: dict[str, DateTimeKind] = {
    "date": "Date",
    "dateTime": "DateTime",
    "instant": "DateTime",
    "time": "Time",
}
_QUANTITY_TYPES = frozenset({"Quantity", "SimpleQuantity", "MoneyQuantity", "Age", "Count", "Distance", "Duration"})


class EvaluationError(ValueError):
    """An expression cannot be evaluated on the values it found."""


@cache
def load_r4_model() -> dict[str, Any]:
    """Load the types of paths in R4, from the files of fhirpathpy: its module reads those of four versions of FHIR."""
    package = find_spec("fhirpathpy")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0], "models", "r4")
    return {file.stem: orjson.loads(file.read_bytes()) for file in folder.glob("*.json")}


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An element of a resource. `path` is its type, or its path where it has a type of its own (`Patient.contact`)."""

    value: Any
    path: str
    extra: Mapping[str, Any] | None = None
    """The id and extensions of a primitive value, in JSON `_birthDate`."""

    @property
    def type_name(self) -> tuple[str, str]:
        """Return the namespace and name of its type."""
        if self.path.startswith("System."):
            return "System", self.path.removeprefix("System.")
        if "." not in self.path:
            return "FHIR", self.path
        return "FHIR", "BackboneElement" if isinstance(self.value, Mapping) else get_system_type(self.value).lower()

    def children(self, name: str) -> Iterator["Node"]:
        """Yield the elements of a name; `value` finds `valueQuantity`."""
        if not isinstance(self.value, Mapping):
            if self.extra and name in ("id", "extension"):
                yield from _build_nodes(
                    self.extra.get(name), None, "Extension" if name == "extension" else "System.String"
                )
            return
        model = load_r4_model()
        path = f"{self.path}.{name}"
        path = model["pathsDefinedElsewhere"].get(path, path)
        for suffix in model["choiceTypePaths"].get(path, ("",)):
            value, extra = self.value.get(name + suffix), self.value.get(f"_{name}{suffix}")
            if value is not None or extra is not None:
                yield from _build_nodes(value, extra, model["path2Type"].get(path + suffix, path + suffix))

    def all_children(self) -> Iterator["Node"]:
        """Yield all child elements."""
        if isinstance(self.value, Mapping):
            for name in dict.fromkeys(key.removeprefix("_") for key in self.value if key != "resourceType"):
                yield from self._spelt(name)
        elif self.extra:
            yield from self.children("extension")

    def _spelt(self, name: str) -> Iterator["Node"]:
        model = load_r4_model()
        path = f"{self.path}.{name}"
        path = model["pathsDefinedElsewhere"].get(path, path)
        yield from _build_nodes(self.value.get(name), self.value.get(f"_{name}"), model["path2Type"].get(path, path))


Item = Node | bool | int | Decimal | str | DateTimeValue | Quantity
Collection = list[Item]


def _build_nodes(value: Any, extra: Any, path: str) -> Iterator[Node]:
    if isinstance(value, list) or isinstance(extra, list):
        values = value if isinstance(value, list) else []
        extras = extra if isinstance(extra, list) else []
        for place in range(max(len(values), len(extras))):
            one = values[place] if place < len(values) else None
            item_extra = extras[place] if place < len(extras) else None
            if one is not None or item_extra is not None:
                yield from _build_nodes(one, item_extra, path)
    elif value is not None or extra is not None:
        yield build_node(value, path, extra)


def build_node(value: Any, path: str, extra: Any = None) -> Node:
    """Build the node of a value; a resource has its own type."""
    if isinstance(value, Mapping) and isinstance(value.get("resourceType"), str):
        path = value["resourceType"]
    return Node(value, path, extra if isinstance(extra, Mapping) else None)


def to_system_value(item: Item) -> Any:
    """Convert an element to its System value; complex elements stay JSON objects."""
    if not isinstance(item, Node):
        return item
    value = item.value
    if isinstance(value, str):
        kind = _DATE_TIME_KINDS.get(item.path)
        return (DateTimeValue.parse(kind, value) or value) if kind else value
    if isinstance(value, Mapping):
        return _to_quantity(value) or value if item.path in _QUANTITY_TYPES else value
    return to_decimal(value)


def to_decimal(value: Any) -> Any:
    """Convert a number of JSON to an exact one."""
    if isinstance(value, exact.Decimal) and abs((number := Decimal(value.text)).adjusted()) < MAX_EXPONENT:
        return number
    return Decimal(float.__repr__(value)) if isinstance(value, float) else value


def _to_quantity(value: Mapping[str, Any]) -> Quantity | None:
    """Convert a FHIR Quantity. Without UCUM, or with a comparator, its unit equals no other unit."""
    number = to_decimal(value.get("value"))
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        return None
    unit = value.get("code") or value.get("unit") or "1"
    if value.get("system", UCUM) != UCUM:
        unit = f"{value['system']}|{unit}"
    if "comparator" in value:
        unit = f"{value['comparator']} {unit}"
    return Quantity(Decimal(number), str(unit))


def get_system_type(value: Any) -> str:
    """Name the System type of a value."""
    if isinstance(value, bool):
        return "Boolean"
    if isinstance(value, int):
        return "Integer"
    if isinstance(value, Decimal | float):
        return "Decimal"
    if isinstance(value, DateTimeValue):
        return value.kind
    return "Quantity" if isinstance(value, Quantity) else "String" if isinstance(value, str) else "Any"


def is_number(value: Any) -> bool:
    """Whether a System value is an Integer or a Decimal."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def get_single(collection: Collection, where: str) -> Any:
    """Return the single System value of a collection; None if it is empty; raises EvaluationError for several."""
    if len(collection) > 1:
        raise EvaluationError(f"{where} expects one value, not {len(collection)}")
    return to_system_value(collection[0]) if collection else None


def to_boolean(collection: Collection, where: str) -> bool | None:
    """Evaluate a collection as a Boolean: a single value of another type counts as true (FHIRPath 2.0, 4.5)."""
    value = get_single(collection, where)
    return value if isinstance(value, bool) or not collection else True
