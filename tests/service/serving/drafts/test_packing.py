"""Archives are packed and taken apart without loss, and refused in bounded memory."""

import gzip
import io
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from clerkship.service.serving.drafts import packing
from clerkship.service.serving.drafts.packing import pack, read_suite_folder, unpack
from tests.service.serving.drafts.small_suite import FILES


def build_tar(entries: list[tarfile.TarInfo]) -> bytes:
    """Return a gzipped tar archive of entries, each with zeros as its content."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(b"\0" * entry.size) if entry.isreg() else None)
    return packed.getvalue()


def build_entry(name: str, size: int = 0, **fields: object) -> tarfile.TarInfo:
    """Return an entry of a tar archive."""
    entry = tarfile.TarInfo(name)
    entry.size = size
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry


def build_zip(files: dict[str, bytes], mode: int = 0) -> bytes:
    """Return a ZIP archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return packed.getvalue()


def test_packed_files_are_unpacked_byte_for_byte_and_the_archive_depends_on_them_alone() -> None:
    packed = pack(FILES)
    assert unpack(packed) == FILES
    assert pack(dict(reversed(FILES.items()))) == packed


def test_zip_plain_tar_and_the_archive_of_a_folder_are_taken_too(tmp_path: Path) -> None:
    assert unpack(build_zip({**FILES, "notes/": b""})) == FILES
    for path, data in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(tmp_path, ".")
    assert unpack(packed.getvalue()) == FILES
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("secret")
    assert read_suite_folder(tmp_path) == FILES


@pytest.mark.parametrize(
    "name",
    [
        "../a.yml",
        "/etc/a.yml",
        "a/../../b",
        "C:\\a.yml",
        "a\\b",
        "a//b",
        "a\nb",
        ".git/hooks/x",
        "x" * 400,
        "d/" * 30 + "x",
    ],
)
def test_a_path_that_leaves_its_folder_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="path"):
        unpack(build_tar([build_entry(name)]))
    with pytest.raises(InputError, match="path"):
        unpack(build_zip({name: b""}))


@pytest.mark.parametrize(
    "entry",
    [
        build_entry("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        build_entry("link", type=tarfile.LNKTYPE, linkname="a"),
        build_entry("device", type=tarfile.CHRTYPE),
        build_entry("pipe", type=tarfile.FIFOTYPE),
    ],
)
def test_links_and_devices_are_refused(entry: tarfile.TarInfo) -> None:
    with pytest.raises(InputError, match="a link or a device"):
        unpack(build_tar([entry]))


def test_a_link_in_a_zip_file_is_refused() -> None:
    with pytest.raises(InputError, match="a link or a device"):
        unpack(build_zip({"link": b"/etc/passwd"}, mode=0o120777))


@pytest.mark.parametrize(
    "packed", [b"", b"not an archive", pack(FILES)[:-300], b"\x1f\x8b" + b"x" * 50, b"PK\x03\x04x", build_zip({})]
)
def test_what_is_no_complete_archive_is_refused(packed: bytes) -> None:
    with pytest.raises(InputError, match=r"not a complete archive|no files"):
        unpack(packed)


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two files"):
        unpack(build_tar([build_entry("a"), build_entry("./a")]))


def build_bombs() -> dict[str, bytes]:
    """Return small archives that stand for more than the limits of the test."""
    header = build_entry("x", type=tarfile.XHDTYPE, size=2**32).tobuf()
    compressed = gzip.compress(b" " * (FILE_BYTES + 2), 1)
    folder = build_entry("folder", type=tarfile.DIRTYPE).tobuf()
    return {
        "large file": build_tar([build_entry("a", FILE_BYTES + 1)]),
        "large file of a ZIP file": build_zip({"a": b"\0" * (FILE_BYTES + 1)}),
        "large together": build_tar([build_entry(str(number), FILE_BYTES) for number in range(5)]),
        "large header": gzip.compress(header + b"\0" * (20 * FILE_BYTES), 1),
        "100,000 entries": gzip.compress(folder * 100_000, 1),
        "entries of a ZIP file": build_zip({f"{number}": b"" for number in range(FILES_LIMIT * 20)}),
        "compressed dataset": pack({"a.ndjson.gz": compressed}),
    }


FILE_BYTES, FILES_LIMIT = 200_000, 100


def test_bombs_are_refused_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_FILE_BYTES", FILE_BYTES)
    monkeypatch.setattr(packing, "MAX_TOTAL_BYTES", 4 * FILE_BYTES)
    monkeypatch.setattr(packing, "MAX_FILES", FILES_LIMIT)
    monkeypatch.setattr(packing, "_MAX_DIRECTORY_BYTES", FILES_LIMIT * 500)
    for name, packed in build_bombs().items():
        tracemalloc.start()
        with pytest.raises(InputError, match=r"more than"):
            unpack(packed)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * 4 * FILE_BYTES, name
