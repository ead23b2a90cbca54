"""`clerkship published`: list, card, differences, verification and withdrawals of a version of two tasks."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.suite_files.published import places

SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}}}
benchmark:
  name: The front desk
  slug: desk
  description: Bookings at a desk.
  axes: [privacy]
  licence: CC-BY-4.0
  authors: [Ada Poe]
  limits: [It has no telephone.]
tasks:
  - name: Confirm the booking
    tags: [easy, booking]
    criteria:
      - label: It is written
        axis: correctness
        assertion: {file_present: {path: bookings.txt, text: {contains: Monday}}}
    solution: solution.py
  - name: Cancel the booking
    tags: [hard, booking]
    criteria:
      - {label: It is cancelled, assertion: {file_present: {path: bookings.txt}}}
    solution: solution.py
"""
SOLUTION = """
def on_task(task_item, sandboxes):
    sandboxes["drop"].write("bookings.txt", "Booked for Monday 10:00")
"""
ARCHIVE, RESULTS = Path(".clerkship/published/desk@1.clerkship"), Path(".clerkship/published/desk@1.results.json")


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Publish the suite as desk@1 in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(places, "SHIPPED", tmp_path / "shipped")
    Path("suite").mkdir()
    Path("suite/desk.yml").write_text(SUITE)
    Path("suite/solution.py").write_text(SOLUTION)
    assert run(["publish", "suite"]) == 0
    capfd.readouterr()


def publish_changed(before: str, after: str, *options: str) -> None:
    """Publish the suite with one text replaced."""
    Path("suite/desk.yml").write_text(SUITE.replace(before, after))
    assert run(["publish", "suite", *options]) == 0


def read_json(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Run a command with `--json` and return its document."""
    capfd.readouterr()
    run([*arguments, "--json"])
    return json.loads(capfd.readouterr().out)


def test_list_names_versions_with_their_files_and_what_is_damaged(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "list"]) == 0
    printed = capfd.readouterr().out
    assert "desk@1" in printed
    assert str(ARCHIVE) in printed
    ARCHIVE.with_name("torn@1.clerkship").write_bytes(ARCHIVE.read_bytes()[:-30])
    assert run(["published", "list"]) == 2
    output = capfd.readouterr()
    assert "desk@1" in output.out
    assert "torn@1.clerkship" in output.err


def test_card_tells_what_a_version_tests_and_needs(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "show", "desk@1"]) == 0
    printed = capfd.readouterr().out
    for text in (
        "The front desk",
        "Bookings at a desk.",
        "files (2)",
        "easy (1), hard (1)",
        "correctness (1",
        "CC-BY-4.0",
        "Ada Poe",
        "It has no telephone.",
        "not signed",
        "no scores are recorded",
    ):
        assert text in printed
    card = read_json(capfd, "published", "show", "desk@1")
    assert (card["tasks"], card["tags"], card["scores"]) == (2, {"booking": 2}, [])
    assert card["axes"] == {"": 1, "correctness": 1, "privacy": 0}


def test_verify_runs_oracle_and_nop_and_records_them_for_the_card(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "verify", "desk@1"]) == 0
    assert "entries are as published" in capfd.readouterr().out
    scores = read_json(capfd, "published", "show", "desk@1")["scores"]
    assert [(each["agent"], each["passed"], each["total"], each["unexpected"]) for each in scores] == [
        ("nop", 0, 2, 0),
        ("oracle", 2, 2, 0),
    ]
    assert scores[1]["mean"] == 1.0
    assert run(["show", scores[1]["run"]]) == 0
    assert "desk@1" in capfd.readouterr().out
    assert run(["published", "verify", "desk@1", "--store", "elsewhere.db"]) == 0
    again = read_json(capfd, "published", "show", "desk@1")["scores"]
    assert [each["digest"] for each in again] == [each["digest"] for each in scores]
    assert len({each["digest"] for each in scores}) == 2
    assert run(["published", "show", "desk@1"]) == 0
    assert scores[1]["digest"][:12] in capfd.readouterr().out


def test_verify_exits_with_1_if_a_solution_does_not_pass(capfd: pytest.CaptureFixture[str]) -> None:
    publish_changed("contains: Monday", "contains: Tuesday", "--as", "desk@2")
    assert run(["published", "verify", "desk@2"]) == 1
    assert "✗ oracle: Confirm the booking: its solution does not pass" in capfd.readouterr().out


def test_verify_of_changed_bytes_names_the_entry_and_records_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    ARCHIVE.write_bytes(ARCHIVE.read_bytes().replace(b"It is cancelled", b"It is confirmed"))
    assert run(["published", "verify", "desk@1"]) == 2
    assert "tasks/0002-cancel-the-booking.json" in capfd.readouterr().err
    assert not RESULTS.exists()


def test_verify_of_a_version_for_agents_runs_nop_only(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["publish", "suite", "--for-agents"]) == 0
    ARCHIVE.unlink()
    assert run(["published", "verify", "desk@1"]) == 0
    assert "it is for agents and has no solutions, so only nop was run" in capfd.readouterr().out
    assert [each["agent"] for each in read_json(capfd, "published", "show", "desk@1")["scores"]] == ["nop"]


def test_attacks_on_a_whole_version_are_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    attack = ["suite", "attack", "desk@1", "--only", "do-nothing"]
    assert run([*attack, "--tag", "easy"]) == 0
    assert not RESULTS.exists()
    assert run(attack) == 0
    assert "recorded in" in capfd.readouterr().out
    [score] = read_json(capfd, "published", "show", "desk@1")["scores"]
    assert (score["agent"], score["total"], score["passed"]) == ("attack:do-nothing", 2, 0)
    assert run(attack) == 0
    [again] = read_json(capfd, "published", "show", "desk@1")["scores"]
    assert again["digest"] == score["digest"] != ""
    assert score["grading"] == read_json(capfd, "published", "show", "desk@1")["program_grading"]


def test_mutants_of_a_whole_version_are_recorded(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "mutate", "desk@1", "--only", "drop"]) == 0
    assert not RESULTS.exists()
    run(["suite", "mutate", "desk@1"])
    [score] = read_json(capfd, "published", "show", "desk@1")["scores"]
    assert score["agent"] == "mutants"
    assert 0 < score["passed"] == score["unexpected"] < score["total"]


def test_results_of_another_archive_with_the_same_name_are_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "withdraw", "desk@1", "--reason", "wrong day"]) == 0
    ARCHIVE.unlink()
    publish_changed("contains: Monday", "contains: Booked")
    assert run(["run", "desk@1", "--agent", "nop"]) == 1
    assert read_json(capfd, "published", "show", "desk@1")["withdrawn"] is None


def test_withdrawn_version_is_refused_by_name_and_its_runs_stay_readable(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "desk@1", "--agent", "oracle"]) == 0
    publish_changed("contains: Monday", "contains: Booked", "--as", "desk@2")
    assert run(["published", "withdraw", "desk@2", "--reason", "wrong day; use desk@3"]) == 0
    capfd.readouterr()
    for name in ("desk@2", f"sha256:{read_json(capfd, 'published', 'show', 'desk@2')['digest'][7:20]}"):
        assert run(["run", name, "--agent", "nop"]) == 2
        assert "desk@2 was withdrawn: wrong day; use desk@3" in capfd.readouterr().err
    assert read_json(capfd, "run", "desk@latest", "--agent", "nop")["run"]["name"] == "desk@1"
    assert run(["published", "withdraw", "desk@1", "--reason", "old"]) == 0
    assert [run([*command, "latest"]) for command in (["show"], ["rescore"])] == [0, 1]
    assert run(["run", "desk@latest", "--agent", "nop"]) == 2
    assert run(["published", "withdraw", "desk@2", "--undo"]) == 0
    assert run(["run", "desk@2", "--agent", "oracle"]) == 0
    capfd.readouterr()
    assert run(["published", "list"]) == 0
    assert "desk@1 was withdrawn: old" in capfd.readouterr().out


def test_withdraw_needs_a_reason_and_undo_a_withdrawal(capfd: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        ([], "a withdrawal needs a reason"),
        (["--reason", "x" * 501], "at most 500 characters"),
        (["--undo"], "desk@1 is not withdrawn"),
        (["--undo", "--reason", "x"], "--undo and --reason exclude each other"),
    ):
        assert run(["published", "withdraw", "desk@1", *options]) == 2
        assert message in capfd.readouterr().err
    assert not RESULTS.exists()


def test_version_for_agents_is_withdrawn_with_the_complete_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["publish", "suite", "--for-agents"]) == 0
    assert run(["published", "withdraw", "desk@1", "--reason", "wrong day"]) == 0
    ARCHIVE.unlink()
    assert run(["run", "desk@1", "--agent", "nop"]) == 2
    assert "desk@1 was withdrawn: wrong day" in capfd.readouterr().err


def test_results_of_a_shipped_version_lie_in_the_project(capfd: pytest.CaptureFixture[str]) -> None:
    places.SHIPPED.mkdir()
    shipped = places.SHIPPED / ARCHIVE.name
    ARCHIVE.rename(shipped)
    ARCHIVE.parent.rmdir()
    assert run(["published", "withdraw", "desk@1", "--reason", "old"]) == 0
    assert RESULTS.is_file()
    assert list(places.SHIPPED.iterdir()) == [shipped]
    assert run(["run", "desk@1", "--agent", "nop"]) == 2
    assert "desk@1 was withdrawn: old" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "it is not JSON"), ('{"format": 2}', "format: "), ('{"versions": {"x": {}}}', "versions.x")],
)
def test_damaged_results_file_is_refused_with_its_path(
    content: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    RESULTS.write_text(content)
    for command in (["run", "desk@1", "--agent", "nop"], ["published", "show", "desk@1"]):
        assert run(command) == 2
        error = capfd.readouterr().err
        assert f"{RESULTS}: {message}" in error
        assert "delete the file" in error


def test_diff_names_what_changed_and_exits_with_1(capfd: pytest.CaptureFixture[str]) -> None:
    publish_changed("contains: Monday", "contains: Booked", "--as", "desk@2")
    capfd.readouterr()
    assert run(["published", "diff", "desk@1", "desk@2"]) == 1
    change = "criterion `It is written` changed: file_present.text.contains: Monday → Booked"
    assert f"Confirm the booking\n  {change}\n\n1 difference" in capfd.readouterr().out
    expected = [{"place": "Confirm the booking", "text": change}]
    assert read_json(capfd, "published", "diff", "desk@1", "desk@2") == {"differences": expected}
    assert run(["published", "diff", "desk@1", str(ARCHIVE)]) == 0
    assert "the same content" in capfd.readouterr().out


def test_what_is_not_a_published_version_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "show", "suite"]) == 2
    assert "`suite` is not a published version" in capfd.readouterr().err
    assert run(["published", "verify", "desk@7"]) == 2
    assert "there is no published version `desk@7`; did you mean `desk@1`?" in capfd.readouterr().err
