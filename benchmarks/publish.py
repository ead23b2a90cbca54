"""Measure published versions: publishing and opening them, and a run from an archive beside one from its folder.

    python -m benchmarks.publish [--repeats 3] [--megabytes 500]

Everything is processor time, the smallest of several rounds. Runs are processes of their own, in turn: the folder, the
archive, the archive as it ships. The large archives have a dataset that no task uses, and tasks that nobody wrote.
"""

import argparse
import gzip
import hashlib
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path

from benchmarks.start import CLERKSHIP, ROOT, build_environment, run_command
from benchmarks.table import print_table, seconds, times
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.publishing import Published, PublishRequest, publish
from clerkship.settings import Settings
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.archive import Archive, build_archive, describe_entries, open_archive
from clerkship.suite_files.published.manifest import DatasetInfo, EntryInfo, TaskInfo
from clerkship.suite_files.published.places import PACKED_SUFFIX, SUFFIX
from clerkship.suite_files.published.reading import load_archive

SUITES = tuple(sorted(path.name for path in (ROOT / "suites").iterdir() if path.is_dir()))
RUNS = {
    "chart": "find_by_maiden_name",
    "messages": "a_wrong_number",
    "feeds": "a_corrected_result",
}
"""One task of some suites."""
SUITE_HEAD = ("suite", "tasks", "archive, packed", "publish", "open", "open, packed", "load the folder", "the archive")
RUN_HEAD = ("`run` of one task", "folder", "archive", "archive ÷ folder", "packed archive")
LARGE_HEAD = ("archive", "tasks", "open, list the tasks", "load one task without the dataset", "read the dataset")
LARGE = "datasets/9999-large"
BLOCK = b'{"resourceType": "Observation", "status": "final", "code": {"text": "Weight"}}\n' * 12_500


def measure(work: Callable[[], object], repeats: int) -> float:
    """Return the smallest processor time of some rounds."""
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def publish_suite(suite: str, folder: Path, catalog: RegisteredCatalog) -> Published:
    """Publish a shipped suite under a name of its own, and return its complete version."""
    request = PublishRequest(path=ROOT / "suites" / suite, name=f"bench-{suite}@1", to=folder)
    return publish(request, Settings(cache=folder / "cache"), catalog)[0]


def measure_suites(suites: Sequence[str], folder: Path, repeats: int) -> Iterator[tuple[str, ...]]:
    """Publish, open and load suites, and yield a row for each."""
    catalog = RegisteredCatalog()
    for suite in suites:
        published = publish_suite(suite, folder, catalog)
        files, path = ROOT / "suites" / suite, published.path

        def load(suite_path: Path) -> object:
            return load_library(suite_path, catalog, cache=folder / "cache")

        packed = pack(path)
        yield (
            f"`{suite}`",
            str(published.tasks),
            f"{published.size / 1e6:.1f}, {packed.stat().st_size / 1e6:.1f} MB",
            seconds(measure(lambda: publish_suite(suite, folder, catalog), repeats)),  # noqa: B023  (called at once)
            seconds(measure(lambda: open_archive(path), repeats)),  # noqa: B023
            seconds(measure(lambda: open_packed(packed), repeats)),  # noqa: B023
            seconds(measure(lambda: load(files), repeats)),  # noqa: B023
            seconds(measure(lambda: load(path), repeats)),  # noqa: B023
        )


def open_packed(path: Path) -> Archive:
    """Open a packed archive that was not unpacked before: the last one is kept until its file changes."""
    path.touch()
    return open_archive(path)


def pack(path: Path) -> Path:
    """Write an archive in the form in which some ship with the package; return its path."""
    packed = path.parent / "packed" / f"{path.name.removesuffix(SUFFIX)}{PACKED_SUFFIX}"
    packed.parent.mkdir(exist_ok=True)
    packed.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    return packed


def measure_runs(runs: Mapping[str, str], folder: Path, repeats: int) -> Iterator[tuple[str, ...]]:
    """Run one task of suites from the folder, the archive and the packed archive in turn, and yield a row for each."""
    catalog, environment = RegisteredCatalog(), build_environment(folder)
    environment["CLERKSHIP_CACHE"] = str(folder / "cache")
    for suite, task in runs.items():
        path = publish_suite(suite, folder, catalog).path
        places = (ROOT / "suites" / suite, path, pack(path))
        taken: dict[Path, list[float]] = {place: [] for place in places}
        for _ in range(repeats + 1):  # the first round fills caches
            for place in places:
                words = (*CLERKSHIP, "run", str(place), "--task", task, "--agent", "oracle")
                taken[place].append(run_command(words, folder, environment))
        files, archive, shipped = (min(taken[place][1:]) for place in places)
        yield (f"`{suite}`", seconds(files), seconds(archive), times(archive / files), seconds(shipped))


def write_large_archive(path: Path, source: Archive, megabytes: int, tasks: int) -> None:
    """Write an archive with the entries of another, a dataset of some megabytes, and a number of tasks."""
    manifest, count = source.manifest, max(megabytes * 1_000_000 // len(BLOCK), 1)
    entries = {name: source.read(name) for name in manifest.entries}
    infos = [
        replace_task(manifest.tasks[number % len(manifest.tasks)], number, entries)
        for number in range(tasks - len(manifest.tasks))
    ]
    described = {**describe_entries(entries), LARGE: EntryInfo(size=count * len(BLOCK), sha256=_hash_blocks(count))}
    update = {
        "tasks": (*manifest.tasks, *infos),
        "datasets": (*manifest.datasets, DatasetInfo(name="large", type="fhir", entry=LARGE)),
        "entries": described,
    }
    path.write_bytes(build_archive(manifest.model_copy(update=update), entries))
    info = zipfile.ZipInfo(LARGE)
    info.create_system, info.external_attr = 3, 0o100644 << 16  # as `build_archive` has it, which needs it in memory
    with zipfile.ZipFile(path, "a") as file, file.open(info, "w") as entry:
        for _ in range(count):
            entry.write(BLOCK)


def replace_task(task: TaskInfo, number: int, entries: dict[str, bytes]) -> TaskInfo:
    """Return a task with another name and an entry of its own, which is added to the entries."""
    entry = f"tasks/made-{number:06}.json"
    entries[entry] = entries[task.entry]
    return task.model_copy(update={"name": f"Task {number}", "entry": entry})


def _hash_blocks(count: int) -> str:
    digest = hashlib.sha256()
    for _ in range(count):
        digest.update(BLOCK)
    return digest.hexdigest()


def measure_large(sizes: Sequence[tuple[int, int]], folder: Path, repeats: int) -> Iterator[tuple[str, ...]]:
    """Open archives with datasets of some megabytes and numbers of tasks, and yield a row for each."""
    source = open_archive(publish_suite("conversations", folder, RegisteredCatalog()).path)
    selection = TaskSelection(names=(source.manifest.tasks[0].name,), is_exclusive=True)
    path = folder / "large" / source.path.name
    path.parent.mkdir()
    for megabytes, tasks in sizes:
        write_large_archive(path, source, megabytes, tasks)

        def list_tasks() -> None:
            assert len({info.name for info in open_archive(path).manifest.tasks}) == tasks  # noqa: B023

        took = (
            measure(list_tasks, repeats),
            measure(lambda: load_archive(path, selection), repeats),
            measure(lambda: open_archive(path).read(LARGE), 1),
        )
        yield (f"{path.stat().st_size / 1e6:,.0f} MB", f"{tasks:,}", *map(seconds, took))
        path.unlink()


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder, sizes = Path(name), [(options.megabytes // part, 15) for part in (100, 10, 1)]
        print_table(SUITE_HEAD, measure_suites(SUITES, folder, options.repeats))
        print()
        print_table(RUN_HEAD, measure_runs(RUNS, folder, options.repeats))
        print()
        print_table(LARGE_HEAD, measure_large([*sizes, (1, 150), (1, 1_500), (1, 15_000)], folder, options.repeats))


if __name__ == "__main__":
    main()
