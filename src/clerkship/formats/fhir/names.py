"""The names of the resources of a chart, for steps and criteria of several kinds of sandbox to refer to."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.model.closed import NameOf
from clerkship.model.names import did_you_mean


def _check_type_name(name: str) -> str:
    if name not in RESOURCE_TYPES:
        hint = did_you_mean(name, RESOURCE_TYPES)
        raise ValueError(f"unknown resource type `{name[:60]}`" + (f"; {hint}" if hint.startswith("did") else ""))
    return name


ResourceTypeName = Annotated[str, AfterValidator(_check_type_name)]
"""A resource type of R4."""


def _strip_type(reference: str) -> str:
    return reference.removeprefix("Patient/")


PATIENT = NameOf("patient", _strip_type, or_mentioned=True)
"""A patient, by id or reference."""
RESOURCE_ID = NameOf("resource id", or_mentioned=True)
"""A resource of any type, by id or reference."""


def list_resource_names(key: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a resource by its key, with their sorts."""
    type, _, id = key.partition("/")
    yield RESOURCE_ID.sort, key
    yield RESOURCE_ID.sort, id
    if type == "Patient":
        yield PATIENT.sort, id


def _select_names(sort: str) -> Callable[[Any, Chart], Collection[str]]:
    return lambda config, chart: {name for key in chart for named, name in list_resource_names(key) if named == sort}


NAMES: Mapping[str, Callable[[Any, Chart], Collection[str]]] = {
    marker.sort: _select_names(marker.sort) for marker in (PATIENT, RESOURCE_ID)
}
