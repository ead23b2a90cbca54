"""Datasets of OCR text: the words of pages by page hash, so that a suite runs without an OCR engine."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import Field

from clerkship.formats.fax_pages.ocr_text import InvalidPageText, build_words, dump_words, parse_words
from clerkship.formats.fax_pages.page import PageWords
from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.suite_files.dataset_type import DatasetSource, DatasetType
from clerkship.suite_files.entities import NoRecordFinder
from clerkship.suite_files.source import Unreadable

MAX_FILE_BYTES = 200_000_000
HASH_LENGTH = 64


class FaxTextsDatasetFile(DatasetFile):
    """The OCR text of the fax pages of a suite, which `clerkship fax ocr` writes."""

    type: Literal["fax_texts"]
    file: Annotated[str, Field(description="JSON file beside this one: page hash -> words with their boxes")]


def load_fax_texts(written: FaxTextsDatasetFile, source: DatasetSource) -> Dataset | None:
    """Load the words of pages. A line of the dataset is a page hash and its words."""
    lines = source.read("file", written.file, _read_lines)
    return None if lines is None else Dataset(name=written.name, type=written.type, lines=lines)


def write_fax_texts(pages: Iterable[tuple[str, PageWords]]) -> bytes:
    """Return the file of a dataset: a JSON object with one page a line, ordered by hash."""
    rows = [orjson.dumps(hash) + b":" + dump_words(words) for hash, words in sorted(pages, key=lambda page: page[0])]
    return b"{\n" + b",\n".join(rows) + b"\n}\n"


def read_fax_texts(path: Path) -> dict[str, PageWords]:
    """Read the file of a dataset. Raise Unreadable."""
    return {line[:HASH_LENGTH].decode(): parse_words(line[HASH_LENGTH + 1 :]) for line in _read_lines(path)}


def _read_lines(path: Path) -> tuple[bytes, ...]:
    """Return a line for each page. Raise Unreadable with the first mistake."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise Unreadable(f"larger than {MAX_FILE_BYTES:,} bytes")
        pages = orjson.loads(path.read_bytes())
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as invalid:
        raise Unreadable(f"not JSON: {invalid}", "write it again with `clerkship fax ocr`") from None
    if not isinstance(pages, dict):
        raise Unreadable("expected an object: page hash -> words", "write it again with `clerkship fax ocr`")
    return tuple(_render_line(hash, rows) for hash, rows in pages.items())


def _render_line(hash: str, rows: object) -> bytes:
    if len(hash) != HASH_LENGTH or not set(hash) <= set("0123456789abcdef"):
        raise Unreadable(f"{hash[:80]!r} is not the hash of a page", f"expected {HASH_LENGTH} hexadecimal digits")
    try:
        return f"{hash} ".encode() + dump_words(build_words(rows))
    except InvalidPageText as invalid:
        raise Unreadable(f"page {hash[:12]}…: {invalid}") from None


class ShippedTexts(Mapping[str, PageWords]):
    """The words of the pages of datasets, by page hash. Those of a page are parsed when they are read."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self._lines = {line[:HASH_LENGTH].decode(): line for dataset in datasets for line in dataset.lines or ()}

    def __getitem__(self, hash: str) -> PageWords:
        return parse_words(self._lines[hash][HASH_LENGTH + 1 :])

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


FAX_TEXTS_DATASET = DatasetType(
    name="fax_texts",
    summary="OCR text of fax pages, by page hash",
    model=FaxTextsDatasetFile,
    load=load_fax_texts,
    finder=NoRecordFinder,
)
