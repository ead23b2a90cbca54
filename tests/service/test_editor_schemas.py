"""The schemas for editors: generated YAML names a schema that exists and that it fulfils."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clerkship.cli.app import run
from clerkship.suite_files.yaml import parse_yaml

MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")
FLOWS = """
flows:
  book_a_slot:
    description: Book a slot
    steps:
      - collect: day
      - action: utter_booked
"""


@pytest.fixture(autouse=True)
def _change_to_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "path", [*sys.path])


def read_schema_of(file: Path) -> tuple[Path, Any]:
    """Return the schema that the first line of a file names, after the file was checked against it."""
    text = file.read_text(encoding="utf-8")
    modeline = MODELINE.match(text)
    assert modeline is not None, text
    path = (file.parent / modeline[1]).resolve()
    schema = json.loads(path.read_text(encoding="utf-8"))
    data = json.loads(json.dumps(parse_yaml(text, file.name).data, default=str))
    jsonschema.Draft202012Validator(schema).validate(data)
    return path, schema


def test_files_of_a_new_project_name_their_schemas() -> None:
    assert run(["init", "mine"]) == 0
    files = sorted(Path("mine/practice").rglob("*.yml"))
    assert len(files) == 3
    schemas = {read_schema_of(file)[0] for file in files}
    names = ("environment", "scenario", "task")
    assert schemas == {Path(f"mine/.clerkship/schemas/{name}.schema.json").resolve() for name in names}
    assert not MODELINE.match(Path("mine/.gitlab-ci.yml").read_text(encoding="utf-8"))
    assert run(["validate", "mine/practice"]) == 0


def test_new_task_and_scenario_use_the_schemas_of_the_project_around_them() -> None:
    assert run(["init", "mine"]) == 0
    assert run(["new", "task", "Refill", "--in", "mine/practice"]) == 0
    assert run(["new", "scenario", "Call back", "--in", "mine/practice/scenarios"]) == 0
    path, schema = read_schema_of(Path("mine/practice/tasks/refill.yml"))
    assert path == Path("mine/.clerkship/schemas/task.schema.json").resolve()
    assert "answer_matches" in json.dumps(schema["$defs"]["AssertionCall"])
    read_schema_of(Path("mine/practice/scenarios/call_back.yml"))
    assert not Path(".clerkship").exists()


@pytest.mark.parametrize(
    ("folder", "schemas"), [("eval/scenarios", ".clerkship"), ("../elsewhere", "../elsewhere/.clerkship")]
)
def test_without_a_project_the_schemas_are_in_the_working_folder_or_in_one_elsewhere(folder: str, schemas: str) -> None:
    Path("../.clerkship").mkdir()  # of another project
    assert run(["new", "scenario", "Call back", "--in", folder]) == 0
    path, _ = read_schema_of(Path(folder, "call_back.yml"))
    assert path == Path(schemas, "schemas", "scenario.schema.json").resolve()


def test_mistake_in_a_generated_file_is_found_by_its_schema() -> None:
    run(["init"])
    file = Path("practice/tasks/add_up_orders.yml")
    file.write_text(file.read_text(encoding="utf-8").replace("criteria:", "critera:"), encoding="utf-8")
    with pytest.raises(jsonschema.ValidationError, match="critera"):
        read_schema_of(file)


def test_drafts_name_the_schema_of_scenarios() -> None:
    Path("flows.yml").write_text(FLOWS, encoding="utf-8")
    assert run(["generate", "scenarios", "--from", "flows.yml", "--to", "eval/scenarios"]) == 0
    files = sorted(Path("eval/scenarios").glob("*.yml"))
    assert files
    for file in files:
        read_schema_of(file)


def test_nothing_is_written_beside_existing_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks").mkdir()
    Path("tasks/refill.yml").write_text("task: {name: Other}", encoding="utf-8")
    assert run(["new", "task", "Refill", "--in", "."]) == 2
    assert "already exists; nothing was written" in capsys.readouterr().err
    assert not Path(".clerkship").exists()


def test_schema_write_restores_all_schemas(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "--write"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "+ .clerkship/schemas/task.schema.json" in lines
    assert len(lines) == len(list(Path(".clerkship/schemas").iterdir())) == 6
    Path("deep").mkdir()
    assert run(["schema", "task", "--write", "--json"]) == 0
    assert run(["schema"]) == 2
    assert "a kind of file is needed; give one of task, " in capsys.readouterr().err
