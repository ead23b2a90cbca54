"""Send the folder of a suite to a server, and fetch it again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import orjson

from clerkship.by_name import load
from clerkship.kit.atomic_write import write_atomically
from clerkship.kit.command_option import Option
from clerkship.llm.http_client import is_loopback, parse_address
from clerkship.model.errors import InputError, InputProblem, PlatformError
from clerkship.service.serving.drafts.definitions import to_slug
from clerkship.service.serving.drafts.packing import MEDIA_TYPE, pack, read_suite_folder, unpack
from clerkship.settings import Settings

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 300.0
_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d+):(?P<column>\d+))?")
_SLUG_LINE = re.compile(rb"^  slug: *([a-z0-9][a-z0-9-]{0,99}) *(?:#.*)?$", re.MULTILINE)
_SHOWN = 5
KeyFile = Annotated[
    Path | None,
    Option(("--key-file",), "File with a person's key. [default: the setting CLERKSHIP_SERVER_KEY]", "FILE"),
]


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
    address = f"/v1/benchmarks/{quote(slug, safe='')}/files"
    headers = {"content-type": MEDIA_TYPE}
    response = _send(request.to, _read_key(request.key_file, settings), "PUT", address, headers, pack(files))
    if response.status_code not in (200, 201):
        raise _build_error(response, request.path)
    answer = orjson.loads(response.content)
    warnings = tuple(_read_problem(each, request.path) for each in answer["warnings"])
    benchmark = answer["benchmark"]
    return PushedFolder(benchmark["id"], benchmark["slug"], len(files), response.status_code == 201, warnings)


def pull(request: PullRequest, settings: Settings) -> PulledFolder:
    """Fetch a folder. Raise InputError if files in it differ, unless they may be overwritten."""
    address = f"/v1/benchmarks/{quote(request.slug, safe='')}/files"
    response = _send(request.server, _read_key(request.key_file, settings), "GET", address, {}, b"")
    if response.status_code != 200:
        raise _build_error(response, None)
    folder = request.to or Path(to_slug(request.slug))
    files = unpack(response.content)
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


def _read_key(file: Path | None, settings: Settings) -> str:
    if file is None:
        if not settings.server_key:
            raise InputError.of("no key is given", hint="use --key-file FILE, or set CLERKSHIP_SERVER_KEY")
        return settings.server_key
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.of(f"the key cannot be read: {error}", file=str(file)) from None


def _send(url: str, key: str, method: str, address: str, headers: Mapping[str, str], body: bytes) -> "httpx.Response":
    http = load("httpx")  # when it is needed: most commands send nothing
    base = parse_address(url, url, "server").rstrip("/")
    authorization = {"authorization": f"Bearer {key}", **headers}
    try:
        with http.Client(timeout=_TIMEOUT, trust_env=not is_loopback(base)) as client:
            response: httpx.Response = client.request(method, base + address, headers=authorization, content=body)
    except (http.HTTPError, ValueError) as error:
        raise PlatformError(f"the server {base} cannot be reached: {error}") from None
    return response


def _build_error(response: "httpx.Response", folder: Path | None) -> InputError:
    """Return the error for a refusal. Mistakes in files are named by their paths in the folder that was sent."""
    try:
        problem = orjson.loads(response.content)
        problems = [_read_problem(each, folder) for each in problem["errors"]]
        detail = f"{problem['detail']} ({problem['code']})"
    except (orjson.JSONDecodeError, KeyError, TypeError):
        problems, detail = [], f"the server answered with status {response.status_code}; is its address right?"
    return InputError(problems) if problems else InputError.of(detail)


def _read_problem(problem: Mapping[str, Any], folder: Path | None) -> InputProblem:
    place = _PLACE.fullmatch(problem["place"])
    file = str(folder / place["file"]) if place is not None and folder is not None else ""
    line, column = (int(place[name] or 0) if place is not None else 0 for name in ("line", "column"))
    return InputProblem(
        file=file,
        line=line,
        column=column,
        key=problem.get("field", ""),
        message=problem["message"],
        hint=problem["hint"],
    )
