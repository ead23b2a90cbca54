"""Freeze a library into the entries of an archive."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from clerkship.model.dataset import Dataset
from clerkship.model.errors import InputError
from clerkship.model.task import Benchmark
from clerkship.model.variant import Variant
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.published.archive import describe_entries
from clerkship.suite_files.published.manifest import DatasetInfo, Manifest, TaskInfo, describe_invalid

_TIMEOUT = 1.0
"""Any limit: the hash of a task does not depend on it."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is published beside the files: the name, and what the tasks need."""

    benchmark: Benchmark
    """The slug and the version, with what the benchmark says of itself and its limits."""
    grading: str
    plugins: Mapping[str, str] = field(default_factory=dict)
    extras: tuple[str, ...] = ()
    recordings: Mapping[str, bytes] = field(default_factory=dict)
    """Cassettes and calibrations, by path relative to the folder."""


@dataclass
class _EntryWriter:
    entries: dict[str, bytes]
    canary: str

    def add(self, folder: str, number: int, name: str, data: Any) -> str:
        """Add an entry with data as JSON and the canary as its first key; return the entry's name."""
        entry = f"{folder}/{number:04}-{_shorten(name)}.json"
        self.entries[entry] = orjson.dumps({"canary": self.canary, **data}, option=orjson.OPT_INDENT_2)
        return entry

    def add_source(self, source: str) -> str:
        """Add the text of a Python file, once for all that use it; return the entry's name, or an empty one."""
        data = source.encode()
        entry = f"sources/{hashlib.sha256(data).hexdigest()[:32]}.py" if source else ""
        if source:
            self.entries[entry] = data
        return entry

    def add_texts(self, folder: str, texts: Mapping[str, str | bytes]) -> dict[str, str]:
        """Add files as they are; return the entry of each."""
        data = {name: text.encode() if isinstance(text, str) else text for name, text in sorted(texts.items())}
        names = {name: f"{folder}/{number:04}-{_shorten(name)}" for number, name in enumerate(data, 1)}
        self.entries |= {names[name]: value for name, value in data.items()}
        return names


def freeze_library(
    library: Library, tasks: Collection[LoadedTask], publication: Publication, complete: str = ""
) -> tuple[Manifest, dict[str, bytes]]:
    """Return the manifest and the entries of a published version of some tasks.

    With the digest of the complete version, one for agents is returned: without criteria, solutions and recordings.
    Raise InputError for a name of a file that archives cannot have.
    """
    writer = _EntryWriter({}, _build_canary(publication.benchmark.slug))
    try:
        manifest = _build_manifest(writer, library, tasks, publication, complete)
    except ValidationError as error:
        hint = "rename it: archives have paths of printable characters, without backslashes and drives"
        raise InputError.of(describe_invalid(error), file=str(library.root), hint=hint) from None
    return manifest.model_copy(update={"entries": describe_entries(writer.entries)}), writer.entries


def _build_manifest(
    writer: _EntryWriter, library: Library, tasks: Collection[LoadedTask], publication: Publication, complete: str
) -> Manifest:
    """Add every entry, and return the manifest without their hashes."""
    benchmark = publication.benchmark
    environments = {loaded.environment.name: loaded.environment for loaded in tasks}
    datasets = sorted({name for loaded in tasks for name in loaded.environment.datasets})
    return Manifest(
        slug=benchmark.slug,
        version=benchmark.version,
        canary=writer.canary,
        grading=publication.grading,
        benchmark=benchmark,
        for_agents=bool(complete),
        complete=complete,
        plugins=dict(publication.plugins),
        extras=publication.extras,
        tasks=tuple(_add_task(writer, library, n, task, bool(complete)) for n, task in enumerate(tasks, 1)),
        environments={
            name: writer.add("environments", number, name, {"environment": _dump(environments[name])})
            for number, name in enumerate(sorted(environments), 1)
        },
        datasets=tuple(_add_dataset(writer, n, library.datasets[name]) for n, name in enumerate(datasets, 1)),
        conftest=writer.add("evaluation", 1, "conftest", {"conftest": _dump(library.conftest, exclude_unset=True)})
        if library.conftest is not None
        else "",
        prompts=writer.add_texts("prompts", library.prompts),
        recordings={} if complete else writer.add_texts("recordings", publication.recordings),
    )


def _add_task(writer: _EntryWriter, library: Library, number: int, loaded: LoadedTask, for_agents: bool) -> TaskInfo:
    snapshot = library.snapshot(loaded, _TIMEOUT)
    task = loaded.task
    hidden: dict[str, Any] = {"criteria": (), "metrics": (), "solution": None} if for_agents else {}
    data = {
        "task": _dump(task.model_copy(update=hidden)),
        "entities": {name: dict(record) for name, record in loaded.entities.items()},
        "solution": "" if for_agents else writer.add_source(loaded.solution or ""),
    }
    written: Mapping[str, Sequence[Variant]] = {"wrong": task.wrong, "ways": task.ways}
    variants = {
        key: [{**_dump(each, exclude_unset=True), "source": writer.add_source(each.source)} for each in given]
        for key, given in written.items()
        if given and not for_agents
    }
    return TaskInfo(
        name=task.name,
        file=snapshot.source,
        template=loaded.template,
        tags=task.tags,
        environment=loaded.environment.name,
        entry=writer.add("tasks", number, task.name, data),
        variants=writer.add("variants", number, task.name, variants) if variants else "",
        hash=snapshot.task_hash,
    )


def _add_dataset(writer: _EntryWriter, number: int, dataset: Dataset) -> DatasetInfo:
    entry = f"datasets/{number:04}-{_shorten(dataset.name)}"
    writer.entries[entry] = dataset.data
    return DatasetInfo(name=dataset.name, type=dataset.type, entry=entry)


def _dump(model: Any, *, exclude_unset: bool = False) -> dict[str, Any]:
    data: dict[str, Any] = model.model_dump(mode="json", exclude_unset=exclude_unset)
    return data


def _shorten(name: str) -> str:
    """Return a name in a form that every file system has."""
    stem = _NOT_IN_NAMES.sub("-", Path(name).name.casefold()).strip("-")
    return stem[:60] or "entry"


def _build_canary(slug: str) -> str:
    """Return the canary of a slug: the same in all its versions, so that one search finds them all."""
    code = hashlib.sha256(f"clerkship benchmark {slug}".encode()).hexdigest()
    code = "-".join((code[:8], code[8:12], code[12:16], code[16:20], code[20:32]))
    return f"BENCHMARK DATA, NOT FOR TRAINING. clerkship canary {slug} {code}"
