"""Stores with records that cannot be parsed: what is damaged is named, and everything else is shown."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.cli.app import run
from tests.workbench import Workbench, unseal

TASKS = """
    task: {name: First, criteria: [{label: answers, assertion: {answer_matches: 42}}]}
    ---
    task: {name: Second, criteria: [{label: answers, assertion: {answer_matches: 42}}]}
"""
NESTED = "[" * 220 + "]" * 220


def answers(task_item: Any) -> int:
    """Answer what is expected."""
    return 42


@pytest.fixture
def path(bench: Workbench) -> Path:
    """Return a store with two runs of two tasks, without seals: with seals, damage would also be a change."""
    for number, text in enumerate(TASKS.split("---")):
        bench.write(f"{number}.yml", text)
    for _ in range(2):
        bench.run(answers, concurrency=1)  # so that the trial of Second is saved last
    unseal(bench.store._db)
    bench.store.close()
    return bench.store.path


def change(path: Path, table: str, column: str, where: str, new: Callable[[bytes], bytes]) -> None:
    """Change a value in the database directly."""
    database = sqlite3.connect(path, isolation_level=None)
    rowid, value = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new(value), rowid))
    database.close()


def test_deeply_nested_record_of_an_earlier_version_can_be_read(
    path: Path, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    def nest(record: bytes) -> bytes:
        return orjson.dumps(orjson.loads(record) | {"answer": orjson.Fragment(NESTED)})

    change(path, "task_runs", "record", "task = 'First' ORDER BY id DESC", nest)
    store = ["--store", str(path)]
    reports = ["--report", str(tmp_path / "a.html"), "--jsonl", str(tmp_path / "a.jsonl")]
    for command in (["list"], ["show"], ["show", "latest", "First"], ["show", *reports], ["compare", "latest~1"]):
        for form in ([], ["--json"]):
            assert run([*command, *store, *form]) == 0, (command, form)
    capsysbinary.readouterr()
    assert run(["show", "latest", "First", *store, "--json"]) == 0
    answer = json.loads(capsysbinary.readouterr().out)["task_run"]["answer"]
    assert b"nested deeper than 64 levels" in orjson.dumps(answer)
    assert run(["rescore", "latest", *store]) == 0


def test_deeply_nested_log_line_of_an_earlier_version_can_be_shown(path: Path, tmp_path: Path) -> None:
    def nest(log: bytes) -> bytes:
        return log.replace(b'"answer":42', b'"answer":' + b"[" * 250 + b"]" * 250)

    change(path, "log_segments", "data", "TRUE ORDER BY id DESC", nest)
    reports = ["--report", str(tmp_path / "a.html"), "--jsonl", str(tmp_path / "a.jsonl")]
    assert run(["show", "latest", "Second", "--events", "--json", "--store", str(path)]) == 0
    assert run(["show", "latest", "Second", "--events", *reports, "--store", str(path)]) == 0


def test_a_trial_that_cannot_be_parsed_is_named_and_the_others_are_shown(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(path, "task_runs", "record", "task = 'First' ORDER BY id DESC", lambda record: record[:100])
    store = ["--store", str(path)]
    for command in (["show"], ["compare", "latest~1"]):
        assert run([*command, *store]) == 2
        shown = capsys.readouterr()
        assert "the record of First (trial 1) in run-" in shown.err
        assert "everything else is shown" in shown.err
        assert "bug" not in shown.err
        assert shown.out
    assert run(["show", "latest", *store, "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert [task["task"] for task in document["tasks"]] == ["Second"]
    assert "is corrupt" in document["problems"][0]["message"]
    assert run(["show", "latest", "Second", *store]) == 0
    assert run(["list", *store]) == 0


@pytest.mark.parametrize("command", [["show", "latest", "First"], ["rescore", "latest"], ["show", "--junit", "a.xml"]])
def test_a_command_that_needs_a_damaged_trial_names_it(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(path.parent)
    change(path, "task_runs", "record", "task = 'First' ORDER BY id DESC", lambda record: b"{}")
    assert run([*command, "--store", str(path)]) == 2
    said = capsys.readouterr().err
    assert "the record of First (trial 1) in run-" in said
    assert "clerkship show" in said
    assert "bug" not in said


def test_a_run_that_cannot_be_parsed_is_named_and_the_others_are_listed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(path, "runs", "record", "TRUE ORDER BY rowid DESC", lambda record: b"\x00" + record)
    assert run(["list", "--store", str(path)]) == 2
    shown = capsys.readouterr()
    assert "2/2" in shown.out
    assert "the record of the run run-" in shown.err
    assert run(["list", "--store", str(path), "--json"]) == 2
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert run(["show", "--store", str(path)]) == 2
    assert "`clerkship list`" in capsys.readouterr().err
    assert run(["show", "latest~1", "--store", str(path)]) == 0


@pytest.mark.parametrize(
    ("table", "column", "what"),
    [("log_segments", "data", "the log of Second (trial 1)"), ("task_runs", "sidecar", "the sidecar of Second")],
)
def test_a_damaged_log_or_sidecar_is_named_and_the_rest_of_its_trial_is_shown(
    path: Path, capsys: pytest.CaptureFixture[str], table: str, column: str, what: str
) -> None:
    change(path, table, column, "TRUE ORDER BY id DESC", lambda data: b"?" + data)
    assert run(["show", "latest", "Second", "--events", "--store", str(path)]) == 2
    shown = capsys.readouterr()
    assert what in shown.err
    assert "answers" in shown.out
    report = ["--report", str(path.with_name("a.html"))]
    assert run(["show", "latest", *report, "--store", str(path)]) == 2
    assert "the run is damaged in the store" in capsys.readouterr().err


def test_a_damaged_snapshot_is_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("UPDATE blobs SET data = x'7b7d'")
    database.close()
    assert run(["show", "latest", "Second", "--store", str(path)]) == 2
    said = capsys.readouterr().err
    assert "damaged" in said
    assert "bug" not in said
    assert run(["show", "latest", "--store", str(path)]) == 2
    assert "the run itself: plan" in capsys.readouterr().out


def test_a_damaged_database_file_says_what_to_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    assert run(["show", "--store", str(path)]) == 2
    said = capsys.readouterr().err
    assert "malformed" in said
    assert ".recover" in said
