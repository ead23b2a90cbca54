"""Find the patients of a chart that a text names: by full name, by identifier or by reference."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.reference import iter_references
from clerkship.formats.fhir.resource import Resource, parse_resource

_WORDS = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_REFERENCE = re.compile(r"\bPatient/([A-Za-z0-9\-.]{1,64})")
_MIN_IDENTIFIER_LENGTH = 4
_MAX_NAME_DISTANCE = 3
"""The most words between the family name and the given name: `Maria E. Lopez`, `Lopez, Maria`."""


class PatientIndex:
    """The patients of a chart, by name and identifier."""

    def __init__(self, chart: Chart) -> None:
        self.keys = frozenset(chart.list_keys("Patient"))
        self._by_identifier: dict[str, set[str]] = defaultdict(set)
        self._by_family: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
        for key in self.keys:
            self._add(key, parse_resource(chart[key]))
        self._family_lengths = sorted({len(family) for family in self._by_family})
        """The numbers of words that family names have."""

    def _add(self, key: str, patient: Resource) -> None:
        for identifier in patient.get("identifier", ()):
            value = str(identifier.get("value", "")).casefold()
            if len(value) >= _MIN_IDENTIFIER_LENGTH:
                self._by_identifier[value].add(key)
        for name in patient.get("name", ()):
            family, given = _split_words(name.get("family", "")), _split_words(" ".join(name.get("given", ())[:1]))
            if family and given:
                self._by_family[tuple(family)].append((given[0], key))

    def find_named(self, text: str, own: Collection[str] = ()) -> set[str]:
        """Return the keys of the patients that a text names.

        A name that several patients share is taken as that of the patients in `own`, if one of them has it.
        """
        patients = {f"Patient/{id}" for id in _REFERENCE.findall(text)} & self.keys
        words = _split_words(text)
        for keys in (*self._find_by_identifier(words), *self._find_by_name(words)):
            patients |= keys.intersection(own) or keys
        return patients

    def _find_by_identifier(self, words: list[str]) -> Iterator[set[str]]:
        return (self._by_identifier[word] for word in words if word in self._by_identifier)

    def _find_by_name(self, words: list[str]) -> Iterator[set[str]]:
        for length in self._family_lengths:
            for start in range(len(words) - length + 1):
                people = self._by_family.get(tuple(words[start : start + length]), ())
                end = start + length
                nearby = (
                    {*words[max(0, start - _MAX_NAME_DISTANCE) : start], *words[end : end + _MAX_NAME_DISTANCE]}
                    if people
                    else ()
                )
                keys = {key for given, key in people if given in nearby}
                if keys:
                    yield keys


def _split_words(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return _WORDS.findall(plain.casefold())


def get_patient_index(chart: Chart) -> PatientIndex:
    """Return the index of a chart's patients, built once per chart."""
    return chart.get_or_build("fhir.patients.named", lambda: PatientIndex(chart))


def find_patients(resource: Any) -> set[str]:
    """Return the keys of the patients that a resource is about: itself, or those it refers to."""
    patients = {
        f"Patient/{id}"
        for _, reference in iter_references(resource)
        for id in _REFERENCE.findall(reference["reference"])
    }
    if isinstance(resource, dict) and resource.get("resourceType") == "Patient" and "id" in resource:
        patients.add(f"Patient/{resource['id']}")
    return patients
