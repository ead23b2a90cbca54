"""Validation compared with the official package of R4: its definitions, patterns and 5,300 resources."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fhir_validation import compared, official, ours
from clerkship.formats.fhir.definitions import RESOURCE_TYPES, get_structure, mandatory_elements
from clerkship.formats.fhir.invariants import get_invariants
from clerkship.formats.fhir.primitives import PRIMITIVES
from clerkship.formats.fhir.resource import Resource, parse_resource, render_resource
from clerkship.formats.fhir.validation import validate
from scripts import fhir_terminology
from scripts.fhir_package import package_folder
from scripts.fhir_tables import TABLE, compiled, unpacked, written
from tests.examples import examples
from tests.formats.fhir.mutations import GONE, change_value, iter_mutations, iter_swaps
from tests.formats.fhir.other_validators import build_model_test, build_schema_test, is_modelled

pytestmark = pytest.mark.fhir

NO_BASE = "every SearchParameter has a base (1..*); these, made for extensions, were published without"
NO_NARRATIVE = "txt-2: the narrative has content; here its div has white space alone"
WRONG = {
    "ActivityDefinition-blood-tubes-supply.json": ("ActivityDefinition.text.div", NO_NARRATIVE),
    "ActivityDefinition-heart-valve-replacement.json": ("ActivityDefinition.text.div", NO_NARRATIVE),
    "EventDefinition-example.json": ("EventDefinition.text.div", NO_NARRATIVE),
    "Questionnaire-zika-virus-exposure-assessment.json": ("Questionnaire.text.div", NO_NARRATIVE),
    "Bundle-dataelements.json": ("Bundle", "bdl-7: de-Quantity.value and others are in it three times, unversioned"),
    "DeviceMetric-example.json": ("DeviceMetric.parent", "means a DeviceDefinition; parent is Reference(Device)"),
    "DeviceUseStatement-example.json": (
        "DeviceUseStatement.reasonReference[0]",
        "means a Procedure; may mean Condition, Observation, DiagnosticReport, DocumentReference, Media",
    ),
    "MedicationRequest-medrx0301.json": (
        "MedicationRequest.dispenseRequest.performer",
        "means a Practitioner; performer is Reference(Organization)",
    ),
    "Observation-clinical-gender.json": ("Observation.performer[0]", "means an Encounter, which performs nothing"),
    "Questionnaire-qs1.json": ("Questionnaire.item", "items of type display without linkId (1..1)"),
    "ImplementationGuide-fhir.json": ("ImplementationGuide", "without name and status (1..1); and an id of 67 letters"),
    "ig-r4.json": ("ImplementationGuide", "the same once more"),
    "SearchParameter-questionnaireresponse-extensions-QuestionnaireResponse-item-subject.json": (
        "SearchParameter.id",
        "an id of 67 letters; an id has 64 at most",
    ),
    **{
        f"SearchParameter-{kind.lower()}-extensions-{kind}-{name}.json": ("SearchParameter.base", NO_BASE)
        for kind in ("CodeSystem", "ValueSet")
        for name in ("author", "effective", "end", "keyword", "workflow")
    },
}
"""Resources of the package that are not valid R4 themselves: where, and why. Each was looked at by hand."""


def to_plain_json(resource: Resource) -> Any:
    """Return the resource with plain numbers, as events have it."""
    return orjson.loads(render_resource(resource))


def load_resources() -> Iterator[tuple[Path, Resource]]:
    """Return all resources of the package."""
    for file in sorted(package_folder().glob("*.json")):
        found = parse_resource(file.read_bytes())
        if "resourceType" in found:
            yield file, found


@cache
def load_examples() -> tuple[tuple[str, Resource], ...]:
    """Return examples that are small enough to be mutated many times."""
    defined = {"StructureDefinition", "SearchParameter", "ValueSet", "CodeSystem", "ConceptMap", "OperationDefinition"}
    return tuple(
        (file.name, found)
        for file, found in load_resources()
        if found["resourceType"] not in defined and file.stat().st_size < 30_000 and file.name not in WRONG
    )


def test_terminology_matches_the_official_definitions() -> None:
    assert unpacked(fhir_terminology.TABLE) == fhir_terminology.written(package_folder())


def test_table_matches_the_official_definitions() -> None:
    assert unpacked(TABLE) == written(compiled(package_folder()))


def test_types_are_the_concrete_types_of_the_definitions() -> None:
    types = orjson.loads(unpacked(TABLE))["types"]
    concrete = {
        name for name, definition in types.items() if definition["kind"] == "resource" and "abstract" not in definition
    }
    assert concrete == RESOURCE_TYPES


def test_official_examples_are_valid_except_for_known_errors() -> None:
    seen, refused = 0, {}
    for file, resource in load_resources():
        seen += 1
        found = validate(resource)
        if found:
            refused[file.name] = found
    assert seen > 5300
    assert refused.keys() == WRONG.keys()
    for name, found in refused.items():
        assert all(issue.expression.startswith(WRONG[name][0]) for issue in found), found


def test_rendering_keeps_every_digit_of_the_examples() -> None:
    for file, resource in load_resources():
        data = render_resource(resource)
        assert render_resource(parse_resource(data)) == data, file
        assert to_plain_json(resource) == orjson.loads(file.read_bytes()), file


def load_patterns() -> dict[str, str]:
    """Return the official pattern of each primitive."""
    found = {}
    for name in PRIMITIVES:
        definition = orjson.loads((package_folder() / f"StructureDefinition-{name}.json").read_bytes())
        [value] = [e for e in definition["snapshot"]["element"] if e["path"] == f"{name}.value"]
        for definition in value["type"][0].get("extension", []):
            if definition["url"].endswith("/regex"):
                found[name] = definition["valueString"]
    return found


NO_TEXT = {"boolean", "decimal", "integer", "positiveInt", "unsignedInt"}


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", sorted(set(PRIMITIVES) - NO_TEXT - {"xhtml", "base64Binary"}))
def test_values_that_match_official_patterns_are_accepted(name: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(load_patterns()[name], re.ASCII), fullmatch=True))
    refused = not PRIMITIVES[name].test(text)
    forbidden = not text or any(ord(letter) < 32 and letter not in "\t\r\n" for letter in text)  # R4 §2.24.0.1, §2.6.2
    if refused and not forbidden:
        assert name in ("date", "dateTime", "instant"), text
        assert text[8:10] in ("29", "30", "31"), text


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", ["date", "dateTime", "instant", "time", "id", "oid", "uuid"])
def test_accepted_values_match_official_patterns(name: str, data: st.DataObject) -> None:
    official = re.compile(load_patterns()[name], re.ASCII)
    text = data.draw(st.from_regex(official, fullmatch=True))
    place = data.draw(st.integers(0, max(len(text) - 1, 0)))
    other = text[:place] + data.draw(st.sampled_from("0123456789-:.TZ+ aA\n")) + text[place + 1 :]
    if PRIMITIVES[name].test(other):
        assert official.fullmatch(other), other


def test_invariants_are_those_of_the_definitions() -> None:
    official: dict[str, set[str]] = {}
    for type in [*RESOURCE_TYPES, *(name for name in orjson.loads(unpacked(TABLE))["types"] if "." not in name)]:
        definition: Any = orjson.loads((package_folder() / f"StructureDefinition-{type}.json").read_bytes())
        for element in definition["snapshot"]["element"]:
            path = element["path"] if type != "SimpleQuantity" else "SimpleQuantity"
            errors = [
                definition["key"] for definition in element.get("constraint", []) if definition["severity"] == "error"
            ]
            official.setdefault(path, set()).update(errors)
    ours = {
        type: {definition.key for definition in get_invariants(get_structure(type))}
        for type in official
        if "[x]" not in type and _is_made(type)
    }
    assert sum(map(len, ours.values())) > 50
    for type, keys in ours.items():
        assert keys <= official[type], type


def _is_made(type: str) -> bool:
    try:
        get_structure(type)
    except KeyError:
        return False
    return True


def test_examples_without_optional_elements_stay_valid() -> None:
    for name, resource in load_examples():
        for optional in resource.keys() - mandatory_elements(resource["resourceType"]) - {"resourceType"}:
            found = validate(change_value(resource, optional, GONE))
            assert {issue.code for issue in found} <= {"invariant"}, (name, optional, found)


def judge(resource: Resource) -> tuple[bool, bool]:
    """Return the verdicts of the schema and the models; True where they are known to be wrong."""
    data, type = to_plain_json(resource), resource["resourceType"]
    by_text = "fhirVersion" in data or build_schema_test(type)(data)  # it was made before there was a 4.0.1
    return by_text, type == "Evidence" or build_model_test(type)(data)  # which R4B has anew


SURE = {
    *(
        "unknown element",
        "bad id",
        "number for text",
        "object for text",
        "list for one",
        "one for a list",
        "list of lists",
    ),
    *("text for an object", "text for a number", "boolean for a number", "text for a boolean", "number for a boolean"),
}
"""Mistakes of which the two miss none, in what both know: neither resources in others, nor what R4B dropped."""


def test_refused_mutations_are_refused_by_another_validator() -> None:
    count = 0
    for name, resource in load_examples():
        type = resource["resourceType"]
        if not is_modelled(type) or type in ("Bundle", "Parameters"):
            continue
        for what, where, broken in iter_mutations(resource, Random(name), 2):
            assert validate(broken), (name, what, where)
            kind = what.partition(":")[0]
            if ".contained[" not in where and (kind in SURE or kind.startswith(("without", "two of"))):
                count += 1
                assert not build_schema_test(type)(to_plain_json(broken)) or not build_model_test(type)(
                    to_plain_json(broken)
                ), (
                    name,
                    what,
                    where,
                )
    assert count > 8000


def test_mutations_refused_by_another_validator_are_refused() -> None:
    agreed = 0
    for name, resource in load_examples():
        for what, where, made in [("as it is", "", resource), *iter_swaps(resource, Random(name), 12)]:
            if not validate(made):
                agreed += 1
                assert judge(made) == (True, True), (name, what, where)
    assert agreed > 2000


def test_benchmark_runs_all_three_validators() -> None:
    resources = [resource for resource in official(2_000) if ours(resource) and "fhirVersion" not in resource][:40]
    rates = compared(resources, rounds=1)
    assert [rate.refused for rate in rates] == [0, 0, 0]
    assert all(rate.per_second > 0 for rate in rates)
