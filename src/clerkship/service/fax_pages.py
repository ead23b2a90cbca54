"""The fax pages of a suite: run its tasks, collect the pages of their logs, read them with an OCR engine."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from clerkship.actors.contract import Solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.regrade import parse_log
from clerkship.events.tables import fill_tables
from clerkship.formats.fax_pages.files import read_single_page, write_png
from clerkship.formats.fax_pages.ocr import check_available
from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import RunPlan, plan_run
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators.fax.datasets import FAX_TEXTS_DATASET, read_fax_texts, write_fax_texts
from clerkship.simulators.fax.events import PageStored
from clerkship.simulators.fax.index import FaxIndex
from clerkship.simulators.fax.ocr_words import read_upright
from clerkship.simulators.fax.records import FaxHeader
from clerkship.store.contract import Store
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.source import SUFFIXES, Unreadable

DEFAULT_FILE = "fax_texts.json"
MAX_NAME = 60
Progress = Callable[[str], None]
"""Called with the hash of each page that was read."""


@dataclass(frozen=True)
class LoggedFaxPages:
    """A fax in the log of a task, with its pages."""

    task: str
    number: int
    """Its place in the log of the task, from 1."""
    header: FaxHeader
    pages: tuple[PageStored, ...]


@dataclass(frozen=True)
class FaxRun:
    """A run of tasks, for the faxes in its logs."""

    faxes: tuple[LoggedFaxPages, ...]
    errors: tuple[tuple[str, str], ...]
    """The task and the reason of each trial that was not completed."""

    def pages(self) -> dict[str, PageStored]:
        """Return the different pages by hash."""
        return {page.hash: page for fax in self.faxes for page in fax.pages}


@dataclass(frozen=True)
class TextsFile:
    """The file with the OCR text of a suite, and what was written to it."""

    path: Path
    read: int
    """Pages that the engine read."""
    unchanged: int
    """Pages that the file had."""
    removed: int
    """Pages that no longer occur."""


def run_faxes(path: Path, agent: str | Solver, settings: Settings, catalog: RegisteredCatalog) -> FaxRun:
    """Run tasks with an agent, and return the faxes of their logs. Nothing is stored."""
    plan = plan_run(RunRequest(path=path, agent=agent, judge="none"), settings, catalog)
    return _run_plan(plan, catalog)


def run_steps(path: Path, settings: Settings, catalog: RegisteredCatalog) -> FaxRun:
    """Run tasks, and return the faxes that arrive. The agent is the solution if there is one: steps may wait for it."""
    plan = plan_run(RunRequest(path=path, agent="oracle", judge="none"), settings, catalog)
    if any(snapshot.solution is None for snapshot in plan.snapshots):
        plan.models.close()
        plan = plan_run(RunRequest(path=path, agent="nop", judge="none"), settings, catalog)
    run = _run_plan(plan, catalog)
    return replace(run, faxes=tuple(fax for fax in run.faxes if fax.header.direction == "inbound"))


def _run_plan(plan: RunPlan, catalog: RegisteredCatalog) -> FaxRun:
    with _open_temporary_store() as store:
        result = execute(plan, store, catalog)
        if result.run.status == "cancelled":
            raise InputError.of("interrupted: nothing was written")
        runs = store.task_runs(result.run.id)
        faxes = tuple(fax for run in runs for fax in _list_faxes(run, store, catalog))
        errors = tuple((run.task, reason) for run in runs if (reason := _describe_failure(run)))
    return FaxRun(faxes, errors)


def _describe_failure(run: TaskRun) -> str:
    """Return why a trial did not come to its end, or an empty text. Its verdict does not matter."""
    if run.status != "completed":
        return run.error or run.status
    return run.error or run.ending if run.ending == "agent_failed" else ""


@contextmanager
def _open_temporary_store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="clerkship-fax-") as folder, SqliteStore(Path(folder, "store.db")) as store:
        yield store


def _list_faxes(run: TaskRun, store: Store, catalog: RegisteredCatalog) -> Iterator[LoggedFaxPages]:
    """Yield the faxes of a trial in the order of its log."""
    indexes = fill_tables(parse_log(store.log(run), catalog.events, store.blob), FaxIndex)
    faxes = sorted((fax for index in indexes.values() for fax in index.in_order), key=lambda fax: fax.event.seq)
    for number, fax in enumerate(faxes, 1):
        pages = indexes[fax.event.source].pages
        yield LoggedFaxPages(run.task, number, fax.header, tuple(pages[hash] for hash in fax.header.pages))


def find_texts_file(path: Path) -> Path:
    """Return the file that the dataset of type fax_texts of a suite names; `fax_texts.json` in its folder if none."""
    folder = _find_folder(path)
    files = _list_dataset_files(folder)
    if len(files) > 1:
        listed = ", ".join(str(file) for file in files)
        raise InputError.of(
            f"several datasets of type {FAX_TEXTS_DATASET.name}: {listed}", hint="choose one with --out"
        )
    return files[0] if files else folder / DEFAULT_FILE


def _find_folder(path: Path) -> Path:
    """Return the folder of a suite, one of its files, or one of its tasks."""
    folder = split_case(path)[0]
    return folder if folder.is_dir() else folder.parent


def _list_dataset_files(folder: Path) -> list[Path]:
    return [source.parent / file for source in sorted(folder.rglob("*")) for file in _list_named_files(source)]


def _list_named_files(source: Path) -> list[str]:
    """Return the files that the fax_texts datasets of a YAML file name. What is wrong with it is reported later."""
    if source.suffix not in SUFFIXES or not source.is_file():
        return []
    try:
        documents = list(yaml.safe_load_all(source.read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError):
        return []
    return [
        item["file"]
        for document in documents
        for item in _list_maps(document)
        if item.get("type") == FAX_TEXTS_DATASET.name and isinstance(item.get("file"), str)
    ]


def _list_maps(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a map and all maps in it."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _list_maps(item)


def load_texts(path: Path) -> dict[str, Any]:
    """Return the text that a file has by page hash; none if there is no such file."""
    try:
        return dict(read_fax_texts(path)) if path.exists() else {}
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(path), hint=unreadable.hint) from None


def prepare_texts_file(path: Path, suite: Path) -> None:
    """Write an empty file if there is none and a suite needs it to be loaded. Raises OcrUnavailable."""
    check_available()
    if not path.exists() and path in _list_dataset_files(_find_folder(suite)):
        _write_file(path, write_fax_texts(()))


def write_texts(path: Path, pages: Iterable[PageStored], *, force: bool, keep: bool, progress: Progress) -> TextsFile:
    """Read pages with the engine, and write their text to a file.

    Pages that the file has are not read again, unless `force`. Those that no longer occur are removed, unless `keep`.
    """
    before = load_texts(path)
    after, read = (dict(before) if keep else {}), 0
    listed = list(pages)
    for page in listed:
        if force or page.hash not in before:
            after[page.hash] = read_upright(read_single_page(page.data))
            read += 1
        else:
            after[page.hash] = before[page.hash]
        progress(page.hash)
    _write_file(path, write_fax_texts(after.items()))
    return TextsFile(path, read, len(listed) - read, len(before.keys() - after.keys()))


def write_pictures(faxes: Iterable[LoggedFaxPages], folder: Path) -> list[Path]:
    """Write each page as a PNG file with square dots; return the paths."""
    paths = []
    for fax in faxes:
        name = f"{_to_file_name(fax.task)}-fax-{fax.number}-{fax.header.sender.lstrip('+')}"
        for number, page in enumerate(fax.pages, 1):
            path = folder / f"{name}-page-{number}.png"
            _write_file(path, write_png(read_single_page(page.data)))
            paths.append(path)
    return paths


def _write_file(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, (data,))
    except OSError as error:
        message = f"it cannot be written: {error.strerror or error}"
        raise InputError.of(message, file=str(path), hint="choose another with --out") from None


def _to_file_name(name: str) -> str:
    cleaned = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    return "-".join(filter(None, cleaned.split("-")))[:MAX_NAME]
