"""Datasets of plain records in JSON, NDJSON and CSV files, and in folders."""

import gzip
from pathlib import Path

import pytest

from tests.suite_files.library_folder import LibraryFolder

TASK = "task: {name: T, entities: [{id: p, dataset: d, where: {id: '2'}}], task_item: {who: '{{ p.name }}'}}\n"
ADA, BEN = '{"id": "1", "name": "Ada"}', '{"id": "2", "name": "Ben"}'
FORMS = {
    "d.json": f"[{ADA},\n {BEN}]",
    "one.json": BEN,
    "d.ndjson": f"{ADA}\n\n{BEN}\n",
    "d.jsonl": f"{ADA}\n{BEN}",
    "d.csv": 'id,name\n1,"Ada, or ""A"""\n2,Ben\n',
    "bom.csv": "\ufeffid,name\r\n2,Ben\r\n",
}


def _write(folder: LibraryFolder, keys: str, **files: str) -> None:
    folder.write("d.yml", f"dataset: {{name: d, type: records, {keys}}}\n{TASK}")
    for name, text in files.items():
        (folder.root / name.replace("__", ".")).write_text(text, encoding="utf-8", newline="")


@pytest.mark.parametrize("name", FORMS)
def test_records_are_read_from_a_file(folder: LibraryFolder, name: str) -> None:
    _write(folder, f"file: {name}", **{name: FORMS[name]})
    library = folder.load()
    assert library.tasks["T"].task.task_item == {"who": "Ben"}
    assert {record["id"] for record in library.datasets["d"].records} <= {"1", "2"}
    assert (folder.root / name).resolve() in library.files


def test_inline_records_come_before_those_of_a_folder(folder: LibraryFolder) -> None:
    (folder.root / "data" / "below").mkdir(parents=True)
    (folder.root / "data" / "b.csv").write_text("id\n3\n")
    (folder.root / "data" / "a.json").write_text(BEN)
    (folder.root / "data" / "below" / "c.ndjson.gz").write_bytes(gzip.compress(b'{"id": "4"}'))
    (folder.root / "data" / "notes.txt").write_text("not data")
    _write(folder, "records: [{id: '1'}], folder: data")
    library = folder.load()
    assert [record["id"] for record in library.datasets["d"].records] == ["1", "2", "3", "4"]
    [warning] = folder.warnings()
    assert "1 file is not read: notes.txt; only files that end in .json, .ndjson, .jsonl or .csv are read" in warning


def test_hash_does_not_depend_on_the_file_format(folder: LibraryFolder) -> None:
    hashes = set()
    for keys in (f"records: [{ADA}, {BEN}]", "file: d.json", "file: d.ndjson"):
        _write(folder, keys, **{"d.json": FORMS["d.json"], "d.ndjson": FORMS["d.ndjson"]})
        hashes.add(folder.load().datasets["d"].hash)
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.json", '[{"id": 1},\n  5]', "d.json:2:3: [1]: expected a map, not a number"),
        ("d.json", '"text"', "d.json:1:1: expected a list of maps, or one map, not text"),
        ("d.json", '[{"id": 1},\n {"id" 2}]', "d.json:2:8: it is not JSON:"),
        ("d.ndjson", '{"id": 1}\n[1]\n', "d.ndjson:2:1: expected a map, not a list"),
        ("d.ndjson", '{"id": 1}\n\n{"id"\n', "d.ndjson:3:6: it is not JSON:"),
        ("d.csv", "id,name\n1,Ada\n2\n", "d.csv:3:1: expected 2 values as in the header row, not 1"),
        ("d.csv", 'id,name\n"1\n2",Ada\n3,B,C\n', "d.csv:4:1: expected 2 values as in the header row, not 3"),
        ("d.csv", "id,id\n1,2\n", "d.csv:1:1: two columns have the name `id`; rename one of them"),
        ("d.csv", "id,\n1,2\n", "d.csv:1:1: the header row must have a name for every column; write the names"),
        ("d.csv", "", "d.csv:1:1: the header row must have a name for every column"),
        ("d.csv", 'id,name\n1,"Ada\n', "d.csv:2:1: it is not CSV: unexpected end of data"),
    ],
)
def test_mistake_in_a_file_is_reported_with_its_line(folder: LibraryFolder, name: str, text: str, message: str) -> None:
    _write(folder, f"file: {name}", **{name: text})
    [line] = folder.lines()
    assert line.startswith(message), line


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("file: none.csv", "dataset.file: none.csv: there is no such file"),
        ("file: d.yml", "dataset.file: d.yml: its format is unknown; expected a name that ends in .json, .ndjson"),
        ("file: /etc/passwd", "dataset.file: /etc/passwd: it is outside the folder"),
        (
            "folder: .",
            "dataset.folder: .: it contains no data; expected files that end in .json, .ndjson, .jsonl or .csv",
        ),
        ("files: {a: b}", "dataset.files: unknown key `files`; did you mean `file`?"),
        ("generate: {seed: 1}", "dataset.generate: unknown key `generate`"),
    ],
)
def test_unreadable_dataset_of_records_is_rejected(folder: LibraryFolder, keys: str, message: str) -> None:
    _write(folder, keys)
    assert any(message in line for line in folder.lines())


def test_file_that_is_not_utf8_is_rejected(folder: LibraryFolder) -> None:
    _write(folder, "file: d.csv")
    Path(folder.root / "d.csv").write_bytes("id\nÄ\n".encode("latin-1"))
    assert folder.lines()[0].startswith("d.csv:1:1: it is not UTF-8 text; save it as UTF-8")
