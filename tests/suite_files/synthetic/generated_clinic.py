"""Generated resources, indexed by type and patient."""

from collections import defaultdict
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

import pytest

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.suite_files.synthetic.generator import generate
from tests.choices import mark_slow_after

NOWS = (
    datetime(2026, 3, 2, 14, tzinfo=UTC),
    datetime(2028, 2, 29, 23, 30, tzinfo=UTC),
    datetime(2026, 1, 1, 0, 30, tzinfo=UTC),
    datetime(2025, 11, 2, 5, 59, tzinfo=UTC),
)
"""A Monday morning; a leap day; New Year's Eve in the valley; the Sunday on which its clocks are put back."""
CASES = ((7, NOWS[0]), (1, NOWS[1]), (2, NOWS[2]), (3, NOWS[3]), (-12345678901234567890, NOWS[0]))


class GeneratedClinic:
    """The generated resources of a clinic."""

    def __init__(self, resources: list[Resource], now: datetime) -> None:
        self.now = now
        self.resources = resources
        self.by_key = {get_key(resource): resource for resource in resources}
        self._types: dict[str, list[Resource]] = defaultdict(list)
        self._charts: dict[str, dict[str, list[Resource]]] = defaultdict(lambda: defaultdict(list))
        for resource in resources:
            self._types[resource["resourceType"]].append(resource)
            if (patient := find_patient_key(resource)) is not None:
                self._charts[patient][resource["resourceType"]].append(resource)

    def all(self, type: str) -> list[Resource]:
        return self._types[type]

    def of(self, patient: Resource, type: str) -> list[Resource]:
        """Return the resources of a type that belong to a patient."""
        return self._charts[get_key(patient)][type]

    def at(self, reference: dict[str, Any]) -> Resource:
        """Return the target of a reference."""
        return self.by_key[reference["reference"]]


def find_patient_key(resource: Resource) -> str | None:
    """Return the key of the patient that a resource belongs to."""
    for name in ("subject", "patient", "beneficiary"):
        if name in resource:
            key: str = resource[name]["reference"]
            return key
    for part in resource.get("participant", ()):
        if part.get("actor", {}).get("reference", "").startswith("Patient/"):
            whose: str = part["actor"]["reference"]
            return whose
    return None


cases = pytest.mark.parametrize(("seed", "now"), mark_slow_after(1, CASES), scope="session")
"""Runs a test for each clinic. All tests of one clinic follow each other, in whichever file they are."""


@lru_cache(maxsize=2)
def generate_clinic(seed: int, now: datetime, patients: int = 100) -> GeneratedClinic:
    """Generate a clinic, cached for the next tests: a clinic takes up to 80 MB."""
    return GeneratedClinic(list(generate(patients, seed, now)), now)


def parse_day(text: str) -> date:
    """Return the day of a date or dateTime."""
    return date.fromisoformat(text[:10])


def get_code(concept: dict[str, Any], system: str = "") -> str:
    """Return the code of a concept, of one system if it is given."""
    codes = (coding["code"] for coding in concept["coding"] if system in coding["system"])
    code: str = next(codes)
    return code


def list_dates(data: Any, path: str = "") -> "list[tuple[str, str]]":
    """Return every date and dateTime in the data with its path."""
    if isinstance(data, dict):
        return [entry for name, value in data.items() for entry in list_dates(value, f"{path}.{name}")]
    if isinstance(data, list):
        return [entry for value in data for entry in list_dates(value, path)]
    if isinstance(data, str) and len(data) >= 10 and data[4:5] == "-" and data[7:8] == "-" and data[:4].isdigit():
        return [(path, data)]
    return []
