"""Reports of the command line: written for every verdict, and checked before the run."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clerkship.cli.app import run
from tests.front_desk import SUITE

ALL = ["--junit", "out/junit.xml", "--jsonl", "out/run.jsonl", "--markdown", "out/summary.md"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check_all(folder: Path) -> None:
    """Check that all three reports are about the same run."""
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("5", "5")
    lines = (folder / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["counts"]["verdicts"] == {"fail": 5}
    assert "**0 of 5** graded trials passed" in (folder / "summary.md").read_text(encoding="utf-8")


def test_failed_run_writes_all_reports_and_prints_their_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(SUITE), "-a", "nop", *ALL]) == 1
    check_all(Path("out"))
    text = capsys.readouterr().out
    for line in ("junit out/junit.xml", "jsonl out/run.jsonl", "markdown out/summary.md"):
        assert line in text


def test_show_writes_reports_of_a_stored_run(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["run", str(SUITE), "-a", "nop", "--json"]) == 1
    assert json.loads(capsysbinary.readouterr().out)["reports"].keys() == {"html"}
    assert run(["show", "latest", "--json", *ALL]) == 0
    check_all(Path("out"))
    assert json.loads(capsysbinary.readouterr().out)["run"]["status"] == "completed"


@pytest.mark.parametrize("option", ["--junit", "--jsonl", "--markdown", "--report"])
def test_dash_writes_only_the_report_to_standard_output(
    option: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run(["run", str(SUITE), "-a", "nop"])
    capsysbinary.readouterr()
    assert run(["show", "latest", option, "file"]) == 0
    capsysbinary.readouterr()
    assert run(["show", "latest", option, "-"]) == 0
    assert capsysbinary.readouterr().out == Path("file").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", str(SUITE), "-a", "nop", "--junit", "-"], "standard output has the verdicts"),
        (["show", "latest", "--junit", "-", "--jsonl", "-"], "only one report can go to standard output"),
        (["show", "latest", "--markdown", "x", "--markdown-limit", "5"], "10000"),
    ],
)
def test_invalid_report_options_are_errors_before_the_run(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not Path(".clerkship").exists()


def test_unwritable_report_does_not_prevent_other_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    assert run(["run", str(SUITE), "-a", "oracle"]) == 0
    assert run(["show", "latest", "--junit", "taken/junit.xml", "--markdown", "summary.md"]) == 2
    output = capsys.readouterr()
    assert "the report taken/junit.xml cannot be written: File exists; choose another file" in output.err
    assert "5 of 5" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert run(["show", "latest", "--junit", "junit.xml"]) == 0
    assert (tmp_path / "junit.xml").exists()


@pytest.mark.parametrize("option", ["--report", "--junit", "--jsonl", "--markdown"])
def test_unwritable_report_is_an_error_before_the_run(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").write_text("a file, not a folder")
    Path("folder").mkdir()
    for target, reason in (
        ("folder", f"{option} folder is a folder; name a file"),
        ("taken/a/report", f"{option} taken/a/report cannot be written: Not a directory; choose another file"),
        ("/proc/report", f"{option} /proc/report cannot be written"),
        ("x" * 300, "cannot be written: File name too long"),
    ):
        assert run(["run", str(SUITE), "-a", "nop", option, target]) == 2
        assert reason in " ".join(capsys.readouterr().err.split())
    assert not Path(".clerkship").exists()


def test_all_unwritable_reports_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    assert run(["run", str(SUITE), "-a", "nop", "--report", "folder", "--junit", "folder"]) == 2
    said = capsys.readouterr().err
    assert "--report folder is a folder" in said
    assert "--junit folder is a folder" in said


@pytest.mark.parametrize("command", [["demo"], ["rerun", "latest"], ["resume", "latest"]])
def test_unwritable_report_is_an_error_for_every_command_that_runs_tasks(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["run", str(SUITE), "-a", "nop"])
    capsys.readouterr()
    assert run([*command, "--report", "."]) == 2
    assert "--report . is a folder" in capsys.readouterr().err
    run(["list", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_check_of_report_paths_leaves_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.md").write_text("old")
    assert run(["run", "nowhere", "-a", "nop", "--report", "new/a.html", "--markdown", "old.md"]) == 2
    assert Path("old.md").read_text() == "old"
    assert not Path("new").exists()


def test_report_can_be_written_to_a_device() -> None:
    assert run(["run", str(SUITE), "-a", "nop", "--report", "/dev/null"]) == 1


def test_markdown_limit_shortens_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", str(SUITE), "-a", "nop", "-k", "40"])
    assert run(["show", "latest", "--markdown", "long.md"]) == 0
    assert run(["show", "latest", "--markdown", "short.md", "--markdown-limit", "65000"]) == 0
    assert Path("short.md").stat().st_size <= 65_000 < Path("long.md").stat().st_size
    assert "are left out here" in Path("short.md").read_text(encoding="utf-8")
