"""Compiles the value sets that R4 binds its elements to, and the code systems of HL7 in them, into the table of the
terminology operations.

python -m scripts.fhir_terminology           writes src/clerkship/formats/fhir/tables/terminology.json.gz
python -m scripts.fhir_terminology --check   says whether the table there is what would be written
"""

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from scripts.fhir_package import ROOT, VERSION, package_folder
from scripts.fhir_tables import TABLE as STRUCTURES
from scripts.fhir_tables import unpacked

TABLE = STRUCTURES.with_name("terminology.json.gz")
Definition = dict[str, Any]
Members = dict[str, list[str] | None]
_HL7 = ("http://hl7.org/fhir/", "http://terminology.hl7.org/")
_FREE = ("http://unitsofmeasure.org", "urn:ietf:bcp:47")
"""Systems of others whose codes and names R4 may list. Names of SNOMED CT and LOINC are licensed."""
_OTHERS = {
    "http://snomed.info/sct": "SNOMED CT",
    "http://loinc.org": "LOINC",
    "http://www.nlm.nih.gov/research/umls/rxnorm": "RxNorm",
    "http://hl7.org/fhir/sid/icd-10-cm": "ICD-10-CM",
    "http://hl7.org/fhir/sid/cvx": "CVX",
    "http://hl7.org/fhir/sid/ndc": "NDC",
    "http://www.ama-assn.org/go/cpt": "CPT",
    "https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets": "HCPCS",
    "http://unitsofmeasure.org": "UCUM",
    "urn:ietf:bcp:47": "Languages (BCP 47)",
}
"""Titles of systems of others. Their codes are those that a chart uses."""
_BELOW = {"is-a": True, "descendent-of": False}
"""Filters along the hierarchy of a system, and whether the concept itself is meant too."""


class Terminology:
    """The bound value sets as far as they can be listed, and the systems that they need."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sets = {each["url"]: each for each in self._read("ValueSet") if "url" in each}
        self._all_systems = {each["url"]: each for each in self._read("CodeSystem") if "url" in each}
        self.systems: dict[str, tuple[str, bool, dict[str, str]]] = {}
        """The title of each system, whether all of its codes are there, and the name of each code."""
        self.systems |= {url: (title, False, {}) for url, title in _OTHERS.items()}
        self.sets: dict[str, Members] = {}
        self.unlisted: dict[str, list[str]] = {}
        """Value sets that cannot be listed, with the systems that they need."""
        for url in sorted(self._bound()):
            members = self._members(url)
            if members:
                self.sets[url] = members
            else:
                includes = self._sets.get(url, {}).get("compose", {}).get("include", [])
                self.unlisted[url] = sorted({_system(each) for each in includes if "system" in each})

    def _read(self, type: str) -> Iterator[Definition]:
        for file in sorted(self._folder.glob(f"{type}-*.json")):
            yield orjson.loads(file.read_bytes())

    def _bound(self) -> set[str]:
        definitions = (
            each
            for each in self._read("StructureDefinition")
            if each["kind"] != "logical" and each.get("derivation") != "constraint"
        )
        elements = (element for each in definitions for element in each["snapshot"]["element"])
        bindings = (element.get("binding", {}).get("valueSet", "") for element in elements)
        return {url.partition("|")[0] for url in bindings if url}

    def _members(self, url: str) -> Members | None:
        """Return the codes of a value set by system, None for all of one; None in all if a part cannot be listed."""
        compose = self._sets.get(url, {}).get("compose", {})
        members: Members = {}
        for include in compose.get("include", []):
            part = self._part(include)
            if part is None:
                return None
            for system, codes in part.items():
                known = members.get(system, [])
                members[system] = None if codes is None or known is None else [*known, *codes]
        for exclude in compose.get("exclude", []):
            listed, removed = members.get(_system(exclude)), {each["code"] for each in exclude.get("concept", [])}
            if listed is None or not removed or "filter" in exclude:
                return None
            members[_system(exclude)] = [code for code in listed if code not in removed]
        return members

    def _part(self, include: Definition) -> Members | None:
        if "system" not in include:
            [*others] = include.get("valueSet", [])
            return self._members(others[0].partition("|")[0]) if len(others) == 1 else None
        if "valueSet" in include:
            return None
        system = _system(include)
        codes = self._included(system, include)
        return None if codes is None and ("filter" in include or "concept" in include) else {system: codes}

    def _included(self, system: str, include: Definition) -> list[str] | None:
        """Return the codes of one part; None for all codes of the system, or if they cannot be listed."""
        defined = self._all_systems.get(system, {})
        is_complete = system.startswith(_HL7) and defined.get("content") == "complete"
        concepts = include.get("concept", [])
        if not is_complete:
            if system in _FREE and concepts:
                self.systems[system][2].update({each["code"]: each.get("display", each["code"]) for each in concepts})
                return [each["code"] for each in concepts]
            return None
        names = {str(each["code"]): str(each.get("display", each["code"])) for each in _below(defined)}
        self.systems[system] = (defined.get("title") or defined["name"], True, names)
        if concepts:
            return [each["code"] for each in concepts if each["code"] in names]
        return _filtered(defined, include["filter"]) if "filter" in include else None


def _system(include: Definition) -> str:
    return str(include["system"]).partition("|")[0]


def _filtered(system: Definition, filters: list[Definition]) -> list[str] | None:
    [one, *others] = filters
    root = next((each for each in _below(system) if each["code"] == one["value"]), None)
    if others or one["op"] not in _BELOW or root is None:
        return None
    return [*([root["code"]] if _BELOW[one["op"]] else []), *(each["code"] for each in _below(root))]


def _below(concept: Definition) -> Iterator[Definition]:
    for child in concept.get("concept", []):
        yield child
        yield from _below(child)


def written(folder: Path) -> bytes:
    """Its bytes before they are packed: the same for the same definitions."""
    made = Terminology(folder)
    table = {"version": VERSION, "systems": made.systems, "sets": made.sets, "unlisted": made.unlisted}
    return orjson.dumps(table)


def main() -> None:
    """Write the table, or check it."""
    data = written(package_folder())
    if "--check" in sys.argv:
        if unpacked(TABLE) != data:
            wrong = TABLE.relative_to(ROOT)
            sys.exit(f"{wrong} is not what the definitions say: run python -m scripts.fhir_terminology")
        return
    TABLE.write_bytes(gzip.compress(data, mtime=0))
    table = orjson.loads(data)
    codes = sum(len(names) for _, _, names in table["systems"].values())
    print(f"{len(table['sets'])} value sets, {len(table['systems'])} systems of {codes} codes")
    print(f"not listed: {', '.join(table['unlisted'])}")
    print(f"{TABLE.relative_to(ROOT)}: {TABLE.stat().st_size:,} bytes, {len(data):,} unpacked")


if __name__ == "__main__":
    main()
