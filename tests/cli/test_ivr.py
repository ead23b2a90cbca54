"""`clerkship ivr`: list and draw phone trees."""

import json
from pathlib import Path

import pytest

from clerkship.cli.app import run

TREE = """
name: Tiny line
start: hello
nodes:
  hello: {type: say, prompt: Hello., next: bye}
  bye: {type: end}
"""
ENVIRONMENT = """
environment:
  name: office
  simulators:
    phone:
      kind: voice
      config:
        lines:
          - {number: "+15550100140", name: Payer, tree: provider_line}
          - {number: "+15550100141", name: Tiny, tree: !include tiny.yml}
"""
TASK = """
task: {name: Call, task_item: {instruction: Call the payer.}, criteria: []}
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yml").write_text(TREE, encoding="utf-8")
    (tmp_path / "office.yml").write_text(ENVIRONMENT, encoding="utf-8")


def test_list_shows_the_trees_that_ship(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "list"]) == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert rows == ["name", "front_desk", "pharmacy", "provider_line"]


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "list", "--json"]) == 0
    trees = json.loads(capsys.readouterr().out)["trees"]
    assert {"name": "pharmacy", "title": "Pharmacy", "version": "2026.1"} in trees


def test_tree_that_ships_is_shown_by_name_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "show", "provider_line"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "main_menu  [menu]" in lines
    assert any(line.startswith("├ 0 representative") and line.endswith("→ staffing") for line in lines)
    assert max(map(len, lines)) <= 80


def test_tree_in_a_file_of_its_own_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "show", "tiny.yml"]) == 0
    assert capsys.readouterr().out == (
        "Tiny line, version 1: 2 nodes\n\nhello  [say]\n│ Hello.\n└ → bye\n\nbye  [end]\n│ Goodbye.\n"
    )


def test_lines_of_an_environment_are_shown_with_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "show", "office.yml"]) == 0
    output = capsys.readouterr().out
    assert output.index("+15550100140\nProvider line") < output.index("+15550100141\nTiny line")


def test_line_selects_one_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "show", "office.yml", "--line", "+15550100141"]) == 0
    assert "Provider line" not in capsys.readouterr().out


def test_task_file_shows_the_lines_of_its_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "task.yml").write_text(TASK, encoding="utf-8")
    assert run(["ivr", "show", "task.yml", "--line", "+15550100141"]) == 0
    assert "Tiny line" in capsys.readouterr().out


def test_svg_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "show", "tiny.yml", "--svg", "out/tiny.svg"]) == 0
    assert capsys.readouterr().out == "+ out/tiny.svg\n"
    assert (tmp_path / "out" / "tiny.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_svg_to_a_path_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    assert run(["ivr", "show", "tiny.yml", "--svg", "out"]) == 2
    assert "it cannot be written" in capsys.readouterr().err


def test_json_has_the_ways_out_of_each_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ivr", "show", "office.yml", "--line", "+15550100141", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trees"] == [
        {
            "number": "+15550100141",
            "name": "Tiny line",
            "version": "1",
            "start": "hello",
            "nodes": {
                "hello": {"type": "say", "exits": [{"label": "", "node": "bye"}]},
                "bye": {"type": "end", "exits": []},
            },
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pharmcy"], "phone tree or file `pharmcy` not found; did you mean `pharmacy`?"),
        (["missing.yml"], "phone tree or file `missing.yml` not found"),
        (["pharmacy", "--line", "+15550100140"], "--line is for files with lines"),
        (["office.yml", "--line", "+1999"], "there is no line +1999 with a phone tree; expected +15550100140, "),
        (["tiny.yml", "--line", "+1999"], "the file is a tree, without lines"),
        (["office.yml", "--svg", "x.svg"], "the file has 2 lines with phone trees; give --line: +15550100140, "),
        (["."], "it is not a YAML file"),
    ],
)
def test_mistake_on_the_command_line_is_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ivr", "show", *arguments]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TREE.replace("type: end", "type: ends"), "tiny.yml:6:"),
        (TREE.replace("Hello., next: bye", "Hello., nxt: bye"), "tiny.yml:5:"),
        (
            TREE.replace(
                "{type: end}", "{type: hook, hook: chart.find_patiant, outcomes: {found: end}}\n  end: {type: end}"
            ),
            "tiny.yml:6:27: nodes.bye.hook: unknown hook `chart.find_patiant`; did you mean `chart.find_patient`?",
        ),
        ("name: [", "tiny.yml:2:1: not YAML"),
        ("environment: {name: x}", "no line with one"),
    ],
)
def test_mistake_in_a_file_is_named_with_its_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "office.yml").unlink()
    (tmp_path / "tiny.yml").write_text(text, encoding="utf-8")
    assert run(["ivr", "show", "tiny.yml"]) == 2
    assert message in capsys.readouterr().err


def test_unknown_tree_of_a_line_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "office.yml").write_text(ENVIRONMENT.replace("provider_line", "provider_lin"), encoding="utf-8")
    assert run(["ivr", "show", "office.yml"]) == 2
    error = capsys.readouterr().err
    assert "office.yml:9:" in error
    assert "did you mean `provider_line`?" in error
