"""Read and write the results file of an archive: who scored what on it, and whether it was withdrawn.

An archive never changes, so this lies in a JSON file beside it. Everything in it is under the digest of a version: if a
file has the results of another archive of the same name, they are not shown.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import Field, ValidationError

from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen, Whole
from clerkship.suite_files.published.archive import Archive, open_archive
from clerkship.suite_files.published.manifest import Sha256
from clerkship.suite_files.published.places import choose_results_file, list_results_files

MAX_RESULTS_BYTES = 5_000_000
MAX_REASON_LENGTH = 500
_HINT = "delete the file; it has only results and withdrawals of published versions"


class PublishedScore(Frozen):
    """What one agent, all attacks of one strategy, or all mutants got on a published version."""

    agent: str
    """`oracle`, `nop`, the name of an attack such as `attack:do-nothing`, or `mutants`."""
    total: Whole
    """The number of results: one for each task, or for each variant or mutant of a task."""
    passed: Whole
    ungraded: Whole = 0
    broken: Whole = 0
    """Trials without a verdict."""
    unexpected: Whole = 0
    """Results that are not as they must be."""
    mean: float | None = None
    """The mean of the scores, if it was computed."""
    left_out: Whole = 0
    """Mutants that were not run."""
    unjudged: Whole = 0
    """Tasks with criteria that were skipped, because only a model can judge them."""
    grading: str
    """The grading version of the program that graded."""
    at: str
    """When it was recorded."""
    run: str = ""
    """The id of the run, or of the first one."""
    digest: str = ""
    """The SHA-256 of the heads of its logs, sorted. A run that does the same elsewhere has the same digest."""


class Withdrawal(Frozen):
    """Why and when a version was withdrawn."""

    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON_LENGTH)]
    at: str


class VersionResults(Frozen):
    """What is known of one version."""

    withdrawn: Withdrawal | None = None
    scores: tuple[PublishedScore, ...] = ()

    def add(self, scores: Iterable[PublishedScore]) -> "VersionResults":
        """Return a copy with further scores. Of one agent and grading version, the newest is kept."""
        newest: dict[tuple[str, str], PublishedScore] = {}
        for score in sorted((*self.scores, *scores), key=lambda each: each.at):
            newest[score.grading, score.agent] = score
        return self.model_copy(update={"scores": tuple(newest[key] for key in sorted(newest))})


class ResultsFile(Frozen):
    """A results file: what is known of versions, by digest."""

    format: Literal[1] = 1
    versions: dict[Sha256, VersionResults] = {}

    @classmethod
    def load(cls, path: Path) -> "ResultsFile":
        """Read a file. Return an empty one if there is none; raise InputError if it is damaged."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_RESULTS_BYTES + 1)
            if len(data) > MAX_RESULTS_BYTES:
                raise InputError.of(f"it has more than {MAX_RESULTS_BYTES:,} bytes", file=str(path), hint=_HINT)
            return cls.model_validate(orjson.loads(data))
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise InputError.of(f"it cannot be read: {error.strerror}", file=str(path)) from None
        except orjson.JSONDecodeError as error:
            raise InputError.of(f"it is not JSON: {error}", file=str(path), hint=_HINT) from None
        except ValidationError as error:
            first = error.errors()[0]
            message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise InputError.of(message, file=str(path), hint=_HINT) from None

    def save(self, path: Path) -> None:
        """Write the file as a whole. Raise InputError if it cannot be written."""
        data = orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        try:
            write_atomically(path, [data + b"\n"])
        except OSError as error:
            raise InputError.of(f"it cannot be written: {error.strerror}", file=str(path)) from None


def read_results(archive: Archive) -> VersionResults:
    """Return what all results files say of a version."""
    known = VersionResults()
    for path in list_results_files(archive.path):
        results = ResultsFile.load(path).versions.get(archive.digest, VersionResults())
        known = known.add(results.scores)
    return known.model_copy(update={"withdrawn": find_withdrawal(archive)})


def find_withdrawal(archive: Archive) -> Withdrawal | None:
    """Return the withdrawal of a version; of one for agents, also that of the complete version."""
    digests = [each for each in (archive.digest, archive.manifest.complete) if each]
    for path in list_results_files(archive.path):
        versions = ResultsFile.load(path).versions
        for digest in digests:
            if digest in versions and (withdrawn := versions[digest].withdrawn):
                return withdrawn
    return None


def find_reason(path: Path) -> str | None:
    """Return why the archive at a path was withdrawn; None if it was not."""
    files = [ResultsFile.load(file) for file in list_results_files(path)]
    if not any(results.withdrawn for file in files for results in file.versions.values()):
        return None
    withdrawn = find_withdrawal(open_archive(path))
    return withdrawn.reason if withdrawn is not None else None


def add_scores(archive: Archive, scores: Iterable[PublishedScore]) -> Path:
    """Record scores, and return the file that they are in."""
    path = choose_results_file(archive.path)
    _change(path, archive.digest, lambda results: results.add(scores))
    return path


def withdraw(archive: Archive, withdrawal: Withdrawal) -> Path:
    """Record that a version is withdrawn, and return the file that says so."""
    path = choose_results_file(archive.path)
    _change(path, archive.digest, lambda results: results.model_copy(update={"withdrawn": withdrawal}))
    return path


def restore(archive: Archive) -> None:
    """Remove the withdrawal of a version from every file that has it."""
    for path in list_results_files(archive.path):
        for digest in {archive.digest, archive.manifest.complete} & ResultsFile.load(path).versions.keys():
            _change(path, digest, lambda results: results.model_copy(update={"withdrawn": None}))


def _change(path: Path, digest: str, change: Callable[[VersionResults], VersionResults]) -> None:
    file = ResultsFile.load(path)
    results = change(file.versions.get(digest, VersionResults()))
    file.model_copy(update={"versions": file.versions | {digest: results}}).save(path)
