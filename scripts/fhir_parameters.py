"""The official R4 SearchParameters and compartments, compiled into tables that ship.

`python -m scripts.fhir_parameters` writes them, `--check` fails where they differ from what would be written.

Every expression is resolved against the StructureDefinitions: choices are spelled out (`effective` becomes
`effectiveDateTime`, `effectivePeriod` ...) and every arm ends in the datatype it reaches. An expression of a shape that
is not known here, or one that reaches a datatype its sort of search cannot read, stops the script: nothing is dropped
silently.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scripts.fhir_package import package_folder

TABLES = Path(__file__).resolve().parent.parent / "src" / "clerkship" / "formats" / "fhir" / "tables"
Json = dict[str, Any]

READABLE = {
    "token": [
        *("code", "Coding", "CodeableConcept", "Identifier", "ContactPoint"),
        *("boolean", "string", "id", "uri", "canonical"),
    ],
    "reference": ["Reference", "canonical", "uri"],
    "string": ["string", "markdown", "HumanName", "Address"],
    "date": ["date", "dateTime", "instant", "Period", "Timing"],
    "number": ["integer", "decimal", "positiveInt", "unsignedInt", "Range"],
    "quantity": ["Quantity", "Age", "Duration", "Money", "Range", "SampledData"],
    "uri": ["uri", "url", "canonical"],
}
"""By sort of parameter, the datatypes that a search can read (R4 §3.1.1.4)."""
OF_A_CHOICE = {
    "date": {"string", "Age", "Range"},
    "reference": {"Attachment"},
    "token": {"Quantity", "Range", "Reference"},
}
"""Alternatives of a choice that an expression leaves open and a search of its sort cannot read: R4 means the others."""
REFUSED_IDS = {
    "Resource-content": "searching the text of whole resources is not supported",
    "DomainResource-text": "searching narrative is not supported",
    "Resource-query": "named queries are not supported",
    "filter": "_filter expressions are not supported",
    "Location-near": "searching by distance is not supported",
    "InsurancePlan-phonetic": "phonetic matching is not supported",
    "Organization-phonetic": "phonetic matching is not supported",
    "individual-phonetic": "phonetic matching is not supported",
    "Bundle-composition": "it means a resource inside the Bundle, not a reference",
    "Bundle-message": "it means a resource inside the Bundle, not a reference",
    "patient-extensions-Patient-age": "its definition has no expression; search by birthdate",
    "patient-extensions-Patient-birthOrderBoolean": "its definition has no expression",
    "example-extension": "it is an example of the specification, about another resource type",
}
CROSSED = {"DocumentReference-relationship": ["token", "reference"]}
"""Composites whose components name each other's definition (`code` is said to be a reference); by their expressions."""
LEFT_OUT = re.compile(r"example|example-reference|(codesystem|valueset)-extensions-.*")
"""Examples that say an official parameter once more, and extensions' definitions that name no resource type."""
DECEASED = "Patient.deceased.exists() and Patient.deceased != false"
STEP = r"[a-z]\w*"
SHAPES = [
    re.compile(rf"(?P<root>[A-Z]\w+)?\.?(?P<path>{STEP}(?:\.{STEP})*)?"),
    re.compile(rf"\((?P<root>[A-Z]\w+)\.(?P<path>{STEP}(?:\.{STEP})*) as (?P<as>\w+)\)(?:\.(?P<more>{STEP}))?"),
    re.compile(rf"(?:(?P<root>[A-Z]\w+)\.)?(?P<path>{STEP}(?:\.{STEP})*)\.as\((?P<as>\w+)\)"),
    re.compile(
        rf"(?P<root>[A-Z]\w+)\.(?P<path>{STEP}(?:\.{STEP})*)\.where\((?P<key>\w+)='(?P<value>[^']+)'\)"
        rf"(?:\.(?P<more>{STEP}))?"
    ),
    re.compile(rf"(?P<root>[A-Z]\w+)\.(?P<path>{STEP}(?:\.{STEP})*)\.where\(resolve\(\) is (?P<is>\w+)\)"),
    re.compile(r"(?P<root>[A-Z]\w+)\.extension\('(?P<url>[^']+)'\)"),
    re.compile(
        rf"(?P<root>[A-Z]\w+)\.(?P<path>{STEP})\.where\(hasExtension\('(?P<has>[^']+)'\)\)"
        rf"\.(?P<more>{STEP}(?:\.{STEP})*)\.ofType\((?P<as>\w+)\)"
    ),
    re.compile(rf"%resource\.(?P<whole>{STEP}(?:\.{STEP})*)"),
]


class Reached(NamedTuple):
    """Where a path leads: JSON names so far, the type there or the element's own path, and what the element says."""

    steps: tuple[str, ...]
    type: str
    element: Json


class Package:
    """What of the official definitions is looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.elements: dict[str, Json] = {}
        self.types: list[str] = []
        for definition in self.all("StructureDefinition"):
            if definition.get("derivation") == "constraint" or definition["kind"] == "logical":
                continue
            if definition["kind"] == "resource" and not definition["abstract"]:
                self.types.append(definition["type"])
            self.elements |= {element["path"]: element for element in definition["snapshot"]["element"]}
        self.types.sort()
        self.systems = {item["url"]: systems_of(item) for item in self.all("ValueSet") if "url" in item}
        self.parameters = {item["url"]: item for item in self.all("SearchParameter")}

    def all(self, type: str) -> Iterator[Json]:
        """Every definition of one sort, in order of file name."""
        for path in sorted(self.folder.glob(f"{type}-*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["resourceType"] == type:
                yield found

    def walk(self, type: str, path: str) -> list[Reached]:
        """Everywhere that a dotted path leads from a type, choices spelled out."""
        here = [Reached((), type, {})]
        for name in path.split(".") if path else []:
            here = [reached for place in here for reached in self.step(place, name)]
        return here

    def step(self, place: Reached, name: str) -> Iterator[Reached]:
        """One name further."""
        element = self.elements.get(f"{place.type}.{name}")
        if element is not None and "contentReference" in element:
            yield Reached((*place.steps, name), element["contentReference"].lstrip("#"), element)
            return
        choice = None if element is not None else self.elements.get(f"{place.type}.{name}[x]")
        for kind in (element or choice or {}).get("type", ()):
            code = kind["code"].rpartition("/")[2].replace("System.String", "string")
            spelled = name if choice is None else name + code[0].upper() + code[1:]
            inner = code in {"BackboneElement", "Element"}
            found = element if element is not None else choice
            assert found is not None
            yield Reached((*place.steps, spelled), found["path"] if inner else code, {**found, "type": [kind]})


def systems_of(value_set: Json) -> list[str]:
    """The code systems that a value set draws on."""
    includes = value_set.get("compose", {}).get("include", [])
    return sorted({item["system"] for item in includes if "system" in item})


class Compiler:
    """Definitions to rows of the table."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.systems: list[list[str]] = []
        self.unknown: list[str] = []

    def arms(self, type: str, sort: str, expression: str, root: str | None = None) -> tuple[list[str], set[str]]:
        """The arms of one expression that are about a type, and what a reference there may mean."""
        if expression == DECEASED:
            return ["deceased"], set()
        arms: list[str] = []
        targets: set[str] = set()
        for text in map(str.strip, expression.split("|")):
            shape = next((found for found in (shape.fullmatch(text) for shape in SHAPES) if found is not None), None)
            if shape is None:
                self.unknown.append(f"{type}: {text}: a shape that is not known")
                continue
            parts = {name: value for name, value in shape.groupdict().items() if value is not None}
            if parts.get("root", type) == type:
                for arm, means in self.arm(root or type, sort, parts, text):
                    arms.append(arm)
                    targets |= means
        return list(dict.fromkeys(arms)), targets

    def arm(self, type: str, sort: str, parts: dict[str, str], text: str) -> Iterator[tuple[str, set[str]]]:
        """One arm, in as many spellings as it has."""
        for reached, head in self.reach(type, parts):
            if "as" in parts and reached.type.casefold() != parts["as"].casefold():
                continue
            for last in self.package.walk(reached.type, parts.get("more", "") if "has" not in parts else ""):
                end = last if last.steps else reached
                if end.type in READABLE[sort]:
                    targets = self.targets(end.element, parts.get("is"))
                    yield " ".join([*head, *last.steps, self.ending(sort, end)]), targets
                elif "as" in parts or ("url" not in parts and end.type not in OF_A_CHOICE.get(sort, ())):
                    self.unknown.append(f"{text}: a {sort} cannot read a {end.type}")

    def reach(self, type: str, parts: dict[str, str]) -> Iterator[tuple[Reached, list[str]]]:
        """Where the path of an arm leads, and its steps with their conditions."""
        if "url" in parts:
            for reached in self.package.walk("Extension", "value"):
                yield reached, [f"extension[url={parts['url']}]", *reached.steps]
            return
        whole = parts.get("whole", "")
        path = f"{parts['path']}.{parts['more']}" if "has" in parts else parts.get("path", "")
        for reached in self.package.walk(type.partition(".")[0] if whole else type, whole or path):
            steps = list(reached.steps)
            if "has" in parts:
                steps[0] += f"[extension={parts['has']}]"
            elif "is" in parts:
                steps[-1] += f"[is={parts['is']}]"
            elif "key" in parts:
                steps[-1] += f"[{parts['key']}={parts['value']}]"
            yield reached, ["%resource", *steps] if whole else steps

    def ending(self, sort: str, end: Reached) -> str:
        """The datatype; for a code in a token, with the system that its required binding implies (R4 §3.1.1.4.10)."""
        if sort != "token" or end.type != "code":
            return end.type
        value_set = end.element.get("binding", {}).get("valueSet", "").partition("|")[0]
        systems = self.package.systems.get(value_set, [])
        if not systems:
            return "code"
        if systems not in self.systems:
            self.systems.append(systems)
        return f"code#{self.systems.index(systems)}"

    def targets(self, element: Json, only: str | None) -> set[str]:
        """What types a reference there may mean."""
        profiles = [profile for kind in element.get("type", ()) for profile in kind.get("targetProfile", ())]
        named = {profile.rpartition("/")[2] for profile in profiles}
        return {only} if only else (set(self.package.types) if "Resource" in named else named)

    def row(self, type: str, definition: Json) -> list[Any]:
        """One parameter of one type: sort, arms, targets, components, what it is."""
        sort, expression = definition["type"], definition["expression"]
        if sort == "composite":
            return self.composite(type, definition)
        arms, targets = self.arms(type, sort, expression)
        if not arms:
            self.unknown.append(f"{definition['id']} says nothing about {type}")
        said = set(definition.get("target", ()))
        meant = (targets & said or targets or said) if sort == "reference" else set()
        return [sort, arms, self.named(meant), [], about(type, definition)]

    def composite(self, type: str, definition: Json) -> list[Any]:
        """A composite: the places it starts from, and its components from there."""
        roots = [arm.strip() for arm in definition["expression"].split("|")]
        paths = [root.partition(".")[2] for root in roots if root.partition(".")[0] == type]
        components = []
        for number, component in enumerate(definition["component"]):
            said = self.package.parameters[component["definition"]]["type"]
            sort = CROSSED[definition["id"]][number] if definition["id"] in CROSSED else said
            arms: list[str] = []
            for path in paths:
                start = self.package.walk(type, path)[0].type
                arms += self.arms(type, sort, component["expression"], start)[0]
            components.append([sort, list(dict.fromkeys(arms))])
        return ["composite", [path.replace(".", " ") for path in paths], "", components, about(type, definition)]

    def named(self, targets: set[str]) -> str:
        """Types in one text; `*` for all."""
        return "*" if len(targets) > 100 else " ".join(sorted(targets))


def about(type: str, definition: Json) -> str:
    """What a parameter is, in the definition's words for this type."""
    text = definition.get("description", "").replace("\r\n", "\n")
    if "Multiple Resources" in text:
        found = re.search(rf"^\* \[{type}\]\([^)]*\): (.*)$", text, re.MULTILINE)
        text = found[1] if found else ""
    return " ".join(text.split())[:160]


def compiled(package: Package) -> tuple[Json, list[str]]:
    """The table of parameters, and every expression that could not be compiled."""
    compiler = Compiler(package)
    types: dict[str, Json] = {type: {} for type in ["DomainResource", "Resource", *package.types]}
    refused: dict[str, dict[str, str]] = {}
    for definition in package.parameters.values():
        if LEFT_OUT.fullmatch(definition["id"]):
            continue
        for base in definition["base"]:
            if definition["id"] in REFUSED_IDS:
                refused.setdefault(base, {})[definition["code"]] = REFUSED_IDS[definition["id"]]
            elif definition["code"] in types[base]:
                compiler.unknown.append(f"{base} has two parameters {definition['code']}")
            else:
                types[base][definition["code"]] = compiler.row(base, definition)
    left = sorted(item["id"] for item in package.parameters.values() if LEFT_OUT.fullmatch(item["id"]))
    table = {"left_out": left, "refused": refused, "systems": compiler.systems, "types": types}
    return table, compiler.unknown


def compartments(package: Package) -> Json:
    """By compartment and resource type, the parameters that put a resource in it."""
    return {
        found["code"]: {
            item["code"]: [name for name in item["param"] if name != "{def}"]  # which means the resource itself
            for item in found["resource"]
            if item.get("param") not in (None, ["{def}"])
        }
        for found in package.all("CompartmentDefinition")
        if found["url"].startswith("http://hl7.org/fhir/CompartmentDefinition/")
        and not found["id"].startswith("example")
    }


def rendered(data: Json, depth: int = 0) -> str:
    """A line for each parameter, so that a change can be read."""
    items = [f"{_line(name)}:{_entry(value, depth)}" for name, value in sorted(data.items())]
    return "{\n" + ",\n".join(items) + "\n}" + ("" if depth else "\n")


def _entry(value: Any, depth: int) -> str:
    return rendered(value, depth + 1) if isinstance(value, dict) and value and depth < 2 else _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Write the tables, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a table is not what would be written")
    check = parser.parse_args().check
    package = Package(package_folder())
    table, unknown = compiled(package)
    if unknown:
        sys.exit("\n".join(unknown))
    TABLES.mkdir(exist_ok=True)
    for name, data in {"parameters.json": table, "compartments.json": compartments(package)}.items():
        path, text = TABLES / name, rendered(data)
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not what the definitions say: run python -m scripts.fhir_parameters")


if __name__ == "__main__":
    main()
