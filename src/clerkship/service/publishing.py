"""Publish a suite: freeze its tasks, data and grading into one archive, under a name that keeps its meaning."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from clerkship.engine.build import find_plugins_used
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.command_option import Option
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError
from clerkship.model.published import REFERENCE, PublishedVersion
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.model.task import Benchmark
from clerkship.recording.cassette import cassette_path
from clerkship.settings import Settings
from clerkship.suite_files.calibration import find_calibration_file
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.archive import (
    Archive,
    build_archive,
    open_archive,
    open_built,
    write_archive,
)
from clerkship.suite_files.published.comparing import compare_archives
from clerkship.suite_files.published.manifest import Manifest
from clerkship.suite_files.published.places import (
    FOLDER_NAME,
    OWN_FOLDER,
    PACKED_SUFFIX,
    find_complete_archive,
    get_archive_name,
    list_archives,
    split_name,
)
from clerkship.suite_files.published.reading import load_archive
from clerkship.suite_files.published.signing import compute_key_id, load_private_key, require_signature, sign_digest
from clerkship.suite_files.published.writing import Publication, freeze_library

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_NAMED_CHANGES = 5
_NAME_HINT = "write --as SLUG@VERSION, such as `--as chart@1`: lower-case letters, digits and hyphens, then a number"


@dataclass(frozen=True, kw_only=True)
class PublishRequest:
    """A suite to publish, and how."""

    path: Annotated[Path, Option(help="Folder of YAML files.")]
    name: Annotated[
        str | None,
        Option(("--as",), "Name of the version, such as chart@1. Default: that of the only `benchmark`.", "SLUG@N"),
    ] = None
    to: Annotated[
        Path | None, Option(("--to",), "Folder for the archive.  [default: .clerkship/published]", "FOLDER")
    ] = None
    for_agents: Annotated[
        bool,
        Option(("--for-agents",), "Also write an archive without criteria and solutions, to hand to an agent's team."),
    ] = False
    cassettes: Annotated[bool, Option(("--cassettes",), "Include recorded answers of models.")] = False
    sign: Annotated[Path | None, Option(("--sign",), "Sign with this Ed25519 private key.", "FILE")] = None


@dataclass(frozen=True)
class Published:
    """The result of publishing."""

    path: Path
    version: PublishedVersion
    size: int
    tasks: int
    is_new: bool = True
    """Whether there was no such version before; publishing the same content again is the same version."""


def publish(request: PublishRequest, settings: Settings, catalog: RegisteredCatalog) -> list[Published]:
    """Publish a suite, and a version for agents if it is asked for. Raise InputError if the name has other content."""
    key = load_private_key(request.sign) if request.sign is not None else None
    library = load_library(request.path, catalog, cache=settings.cache)
    if library.published is not None:
        raise InputError.of(f"{request.path} is published already", hint="publish the folder that it was made from")
    tasks, publication = prepare(library, request, catalog)
    folder = request.to or Path(OWN_FOLDER) / FOLDER_NAME
    published = [_write(library, tasks, publication, folder)]
    if request.for_agents:
        published.append(_write(library, tasks, publication, folder, published[0].version.digest))
    return [sign_published(each, key, folder) for each in published] if key is not None else published


def build_agent_version(complete: Archive) -> bytes:
    """Return the archive for agents of a complete one: without criteria, solutions and recordings."""
    library, manifest = load_archive(complete.path), complete.manifest
    publication = Publication(
        benchmark=manifest.benchmark, grading=manifest.grading, plugins=manifest.plugins, extras=manifest.extras
    )
    manifest, entries = freeze_library(library, list(library.tasks.values()), publication, complete.digest)
    return build_archive(manifest, entries)


def prepare(
    library: Library, request: PublishRequest, catalog: RegisteredCatalog
) -> tuple[list[LoadedTask], Publication]:
    """Return the tasks of a suite to publish, and what is published beside them."""
    benchmark = _choose_benchmark(library, request.name)
    tasks = library.select(names=benchmark.tasks, tags=benchmark.tags)
    return tasks, _describe(library, tasks, benchmark, request, catalog)


def _choose_benchmark(library: Library, name: str | None) -> Benchmark:
    """Return the benchmark to publish, under the requested name: one of the suite, or all of its tasks."""
    if name is None:
        if len(library.benchmarks) == 1:
            return next(iter(library.benchmarks.values()))
        raise InputError.of("the version has no name", hint=_NAME_HINT)
    match = REFERENCE.fullmatch(name)
    if match is None:
        raise InputError.of(f"`{name[:100]}` does not name a version", hint=_NAME_HINT)
    slug, number = match["slug"], match["version"]
    version = _next_version(slug) if number == "latest" else int(number)
    known = library.benchmarks.get(slug) or _find_description(library) or Benchmark(name=slug, slug=slug)
    return known.model_copy(update={"slug": slug, "version": version})


def _find_description(library: Library) -> Benchmark | None:
    """Return the only benchmark of a suite if it is about all tasks, so that another slug keeps what it says."""
    all_tasks = [each for each in library.benchmarks.values() if each.tasks == ("*",) and not each.tags]
    return all_tasks[0] if len(all_tasks) == len(library.benchmarks) == 1 else None


def _next_version(slug: str) -> int:
    """Return the number after the newest published version of a slug."""
    names = map(split_name, list_archives())
    return 1 + max((name.version for name in names if name is not None and name.slug == slug), default=0)


def _describe(
    library: Library,
    tasks: Sequence[LoadedTask],
    benchmark: Benchmark,
    request: PublishRequest,
    catalog: RegisteredCatalog,
) -> Publication:
    """Return what is published beside the files. A benchmark's selection is applied, so it is not kept."""
    snapshots = [library.snapshot(task, 1) for task in tasks]
    return Publication(
        benchmark=benchmark.model_copy(update={"tasks": ("*",), "tags": (), "environment": None}),
        grading=GRADING_VERSION,
        plugins=find_plugins_used(snapshots, "oracle", catalog),
        extras=_find_extras((task.environment for task in tasks), catalog),
        recordings=_read_recordings(library, tasks, cassettes=request.cassettes),
    )


def _find_extras(environments: Iterable[Environment], catalog: RegisteredCatalog) -> tuple[str, ...]:
    kinds = {simulator.kind for environment in environments for simulator in environment.simulators.values()}
    needed = (extra for kind in kinds for extra in catalog.simulator(kind).extras)
    return tuple(sorted({extra.name for extra in needed if extra.is_needed}))


def _read_recordings(library: Library, tasks: Iterable[LoadedTask], *, cassettes: bool) -> dict[str, bytes]:
    """Return the calibrations of judges, and cassettes if they are wanted, by path relative to the folder."""
    root, files = library.root, dict[str, Path]()
    calibration = find_calibration_file(root)
    if calibration is not None:
        files[calibration.name] = calibration
    for task in tasks if cassettes else ():
        cassette = cassette_path(Path(task.file))
        if cassette.is_file():
            files[cassette.relative_to(root).as_posix()] = cassette
    if cassettes and not any(path.suffix == ".jsonl" for path in files.values()):
        raise InputError.of("there are no cassettes to publish", file=str(root), hint="record them: run --record")
    try:
        return {name: path.read_bytes() for name, path in files.items()}
    except OSError as error:
        raise InputError.of(f"it cannot be read: {error.strerror}", file=str(error.filename)) from None


def _write(
    library: Library,
    tasks: Sequence[LoadedTask],
    publication: Publication,
    folder: Path,
    complete: str = "",
) -> Published:
    manifest, entries = freeze_library(library, tasks, publication, complete)
    path = folder / get_archive_name(manifest.slug, manifest.version, for_agents=bool(complete))
    data = build_archive(manifest, entries)
    built, existing = open_built(path, data), _find_existing(path, manifest)
    if existing is not None:
        published = Published(existing.path, existing.version, existing.path.stat().st_size, len(tasks), is_new=False)
        differences = compare_archives(existing, built) if existing.digest != built.digest else ()
        if not differences:  # only the form differs, as after a change of this program
            return published
        more = len(differences) - MAX_NAMED_CHANGES
        shown = "; ".join(differences[:MAX_NAMED_CHANGES]) + (f"; and {more} more" if more > 0 else "")
        hint = f"publish it as {manifest.slug}@{manifest.version + 1}"
        raise InputError.of(f"{manifest.name} is published with other content: {shown}", hint=hint)
    write_archive(path, data)
    return Published(path, built.version, len(data), len(tasks))


def _find_existing(path: Path, manifest: Manifest) -> Archive | None:
    """Return the published version with the name of an archive to write, wherever it is."""
    complete = None if manifest.for_agents else find_complete_archive(manifest.slug, manifest.version)
    found = path if path.exists() else complete
    return open_archive(found) if found is not None else None


def sign_published(published: Published, key: "Ed25519PrivateKey", folder: Path) -> Published:
    """Add a signature to a published version; its digest stays. Raise InputError if another key signed it.

    One that ships with the package is not changed: the signed copy is written to the folder.
    """
    archive = open_archive(published.path)
    own, signer = compute_key_id(key.public_key().public_bytes_raw()), require_signature(archive)
    version = published.version.model_copy(update={"signed_by": own})
    if signer == own:
        return replace(published, version=version)
    if signer:
        message = f"{archive.manifest.name} is signed by another key already: {signer}"
        hint = f"sign with that key, or publish it as {archive.manifest.slug}@{archive.manifest.version + 1}"
        raise InputError.of(message, file=str(published.path), hint=hint)
    manifest, data = archive.manifest, archive.add_signature(sign_digest(key, archive.digest))
    name = get_archive_name(manifest.slug, manifest.version, for_agents=manifest.for_agents)
    path = folder / name if published.path.name.endswith(PACKED_SUFFIX) else published.path
    write_archive(path, data)
    return replace(published, path=path, version=version, size=len(data))
