"""`clerkship label` and `clerkship delete`, and the filters of `clerkship list`."""

import json
from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.store.sqlite import SqliteStore

SUITE = """
tasks:
  - {name: One, tags: [triage], task_item: {n: 1}, criteria: [{label: right, assertion: {answer_matches: 1}}]}
"""


@pytest.fixture(autouse=True)
def _two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("desk", "ward"):
        Path(name).mkdir()
        Path(name, "a.yml").write_text(SUITE if name == "desk" else SUITE.replace("triage", "billing"))
        assert run(["run", name, "--agent", "nop"]) == 1


def list_names(*options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the names of the listed runs."""
    capsys.readouterr()
    assert run(["list", "--json", *options]) == 0
    return [row["run"]["name"] for row in json.loads(capsys.readouterr().out)]


def test_label_is_shown_in_the_list_and_the_report_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["label", "latest~1", "  before the\nnew prompt "]) == 0
    assert "has the label before the new prompt" in capsys.readouterr().out
    assert run(["list"]) == 0
    assert "before the new prompt  desk" in capsys.readouterr().out
    assert run(["show", "latest~1", "--report", "report.html"]) == 0
    assert "<dd>before the new prompt</dd>" in Path("report.html").read_text()
    assert list_names("--label", "before the new prompt", capsys=capsys) == ["desk"]
    assert run(["label", "latest~1", "", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] == ""
    assert list_names("--label", "before the new prompt", capsys=capsys) == []


@pytest.mark.parametrize("label", ["x" * 201, "a\x1b[31mb"])
def test_unusable_label_is_an_error(label: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["label", "latest", label]) == 2
    assert "at most 200 printable characters" in capsys.readouterr().err


def test_list_is_filtered(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_names(capsys=capsys) == ["ward", "desk"]
    assert list_names("--tag", "triage", capsys=capsys) == ["desk"]
    assert list_names("--benchmark", "ward", capsys=capsys) == ["ward"]
    assert list_names("--agent", "nop", "-n", "1", capsys=capsys) == ["ward"]
    assert list_names("--agent", "oracle", capsys=capsys) == []
    assert list_names("--verdict", "fail", "--tag", "billing", capsys=capsys) == ["ward"]
    assert list_names("--verdict", "pass", capsys=capsys) == []


def test_deletion_needs_a_confirmation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["delete", "latest"]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert len(list_names(capsys=capsys)) == 2
    assert run(["delete", "latest", "--yes"]) == 0
    assert "is deleted" in capsys.readouterr().out
    assert list_names(capsys=capsys) == ["desk"]
    assert run(["show", "latest"]) == 0


def test_run_at_work_and_unknown_run_are_not_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    with SqliteStore(Path(".clerkship/store.db")) as store, store.hold(store.run("latest").id):
        assert run(["delete", "latest", "--yes"]) == 2
        assert "another process is at work" in capsys.readouterr().err
    assert run(["delete", "run-1", "--yes"]) == 2
    assert len(list_names(capsys=capsys)) == 2


def test_run_started_in_a_checkout_has_its_commit(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".git").mkdir()
    Path(".git/HEAD").write_text("0123456789abcdef" * 2 + "01234567\n")
    assert run(["run", "desk", "--agent", "nop"]) == 1
    capsys.readouterr()
    assert run(["list", "--json", "-n", "2"]) == 0
    new, old = json.loads(capsys.readouterr().out)
    assert (new["run"]["commit"], old["run"]["commit"]) == ("0123456789abcdef" * 2 + "01234567", "")
