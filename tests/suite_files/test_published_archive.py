"""Published archives: the same bytes everywhere, and a clear refusal of everything that is not one."""

import gzip
import io
import os
import shutil
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.model.errors import InputError
from clerkship.suite_files.datasets import ALL_TASKS
from clerkship.suite_files.published import archive as archives
from clerkship.suite_files.published.archive import open_archive, open_built, read_manifest
from clerkship.suite_files.published.places import PACKED_SUFFIX, SUFFIX, find_suite
from clerkship.suite_files.published.reading import ArchiveLoader, load_archive
from clerkship.suite_files.published.recordings import find_recordings
from clerkship.suite_files.published.zip_layout import MAX_ENTRIES, BadLayout, StoredEntry, build_zip
from tests.suite_files.small_archive import (
    Contents,
    build_small_archive,
    change_contents,
    find_entry,
    pack_contents,
    read_contents,
    write_suite,
    zip_entries,
)

ROOT = Path(__file__).parents[2]
MAX_MEMORY = 40_000_000
"""Bytes that the refusal of a bad archive may take: more than any part of it that is read as a whole."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build_small_archive(tmp_path_factory.mktemp("good"))


def read_all(path: Path) -> None:
    """Read everything that is in an archive, in every way."""
    open_archive(path).check()
    load_archive(path)
    find_recordings(path)


def refuse(path: Path, data: bytes) -> str:
    """Return why an archive is refused. It is named, nothing else is written, and memory is bounded."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read_all(path)
        assert tracemalloc.get_traced_memory()[1] < MAX_MEMORY + len(data)
    finally:
        tracemalloc.stop()
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    assert problem.hint
    assert problem.message.isprintable()
    return problem.message


def test_layout_is_that_of_a_zip_file_without_compression(good: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        assert file.testzip() is None
        assert zip_entries([(name, file.read(name)) for name in file.namelist()]) == good
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert pack_contents(read_contents(good)).startswith(b"PK\x03\x04")


def test_library_has_what_the_suite_has(good: bytes, tmp_path: Path) -> None:
    library = ArchiveLoader(open_built(tmp_path / "note@1.clerkship", good)).load(ALL_TASKS)
    (loaded,) = library.tasks.values()
    assert loaded.task.task_item == {"instruction": "Answer with the name of M-1."}
    assert loaded.entities["patient"]["name"] == "Maria López"
    assert [variant.name for variant in loaded.task.wrong] == ["the other patient"]
    assert loaded.solution is not None


def test_manifest_alone_is_read_from_plain_and_packed_archives(good: bytes, tmp_path: Path) -> None:
    plain, packed, cut = (tmp_path / name for name in (f"a{SUFFIX}", f"a{PACKED_SUFFIX}", f"b{SUFFIX}"))
    plain.write_bytes(good)
    packed.write_bytes(gzip.compress(good))
    archive = open_archive(plain)
    assert read_manifest(plain) == read_manifest(packed) == (archive.manifest, archive.digest)
    for place in (0, 10, 40, 200):
        cut.write_bytes(good[:place])
        with pytest.raises(InputError, match="not a whole archive"):
            read_manifest(cut)


def test_archive_cut_off_anywhere_is_refused(good: bytes, tmp_path: Path) -> None:
    step = len(good) // 30
    lengths = {0, 1, 4, 21, 22, 29, 30, 43, len(good) - 1, len(good) - 21, len(good) - 22, len(good) - 23}
    for length in sorted(lengths | set(range(0, len(good), step))):
        assert "it is not a whole archive" in refuse(tmp_path / f"{length}" / "a.clerkship", good[:length])


def test_data_before_between_or_after_the_entries_is_refused(good: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        second, start = file.infolist()[1].header_offset, file.start_dir
    between = good[:second] + b"more" + good[second:]
    for number, data in enumerate(
        (b"#!/bin/sh\n" + good, good + b"\n", good + good, between, good[:start] + b"x" + good[start:])
    ):
        message = refuse(tmp_path / f"{number}" / "a.clerkship", data)
        assert "it is not a whole archive" in message


def test_hidden_data_that_offsets_allow_is_refused(good: bytes, tmp_path: Path) -> None:
    """A ZIP reader accepts bytes before the first entry, between entries, and before the directory."""
    for number, place in enumerate((0, 1, None)):
        message = refuse(tmp_path / f"{number}" / "a.clerkship", insert_with_offsets(good, place))
        assert "does not follow" in message


def insert_with_offsets(data: bytes, place: int | None) -> bytes:
    """Return a ZIP file with hidden bytes before an entry, or before the directory, and offsets that fit."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        offsets, start = [info.header_offset for info in file.infolist()], file.start_dir
    at = start if place is None else offsets[place]
    result = bytearray(data[:at] + b"hidden" + data[at:])
    position = start + 6
    for offset in offsets:
        struct.pack_into("<L", result, position + 42, offset + 6 * (offset >= at))
        position += 46 + struct.unpack_from("<H", result, position + 28)[0]
    struct.pack_into("<L", result, len(result) - 6, start + 6)
    return bytes(result)


def test_each_changed_byte_is_refused(good: bytes, tmp_path: Path) -> None:
    """Headers, data, directory and end: no byte of an archive can be another one."""
    path = tmp_path / "a.clerkship"
    accepted = []
    for position in range(0, len(good), 31):
        path.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        try:
            open_archive(path).check()
        except InputError:
            continue
        accepted.append(position)
    assert accepted == []


@pytest.mark.parametrize("start", ["manifest", "tasks/", "datasets/", "environments/", "sources/", "variants/"])
def test_changed_data_names_the_entry(good: bytes, tmp_path: Path, start: str) -> None:
    name = find_entry(read_contents(good), start)
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        data = file.read(name)
    changed = good.replace(data, data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    assert f"the entry `{name}` was changed" in refuse(tmp_path / "a.clerkship", changed)


def test_data_and_crc_changed_together_do_not_fit_the_manifest(good: bytes, tmp_path: Path) -> None:
    contents = read_contents(good)
    manifest, name = contents["manifest.json"], find_entry(contents, "tasks/")
    raw = {key: each if isinstance(each, bytes) else orjson.dumps(each) for key, each in contents.items()}
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        raw = {each: file.read(each) for each in file.namelist()}
    raw[name] = raw[name].replace(b"Answer", b"Forget")
    assert manifest["entries"][name]["size"] == len(raw[name])
    message = refuse(tmp_path / "a.clerkship", zip_entries(list(raw.items())))
    assert message == f"the entry `{name}` was changed: its SHA-256 is not that of the manifest"
    raw[name] += b" "
    message = refuse(tmp_path / "b" / "a.clerkship", zip_entries(list(raw.items())))
    assert message == f"the entry `{name}` was changed: its size is not that of the manifest"


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/passwd", "a/../../b", "a\\..\\b", "C:/x", "a//b", "folder/", ".", "", "é", "\x1b[2J"],
)
def test_entry_with_a_path_that_is_not_plain_is_refused(good: bytes, tmp_path: Path, name: str) -> None:
    entries = [(info, b"x") for info in ("manifest.json", "other")]
    data = zip_entries(entries).replace(b"other", name.encode().ljust(5, b"/")[:5]) if len(name) == 5 else b""
    data = data or change_contents(good, lambda contents: contents.update({name: b"x"}))
    message = refuse(tmp_path / "a.clerkship", data)
    assert "path that leaves the archive" in message or "is not a plain one" in message or "date or other" in message


def test_nul_in_a_name_is_refused(good: bytes, tmp_path: Path) -> None:
    name = find_entry(read_contents(good), "tasks/").encode()
    assert "is not a plain one" in refuse(tmp_path / "a.clerkship", good.replace(name, name[:-6] + b"\x00.json"))


@pytest.mark.parametrize("mode", [0o120777, 0o040755, 0o020644, 0o010644])
def test_link_or_special_file_is_refused(good: bytes, tmp_path: Path, mode: int) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        entries = [(name, file.read(name)) for name in file.namelist()]
    data = zip_entries(entries, external_attr=mode << 16)
    assert "is a link or a special file" in refuse(tmp_path / "a.clerkship", data)


def test_zip_bomb_is_refused_without_being_unpacked(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", b" " * 30_000_000)
    assert len(buffer.getvalue()) < 40_000
    message = refuse(tmp_path / "a.clerkship", buffer.getvalue())
    assert message == "the entry `manifest.json` is compressed; entries are stored as they are"


def test_packed_bomb_is_refused_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_PACKED_BYTES", 3_000_000)
    data = gzip.compress(b"PK" + bytes(30_000_000))
    assert "more than 3 MB when it is unpacked" in refuse(tmp_path / "a.clerkship.gz", data)
    data = gzip.compress(os.urandom(3_000))
    for number, broken in enumerate((data[: len(data) // 2], data[:100] + b"\xff" * 50 + data[150:], b"no gzip")):
        assert "it cannot be unpacked" in refuse(tmp_path / f"{number}" / "a.clerkship.gz", broken)


@pytest.mark.parametrize("size", [0, 1, 500_000_000, 0xFFFFFFFF])
def test_size_that_is_not_that_of_the_data_is_refused(good: bytes, tmp_path: Path, size: int) -> None:
    start = good.index(b"PK\x01\x02")
    data = bytearray(good)
    struct.pack_into("<2L", data, start + 20, size, size)
    message = refuse(tmp_path / "a.clerkship", bytes(data))
    assert "does not follow the one before it" in message
    struct.pack_into("<2L", data, 18, size, size)  # in the header before the data too
    assert refuse(tmp_path / "b" / "a.clerkship", bytes(data)) == message


def test_overlapping_entries_are_refused(tmp_path: Path) -> None:
    """A bomb of one block of data that many entries share."""
    data = bytearray(zip_entries([("manifest.json", b"{}"), ("a", b"x"), ("b", b"x")]))
    last = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, last + 42, struct.unpack_from("<L", data, data.index(b"PK\x01\x02") + 42)[0])
    assert "they overlap, or have a gap" in refuse(tmp_path / "a.clerkship", bytes(data))


def test_zip64_records_are_refused(good: bytes, tmp_path: Path) -> None:
    """They could say 100,000 entries where the short record says three."""
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        start, count = file.start_dir, len(file.namelist())
    end = len(good) - 22
    fields = (44, 45, 45, 0, 0, 100_000, 100_000, end - start, start)
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", *fields)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    short = bytearray(good[end:])
    for number, changed in enumerate((count, 0xFFFF)):
        struct.pack_into("<2H", short, 8, changed, changed)
        message = refuse(tmp_path / f"{number}" / "a.clerkship", good[:end] + record + locator + bytes(short))
        assert "not a whole archive" in message or "the limit is 20,000" in message
    struct.pack_into("<2H2L", short, 8, count, count, 0xFFFFFFFF, 0xFFFFFFFF)
    assert "not a whole archive" in refuse(tmp_path / "c" / "a.clerkship", good[:end] + record + locator + bytes(short))


def test_archive_of_100_000_entries_is_refused_before_they_are_read(tmp_path: Path) -> None:
    directory = b"".join(StoredEntry(f"{number:05}", number * 35, 0, 0).record for number in range(100_000))
    expected = ("the limit is 20,000", "another size than it says", "has more than 20000 entries")
    for said, message in zip((100_000 % 0x10000, 1, MAX_ENTRIES), expected, strict=True):
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, said, said, len(directory), 3_500_000, 0)
        assert message in refuse(tmp_path / f"{said}" / "a.clerkship", bytes(3_500_000) + directory + end)
    with pytest.raises(BadLayout, match="20,001 entries"):
        build_zip((f"{number}", b"") for number in range(MAX_ENTRIES + 1))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(good: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        entries = [(name, file.read(name)) for name in file.namelist()]
    assert refuse(tmp_path / "a.clerkship", zip_entries([*entries, entries[0]])) == (
        "it has two entries `manifest.json`"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"flag_bits": 1}, "is encrypted"),
        ({"comment": b"x"}, "has a record that archives do not have"),
        ({"extra": struct.pack("<2HQ", 1, 8, 5)}, "has a record that archives do not have"),
        ({"internal_attr": 1}, "has a record that archives do not have"),
        ({"compress_type": zipfile.ZIP_LZMA}, "is compressed"),
    ],
)
def test_field_that_archives_do_not_have_is_refused(
    good: bytes, tmp_path: Path, fields: dict[str, Any], expected: str
) -> None:
    data = zip_entries([("manifest.json", b"{}")], **{name: each for name, each in fields.items() if name[0] != "f"})
    if "flag_bits" in fields:
        data = data.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    assert expected in refuse(tmp_path / "a.clerkship", data)


def test_comment_and_disks_at_the_end_are_refused(good: bytes, tmp_path: Path) -> None:
    for number, (place, value) in enumerate(((4, 1), (6, 1), (20, 9))):
        data = bytearray(good)
        struct.pack_into("<H", data, len(data) - 22 + place, value)
        assert "not a whole archive" in refuse(tmp_path / f"{number}" / "a.clerkship", bytes(data))


@pytest.mark.parametrize("format", [2, 0, "1", None, [1]])
def test_other_major_version_is_refused_with_what_to_use(good: bytes, tmp_path: Path, format: object) -> None:
    data = change_contents(good, lambda contents: contents["manifest.json"].update(format=format))
    message = refuse(tmp_path / "a.clerkship", data)
    assert message.startswith("it has format")


def test_missing_plugin_is_named_with_how_to_install_it(good: bytes, tmp_path: Path) -> None:
    data = change_contents(good, lambda contents: contents["manifest.json"].update(plugins={"clerkship-pager": "1.2"}))
    assert refuse(tmp_path / "a.clerkship", data) == (
        "note@1 needs a plug-in that is not installed: clerkship-pager 1.2"
    )


def test_large_manifest_is_refused_before_it_is_read(tmp_path: Path) -> None:
    data = zip_entries([("manifest.json", bytes(20_000_001))])
    assert refuse(tmp_path / "a.clerkship", data) == (
        "the entry `manifest.json` has 20,000,001 bytes; the limit is 20,000,000"
    )


def test_large_signature_is_refused(good: bytes, tmp_path: Path) -> None:
    data = change_contents(good, lambda contents: contents.update({"signature.json": b"{" * 10_001}))
    assert "the limit is 10,000" in refuse(tmp_path / "a.clerkship", data)


def test_entry_that_is_missing_or_extra_is_refused(good: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        entries = [(name, file.read(name)) for name in file.namelist()]
    assert refuse(tmp_path / "a.clerkship", zip_entries([*entries, ("extra", b"")])) == (
        "it has an entry `extra` that its manifest does not name"
    )
    lost = entries.pop()[0]
    assert refuse(tmp_path / "b" / "a.clerkship", zip_entries(entries)) == (
        f"it lacks the entry `{lost}`, which its manifest names"
    )
    assert "it has no `manifest.json`" in refuse(tmp_path / "c" / "a.clerkship", zip_entries(entries[1:]))
    assert "it has no `manifest.json`" in refuse(tmp_path / "d" / "a.clerkship", zip_entries([]))


DEEP = b"[" * 900 + b"]" * 900
DEEPER = b"[" * 200_000 + b"]" * 200_000


def replace_entry(start: str, data: bytes) -> Callable[[Contents], object]:
    """Return a function that replaces the first entry of a folder."""
    return lambda contents: contents.update({find_entry(contents, start): data})


BAD_JSON = (DEEP, DEEPER, b'{"a":' * 900 + b"1" + b"}" * 900, b"", b"{", b"null", b"1", b"[]", b"{}", b"\xff\xfe")


@pytest.mark.parametrize("start", ["manifest.json", "tasks/", "environments/", "variants/", "datasets/"])
def test_entry_that_is_not_what_it_should_be_is_refused(good: bytes, tmp_path: Path, start: str) -> None:
    for number, data in enumerate(BAD_JSON):
        if start == "datasets/" and not data.startswith(b"{"):
            continue  # it is a dataset of lines, whose first line is its type
        assert refuse(tmp_path / f"{number}" / "a.clerkship", change_contents(good, replace_entry(start, data)))


def _set(path: str, value: object) -> Callable[[Contents], object]:
    """Return a function that sets a value in an entry, by the start of its name and keys."""

    def change(contents: Contents) -> None:
        start, *keys = path.split(" ")
        place = contents[find_entry(contents, start)]
        for key in keys[:-1]:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(keys[-1]) if isinstance(place, list) else keys[-1]] = value

    return change


NESTED = orjson.Fragment(DEEP)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("manifest slug", "../note", "its manifest is invalid: slug"),
        ("manifest slug", "other", "has a benchmark of another name"),
        ("manifest version", 0, "its manifest is invalid: version"),
        ("manifest version", 7, "has a benchmark of another name"),
        ("manifest canary", NESTED, "its manifest is invalid: canary"),
        ("manifest more", 1, "its manifest is invalid: more"),
        ("manifest plugins", {"x; rm -rf /": "1"}, "its manifest is invalid: plugins"),
        ("manifest recordings", {"../../evil.jsonl": "x"}, "is not one that stays in its folder on every system"),
        ("manifest recordings", {"/evil.jsonl": "x"}, "is not one that stays in its folder on every system"),
        ("manifest recordings", {"a\\b": "x"}, "is not one that stays in its folder on every system"),
        ("manifest recordings", {"\x1b[2J": "x"}, "its manifest is invalid: 'recordings"),
        ("manifest recordings", {"a.jsonl": "nothing"}, "its manifest names no entry `nothing`"),
        ("manifest tasks 0 file", "../../etc/passwd", "is not one that stays in its folder on every system"),
        ("manifest tasks 0 entry", "nothing", "its manifest names no entry `nothing`"),
        ("manifest tasks 0 environment", "nowhere", "has no environment `nowhere`"),
        ("manifest tasks 0 name", "Another", "has another task: `Answer the note`"),
        ("manifest datasets", [], "its manifest has no dataset `patients`"),
        ("manifest prompts", {"judge": "manifest.json"}, "its manifest names no entry `manifest.json`"),
        ("tasks/ solution", "signature.json", "its manifest names no entry `signature.json`"),
        ("tasks/ solution", 5, "is invalid: solution"),
        ("tasks/ entities", [], "is invalid: entities"),
        ("tasks/ entities", {"patient": {"name": NESTED}}, "is invalid: "),
        ("tasks/ task", {}, "is invalid: task."),
        ("tasks/ task task_item", NESTED, "is invalid: "),
        ("environments/ environment", None, "is invalid: "),
        ("variants/ wrong", 1, "is invalid: wrong"),
        ("variants/ wrong 0 source", "nothing", "its manifest names no entry `nothing`"),
        ("variants/ wrong 0 name", {}, "is invalid: name"),
        ("datasets/", b'{"type": "records"}', "is not a dataset"),
        ("datasets/", b'{"type": "records", "records": 1, "files": {}}', "is not a dataset"),
        ("datasets/", b'{"type": "files", "records": [], "files": {"a": "\xe2\x82\xac"}}', "is not a dataset"),
        ("sources/", b"\xff\xfe\x00", "is not text in UTF-8"),
    ],
)
def test_crafted_content_with_hashes_that_fit_is_refused(
    good: bytes, tmp_path: Path, path: str, value: Any, expected: str
) -> None:
    change = replace_entry(path, value) if isinstance(value, bytes) else _set(path, value)
    assert expected in refuse(tmp_path / "a.clerkship", change_contents(good, change))


def test_two_tasks_of_one_name_are_refused(good: bytes, tmp_path: Path) -> None:
    data = change_contents(
        good, lambda contents: contents["manifest.json"].update(tasks=contents["manifest.json"]["tasks"] * 2)
    )
    assert "its manifest has two tasks `Answer the note`" in refuse(tmp_path / "a.clerkship", data)


def test_recordings_that_do_not_fit_into_a_folder_are_refused(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One name is a file and a folder, or too long for a file system."""
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    for number, names in enumerate((("a", "a/b"), ("x" * 300,))):

        def change(contents: Contents, names: tuple[str, ...] = names) -> None:
            entry = find_entry(contents, "sources/")
            contents["manifest.json"]["recordings"] = dict.fromkeys(names, entry)

        path = tmp_path / f"{number}.clerkship"
        path.write_bytes(change_contents(good, change))
        with pytest.raises(InputError, match="cannot be written"):
            find_recordings(path)


def test_file_under_the_name_of_another_version_is_refused(good: bytes, tmp_path: Path) -> None:
    """Versions are found by the names of files."""
    for name in ("chart@1.clerkship", "note@2.clerkship", "note@1.for-agents.clerkship"):
        assert (
            refuse(tmp_path / name.replace("@", "-") / name, good) == "it contains note@1, which its name does not say"
        )
    (tmp_path / "note@1.clerkship").write_bytes(good)
    assert open_archive(tmp_path / "note@1.clerkship").manifest.name == "note@1"


def test_damaged_archive_is_not_in_the_way_of_another(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".clerkship" / "published"
    folder.mkdir(parents=True)
    (folder / "a@1.clerkship").write_bytes(good[:-9])
    (folder / "note@1.clerkship").write_bytes(good)
    monkeypatch.chdir(tmp_path)
    digest = open_archive(folder / "note@1.clerkship").digest
    assert find_suite(Path(f"sha256:{digest[:12]}")) == folder / "note@1.clerkship"


def test_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"PK", b"hello" * 100, b"PK\x05\x06" + bytes(18), zlib.compress(b"x"))):
        assert refuse(tmp_path / f"{number}" / "a.clerkship", data)
    with pytest.raises(InputError, match="cannot be read"):
        open_archive(tmp_path / "none.clerkship")


def publish_elsewhere(folder: Path, interpreter: list[str], **environ: str) -> bytes:
    """Return the archive that another process publishes from a copy of the suite."""
    suite = write_suite(folder / "of another name")
    environment = {**os.environ, **environ, "CLERKSHIP_CACHE": str(folder / "cache")}
    command = [*interpreter, "-m", "clerkship", "publish", str(suite), "--as", "note@1", "--to", str(folder / "to")]
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True, timeout=120)
    return (folder / "to" / "note@1.clerkship").read_bytes()


def test_another_process_folder_and_time_zone_publish_the_same_bytes(good: bytes, tmp_path: Path) -> None:
    environ = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    assert publish_elsewhere(tmp_path, [sys.executable], **environ) == good


def find_python(version: str) -> str | None:
    """Return another Python: one on the path that starts, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = [str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))]
    found = shutil.which(f"python{version}")
    return next((each for each in (*installed, found) if each and starts(each)), None)


def starts(python: str) -> bool:
    """Return whether a program starts: the shims of pyenv are there without a Python."""
    return subprocess.run([python, "--version"], capture_output=True, check=False, timeout=30).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_another_python_publishes_the_same_bytes(good: bytes, tmp_path: Path, version: str) -> None:
    python, uv = find_python(version), shutil.which("uv")
    if python is None or uv is None:
        pytest.skip(f"Python {version} or uv is not installed")
    environ = {"UV_PROJECT_ENVIRONMENT": str(tmp_path / "environment")}
    command = [uv, "run", "--quiet", "--project", str(ROOT), "--python", python, "python"]
    assert publish_elsewhere(tmp_path, command, **environ) == good
