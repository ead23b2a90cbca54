"""`--results rasa`: a new folder for each run."""

import json
from pathlib import Path

import pytest

from clerkship.cli.app import run

AGENT = "def on_turn(message):\n    return 'Good day'\n"
SCENARIO = """\
scenario:
  name: Says hello
  simulation_context: Says hello.
  setup: {person: {lines: [hello]}}
  goals: {assertions: [{bot_uttered: {text_matches: Good}}]}
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("polite_bot.py").write_text(AGENT)
    Path("eval/scenarios").mkdir(parents=True)
    Path("eval/scenarios/hello.yml").write_text(SCENARIO)


def list_results(parent: str) -> list[Path]:
    """Return the folders of results, oldest first."""
    return sorted(Path(parent).iterdir())


def test_each_run_has_its_own_results_folder(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        assert run(["run", "eval", "-a", "python:polite_bot:on_turn", "--results", "rasa"]) == 0
    found = list_results("eval/results")
    assert len(found) == 3
    said = capsys.readouterr().out
    for folder in found:
        assert f"results {folder}" in said
        assert json.loads((folder / "hello" / "run_1.json").read_bytes())["eval_passed"] is True
        assert f"eval/results/{folder.name}/hello" in (folder / "summary.txt").read_text()


def test_results_folder_can_be_set_and_show_writes_stored_results(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert run(["run", "eval/scenarios", "-a", "python:polite_bot:on_turn", "--json", "--results", "rasa:out"]) == 0
    [first] = list_results("out")
    assert json.loads(capsysbinary.readouterr().out)["reports"]["results"] == str(first)
    assert run(["show", "latest", "--results", "rasa"]) == 0
    [second] = list_results("eval/results")
    assert (first / "hello" / "run_1.json").read_bytes() == (second / "hello" / "run_1.json").read_bytes()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("raza", "unknown results format `raza`; did you mean `rasa`?"),
        ("rasa:", "`rasa:` needs a folder; write `rasa` for the default folder"),
    ],
)
def test_unknown_results_layout_is_an_error_before_the_run(
    form: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "eval", "-a", "python:polite_bot:on_turn", "--results", form]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not Path(".clerkship").exists()


@pytest.mark.parametrize("form", ["rasa:taken/results", "rasa"])
def test_unwritable_results_folder_is_an_error_before_the_run(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").write_text("a file")
    Path("eval/results").write_text("a file")
    assert run(["run", "eval", "-a", "python:polite_bot:on_turn", "--results", form]) == 2
    assert "results: Not a directory; choose a folder with rasa:DIR" in " ".join(capsys.readouterr().err.split())
    assert not Path(".clerkship").exists()


def test_unwritable_results_folder_does_not_prevent_reports(capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").write_text("a file")
    arguments = ["--results", "rasa:taken/results", "--markdown", "summary.md"]
    assert run(["run", "eval", "-a", "python:polite_bot:on_turn"]) == 0
    assert run(["show", "latest", *arguments]) == 2
    assert "results cannot be written to taken/results: Not a directory" in " ".join(capsys.readouterr().err.split())
    assert Path("summary.md").exists()
    assert run(["show", "latest"]) == 0
