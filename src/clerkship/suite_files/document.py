"""JSON texts that records are read from: a JSON file, an NDJSON file, or records in a YAML file; positions in them."""

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import BinaryIO, Protocol

import orjson

from clerkship.model.errors import InputProblem
from clerkship.suite_files.source import Unreadable
from clerkship.suite_files.yaml import SourceLocation

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
MAX_BYTES = 2_000_000_000
MAX_TEXT_BYTES = 200_000_000
"""Maximum size of one JSON text. It is parsed as a whole, which takes several times its size in memory."""
CHUNK_SIZE = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""A byte order mark, which some editors write."""
_LINE_SUFFIXES = (".ndjson", ".jsonl")
SUFFIXES = (".json", *_LINE_SUFFIXES)
_IGNORED_SUFFIXES = (".yml", ".yaml", ".py", ".md", "LICENSE", "Makefile")
"""Files that are often beside data files; no warning is given about them."""
_MAX_SHOWN = 5
JsonPath = tuple[int | str, ...]


class JsonPositions:
    """The positions of values in one JSON text. Scanned parts are cached."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8-sig", errors="replace")
        self._children: dict[int, dict[int | str, int]] = {}

    def locate(self, path: JsonPath) -> tuple[int, int]:
        """Return the line and column of a path, or of its nearest existing parent."""
        at = self._after_space(0)
        for part in path:
            child = self._find_children(at).get(part)
            if child is None:
                break
            at = child
        line = self._text.count("\n", 0, at) + 1
        return line, at - (self._text.rfind("\n", 0, at) + 1) + 1

    def _after_space(self, at: int) -> int:
        space = _SPACE.match(self._text, at)
        return space.end() if space is not None else at

    def _find_children(self, at: int) -> dict[int | str, int]:
        if at not in self._children:
            try:
                self._children[at] = self._scan_children(at)
            except (ValueError, IndexError, RecursionError):
                self._children[at] = {}
        return self._children[at]

    def _scan_children(self, at: int) -> dict[int | str, int]:
        """Return the start of each child of the map or list at an offset."""
        opening = self._text[at]
        children: dict[int | str, int] = {}
        if opening not in "{[":
            return children
        at = self._after_space(at + 1)
        while self._text[at] not in "}]":
            name: int | str = len(children)
            if opening == "{":
                name, at = scanstring(self._text, at + 1)
                at = self._after_space(self._after_space(at) + 1)
            children[name] = at
            _, at = _DECODER.raw_decode(self._text, at)
            at = self._after_space(at)
            if self._text[at] == ",":
                at = self._after_space(at + 1)
        return children


class Document(Protocol):
    """A source of JSON texts."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def digest(self) -> bytes:
        """A hash of its content."""

    @property
    def is_blank(self) -> bool:
        """Whether it contains only white space."""

    @property
    def is_lines(self) -> bool:
        """Whether each line is a separate text."""

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Yield each JSON text with its line number. The number is 0 if the whole document is one text."""

    def problem(self, line: int, path: JsonPath, message: str, hint: str = "") -> InputProblem:
        """Return a problem at a line, or at a path in the whole document."""


class FileDocument:
    """A file, compressed or not. It is read in chunks: once to hash it, and again when its texts are requested."""

    def __init__(self, file: Path, name: str) -> None:
        self.file, self.name = str(file), name
        plain = name.removesuffix(".gz")
        self.is_lines = plain.endswith(_LINE_SUFFIXES)
        self._is_compressed = plain != name
        self.size, self.is_blank, digest = 0, True, hashlib.sha256()
        with _convert_read_errors(), self._open() as opened:
            longest = _TextLengthCheck(whole=not self.is_lines)
            while chunk := opened.read(CHUNK_SIZE):
                self.size += len(chunk)
                if self.size > MAX_BYTES:
                    raise Unreadable(f"it has more than {MAX_BYTES // 1_000_000:,} MB", "split it")
                longest.add(chunk)
                digest.update(chunk)
                self.is_blank = self.is_blank and chunk.isspace()
        self.digest = digest.digest()

    def _open(self) -> BinaryIO | gzip.GzipFile:
        return gzip.open(self.file) if self._is_compressed else Path(self.file).open("rb")

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Yield each JSON text with its line number. The number is 0 if the whole document is one text."""
        with _convert_read_errors(), self._open() as opened:
            if not self.is_lines:
                yield 0, opened.read().removeprefix(_BYTE_ORDER_MARK)
                return
            for number, line in enumerate(opened, 1):
                text = (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line).rstrip()
                if text:
                    yield number, text

    def problem(self, line: int, path: JsonPath, message: str, hint: str = "") -> InputProblem:
        """Return a problem at a line, or at a path in the whole document."""
        row, column = (line or 1, 0) if line or self.is_lines else self._positions.locate(path)
        return InputProblem(
            file=self.file, line=row, column=column, key=format_json_path(path), message=message, hint=hint
        )

    @cached_property
    def _positions(self) -> JsonPositions:
        return JsonPositions(b"".join(text for _, text in self.texts()))


class _TextLengthCheck:
    """Raises Unreadable for a JSON text that is too long to be parsed, without keeping the text in memory."""

    def __init__(self, *, whole: bool) -> None:
        self._whole, self._length = whole, 0

    def add(self, chunk: bytes) -> None:
        end = -1 if self._whole else chunk.rfind(b"\n")
        self._length = self._length + len(chunk) if end < 0 else len(chunk) - 1 - end
        if self._length > MAX_TEXT_BYTES:
            what = "it is one JSON text of" if self._whole else "one of its lines has"
            hint = "write one record per line into an .ndjson file"
            raise Unreadable(f"{what} more than {MAX_TEXT_BYTES // 1_000_000} MB", hint)


@contextmanager
def _convert_read_errors() -> Iterator[None]:
    """Raise Unreadable for a file that cannot be read or decompressed."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:  # gzip raises BadGzipFile, an OSError without a strerror
        why = getattr(error, "strerror", None) or f"not a complete gzip file ({error})"
        raise Unreadable(f"it cannot be read: {why}") from None


class InlineDocument:
    """One of the `records` in the dataset's own file."""

    def __init__(self, locate: Callable[..., SourceLocation], number: int, record: object) -> None:
        self._locate, self._number = locate, number
        self.name = f"records[{number}]"
        self.is_lines = self.is_blank = False
        self._data = orjson.dumps(record)
        self.digest = hashlib.sha256(self._data).digest()

    def texts(self) -> Iterator[tuple[int, bytes]]:
        """Yield the record."""
        yield 0, self._data

    def problem(self, line: int, path: JsonPath, message: str, hint: str = "") -> InputProblem:
        """Return a problem at a path in the record."""
        location = self._locate("records", self._number, *path)
        key = format_json_path(("records", self._number, *path))
        return InputProblem(
            file=location.file, line=location.line, column=location.column, key=key, message=message, hint=hint
        )


def format_json_path(path: JsonPath) -> str:
    """Return a path as text: `entry[3].resource.birthDate`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


@dataclass(frozen=True)
class FileFormats:
    """The files that a type of dataset can read, by suffix. Each may be compressed (`.gz`)."""

    what: str
    """What the files contain, for messages."""
    suffixes: tuple[str, ...] = SUFFIXES

    def is_readable(self, name: str) -> bool:
        """Return whether a file of this name can be read."""
        return name.removesuffix(".gz").endswith(self.suffixes)


def open_document(file: Path, formats: FileFormats) -> FileDocument:
    """Open the file that a dataset gives. Raise Unreadable."""
    if not file.is_file():
        raise Unreadable("it is not a file", "use `folder` for a folder" if file.is_dir() else "")
    if not formats.is_readable(file.name):
        hint = f"expected a name that ends in {_join_names(formats.suffixes)}, with .gz or without"
        raise Unreadable("its format is unknown", hint)
    return FileDocument(file, file.name)


def open_document_folder(
    folder: Path, formats: FileFormats, warn: Callable[[InputProblem], None]
) -> list[FileDocument]:
    """Open every readable file in a folder and its subfolders, in order of name. Raise Unreadable.

    Warn about files of other formats, because the author may have meant to include them.
    """
    if not folder.is_dir():
        raise Unreadable("it is not a folder", "use `file` for a file")
    root, documents = folder.resolve(), list[FileDocument]()
    for place, folders, names in os.walk(folder, onerror=_raise_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith(".") or not formats.is_readable(name):
                continue
            if not path.resolve().is_relative_to(root):
                raise Unreadable(f"{name} is a link to a file outside the folder")
            documents.append(FileDocument(path, path.relative_to(folder).as_posix()))
    if not documents:
        hint = f"expected files that end in {_join_names(formats.suffixes)}, with .gz or without"
        raise Unreadable(f"it contains no {formats.what}", hint)
    if sum(document.size for document in documents) > MAX_BYTES:
        raise Unreadable(f"it has more than {MAX_BYTES // 1_000_000:,} MB")
    warning = _build_skipped_files_warning(folder, formats)
    if warning is not None:
        warn(warning)
    return documents


def _build_skipped_files_warning(folder: Path, formats: FileFormats) -> InputProblem | None:
    """Return a warning that lists the files that `open_document_folder` skips; None if there are none."""
    names = sorted(
        Path(place, name).relative_to(folder).as_posix()
        for place, folders, files in os.walk(folder)
        for name in files
        if not name.startswith(".")
        and not formats.is_readable(name)
        and not name.removesuffix(".gz").endswith(_IGNORED_SUFFIXES)
        and not any(part.startswith(".") for part in Path(place).relative_to(folder).parts)
    )
    if not names:
        return None
    listed = ", ".join(names[:_MAX_SHOWN]) + (
        f" and {len(names) - _MAX_SHOWN:,} more" if len(names) > _MAX_SHOWN else ""
    )
    message = f"{len(names):,} file{'s are' if len(names) > 1 else ' is'} not read: {listed}"
    return InputProblem(
        file=str(folder), message=message, hint=f"only files that end in {_join_names(formats.suffixes)} are read"
    )


def _raise_unreadable(error: OSError) -> None:
    raise Unreadable(f"{Path(str(error.filename)).name} cannot be read: {error.strerror}")


def _join_names(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
