"""Compiles the official R4 structure definitions into the one table that validation reads.

python -m scripts.fhir_tables            writes src/clerkship/formats/fhir/tables/structures.json.gz python -m
scripts.fhir_tables --check    says whether the table there is what would be written
"""

import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from scripts.fhir_package import ROOT, VERSION, package_folder

TABLE = ROOT / "src" / "clerkship" / "formats" / "fhir" / "tables" / "structures.json.gz"
Definition = dict[str, Any]
_TYPE = "http://hl7.org/fhir/StructureDefinition/structuredefinition-fhir-type"
_SYSTEM = "http://hl7.org/fhirpath/System."
_HOME = "http://hl7.org/fhir/StructureDefinition/"
_VALUE_SETS = "http://hl7.org/fhir/ValueSet/"


def compiled(folder: Path) -> dict[str, Any]:
    """The table: types by name, backbones by path; the codes of required bindings; what cannot be listed."""
    codes = Codes(folder)
    types: dict[str, Any] = {}
    for definition in _specialisations(folder):
        if definition["kind"] == "primitive-type":
            continue
        elements = definition["snapshot"]["element"]
        for path in [definition["type"], *_parents(elements)]:
            kind = definition["kind"] if "." not in path else "backbone"
            types[path] = {"kind": kind, "elements": dict(_children(path, elements, codes))}
            if definition["abstract"]:
                types[path]["abstract"] = True
    types["SimpleQuantity"] = _simple(types["Quantity"])
    return {"version": VERSION, "types": types, "codes": codes.listed, "open": dict(codes.open)}


def _specialisations(folder: Path) -> Iterator[Definition]:
    for definition in _read(folder, "StructureDefinition"):
        if definition["kind"] != "logical" and definition.get("derivation") != "constraint":
            yield definition


def _read(folder: Path, type: str) -> Iterator[Definition]:
    for file in sorted(folder.glob(f"{type}-*.json")):
        yield orjson.loads(file.read_bytes())


def _parents(elements: list[Definition]) -> list[str]:
    """The paths of elements that are written out in place, rather than being of a type with a name."""
    found = {element["path"].rpartition(".")[0] for element in elements}
    return sorted(path for path in found if "." in path)


def _children(parent: str, elements: list[Definition], codes: "Codes") -> Iterator[tuple[str, Any]]:
    written = set(_parents(elements))
    for element in elements:
        head, _, name = element["path"].rpartition(".")
        if head == parent:
            yield name, _element(element, codes, in_place=element["path"] in written)


def _element(element: Definition, codes: "Codes", *, in_place: bool) -> dict[str, Any]:
    """What is said of one element; whatever is left out is no, none or nought."""
    said: dict[str, Any] = {"types": [element["path"]] if in_place else _types(element)}
    if element["min"]:
        said["min"] = element["min"]
    if element["max"] != "1":
        said["many"] = True
    if element.get("isSummary"):
        said["summary"] = True
    if "xmlAttr" in element.get("representation", []) or _is_bare(element):
        said["bare"] = True
    binding = element.get("binding", {})
    if binding.get("strength") == "required" and (name := codes.name_of(binding["valueSet"])):
        said["codes"] = name
    targets = sorted({target.removeprefix(_HOME) for type in element.get("type", []) for target in _targets(type)})
    if targets and "Resource" not in targets:
        said["targets"] = targets
    return said


def _is_bare(element: Definition) -> bool:
    """Whether it is a value alone, which can have no extensions."""
    return any(type["code"].startswith(_SYSTEM) or type["code"] == "xhtml" for type in element.get("type", []))


def _targets(type: Definition) -> list[str]:
    return type.get("targetProfile", []) if type["code"] == "Reference" else []


def _types(element: Definition) -> list[str]:
    if "contentReference" in element:
        return [element["contentReference"].removeprefix("#")]
    if element["path"].endswith(".id") and element["base"]["path"] == "Resource.id":
        return ["id"]  # the definitions say string, the text (R4 §2.24.0.1) and every server say id
    return [_named(type) for type in element["type"]]


def _named(type: Definition) -> str:
    if type.get("profile"):
        [profile] = type["profile"]
        return str(profile).removeprefix(_HOME)
    if type["code"].startswith(_SYSTEM):
        return str(next(said["valueUrl"] for said in type["extension"] if said["url"] == _TYPE))
    return str(type["code"])


def _simple(quantity: dict[str, Any]) -> dict[str, Any]:
    """The one profile that base elements name: a Quantity without a comparator."""
    kept = {name: said for name, said in quantity["elements"].items() if name != "comparator"}
    return {**quantity, "elements": kept}


class Codes:
    """The codes of value sets, as far as they can be listed from the package."""

    def __init__(self, folder: Path) -> None:
        self._sets = {found["url"]: found for found in _read(folder, "ValueSet") if "url" in found}
        self._systems = {found["url"]: found for found in _read(folder, "CodeSystem") if "url" in found}
        self.listed: dict[str, dict[str, list[str]]] = {}
        self.open: Counter[str] = Counter()
        """How many elements are bound to a set that is somebody else's: media types, currencies, units."""

    def name_of(self, canonical: str) -> str | None:
        """The name under which its codes stand; None where they cannot be listed."""
        url = canonical.partition("|")[0]
        name = url.removeprefix(_VALUE_SETS)
        if name not in self.listed:
            found = self._codes(url)
            if found is None:
                self.open[name] += 1
                return None
            self.listed[name] = found
        return name

    def _codes(self, url: str) -> dict[str, list[str]] | None:
        compose = self._sets.get(url, {}).get("compose", {})
        if not compose or "exclude" in compose:
            return None
        found: dict[str, list[str]] = {}
        for include in compose["include"]:
            codes = self._included(include)
            if codes is None:
                return None
            found.setdefault(include["system"], []).extend(codes)
        return found

    def _included(self, include: Definition) -> list[str] | None:
        if "filter" in include or "valueSet" in include:
            return None
        if "concept" in include:
            return [concept["code"] for concept in include["concept"]]
        system = self._systems.get(include["system"], {})
        return list(_below(system)) if system.get("content") == "complete" else None


def _below(concept: Definition) -> Iterator[str]:
    for child in concept.get("concept", []):
        yield child["code"]
        yield from _below(child)


def written(table: dict[str, Any]) -> bytes:
    """Its bytes before they are packed: the same for the same definitions."""
    return orjson.dumps(table)  # in the order of the definitions


def unpacked(table: Path) -> bytes:
    """What a packed table says; packers differ, and say the same."""
    return gzip.decompress(table.read_bytes())


def main() -> None:
    """Write the table, or check it."""
    data = written(compiled(package_folder()))
    if "--check" in sys.argv:
        if unpacked(TABLE) != data:
            sys.exit(f"{TABLE.relative_to(ROOT)} is not what the definitions say: run python -m scripts.fhir_tables")
        return
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_bytes(gzip.compress(data, mtime=0))
    table = orjson.loads(data)
    codes = sum(len(codes) for systems in table["codes"].values() for codes in systems.values())
    print(f"{len(table['types'])} types, {len(table['codes'])} value sets of {codes} codes, left open: {table['open']}")
    print(f"{TABLE.relative_to(ROOT)}: {TABLE.stat().st_size:,} bytes, {len(data):,} unpacked")


if __name__ == "__main__":
    main()
