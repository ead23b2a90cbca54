"""JSON Schemas of the files, built from the classes that parse them, with all registered names; for editors too."""

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.atomic_write import write_atomically
from clerkship.kit.registry import Registry
from clerkship.model.dataset import DatasetFile
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.persona import Persona
from clerkship.model.scenario_file import ScenarioFile
from clerkship.model.task import Benchmark, Task
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.component import ComponentSpec
from clerkship.suite_files.source import SUFFIXES

C = TypeVar("C", bound=ComponentSpec)
Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE_MODELS: Mapping[str, type[BaseModel]] = {
    "task": Task,
    "scenario": ScenarioFile,
    "environment": Environment,
    "dataset": DatasetFile,
    "benchmark": Benchmark,
    "persona": Persona,
}
PROJECT_FOLDER = ".clerkship"
_TOP_KEY = re.compile(rf"^({'|'.join(FILE_MODELS)}):", re.MULTILINE)


def build_schema(sort: str, catalog: RegisteredCatalog) -> Schema:
    """Return the schema of one sort of file: a map with that one key."""
    if sort not in FILE_MODELS:
        raise InputError.of(f"no schema `{sort}`", hint=did_you_mean(sort, FILE_MODELS))
    definitions: Schema = {}
    body = (
        _build_dataset_schema(catalog, definitions)
        if sort == "dataset"
        else _collect_definitions(FILE_MODELS[sort], definitions)
    )
    if "AssertionCall" in definitions:
        definitions["AssertionCall"] = _build_assertion_schema(catalog, definitions)
    if "StepCall" in definitions:
        definitions["StepCall"] = _build_step_schema(catalog, definitions)
    if "Simulator" in definitions:
        definitions["Simulator"] = _build_component_schema(catalog.simulators, definitions)
    if "SharedDomain" in definitions and list(catalog.domains):
        definitions["SharedDomain"] = _build_component_schema(catalog.domains, definitions)
    return {
        "$schema": DIALECT,
        "title": f"Clerkship {sort} file",
        "type": "object",
        "properties": {sort: body},
        "required": [sort],
        "$defs": dict(sorted(definitions.items())),
    }


def _collect_definitions(model: type[BaseModel], definitions: Schema) -> Schema:
    schema = _build_model_schema(model)
    definitions.update(schema.get("$defs", {}))
    return {key: value for key, value in schema.items() if key != "$defs"}


@lru_cache(maxsize=512)
def _build_model_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a model, built once: those of tasks and of scenarios have all assertions and steps."""
    return model.model_json_schema()


def _build_assertion_schema(catalog: RegisteredCatalog, definitions: Schema) -> Schema:
    forms: list[Schema] = [
        _build_single_key_map(each, _build_argument_schema(model, definitions))
        for name, model in catalog.assertions.items()
        for each in (name, *model.aliases)
    ]
    forms.append({"type": "object", "properties": {"assert": {"type": "string"}}, "required": ["assert"]})
    return {"description": "A map with one key, the assertion's name.", "anyOf": forms}


def _build_argument_schema(model: type[Assertion], definitions: Schema) -> Schema:
    """Return the schema of an assertion's arguments: a map, or the value of its shorthand field."""
    body = _collect_definitions(model, definitions)
    if model.shorthand is None:
        return body
    return {"description": body.get("description", ""), "anyOf": [body, body["properties"][model.shorthand]]}


def _build_step_schema(catalog: RegisteredCatalog, definitions: Schema) -> Schema:
    at = {"type": ["string", "number"], "description": "when, after the start, in simulated time: +10m"}
    forms = [
        _build_single_key_map(each, _collect_definitions(model, definitions), at=at)
        for name, model in catalog.steps.items()
        for each in (name, *model.aliases)
    ]
    return {"description": "A map with one key, the step's name, and optionally `at`.", "anyOf": forms}


def _build_component_schema(registry: Registry[C], definitions: Schema) -> Schema:
    datasets = {"type": "array", "items": {"type": "string"}, "description": "which of the datasets; all that fit"}
    forms: list[Schema] = [
        {
            "type": "object",
            "description": spec.summary,
            "properties": {
                "kind": {"const": kind},
                "config": _collect_definitions(spec.config, definitions),
                "datasets": datasets,
            },
            "required": ["kind"],
            "additionalProperties": False,
        }
        for kind, spec in registry.items()
    ]
    return {"anyOf": forms}


def _build_dataset_schema(catalog: RegisteredCatalog, definitions: Schema) -> Schema:
    forms = [_collect_definitions(type.model, definitions) for _, type in catalog.dataset_types.items()]
    return {"description": "Synthetic records or files; `type` says which keys it has.", "anyOf": forms}


def _build_single_key_map(name: str, arguments: Schema, **beside: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {name: arguments, **beside},
        "required": [name],
        "additionalProperties": False,
    }


def find_schema_folder(folder: Path) -> Path:
    """Return the folder of schemas for files in a folder.

    It is in the nearest `.clerkship` above the folder, but not above the working folder. If there is none, it is in the
    working folder, or in the folder itself if that is elsewhere.
    """
    here = Path.cwd()
    start = Path(os.path.normpath(here / folder))
    places = (place for place in (start, *start.parents) if place not in here.parents)
    default = here if start.is_relative_to(here) else start
    project = next((place for place in places if (place / PROJECT_FOLDER).is_dir()), default)
    return project / PROJECT_FOLDER / "schemas"


def add_modelines(files: Mapping[Path, str], schemas: Path) -> dict[Path, str]:
    """Return the files; those that define something of ours start with the comment that names their schema."""
    return {path: add_modeline(path, text, schemas) for path, text in files.items()}


def add_modeline(path: Path, text: str, schemas: Path) -> str:
    """Return the text of a file with the comment that names its schema, relative to the file."""
    kind = _find_kind(path, text)
    if kind is None:
        return text
    # Not Path.relative_to: the schemas may be in another branch of the folders.
    schema = os.path.relpath(_schema_path(schemas, kind), Path.cwd() / path.parent)
    return f"# yaml-language-server: $schema={Path(schema).as_posix()}\n{text}"


def write_schemas_for(files: Mapping[Path, str], schemas: Path, catalog: RegisteredCatalog) -> list[Path]:
    """Write the schemas that these files name."""
    kinds = [_find_kind(path, text) for path, text in files.items()]
    return write_schemas(schemas, dict.fromkeys(kind for kind in kinds if kind is not None), catalog)


def write_schemas(schemas: Path, kinds: Iterable[str], catalog: RegisteredCatalog) -> list[Path]:
    """Write the schemas of some kinds of files, over earlier versions of them. Raise InputError."""
    written = {_schema_path(schemas, kind): build_schema(kind, catalog) for kind in kinds}
    try:
        for path, schema in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, [orjson.dumps(schema)])
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(error.filename)) from None
    return list(written)


def _schema_path(schemas: Path, kind: str) -> Path:
    return schemas / f"{kind}.schema.json"


def _find_kind(path: Path, text: str) -> str | None:
    """Return what a YAML file defines, by its first key that is one of ours."""
    match = _TOP_KEY.search(text) if path.suffix in SUFFIXES else None
    return match[1] if match is not None else None
