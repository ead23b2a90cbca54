"""What a run has to do with a published version: it runs the version itself, or a copy of its files."""

from collections.abc import Iterable
from typing import Any

from clerkship.by_name import load
from clerkship.model.errors import InputError
from clerkship.model.snapshot import Snapshot
from clerkship.suite_files.library import Library
from clerkship.suite_files.published.places import find_complete_archive


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
        archive = load("clerkship.suite_files.published.archive:open_archive")(path)
    except InputError:  # a damaged archive is no reason not to run the files
        return {}
    known = {info.name: info.hash for info in archive.manifest.tasks}
    changed = tuple(each.task.name for each in snapshots if known.get(each.task.name) != each.task_hash)
    return {"published": archive.version, "changed_tasks": changed}
