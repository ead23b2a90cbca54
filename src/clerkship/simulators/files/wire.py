"""Paths, times and listings as they go over the wire."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any
from unicodedata import category

from pydantic import AwareDatetime, Field, ValidationError

from clerkship.model.frozen import Flag, Frozen
from clerkship.sandbox.exchange import Refusal
from clerkship.simulators.files.entry import Entry

LONGEST_NAME = 255
LONGEST_PATH = 1024
"""Bytes in UTF-8, as file systems count."""
MOST_ENTRIES = 1_000_000
LONGEST_NUMBER = 20
"""Digits of 64 bits: somebody may try to write there."""
INCOMPLETE = "x-clerkship-incomplete"
"""A header that says that what comes is as far as an upload came."""
PAGED = "x-clerkship-paged"
"""A header of a line that takes a folder's entries page by page: it is told how many there are."""
CONTROL = "a path has no control characters, and none that end a line"
_UNFIT = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, halves of characters, and what ends a line."""


def parse_path(text: str) -> str:
    """A path inside the drop: relative, of names as file systems have them. Case matters; Unicode is left as it comes,
    so that one name composed in two ways is two names."""
    flaw = _flaw(text)
    if flaw:
        raise Refusal(400, "bad_path", flaw)
    return text


def check_path(text: str) -> str:
    """The same for what stands in a file: raises ValueError."""
    flaw = _flaw(text)
    if flaw:
        raise ValueError(flaw)
    return text


def _flaw(text: str) -> str:
    """What is wrong with a path, if anything."""
    parts = text.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "a path is relative, without empty, `.` or `..` parts"
    if not text.isprintable() and any(category(char) in _UNFIT for char in text):
        return CONTROL
    long = len(text) * 4 > LONGEST_NAME  # only then can it be too long
    if long and (len(text.encode()) > LONGEST_PATH or any(len(part.encode()) > LONGEST_NAME for part in parts)):
        return f"a name has at most {LONGEST_NAME} bytes, and a path {LONGEST_PATH}"
    return ""


def parse_folder(text: str) -> str:
    """A folder, with or without its slash; nothing is the outermost."""
    text = text.removesuffix("/")
    return parse_path(text) if text else ""


def parse_after(text: str) -> str:
    """What a page begins behind: nothing, or the last of the page before."""
    parse_folder(text)
    return text


def parse_count(text: str | None) -> int:
    """How many there may be on a page."""
    if text is None:
        return MOST_ENTRIES
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= MOST_ENTRIES):
        raise Refusal(400, "bad_count", f"`count` is a number from 1 to {MOST_ENTRIES}")
    return int(text)


def parse_size(text: str) -> int:
    """How many bytes somebody would write."""
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
        raise Refusal(400, "bad_size", "`size` and `coming` are numbers of bytes")
    return int(text)


class Rename(Frozen):
    """What is to be where."""

    path: Annotated[str, Field(alias="from", description="the file or folder as it is called now")]
    to: Annotated[str, Field(description="its new path; the folder it will be in must be there")]
    replace: Annotated[Flag, Field(description="whether it takes the place of a file that is there already")] = False


class Stamp(Frozen):
    """When something was modified."""

    modified: Annotated[AwareDatetime, Field(description="a time with its zone, such as 2026-03-02T09:00:00Z")]


def parse_rename(body: bytes) -> Rename:
    """`{"from", "to", "replace"}`."""
    try:
        rename = Rename.model_validate_json(body)
    except ValidationError as error:
        raise _bad_body(error, '{"from": "inbox/a.csv", "to": "archive/a.csv", "replace": false}') from None
    parse_path(rename.path), parse_path(rename.to)
    return rename


def parse_stamp(body: bytes) -> datetime:
    """`{"modified"}`."""
    try:
        return Stamp.model_validate_json(body).modified.astimezone(UTC)
    except ValidationError as error:
        raise _bad_body(error, '{"modified": "2026-03-02T09:00:00Z"}') from None
    except OverflowError:
        raise Refusal(400, "bad_body", "`modified` is not a time that can be kept") from None


def _bad_body(error: ValidationError, example: str) -> Refusal:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return Refusal(400, "bad_body", f"{where}: {first['msg']}; expected {example}".removeprefix(": "))


def render_files(files: Iterable[tuple[str, int]], after: str = "") -> dict[str, Any]:
    """Paths and sizes, in order of path; what the next page begins behind, if there is one."""
    listing: dict[str, Any] = {"files": [{"path": path, "size": size} for path, size in files]}
    return listing | ({"next": after} if after else {})


def render_entries(entries: Iterable[Entry], after: str = "") -> dict[str, Any]:
    """What is in a folder, in order of name."""
    return {"entries": [_about(entry, "name") for entry in entries]} | ({"next": after} if after else {})


def render_stat(entry: Entry) -> dict[str, Any]:
    """What is at a path."""
    return _about(entry, "path")


def _about(entry: Entry, key: str) -> dict[str, Any]:
    """Whether it is complete is not said: no protocol does, and an agent has to find out as it would there."""
    name, folder, size, modified = entry
    return {key: name, "folder": folder, "size": size, "modified": modified}
