"""Which reports of a run to write, where to, and whether they can be written there."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, cast

from clerkship.by_name import load
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.report.markdown_page import MAX_SUMMARY_BYTES

if TYPE_CHECKING:
    from clerkship.store.contract import Store

STDOUT = Path("-")
RESULT_WRITERS = {"rasa": "clerkship.rasa.results_folder"}
"""Formats of results for other tools, with the module that writes each; imported only if requested."""


@dataclass(frozen=True)
class ResultsFolder:
    """Results in the format of another tool, in a given folder or in that tool's default folder."""

    folder: Path | None = None
    format: str = "rasa"

    @classmethod
    def parse(cls, text: str) -> "ResultsFolder":
        """Parse `rasa` or `rasa:DIR`. Raise InputError."""
        form, colon, folder = text.partition(":")
        if form not in RESULT_WRITERS:
            hint = did_you_mean(form, RESULT_WRITERS)
            raise InputError.of(f"unknown results format `{form[:60]}`", hint=hint)
        if colon and not folder.strip():
            raise InputError.of(f"`{form}:` needs a folder", hint=f"write `{form}` for the default folder")
        return cls(Path(folder) if folder else None, form)

    def default_for(self, run_path: str) -> Path:
        """Return the folder in which the other tool looks for the results of this path."""
        return cast(Path, load(f"{RESULT_WRITERS[self.format]}:find_results_folder")(run_path))

    def write(self, store: "Store", reference: str) -> Path:
        """Write the results of a run into a new folder, and return it. Raise OSError."""
        return cast(Path, load(f"{RESULT_WRITERS[self.format]}:write_results")(store, reference, self.folder))


@dataclass(frozen=True, kw_only=True)
class ExportTargets:
    """Results for analysts and for other harnesses, of one run or of several; `-` is standard output."""

    csv: Path | None = None
    atif: Path | None = None
    """A folder, in which each run gets one with a file per trial."""
    inspect: Path | None = None
    """A folder, in which each run gets a file."""

    def paths(self) -> dict[str, Path]:
        """Return the requested file and folders by format."""
        named = {"csv": self.csv, "atif": self.atif, "inspect": self.inspect}
        return {sort: target for sort, target in named.items() if target is not None}

    def find_problems(self) -> list[InputProblem | None]:
        """Return why the file or a folder cannot be written."""
        folders = [_find_folder_problem(target, f"--{sort}") for sort, target in self.paths().items() if sort != "csv"]
        is_file = self.csv is not None and self.csv != STDOUT
        return [*folders, _find_file_problem("csv", self.csv) if is_file and self.csv else None]


NO_EXPORTS = ExportTargets()


@dataclass(frozen=True, kw_only=True)
class ReportTargets:
    """Which reports to write, and where; `-` is standard output."""

    html: Path | None = None
    junit: Path | None = None
    jsonl: Path | None = None
    markdown: Path | None = None
    markdown_limit: int = MAX_SUMMARY_BYTES
    results: ResultsFolder | None = None
    exports: ExportTargets = NO_EXPORTS

    def __post_init__(self) -> None:
        if [*self.files().values(), self.exports.csv].count(STDOUT) > 1:
            raise InputError.of("only one report can go to standard output", hint="name a file for the others")

    def files(self) -> dict[str, Path]:
        """Return the requested files by format."""
        named = {"html": self.html, "junit": self.junit, "jsonl": self.jsonl, "markdown": self.markdown}
        return {sort: target for sort, target in named.items() if target is not None}

    def has_any(self) -> bool:
        """Return whether any report is requested."""
        return bool(self.files() or self.exports.paths()) or self.results is not None

    def to_stdout(self) -> bool:
        """Return whether a report goes to standard output, which then takes no other output."""
        return STDOUT in (*self.files().values(), self.exports.csv)


def check_writable(targets: ReportTargets) -> None:
    """Raise InputError for every report that names a folder, or a path that cannot be written."""
    problems = [_find_file_problem(sort, target) for sort, target in targets.files().items() if target != STDOUT]
    if targets.results is not None and targets.results.folder is not None:
        problems.append(_find_folder_problem(targets.results.folder))
    problems += targets.exports.find_problems()
    if any(problems):
        raise InputError(problem for problem in problems if problem is not None)


def check_results_writable(targets: ReportTargets, run_path: str) -> None:
    """Raise InputError if --results uses the default folder for this path, and it cannot be written."""
    if targets.results is not None and targets.results.folder is None:
        problem = _find_folder_problem(targets.results.default_for(run_path))
        if problem is not None:
            raise InputError([problem])


def _find_file_problem(sort: str, target: Path) -> InputProblem | None:
    option = "--report" if sort == "html" else f"--{sort}"
    try:
        if target.is_dir():
            return InputProblem(message=f"{option} {target} is a folder", hint="name a file")
        if target.is_file():
            target.open("ab").close()
        elif not target.exists():  # a device or a pipe must not be opened twice
            _check_folder(target.parent)
    except OSError as error:
        message = f"{option} {target} cannot be written: {error.strerror}"
        return InputProblem(message=message, hint="choose another file")
    return None


def _find_folder_problem(folder: Path, option: str = "--results") -> InputProblem | None:
    try:
        _check_folder(folder)
    except OSError as error:
        message = f"{option} cannot be written to {folder}: {error.strerror}"
        hint = "choose a folder with rasa:DIR" if option == "--results" else "choose another folder"
        return InputProblem(message=message, hint=hint)
    return None


def _check_folder(folder: Path) -> None:
    """Raise OSError unless a file can be written in a folder, or in its nearest parent that exists."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    TemporaryFile(dir=existing).close()  # permissions are not enough: the disk may be read-only
