"""Send the folder of a suite to a server, and fetch it again."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from clerkship.by_name import load
from clerkship.kit.atomic_write import write_atomically
from clerkship.kit.command_option import Option
from clerkship.model.errors import InputError, InputProblem
from clerkship.service.server_key import KeyFile, read_key
from clerkship.service.serving.drafts.definitions import to_slug
from clerkship.service.serving.drafts.packing import pack, read_suite_folder, unpack
from clerkship.settings import Settings

if TYPE_CHECKING:
    from clerkship.client import Client

_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d+):(?P<column>\d+))?")
_SLUG_LINE = re.compile(rb"^  slug: *([a-z0-9][a-z0-9-]{0,99}) *(?:#.*)?$", re.MULTILINE)
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class PushRequest:
    """A folder to send, and where to."""

    path: Annotated[Path, Option(help="Folder of YAML files.", metavar="FOLDER")]
    to: Annotated[str, Option(("--to",), "Address of the server, such as https://tests.example.org.", "URL")]
    slug: Annotated[
        str | None,
        Option(
            ("--as",), "Slug of the benchmark there. Default: that of the folder's `benchmark`, else its name.", "SLUG"
        ),
    ] = None
    key_file: KeyFile = None


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """A benchmark to fetch, and where from."""

    slug: Annotated[str, Option(help="Slug or id of the benchmark.", metavar="SLUG")]
    server: Annotated[str, Option(("--from",), "Address of the server, such as https://tests.example.org.", "URL")]
    to: Annotated[Path | None, Option(("--to",), "Folder for the files.  [default: the slug]", "FOLDER")] = None
    force: Annotated[bool, Option(("--force",), "Overwrite files that differ.")] = False
    key_file: KeyFile = None


@dataclass(frozen=True)
class PushedFolder:
    """A folder that the server has now."""

    id: str
    slug: str
    files: int
    is_new: bool
    warnings: tuple[InputProblem, ...]


@dataclass(frozen=True)
class PulledFolder:
    """A folder that was fetched."""

    path: Path
    files: int
    written: int
    others: tuple[str, ...]
    """Files of the folder that the server does not have."""


def push(request: PushRequest, settings: Settings) -> PushedFolder:
    """Send a folder. Raise InputError with every mistake that the server finds in it; then nothing changes there."""
    if not request.path.is_dir():
        raise InputError.of("it is not a folder", file=str(request.path))
    files = read_suite_folder(request.path)
    slug = request.slug or _find_slug(request.path, files)
    with _connect(request.to, request.key_file, settings, request.path) as client:
        pushed = client.upload_files(slug, pack(files))
    warnings = tuple(_build_problem(each.place, each.message, each.hint, request.path) for each in pushed.warnings)
    stored_slug = (pushed.benchmark.model_extra or {})["slug"]
    return PushedFolder(pushed.benchmark.id, stored_slug, len(files), pushed.is_new, warnings)


def pull(request: PullRequest, settings: Settings) -> PulledFolder:
    """Fetch a folder. Raise InputError if files in it differ, unless they may be overwritten."""
    with _connect(request.server, request.key_file, settings) as client:
        packed = client.download_files(request.slug)
    folder = request.to or Path(to_slug(request.slug))
    files = unpack(packed)
    before = read_suite_folder(folder) if folder.is_dir() else {}
    changed = [path for path, data in files.items() if before.get(path) != data]
    differing = [path for path in changed if path in before or (folder / path).exists()]
    if differing and not request.force:
        more = f" and {len(differing) - _SHOWN:,} more" if len(differing) > _SHOWN else ""
        message = f"files differ from those of the server: {', '.join(differing[:_SHOWN])}{more}"
        raise InputError.of(message, file=str(folder), hint="push them, overwrite with --force, or choose another --to")
    try:
        for path in changed:
            _write(folder, path, files[path])
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(error.filename)) from None
    return PulledFolder(folder, len(files), len(changed), tuple(sorted(before.keys() - files.keys())))


def _write(folder: Path, path: str, data: bytes) -> None:
    """Write a file. Raise InputError if a link on the way leads out of the folder."""
    target = folder / path
    if not target.resolve().is_relative_to(folder.resolve()):
        raise InputError.of("it is a link to a place outside the folder", file=str(target))
    write_atomically(target, [data])


def _find_slug(folder: Path, files: Mapping[str, bytes]) -> str:
    """Return the slug of the first benchmark that a folder defines, else its own name as a slug."""
    texts = (data for path, data in files.items() if path.endswith((".yml", ".yaml")) and b"benchmark" in data)
    found = next((match[1].decode() for text in texts if (match := _SLUG_LINE.search(text))), "")
    return found or to_slug(folder.resolve().name) or "suite"


@contextmanager
def _connect(url: str, key_file: Path | None, settings: Settings, folder: Path | None = None) -> Iterator["Client"]:
    """Yield a client whose refusals are raised as InputError, with mistakes in files by their paths in the folder."""
    client = load("clerkship.client")  # when it is needed: most commands send nothing
    with client.Client(url, read_key(key_file, settings)) as connected:
        try:
            yield connected
        except client.ServerProblem as problem:
            problems = [
                _build_problem(each.place, each.message, each.hint, folder, each.field) for each in problem.errors
            ]
            raise (InputError(problems) if problems else InputError.of(f"{problem.detail} ({problem.code})")) from None


def _build_problem(place: str, message: str, hint: str, folder: Path | None, field: str = "") -> InputProblem:
    found = _PLACE.fullmatch(place)
    file = str(folder / found["file"]) if found is not None and folder is not None else ""
    line, column = (int(found[name] or 0) if found is not None else 0 for name in ("line", "column"))
    return InputProblem(file=file, line=line, column=column, key=field, message=message, hint=hint)
