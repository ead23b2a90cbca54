"""Load a FHIR dataset: read or generate it, compile it, and cache the result."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

import orjson
from pydantic import AwareDatetime, Field, model_validator

from clerkship import __version__
from clerkship.by_name import load
from clerkship.model.dataset import Dataset, DatasetFile, Record
from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.frozen import Frozen, Whole
from clerkship.simulators.fhir.datasets.compile import CompileOptions, build_options, compile_dataset
from clerkship.simulators.fhir.datasets.finder import FhirFinder
from clerkship.simulators.fhir.datasets.source_hash import hash_source_files
from clerkship.suite_files.dataset_type import (
    CachedDataset,
    ConflictingTimes,
    DatasetCache,
    DatasetSource,
    DatasetType,
    build_cache_key,
)
from clerkship.suite_files.document import (
    Document,
    FileFormats,
    InlineDocument,
    open_document,
    open_document_folder,
)
from clerkship.suite_files.source import SourceFolder, Unreadable
from clerkship.suite_files.synthetic.version import GENERATOR_VERSION
from clerkship.suite_files.yaml import SourceLocation


class Generate(Frozen):
    """Synthetic patients to generate. The same seed gives the same patients."""

    patients: Annotated[Whole, Field(ge=1, le=100_000)] = 100
    seed: Whole = 7


class FhirDatasetFile(DatasetFile):
    """FHIR R4 resources: inline, from files, or generated."""

    type: Literal["fhir"]
    records: Annotated[tuple[Record, ...], Field(description="FHIR resources and Bundles")] = ()
    file: Annotated[str | None, Field(description="a Bundle (.json) or NDJSON file beside this file")] = None
    folder: Annotated[str | None, Field(description="a folder of such files beside this file")] = None
    generate: Annotated[Generate | None, Field(description="synthetic patients, with dates relative to `now`")] = None
    as_of: Annotated[
        AwareDatetime | None,
        Field(
            description="when the records were current; their dates are shifted from then to the environment's `now`"
        ),
    ] = None
    validation: Annotated[
        Literal["strict", "lenient"],
        Field(description="whether a violation of R4 is an error (`strict`) or a warning (`lenient`)"),
    ] = "strict"

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not (self.records or self.file or self.folder or self.generate):
            raise ValueError("a dataset of type fhir needs `records`, `file`, `folder` or `generate`")
        return self


FILE_FORMATS = FileFormats("FHIR")
BUILT_IN = {
    "clinic-100": FhirDatasetFile(name="clinic-100", type="fhir", generate=Generate(patients=100, seed=7)),
}


def load_fhir(file: FhirDatasetFile, source: DatasetSource) -> Dataset | None:
    """Load the dataset that a file defines; return None if a mistake was reported."""
    try:
        depends_on_now = file.as_of is not None or file.generate is not None
        now = source.now() if depends_on_now else CONVERSATION_ENVIRONMENT.now
    except ConflictingTimes as conflict:
        key = "as_of" if file.as_of is not None else "generate"
        source.note(key, str(conflict), _suggest_fix(file))
        return None
    files = source.documents(file.file, file.folder, FILE_FORMATS)
    if files is None:
        return None
    inline = [InlineDocument(source.locate, number, item) for number, item in enumerate(file.records)]
    options = replace(build_options(file.as_of, now), validation=file.validation)
    return _load_or_compile(file.name, [*inline, *files], options, source, (file.generate, now))


def _suggest_fix(file: FhirDatasetFile) -> str:
    hint = "give them the same `now`, or each a dataset of its own"
    if file.name not in BUILT_IN or file.generate is None:
        return hint
    generate = file.generate
    return f"{hint} with `generate: {{patients: {generate.patients}, seed: {generate.seed}}}`"


def _load_or_compile(
    name: str,
    documents: Sequence[Document],
    options: CompileOptions,
    source: DatasetSource,
    generated: tuple[Generate | None, datetime] = (None, CONVERSATION_ENVIRONMENT.now),
) -> Dataset | None:
    """Load the dataset from the cache, or compile its documents and generated resources."""
    generate, now = generated
    key = _build_cache_key(documents, options, generate, now)
    cached = source.cache.load(key, name) if key else None
    if cached is not None:
        for number, warning in cached.warnings:
            source.warn(_relocate_warning(warning, documents, number))
        return cached.dataset
    generated_lines = []
    if generate is not None:  # the generator is imported only when the cache does not have the result
        generated_lines = list(
            load("clerkship.suite_files.synthetic.generator:generate_lines")(generate.patients, generate.seed, now)
        )
    compiled = compile_dataset(documents, options, generated_lines)
    for problem in compiled.problems:
        source.problem(problem)
    for warning in compiled.warnings:
        source.warn(warning)
    if compiled.problems:
        return None
    dataset = Dataset(name=name, type="fhir", lines=compiled.lines)
    if key:
        source.cache.save(
            key, CachedDataset(dataset, tuple((_find_document(w, documents), w) for w in compiled.warnings))
        )
    return dataset


def _build_cache_key(
    documents: Sequence[Document], options: CompileOptions, generate: Generate | None, now: datetime
) -> str:
    """Return the cache key of the result; empty for a dataset that is inline in one file, which is fast to compile."""
    if generate is None and all(isinstance(document, InlineDocument) for document in documents):
        return ""
    parts = [orjson.dumps([options.validation, options.days, options.updated, __version__]), hash_source_files()]
    parts += [part for document in documents for part in (document.name.encode(), document.digest)]
    if generate is not None:
        moment = now.astimezone(UTC).isoformat()
        parts.append(orjson.dumps([GENERATOR_VERSION, generate.patients, generate.seed, moment]))
    return build_cache_key(parts)


def read_path(path: Path, cache: DatasetCache, warn: Callable[[InputProblem], None]) -> Dataset:
    """Load a file of FHIR resources or a folder of such files; raise InputError with all problems."""
    problems: list[InputProblem] = []
    source = _build_source(path, cache, problems.append, warn)
    try:
        documents = (
            open_document_folder(path, FILE_FORMATS, warn) if path.is_dir() else [open_document(path, FILE_FORMATS)]
        )
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(path), hint=unreadable.hint) from None
    dataset = _load_or_compile(path.name, documents, CompileOptions(), source)
    if dataset is None:
        raise InputError(problems)
    return dataset


def load_built_in(name: str, now: datetime, cache: DatasetCache) -> Dataset:
    """Generate a built-in dataset, with dates relative to `now`."""
    dataset = load_fhir(
        BUILT_IN[name], replace(_build_source(Path(), cache, _raise_problem, _raise_problem), now=lambda: now)
    )
    assert dataset is not None  # it is valid
    return dataset


def _build_source(
    path: Path, cache: DatasetCache, problem: Callable[[InputProblem], None], warn: Callable[[InputProblem], None]
) -> DatasetSource:
    """Return the source of a dataset that no file defines."""
    location = SourceLocation(str(path), 0, 0, [])
    return DatasetSource(
        SourceFolder(path), lambda *keys: location, problem, warn, lambda: CONVERSATION_ENVIRONMENT.now, cache
    )


def _raise_problem(problem: InputProblem) -> None:
    raise AssertionError(problem)


def _find_document(warning: InputProblem, documents: Sequence[Document]) -> int:
    files = [getattr(document, "file", "") for document in documents]
    return files.index(warning.file) if warning.file in files else -1


def _relocate_warning(warning: InputProblem, documents: Sequence[Document], number: int) -> InputProblem:
    """Return a cached warning with the current path of its file."""
    return replace(warning, file=getattr(documents[number], "file", "")) if number >= 0 else warning


FHIR_DATASET = DatasetType(
    name="fhir",
    summary="FHIR R4 resources",
    model=FhirDatasetFile,
    load=load_fhir,
    finder=FhirFinder,
    built_in=BUILT_IN,
)
