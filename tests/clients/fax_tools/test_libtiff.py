"""libtiff's programs read our TIFF files, and we read what they write."""

import re
from pathlib import Path

import pytest

from clerkship.formats.fax_pages.conversion import convert
from clerkship.formats.fax_pages.document import FaxDocument
from clerkship.formats.fax_pages.files import write_tiff
from tests.clients.fax_tools.programs import resolution_of, run, sample_pages


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fax.tiff"
    path.write_bytes(write_tiff(sample_pages()))
    return path


def hashes(path: Path) -> list[str]:
    document = FaxDocument(name=path.name, format="tiff", data=path.read_bytes())
    return [converted.page.hash for converted in convert(document, "fine")]


def test_tiffinfo_decodes_each_page_as_group_4_fax(file: Path) -> None:
    pages = sample_pages()
    printed = run("tiffinfo", "-D", file)
    assert re.findall(r"Image Width: (\d+) Image Length: (\d+)", printed) == [
        (str(page.width), str(page.height)) for page in pages
    ]
    found = [(float(x), float(y)) for x, y in re.findall(r"Resolution: ([\d.]+), ([\d.]+) pixels/inch", printed)]
    assert found == [resolution_of(page) for page in pages]
    for line in ("Compression Scheme: CCITT Group 4", "Photometric Interpretation: min-is-white", "Bits/Sample: 1"):
        assert printed.count(line) == len(pages)
    assert re.findall(r"Page Number: (\d+)-(\d+)", printed) == [
        (str(number), str(len(pages))) for number in range(len(pages))
    ]


@pytest.mark.parametrize("options", [("-c", "g4"), ("-c", "g3:2d"), ("-c", "lzw"), ("-c", "none", "-r", "16"), ("-B",)])
def test_pages_that_tiffcp_wrote_anew_are_the_same(file: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    copy = tmp_path / "copy.tiff"
    run("tiffcp", *options, file, copy)
    assert hashes(copy) == [page.hash for page in sample_pages()]


def test_page_that_tiffcp_takes_out_is_the_same(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.tiff"
    run("tiffcp", f"{file},1", copy)
    assert hashes(copy) == [sample_pages()[1].hash]
