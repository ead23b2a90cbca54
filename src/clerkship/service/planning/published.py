"""What a run has to do with a published version: it runs the version itself, or a copy of its files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clerkship.by_name import load
from clerkship.model.errors import InputError
from clerkship.model.published import PublishedVersion
from clerkship.model.run import BenchmarkRun
from clerkship.model.run_options import RecordingMode
from clerkship.model.snapshot import Snapshot
from clerkship.suite_files.library import Library
from clerkship.suite_files.published.places import find_complete_archive, is_archive

_ANY_TIMEOUT = 1.0
"""Any limit: the hash of a task does not depend on it."""


def compare_with_published(library: Library, snapshots: Iterable[Snapshot]) -> dict[str, Any]:
    """Return the fields of a run's record about the published version that its tasks are from or are a copy of.

    A folder is a copy of a version if one of its benchmarks has the slug and the version of a published one.
    """
    if library.published is not None:
        return {"published": library.published}
    paths = [find_complete_archive(each.slug, each.version) for each in library.benchmarks.values()]
    path = next((each for each in paths if each is not None), None)
    if path is None:
        return {}
    try:
        manifest, digest = load("clerkship.suite_files.published.archive:read_manifest")(path)
    except InputError:  # a damaged archive is no reason not to run the files
        return {}
    known = {info.name: info.hash for info in manifest.tasks}
    ran = {each.task.name: _freeze(library, each).task_hash for each in snapshots}
    changed = [name for name, task_hash in ran.items() if known.get(name) != task_hash]
    missing = [name for name in known if name not in ran]
    if not library.is_partial and not any(name in library.tasks for name in missing):  # else they were not selected
        changed += missing
    return {"published": manifest.to_version(digest), "changed_tasks": tuple(changed)}


def _freeze(library: Library, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot of a task as it is in the files, without what options of a run or a benchmark change."""
    return library.snapshot(library.tasks[snapshot.task.name], _ANY_TIMEOUT)


def compare_rescored(run: BenchmarkRun, library: Library | None, snapshots: Iterable[Snapshot]) -> dict[str, Any]:
    """Return the same fields for a run that is graded by a library: by a published version, or as it was before.

    An archive for agents may have been changed on the way, so what the agent started with is compared.
    """
    version = library.published if library is not None else None
    if library is None or version is None:
        return {"published": run.published, "changed_tasks": run.changed_tasks}
    if run.published is not None and run.published.digest == version.digest and run.changed_tasks is None:
        return {"published": version, "changed_tasks": None}
    changed = tuple(each.task.name for each in snapshots if each.setup_hash != _freeze(library, each).setup_hash)
    is_version = run.published is not None and run.changed_tasks is None and run.published.name == version.name
    return {"published": version, "changed_tasks": None if is_version and not changed else changed}


def refuse_recording(path: Path, mode: RecordingMode | None) -> None:
    """Raise InputError if answers would be recorded into an archive."""
    if mode in ("record", "refresh") and is_archive(path):
        message = f"answers cannot be recorded into {path.name}: a published version never changes"
        raise InputError.of(message, hint="record them in the folder, and publish it with `--cassettes`")


def require_solutions(version: PublishedVersion | None) -> None:
    """Raise InputError for a version for agents, which has no solutions."""
    if version is not None and version.for_agents:
        message = f"{version.name} is here as a version for agents, which has no solutions"
        raise InputError.of(message, hint="only its owner can run `oracle`")
