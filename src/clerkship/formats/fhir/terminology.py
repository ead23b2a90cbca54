"""Code systems and value sets: those of R4, from a table compiled from the official definitions (CC0), those that are
stored as resources, and the codes that a chart uses.

`scripts/fhir_terminology.py` compiles the table: the value sets to which R4 binds elements, and HL7's systems in them.
"""

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.by_name import load
from clerkship.formats.fhir.chart import Chart, ChartView
from clerkship.formats.fhir.issue import fhir_error
from clerkship.formats.fhir.resource import Resource, list_objects, parse_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.text.folding import fold_words

TABLE = Path(__file__).parent / "tables" / "terminology.json.gz"
MAX_NESTED_SETS = 10
"""Value sets that include each other: a broken agent may store two that do so without end."""
_ALL_CODES_SUFFIXES = ("?fhir_vs", "/vs")
"""What follows the URL of a system in that of the value set of all its codes: SNOMED CT's form, and LOINC's."""
_DRUGS = "clerkship.formats.cds_hooks.drugs"
Names = dict[str, list[str]]
"""The names of each code, the preferred one first."""


class KnownSystem(NamedTuple):
    """A code system, as far as it is known here."""

    url: str
    title: str
    names: Names
    is_complete: bool
    """Whether all codes of the system are known; otherwise those that the chart uses are."""


class Concept(NamedTuple):
    """A code of a value set."""

    system: str
    code: str
    display: str = ""


Concepts = dict[tuple[str, str], Concept]
"""The codes of a value set, by system and code, in order."""


@cache
def load_table() -> Any:
    """Return the table: `systems`, bound value sets (`sets`), and those whose codes it does not have (`unlisted`)."""
    return orjson.loads(gzip.decompress(TABLE.read_bytes()))


class Terminology:
    """The code systems and value sets of one server. Raises FhirError for what it does not know."""

    def __init__(self, view: ChartView) -> None:
        self._view = view
        self.is_limited = False
        """Whether an expansion meant all codes of a system of which not all are known."""

    def get_system(self, url: str) -> KnownSystem:
        """Return a code system."""
        system = self._find_system(url.partition("|")[0])
        if not system.title:
            raise fhir_error("not-found", f"the code system {url[:200]!r} is not known here")
        return system

    def _find_system(self, url: str) -> KnownSystem:
        """Return a stored code system, one of R4, or the codes of it in the chart; without a title if unknown."""
        stored = self._find_stored("CodeSystem", url)
        if stored is not None:
            return _read_system(stored, url)
        title, is_complete, displays = load_table()["systems"].get(url, ("", False, {}))
        names: Names = {code: [display] for code, display in displays.items()}
        for code, used in () if is_complete else _collect_codes(self._view.chart).get(url, {}).items():
            names.setdefault(code, []).extend(each for each in used if each not in names[code])
        return KnownSystem(url, title or (url if names else ""), names, is_complete)

    def expand(self, url: str, depth: int = 0) -> Concepts:
        """Return the codes of a value set."""
        url = url.partition("|")[0]
        stored = self._find_stored("ValueSet", url)
        if stored is not None:
            return self.expand_resource(stored, depth)
        table = load_table()
        if url in table["unlisted"]:
            systems = " and ".join(table["unlisted"][url]) or "a system of others"
            reason = f"the value set {url!r} selects codes of {systems}, whose hierarchy and names are not known here"
            raise fhir_error("not-supported", reason)
        if url in table["sets"]:
            return self._merge(self._list_system(*row) for row in table["sets"][url].items())
        if url.endswith(_ALL_CODES_SUFFIXES):
            return self._list_system(url.removesuffix("?fhir_vs").removesuffix("/vs"), None)
        if "?fhir_vs=" in url:
            raise fhir_error("not-supported", f"the value set {url[:200]!r} needs the hierarchy of its system")
        raise fhir_error("not-found", f"the value set {url[:200]!r} is not known here")

    def expand_resource(self, value_set: Resource, depth: int = 0) -> Concepts:
        """Return the codes of a ValueSet resource: of its `compose`, or of its expansion if it has no other content."""
        if depth > MAX_NESTED_SETS:
            raise fhir_error("too-costly", f"value sets include each other more than {MAX_NESTED_SETS} levels deep")
        compose = value_set.get("compose")
        if not isinstance(compose, dict):
            listed = (read_concept(each) for each in _walk(value_set.get("expansion"), "contains") if "code" in each)
            return {(each.system, each.code): each for each in listed}
        concepts = self._merge(self._select(part, depth) for part in list_objects(compose, "include"))
        for part in list_objects(compose, "exclude"):
            for key in self._select(part, depth):
                concepts.pop(key, None)
        return concepts

    def _select(self, part: Mapping[str, Any], depth: int) -> Concepts:
        """Return the codes of one `include` or `exclude`: those of its system that are in all of its value sets."""
        for each in list_objects(part, "filter"):
            text = " ".join(str(each.get(name, "")) for name in ("property", "op", "value"))
            raise fhir_error("not-supported", f"filters of value sets are not supported: {text[:200]}")
        parts: list[Concepts] = []
        if isinstance(part.get("system"), str):
            concepts = list_objects(part, "concept")
            codes = {str(each.get("code")): str(each.get("display", "")) for each in concepts} if concepts else None
            parts.append(self._list_system(part["system"], codes))
        urls = part.get("valueSet")
        for url in urls if isinstance(urls, list) else ():
            parts.append(self.expand(str(url), depth + 1))
        return {key: each for key, each in parts[0].items() if all(key in other for other in parts)} if parts else {}

    def _list_system(self, url: str, codes: "Mapping[str, str] | list[str] | None") -> Concepts:
        """Return codes of a system with their names, or all codes of it."""
        system = self.get_system(url) if codes is None else self._find_system(url)
        self.is_limited = self.is_limited or (codes is None and not system.is_complete)
        displays = codes if isinstance(codes, Mapping) else {}
        known = {
            code: next(iter(system.names.get(code, ())), "") for code in (system.names if codes is None else codes)
        }
        return {(url, code): Concept(url, code, displays.get(code) or display) for code, display in known.items()}

    def _find_stored(self, type: str, url: str) -> Resource | None:
        resources = (self._view.resource(key) for key in search_keys(self._view, type, []))
        return next((each for each in resources if each is not None and each.get("url") == url), None)

    @staticmethod
    def _merge(parts: Iterator[Concepts]) -> Concepts:
        concepts: Concepts = {}
        for part in parts:
            concepts.update(part)
        return concepts


def filter_concepts(concepts: Concepts, text: str) -> list[Concept]:
    """Return the codes for which each word of a text begins a word of the name, or of the code."""
    wanted = fold_words(text)
    words = ((each, fold_words(f"{each.code} {each.display}") if wanted else ()) for each in concepts.values())
    return [each for each, found in words if all(any(word.startswith(part) for word in found) for part in wanted)]


def is_same_name(name: str, other: str) -> bool:
    """Return whether two names of a code differ in case, accents and punctuation at most."""
    return fold_words(name) == fold_words(other)


def _read_system(resource: Resource, url: str) -> KnownSystem:
    concepts = _walk(resource, "concept")
    names = {str(each.get("code")): [str(each["display"])] if "display" in each else [] for each in concepts}
    title = str(resource.get("title") or resource.get("name") or url)
    return KnownSystem(url, title, names, resource.get("content") == "complete")


def read_concept(coding: Mapping[str, Any]) -> Concept:
    """Return the code of a Coding, or of an entry of an expansion."""
    return Concept(*(str(coding.get(name, "")) for name in Concept._fields))


def _walk(parent: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list of elements, and those nested in them under the same name."""
    for each in list_objects(parent, name):
        yield each
        yield from _walk(each, name)


def _collect_codes(chart: Chart) -> dict[str, Names]:
    """Return the codes that a chart uses, and those of the drug table, by system. A chart is read once."""

    def collect() -> dict[str, Names]:
        drugs = load(_DRUGS)
        codes: dict[str, Names] = {drugs.RXNORM: {code: [p.display] for code, p in drugs.load_drugs().products.items()}}
        for line in chart.values():
            _add_codes(parse_resource(line), codes)
        return codes

    return chart.get_or_build("fhir.terminology", collect)


def _add_codes(data: Any, codes: dict[str, Names], text: str = "") -> None:
    """Add the codes of all Codings and Quantities in some data. A Coding without a display has the text beside it."""
    if isinstance(data, list):
        for each in data:
            _add_codes(each, codes, text)
    if not isinstance(data, dict):
        return
    system, code = data.get("system"), data.get("code")
    if isinstance(system, str) and isinstance(code, str):
        names = codes.setdefault(system, {}).setdefault(code, [])
        display = data.get("display") or data.get("unit") or text
        if isinstance(display, str) and display and display not in names:
            names.append(display)
    for name, value in data.items():
        if isinstance(value, dict | list):
            _add_codes(value, codes, str(data.get("text", "")) if name == "coding" else "")
