"""Scenario files on the command line: validate, run, select and create."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from clerkship.cli.app import run
from clerkship.suite_files.yaml import parse_yaml
from tests.cli.terminal import clerkship
from tests.suite_files.library_folder import LibraryFolder
from tests.suite_files.seed import DOMAIN

SCENARIO = """\
name: «name»
setup:
  initial_slots: {order_id: ORD-1}
  person: {opening: Where is it?, fallback: Well?, end: {after: 2}}
goals: {assertions: [{bot_uttered: {text_matches: on its way, utter_name: utter_order_delayd}}]}
"""
AGENT = """\
from clerkship.actors.contract import Say


def on_turn(message):
    return Say(f"{message.slots['order_id']} is on its way", utter_name="utter_order_delayd")
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LibraryFolder:
    """A Rasa project with two scenarios, and an agent that passes both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("shop_agent", None)
    shelf = LibraryFolder(tmp_path)
    shelf.write("domain.yml", DOMAIN)
    shelf.write("config.yml", "recipe: default.v1\npipeline: []\n")
    shelf.write("shop_agent.py", AGENT)
    shelf.scenario(SCENARIO.replace("«name»", "Late order"), "eval/scenarios/order_delay.yml")
    shelf.scenario(SCENARIO.replace("«name»", "Lost order"), "eval/scenarios/order_lost.yml")
    return shelf


WARNING = (
    "! eval/scenarios/order_delay.yml:7:77: scenario.goals.assertions.0.bot_uttered.utter_name: no response "
    "`utter_order_delayd` in domain.yml; did you mean `utter_order_delayed`?"
)


@pytest.mark.parametrize("place", [".", "eval", "eval/scenarios", "eval/scenarios/order_delay.yml"])
def test_validate_accepts_project_folder_and_file_and_prints_the_domain(
    shop: LibraryFolder, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", place]) == 0
    text = capsys.readouterr().out
    assert WARNING in text
    assert "domain domain.yml" in text
    assert (", 1 other file skipped" in text) == (place == ".")
    assert f"no mistakes, {1 if place.endswith('yml') else 2} warning" in text


def test_skipped_files_are_counted_at_the_end_and_named_with_verbose(
    shop: LibraryFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.write("tests/du.yml", "test_cases: [{test_case: a, steps: [{user: hi, commands: [StartFlow(a)]}]}]\n")
    named = (
        "skipped config.yml\n"
        "skipped tests/du.yml: dialogue-understanding tests (steps with `commands`) are not supported\n"
    )
    for command in (["validate", "."], ["run", ".", "-a", "python:shop_agent:on_turn"]):
        assert run(command) == 0
        text = capsys.readouterr().out
        assert "2 other files skipped" in text
        assert "skipped config.yml" not in text
        assert run([*command, "-v"]) == 0
        text = capsys.readouterr().out
        assert named in text
        assert text.index(named) < text.index("2 other files skipped")


def test_skipped_files_are_counted_beside_mistakes(shop: LibraryFolder, capsys: pytest.CaptureFixture[str]) -> None:
    shop.write("eval/scenarios/flat.yml", "name: Flat\nsimulation_context: A customer.\n")
    assert run(["validate", ".", "--verbose"]) == 2
    text = capsys.readouterr().out
    assert "skipped config.yml" in text
    assert "✗ eval/scenarios/flat.yml:1:1: `scenario:` is missing; put the keys of this file under" in text
    assert text.endswith("✗ 1 mistake, 1 other file skipped\n")


def test_skipped_file_with_a_misspelt_key_is_named_beside_mistakes(
    shop: LibraryFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.write("eval/scenarios/flat.yml", "name: Flat\nsimulation_context: A customer.\n")
    shop.write("eval/scenarios/typo.yml", "scenarois: {name: Typo}\n")
    assert run(["validate", "."]) == 2
    text = capsys.readouterr().out
    assert text.startswith("! eval/scenarios/typo.yml:1:1: scenarois: unknown key `scenarois`, so the file is skipped")
    assert text.count("\n! ") == 0
    assert run(["validate", ".", "--json"]) == 2
    assert "unknown key `scenarois`" in json.loads(capsys.readouterr().out)["warnings"][0]


def test_file_with_a_mistake_is_not_counted_as_skipped(shop: LibraryFolder, capsys: pytest.CaptureFixture[str]) -> None:
    shop.write("notes/compose.yml", "services: {}\n")
    assert run(["validate", "notes/compose.yml"]) == 2
    assert capsys.readouterr().out.endswith("\n✗ 1 mistake\n")


def test_run_of_one_task_warns_of_mistakes_in_others(shop: LibraryFolder, capsys: pytest.CaptureFixture[str]) -> None:
    shop.write("eval/scenarios/flat.yml", "name: Flat\nsimulation_context: A customer.\n")
    assert run(["run", ".", "-a", "python:shop_agent:on_turn", "--task", "order_lost"]) == 0
    text = capsys.readouterr().out
    assert "1 mistake in other files of this folder, which are skipped; run `clerkship validate` to see them" in text
    assert run(["run", ".", "-a", "python:shop_agent:on_turn"]) == 2


def test_file_of_another_tool_that_was_named_is_an_error(
    shop: LibraryFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "config.yml: it has no `task`, `scenario`, `test_cases`, `environment` or `dataset`"
    assert run(["validate", "config.yml"]) == 2
    assert said in capsys.readouterr().out
    assert run(["run", "config.yml", "-a", "python:shop_agent:on_turn"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "tasks"),
    [
        (["eval"], ["Late order", "Lost order"]),
        (["."], ["Late order", "Lost order"]),
        (["eval/scenarios/order_lost.yml"], ["Lost order"]),
        (["eval", "--task", "order_delay"], ["Late order"]),
        (["eval", "--task", "order_*"], ["Late order", "Lost order"]),
        (["eval", "--task", "der_delay"], ["Late order"]),
        (["eval", "--task", "ordr_delay"], []),
        (["eval", "--task", "L*order"], ["Late order", "Lost order"]),
    ],
)
def test_scenarios_are_selected_by_folder_file_and_file_name(
    shop: LibraryFolder, arguments: list[str], tasks: list[str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = run(["run", *arguments, "-a", "python:shop_agent:on_turn", "--json"])
    found = json.loads(capsysbinary.readouterr().out)
    assert code == (0 if tasks else 2)
    assert [task["task"] for task in found.get("tasks", [])] == tasks
    assert [task["verdict"] for task in found.get("tasks", [])] == ["pass"] * len(tasks)
    assert len(found.get("warnings", [])) == len(tasks)


def test_run_prints_warnings_and_domain_and_stores_the_domain_option(
    shop: LibraryFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "eval", "-a", "python:shop_agent:on_turn", "--task", "order_delay"]) == 0
    text = capsys.readouterr().out
    assert WARNING in text
    assert "domain domain.yml" in text
    assert "order_lost" not in text
    Path("domain.yml").rename("names.yml")
    assert run(["run", "eval", "-a", "python:shop_agent:on_turn"]) == 0
    assert (
        "! slot names and types were not checked, because no domain is known; use --domain" in capsys.readouterr().out
    )
    assert run(["run", "eval", "-a", "python:shop_agent:on_turn", "--domain", "names.yml"]) == 0
    assert "--domain names.yml" in capsys.readouterr().out


def test_unknown_slot_is_an_error_of_validate_and_run(shop: LibraryFolder, capsys: pytest.CaptureFixture[str]) -> None:
    Path("domain.yml").write_text(DOMAIN.replace("order_id:", "order_ref:"), encoding="utf-8")
    said = "order_delay.yml:5:21: scenario.setup.initial_slots.order_id: no slot `order_id` in domain.yml; did you mean"
    assert run(["validate", "eval"]) == 2
    assert said in capsys.readouterr().out
    assert run(["run", "eval", "-a", "python:shop_agent:on_turn"]) == 2
    assert said in capsys.readouterr().err
    assert not Path(".clerkship").exists()


def test_json_has_warnings_domain_and_skipped_files(
    shop: LibraryFolder, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["validate", ".", "--json"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert found["warnings"][0] == WARNING.removeprefix("! ")
    assert (found["domain"], found["passed_over"]) == ("domain.yml", ["config.yml"])


def test_unknown_agent_and_missing_domain_are_errors(shop: LibraryFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "eval", "--agent", "magic"]) == 2
    assert "unknown agent `magic`" in capsys.readouterr().out
    assert run(["validate", "eval", "--domain", "nowhere"]) == 2
    assert "nowhere: there is no such domain; give a file, or a folder of files" in capsys.readouterr().out


ENVIRONMENTS = {
    "none": "",
    "chat": "environment: {name: desk, simulators: {talk: {kind: chat}, drop: {kind: files}}}",
    "two chats": 'environment: {name: "the: desk", simulators: {one: {kind: chat}, two: {kind: chat}}}',
}


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("Where is my order", ENVIRONMENTS["none"]),
        ("Where is my order", ENVIRONMENTS["chat"]),
        ('Ärger: "sofort" #1 {{ x }} *', ENVIRONMENTS["two chats"]),
    ],
    ids=ENVIRONMENTS,
)
def test_new_scenario_is_valid_and_fails_with_nop(
    name: str,
    environment: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    if environment:
        Path("eval/scenarios").mkdir(parents=True)
        Path("eval/scenarios/place.yml").write_text(environment, encoding="utf-8")
    assert run(["new", "scenario", name, "--json"]) == 0
    [written] = json.loads(capsysbinary.readouterr().out)["written"]
    assert run(["validate", "eval", "--json"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert (found["tasks"], found["warnings"]) == ([name], [])
    assert run(["schema", "scenario"]) == 0
    schema = json.loads(capsysbinary.readouterr().out)
    data = parse_yaml(Path(written).read_text(encoding="utf-8"), written).data
    jsonschema.Draft202012Validator(schema).validate(data)  # `test_seed_scenario.py` checks the schema
    Path("helper.py").write_text("def on_turn(message):\n    return 'Your order is on its way.'\n", encoding="utf-8")
    assert run(["run", "eval", "-a", "nop", "--json"]) == 1
    done = clerkship(tmp_path, "run", "eval", "-a", "python:helper:on_turn")
    assert done.returncode == 0, done.stdout + done.stderr
    assert run(["new", "scenario", name]) == 2


@pytest.mark.parametrize("environment", ["none", "two chats"])
def test_new_scenario_without_its_script_is_played_by_a_model(
    environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("eval/scenarios").mkdir(parents=True)
    if ENVIRONMENTS[environment]:
        Path("eval/scenarios/place.yml").write_text(ENVIRONMENTS[environment], encoding="utf-8")
    assert run(["new", "scenario", "Lost parcel"]) == 0
    file = Path("eval/scenarios/lost_parcel.yml")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    comment = " ".join(line.strip(" #\n") for line in lines)
    assert (
        "To let a model play the person from the simulation_context, delete `person`, and run it with --person"
        in comment
    )
    first = next(n for n, line in enumerate(lines) if line.strip() in ("person:", "opening: Hello, where is my order?"))
    first += 3 * ("sandbox: " in lines[first + 2])
    last = next(n for n, line in enumerate(lines) if line.startswith("      end: "))
    file.write_text("".join(lines[:first] + lines[last + 1 :]), encoding="utf-8")
    assert run(["validate", "eval"]) == 0
    Path("helper.py").write_text("def on_turn(message):\n    return 'Your order is on its way.'\n", encoding="utf-8")
    answers = [
        {"contains": "on its way", "answer": {"message": "Thanks, that helps. Bye!", "done": True}},
        {"answer": {"message": "Where is my parcel?", "done": False}},
    ]
    Path("person.json").write_text(json.dumps(answers), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    capsys.readouterr()
    code = run(["run", "eval", "-a", "python:helper:on_turn", "--person", "scripted:person.json"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["***"], "is not a valid scenario name"),
        (["x", "--in", "several"], "give --environment with one of east, north"),
        (["x", "--in", "several", "--environment", "eest"], "did you mean `east`?"),
        (["x", "--in", "several", "--environment", "east"], "environment `east` has no chat simulator"),
        (["x", "--environment", "east"], "unknown environment `east`"),
    ],
)
def test_invalid_new_scenario_is_not_written(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("several").mkdir()
    Path("several/a.yml").write_text("environments: [{name: east}, {name: north}]", encoding="utf-8")
    assert run(["new", "scenario", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in Path().rglob("*.yml")] == ["a.yml"]


def test_schemas_of_task_and_scenario_differ(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["schema", "task"]) == 0
    text = capsysbinary.readouterr().out.decode()
    assert '"initial_slots"' in text
    assert '"starts"' in text
    assert run(["schema", "scenario"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert found["properties"]["scenario"]["required"] == ["name", "simulation_context"]


def test_new_scenario_in_a_new_project_runs_alone_and_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "."]) == 0
    assert run(["new", "scenario", "Cancel a visit", "--in", "practice/scenarios"]) == 0
    assert run(["validate", "practice/scenarios/cancel_a_visit.yml"]) == 0
    for path in ("practice/scenarios/cancel_a_visit.yml", "practice/scenarios/book_a_visit.yml", "practice"):
        assert run(["run", path, "--agent", "oracle"]) == 0, path
