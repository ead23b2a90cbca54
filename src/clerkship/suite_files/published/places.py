"""Find published versions by name, path or digest."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clerkship.by_name import load
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.published import DIGEST, REFERENCE

SUFFIX = ".clerkship"
PACKED_SUFFIX = ".clerkship.gz"
"""The ending of archives that ship with the package, which are compressed as a whole."""
OWN_FOLDER = ".clerkship"
"""The folder of a project in which Clerkship keeps its own files."""
FOLDER_NAME = "published"
SHIPPED = Path(__file__).parents[2] / "shipped"
"""The published versions that are installed with the package."""
FOR_AGENTS = ".for-agents"
"""Between the name and the suffix of an archive without criteria and solutions."""
RESULTS_SUFFIX = ".results.json"
"""The ending of the file beside an archive that has its results, and says whether it is withdrawn."""


class ArchiveName(NamedTuple):
    """What the file name of an archive says."""

    slug: str
    version: int
    for_agents: bool = False

    def __str__(self) -> str:
        """Return the name of the version, such as `chart@1`."""
        return f"{self.slug}@{self.version}"


def is_archive(path: Path) -> bool:
    """Return whether a path is a file whose name is that of an archive."""
    return path.name.endswith((SUFFIX, PACKED_SUFFIX)) and path.is_file()


def list_published_folders() -> list[Path]:
    """Return the existing folders with published versions: those of the project, from here upwards, and the shipped."""
    here = Path.cwd()
    folders = [place / OWN_FOLDER / FOLDER_NAME for place in (here, *here.parents)]
    return [folder for folder in (*folders, SHIPPED) if folder.is_dir()]


def list_archives() -> Iterator[Path]:
    """Yield every published version that can be named, those of the project first."""
    for folder in list_published_folders():
        yield from sorted(path for path in folder.iterdir() if is_archive(path))


def split_name(path: Path) -> ArchiveName | None:
    """Return what the file name of an archive says; None for other names."""
    stem = _get_stem(path)
    match = REFERENCE.fullmatch(stem.removesuffix(FOR_AGENTS))
    if match is None or match["version"] == "latest":
        return None
    return ArchiveName(match["slug"], int(match["version"]), stem.endswith(FOR_AGENTS))


def _get_stem(path: Path) -> str:
    return path.name.removesuffix(PACKED_SUFFIX).removesuffix(SUFFIX)


def get_archive_name(slug: str, version: int, *, for_agents: bool = False) -> str:
    """Return the file name of a published version."""
    return f"{slug}@{version}{FOR_AGENTS if for_agents else ''}{SUFFIX}"


def is_published_name(path: Path) -> bool:
    """Return whether a path is not one, but the name or the digest of a published version."""
    text = str(path)
    return (REFERENCE.fullmatch(text) or DIGEST.fullmatch(text)) is not None and not path.exists()


def list_results_files(path: Path) -> list[Path]:
    """Return the existing results files of an archive: beside it, and in the folders of the project."""
    name = _get_results_name(path)
    folders = dict.fromkeys(folder.resolve() for folder in (path.parent, *_list_own_folders()))
    return [folder / name for folder in folders if (folder / name).is_file()]


def choose_results_file(path: Path) -> Path:
    """Return where results of an archive are written: beside it, unless it is shipped or its folder is read-only."""
    folder = path.parent
    if folder.resolve() == SHIPPED.resolve() or not os.access(folder, os.W_OK):
        folder = next(iter(_list_own_folders()), Path.cwd() / OWN_FOLDER / FOLDER_NAME)
    return folder / _get_results_name(path)


def _list_own_folders() -> list[Path]:
    return [folder for folder in list_published_folders() if folder != SHIPPED]


def _get_results_name(path: Path) -> str:
    """Return the name of a results file, which a version shares with the same version for agents."""
    return f"{_get_stem(path).removesuffix(FOR_AGENTS)}{RESULTS_SUFFIX}"


def find_suite(path: Path) -> Path:
    """Return the archive that a name or digest means; any other path as it is.

    Raise InputError if there is none, or if it was withdrawn.
    """
    archive = find_version(path)
    reason = _find_withdrawal_reason(archive) if is_published_name(path) else None
    if reason is None:
        return archive
    name = split_name(archive)
    hint = f"run another version (clerkship published list), or restore it: clerkship published withdraw {path} --undo"
    raise InputError.of(f"{name or path} was withdrawn: {reason}", hint=hint)


def find_version(path: Path) -> Path:
    """Return the archive that a name or digest means, withdrawn or not; any other path as it is.

    Raise InputError if there is none.
    """
    if not is_published_name(path):
        return path
    text = str(path)
    archive = _find_by_digest(text) if DIGEST.fullmatch(text) else _find_by_name(text)
    if archive is not None:
        return archive
    known = sorted({str(name) for each in list_archives() if (name := split_name(each))})
    hint = did_you_mean(text, known) or (f"known: {', '.join(known)}" if known else "publish it: clerkship publish")
    hint = "in a checkout, `make publish` builds the versions that ship" if _is_unbuilt(text) else hint
    raise InputError.of(f"there is no published version `{text}`", hint=hint)


def _find_withdrawal_reason(path: Path) -> str | None:
    """Return why an archive was withdrawn; None if it was not. Without results files, nothing is read."""
    if not list_results_files(path):
        return None
    reason: str | None = load("clerkship.suite_files.published.results:find_reason")(path)
    return reason


def _is_unbuilt(text: str) -> bool:
    """Return whether a name is that of a suite of this checkout, which has not been published into the package."""
    slug, source = text.partition("@")[0], SHIPPED.parents[1]
    is_suite = source.name == "src" and (source.parent / "suites" / slug / "benchmark.yml").is_file()
    return is_suite and not any(SHIPPED.glob(f"{slug}@*"))


def find_complete_archive(slug: str, version: int) -> Path | None:
    """Return the archive of a version with its criteria and solutions; None if there is none."""
    return next((path for path in list_archives() if split_name(path) == ArchiveName(slug, version)), None)


def _find_by_name(text: str) -> Path | None:
    """Return the archive of a version. One with criteria is found before one for agents, the project's before ours.

    The latest version is the newest that is not withdrawn, if there is one.
    """
    slug, _, version = text.partition("@")
    found = [(name, path) for path in list_archives() if (name := split_name(path)) and name.slug == slug]
    archives: dict[int, Path] = {}
    for name, path in sorted(found, key=lambda item: item[0].for_agents):
        archives.setdefault(name.version, path)
    if version != "latest":
        return archives.get(int(version))
    newest_first = [archives[number] for number in sorted(archives, reverse=True)]
    available = (path for path in newest_first if _find_withdrawal_reason(path) is None)
    return next(available, next(iter(newest_first), None))


def _find_by_digest(text: str) -> Path | None:
    digest = text.partition(":")[2]
    matches: dict[str, Path] = {}
    for path in list_archives():
        try:
            found: str = load("clerkship.suite_files.published.archive:open_archive")(path).digest
        except InputError:  # what is damaged has no digest
            continue
        if found.startswith(digest):
            matches.setdefault(found, path)
    if len(matches) > 1:
        raise InputError.of(f"{len(matches)} published versions have a digest that starts with `{text}`")
    return next(iter(matches.values()), None)
