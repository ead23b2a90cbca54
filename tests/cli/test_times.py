"""Times on the terminal: in the zone of the environment, with its offset."""

import sys
from pathlib import Path

import pytest

from clerkship.cli.app import run
from tests.cli.terminal import UpProcess, clerkship

SUITE = """
environment: {{name: clinic, now: "{now}", simulators: {{drop: {{kind: files}}}}}}
task:
  name: One
  scenario: {{steps: [{{files.drop: {{path: a.txt, text: A}}}}]}}
"""


def write_suite(folder: Path, now: str) -> None:
    """Write a suite whose environment starts at a time."""
    folder.joinpath("suite").mkdir()
    folder.joinpath("suite", "a.yml").write_text(SUITE.format(now=now))


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        ("2026-03-02T22:00:00-05:00", "2026-03-02 22:00:00-05:00"),
        ("2026-03-02T09:00:00Z", "2026-03-02 09:00:00Z"),
    ],
)
def test_show_prints_events_in_the_zone_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], now: str, shown: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    write_suite(tmp_path, now)
    run(["run", "suite", "--agent", "nop"])
    capsys.readouterr()
    assert run(["show", "latest", "One", "--events"]) == 0
    assert f"{shown} drop files.file.written scenario" in capsys.readouterr().out
    assert run(["show", "latest", "One", "--events", "--json"]) == 0
    assert '"at": "2026-03-0' in capsys.readouterr().out, "data stays in UTC"


def test_events_of_a_playground_are_in_the_zone_of_its_environment(tmp_path: Path) -> None:
    write_suite(tmp_path, "2026-03-02T09:00:00+05:30")
    with UpProcess(tmp_path, "--from", "suite", "--task", "One"):
        done = clerkship(tmp_path, "events")
    assert "2026-03-02 09:00:00+05:30 drop files.file.written scenario" in done.stdout
