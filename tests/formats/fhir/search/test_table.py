"""The table of search parameters: every official parameter is supported, or refused with a reason."""

import json
from pathlib import Path

import pytest

from clerkship.formats.fhir.definitions import RESOURCE_TYPES, get_structure
from clerkship.formats.fhir.search.compartment import compartment_parameters, compartment_types
from clerkship.formats.fhir.search_parameters import (
    TABLE,
    ParameterPath,
    get_parameters,
    refused_parameters,
    searchable_types,
    select_elements,
)
from scripts.fhir_parameters import READABLE, Compiler, Package

EVERY = [(type, parameter) for type in sorted(searchable_types()) for parameter in get_parameters(type).values()]


def test_every_type_can_be_searched() -> None:
    assert searchable_types() == RESOURCE_TYPES
    for type in RESOURCE_TYPES:
        assert {"_id", "_lastUpdated", "_tag", "_profile", "_security", "_source"} <= set(get_parameters(type))


def test_number_of_search_parameters() -> None:
    types = json.loads(TABLE.read_text(encoding="utf-8"))["types"]
    assert sum(len(rows) for type, rows in types.items() if type != "Resource") == 1697
    assert len(get_parameters("Patient")) == 29
    assert len(get_parameters("Observation")) == 49


def test_table_file_is_small() -> None:
    assert TABLE.stat().st_size < 230_000


def list_end_types(type: str, path: ParameterPath) -> set[str]:
    """Return the types at the end of a path, by the table of elements."""
    here = {type}
    for step in path.steps:
        if step.name == "%resource":
            here = {type.partition(".")[0]}
            continue
        here = {
            f"{place}.{element.name}" if kind in {"BackboneElement", "Element"} else kind
            for place in here
            for element in get_structure(place).elements
            for spelling, kind in element.spellings.items()
            if spelling == step.name
        }
    return here


@pytest.mark.parametrize("type", sorted(searchable_types()))
def test_every_path_ends_in_its_declared_datatype(type: str) -> None:
    """Compare two tables that are compiled by two scripts."""
    for parameter in get_parameters(type).values():
        for path in parameter.paths:
            if path.kind in {"root", "deceased"}:
                continue
            kinds = {kind.replace("SimpleQuantity", "Quantity") for kind in list_end_types(type, path)}
            assert path.kind in kinds or (path.kind == "string" and parameter.name == "_id"), (
                type,
                parameter.name,
                kinds,
            )
            assert path.kind in READABLE[parameter.type]
        assert (parameter.type == "composite") == bool(parameter.components)


def test_reference_parameters_have_targets() -> None:
    assert get_parameters("Observation")["patient"].targets == {"Patient"}
    assert get_parameters("Observation")["subject"].targets == {"Device", "Group", "Location", "Patient"}
    assert get_parameters("AllergyIntolerance")["patient"].targets == {"Patient"}
    assert get_parameters("Provenance")["target"].targets == searchable_types()


def test_unsupported_parameters_have_a_reason() -> None:
    assert refused_parameters("Location")["near"] == "searching by distance is not supported"
    assert set(refused_parameters("Patient")) >= {"phonetic", "age", "_text", "_content", "_query", "_filter", "_list"}
    for type in searchable_types():
        assert not set(refused_parameters(type)) & set(get_parameters(type))


def test_documentation_is_split_by_resource_type() -> None:
    assert (
        get_parameters("Observation")["patient"].documentation
        == "The subject that the observation is about (if patient)"
    )
    undocumented = [(type, each.name) for type, each in EVERY if not each.documentation]
    assert undocumented == []


def test_path_conditions_are_parsed() -> None:
    phone, *_ = get_parameters("Patient")["phone"].paths
    patient = {"telecom": [{"system": "email", "value": "a"}, {"system": "phone", "value": "b"}, "c", None]}
    assert select_elements(phone, patient, patient) == [{"system": "phone", "value": "b"}]
    subject, *_ = get_parameters("QuestionnaireResponse")["item-subject"].paths
    marked = {"url": "http://hl7.org/fhir/StructureDefinition/questionnaireresponse-isSubject"}
    answer = [{"valueReference": {"reference": "Patient/1"}}]
    response = {
        "item": [
            {"extension": [marked], "answer": answer},
            {"answer": [{"valueReference": {"reference": "Patient/2"}}]},
        ]
    }
    assert select_elements(subject, response, response) == [{"reference": "Patient/1"}]


@pytest.mark.parametrize(
    "expression",
    [
        *("Patient.name.first()", "Patient.name.where(use = 'official')", "Patient.name.given + Patient.name.family"),
        *("iif(Patient.active, 1, 2)", "Patient.extension.value", "Patient.name[0]"),
    ],
)
def test_unsupported_expression_stops_the_script(expression: str, tmp_path: Path) -> None:
    write(tmp_path, "Patient", {"name": ["string"], "active": ["boolean"], "extension": ["Extension"]})
    compiler = Compiler(Package(tmp_path))
    compiler.arms("Patient", "string", "Patient.name")
    assert compiler.unknown == []
    found, _ = compiler.arms("Patient", "string", expression)
    assert compiler.unknown or not found  # and a parameter without an path is one that stops it


def test_datatype_that_does_not_fit_the_parameter_type_stops_the_script(tmp_path: Path) -> None:
    write(tmp_path, "Patient", {"name": ["HumanName"], "shoe[x]": ["integer", "string"]})
    compiler = Compiler(Package(tmp_path))
    assert compiler.arms("Patient", "string", "Patient.name")[0] == ["name HumanName"]
    compiler.arms("Patient", "date", "Patient.name")
    assert compiler.unknown == ["Patient.name: a date cannot read a HumanName"]
    assert compiler.arms("Patient", "string", "(Patient.shoe as string)")[0] == ["shoeString string"]


def write(folder: Path, type: str, names: dict[str, list[str]]) -> None:
    elements = [{"path": f"{type}.{name}", "type": [{"code": kind} for kind in kinds]} for name, kinds in names.items()]
    definition = {"resourceType": "StructureDefinition", "type": type, "kind": "resource", "abstract": False}
    (folder / f"StructureDefinition-{type}.json").write_text(
        json.dumps({**definition, "snapshot": {"element": elements}})
    )


def test_compartments() -> None:
    assert set(compartment_types()) == {"Patient", "Encounter", "RelatedPerson", "Practitioner", "Device"}
    for compartment in compartment_types():
        for type in searchable_types():
            for name in compartment_parameters(compartment, type):
                parameter = get_parameters(type)[name]
                assert parameter.type == "reference", (compartment, type, name)
