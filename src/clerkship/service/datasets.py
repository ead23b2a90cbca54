"""Show a dataset: one that ships, one that a file defines, or FHIR files."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.formats.fhir.chart import Chart, UnchangedView, load_chart
from clerkship.formats.fhir.display_text import format_title
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, parse_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.model.dataset import Dataset
from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.settings import Settings
from clerkship.simulators.fhir.datasets.load import BUILT_IN, FILE_FORMATS, load_built_in, read_path
from clerkship.suite_files.dataset_type import DatasetCache
from clerkship.suite_files.load import load_library
from clerkship.suite_files.source import SUFFIXES as YAML


@dataclass(frozen=True)
class DatasetView:
    """A dataset, with what can be shown of it."""

    dataset: Dataset
    warnings: tuple[InputProblem, ...] = ()

    def counts(self) -> Mapping[str, int]:
        """Count the resources and records by type, and the files."""
        counts = {type: len(self.chart.list_keys(type)) for type in self.chart.types}
        counts |= Counter(str(record.get("type") or "record") for record in self.dataset.records)
        return counts | ({"file": len(self.dataset.files)} if self.dataset.files else {})

    @property
    def chart(self) -> Chart:
        """The resources."""
        return load_chart([self.dataset])

    def patients(self) -> list[str]:
        """Return one line for each patient."""
        return self.titles(self.chart.list_keys("Patient"))

    def resource(self, key: str) -> Resource:
        """Return a resource by `Type/id`. Raise InputError."""
        if self.dataset.type != "fhir":
            raise InputError.of(f"dataset {self.dataset.name} is of type {self.dataset.type}, not fhir")
        if key in self.chart:
            return parse_resource(self.chart[key])
        type = key.partition("/")[0]
        known = self.chart.list_keys(type)
        hint = did_you_mean(key, known or self.chart.types) or f"expected one of {', '.join(known or self.chart.types)}"
        raise InputError.of(
            f"{key} is not in dataset {self.dataset.name}", hint=hint if len(hint) < 300 else hint[:300] + "…"
        )

    def find_keys(self, query: str) -> list[str]:
        """Return the keys of all resources of a type (`Observation`), or of those that match a search
        (`Observation?code=2823-3`).
        """
        type, _, parameters = query.partition("?")
        if self.dataset.type != "fhir" or not self.chart.list_keys(type):
            self.resource(type)  # raises an error with the types that exist
        try:
            return search_keys(UnchangedView(self.chart), type, parse_qsl(parameters, keep_blank_values=True))
        except FhirError as invalid:
            raise InputError.of(f"{query[:200]}: {invalid}") from None

    def titles(self, keys: Iterable[str]) -> list[str]:
        """Return one line for each resource."""
        return [format_title(parse_resource(self.chart[key])) for key in keys]

    def data(self) -> dict[str, Any]:
        """Return a summary as JSON data."""
        about = {"name": self.dataset.name, "type": self.dataset.type, "hash": self.dataset.hash}
        return about | {"counts": self.counts(), "patients": self.patients(), "warnings": list(map(str, self.warnings))}


def find_dataset(
    reference: str, settings: Settings, catalog: RegisteredCatalog, now: datetime | None = None
) -> DatasetView:
    """Return a dataset by the name of one that ships, or by path: FHIR files, or YAML that defines it.

    If the YAML defines several, write `path::name`.
    """
    cache = DatasetCache(settings.cache)
    file, _, name = reference.partition("::")
    path = Path(file)
    if reference in BUILT_IN and not path.exists():
        return DatasetView(load_built_in(reference, now or CONVERSATION_ENVIRONMENT.now, cache))
    if not path.exists():
        raise InputError.of(f"dataset, file or folder `{reference}` not found", hint=did_you_mean(reference, BUILT_IN))
    if path.suffix in YAML or (path.is_dir() and not name and _contains_definitions(path)) or name:
        return _load_defined(path, name, settings, catalog)
    warnings: list[InputProblem] = []
    return DatasetView(read_path(path, cache, warnings.append), tuple(warnings))


def _contains_definitions(folder: Path) -> bool:
    """Return whether a folder contains YAML rather than only FHIR files."""
    return any(path.suffix in YAML for path in folder.iterdir()) or not any(
        FILE_FORMATS.is_readable(path.name) for path in folder.rglob("*")
    )


def _load_defined(path: Path, name: str, settings: Settings, catalog: RegisteredCatalog) -> DatasetView:
    library = load_library(path, catalog, needs_task=False, cache=settings.cache)
    if not name and len(library.datasets) == 1:
        name = next(iter(library.datasets))
    if name not in library.datasets:
        known = ", ".join(f"{path}::{other}" for other in library.datasets)
        message = f"dataset `{name}` not found" if name else "name the dataset"
        raise InputError.of(
            message, file=str(path), hint=f"expected {known}" if known else "no dataset is defined here"
        )
    return DatasetView(library.datasets[name], library.warnings)
