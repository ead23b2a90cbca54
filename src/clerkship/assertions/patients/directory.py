"""The patients of the datasets of a run, by everything that identifies them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol, runtime_checkable

from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, get_key, list_objects, parse_resource
from clerkship.model.errors import InputError
from clerkship.sandbox.state import State
from clerkship.text.identity import Identity, read_identity
from clerkship.text.index import MentionIndex

PERSON_TYPES = ("Patient", "Person", "RelatedPerson")


@runtime_checkable
class ResourceSource(Protocol):
    """Records of a sandbox or domain that know the patients of the datasets, without a chart."""

    def list_resources(self, type: str) -> Iterator[dict[str, Any]]:
        """Yield the resources of a type: Patient or Coverage."""


def build_directory(evidence: Evidence) -> MentionIndex:
    """Return the patients of the charts; without a chart, those whom another sandbox or domain knows."""
    bases = list_bases(evidence.states)
    indexes = index_charts(bases)
    if indexes:
        return merge_indexes(indexes)
    sources = [base for base in bases if isinstance(base, ResourceSource)]
    patients: dict[str, Resource] = {}
    for patient in (patient for source in sources for patient in source.list_resources("Patient")):
        patients[get_key(patient)] = max(patients.get(get_key(patient), {}), patient, key=len)  # the more complete one
    coverages = (coverage for source in sources for coverage in source.list_resources("Coverage"))
    return index_patients(patients.values(), coverages)


def list_clinicians(evidence: Evidence) -> tuple[Identity, ...]:
    """Return the clinicians of the charts: `2:30 with Toussaint` does not tell of a patient of that name.

    Use it with `evidence.cached`.
    """
    charts = [base for base in list_bases(evidence.states) if isinstance(base, Chart)]
    return tuple(each for chart in charts for each in read_clinicians(chart))


def read_clinicians(chart: Chart) -> tuple[Identity, ...]:
    """Return the clinicians of a chart, by their names; their numbers are not those of a patient."""

    def read() -> tuple[Identity, ...]:
        names = ((key, {"name": parse_resource(chart[key]).get("name")}) for key in chart.list_keys("Practitioner"))
        return tuple(read_identity(key, name)._replace(numbers=frozenset()) for key, name in names)

    return chart.get_or_build("clinicians", read)


def list_bases(states: Mapping[str, object]) -> list[object]:
    """Return the records of the datasets below some states, each once."""
    records = (state.records for state in states.values() if isinstance(state, State))
    bases = (getattr(each, "base", None) for each in records)  # of layered records; checking the protocol costs more
    return list({id(base): base for base in bases if base is not None}.values())


def index_charts(bases: Iterable[object]) -> list[MentionIndex]:
    """Return the index of the patients of each chart. It is built once for a dataset."""
    charts = [base for base in bases if isinstance(base, Chart)]
    return [chart.get_or_build("mentions", partial(_index_chart, chart)) for chart in charts]


def index_patients(
    patients: Iterable[Resource], coverages: Iterable[Resource], practitioners: Iterable[Resource] = ()
) -> MentionIndex:
    """Return the index of some patients, whose numbers include their member ids, and whose names staff may share."""
    numbers = _list_member_ids(coverages)
    keyed = ((get_key(patient), patient) for patient in patients)
    staff = (family for each in practitioners for family in read_identity(get_key(each), each).families)
    return MentionIndex((read_identity(key, patient, numbers.get(key, ())) for key, patient in keyed), staff)


def merge_indexes(indexes: list[MentionIndex]) -> MentionIndex:
    """Return one index of the patients of several."""
    if len(indexes) == 1:
        return indexes[0]
    staff = (family for index in indexes for family in index.staff)
    return MentionIndex((person for index in indexes for person in index.people.values()), staff)


def read_entity(name: str, record: Mapping[str, Any], directory: MentionIndex) -> Identity:
    """Return what identifies an entity, with the numbers that the datasets have elsewhere."""
    if record.get("resourceType") not in PERSON_TYPES:
        raise InputError.of(f"the entity `{name}` is not a Patient")
    key = f"{record['resourceType']}/{record['id']}"
    known = directory.people.get(key)
    return read_identity(key, record, tuple(known.numbers) if known is not None else ())


def _index_chart(chart: Chart) -> MentionIndex:
    types = ("Patient", "Coverage", "Practitioner")
    return index_patients(*((parse_resource(chart[key]) for key in chart.list_keys(type)) for type in types))


def _list_member_ids(coverages: Iterable[Resource]) -> dict[str, list[str]]:
    """Return the member ids of the patients by the keys of the patients."""
    numbers: dict[str, list[str]] = {}
    for coverage in coverages:
        values = [coverage.get("subscriberId"), *(each.get("value") for each in list_objects(coverage, "identifier"))]
        beneficiary = coverage.get("beneficiary")
        patient = beneficiary.get("reference") if isinstance(beneficiary, dict) else None
        if isinstance(patient, str):
            numbers.setdefault(patient, []).extend(value for value in values if isinstance(value, str))
    return numbers
