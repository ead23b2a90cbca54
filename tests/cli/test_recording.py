"""`--record`, `--replay` and `--refresh`: two replays write the same bytes."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_server import get_command_path

AGENT = """
from clerkship.events.agent import ActionExecuted, SlotSet


class Agent:
    def on_start(self, start, sandboxes):
        return "Hello."

    def on_turn(self, message, sandboxes):
        sandboxes.report(ActionExecuted(name="action_look_up"))
        sandboxes["drop"].write("notes/order.txt", "late")
        if "crash" in message.text:
            raise ValueError("out of order")
        return ["It snows.", SlotSet(name="reason", value="snow")]
"""
ENVIRONMENT = """
environment:
  name: desk
  simulators: {talk: {kind: chat}, drop: {kind: files}}
"""
TASK = """
task:
  name: NAME
  environment: desk
  scenario:
    starts: person
    person: {sandbox: talk, lines: [LINE, Why?]}
  criteria:
    - {label: It says why, assertion: {judged: It says why}}
    - {label: It is polite, assertion: {judged: It is polite}}
"""
ANSWERS = """
- {contains: says why, answer: {passed: true, reasoning: It names the snow.}}
- {contains: polite, answer: {passed: false, reasoning: It is curt.}}
"""
REPORTS = ["--report", "out/r.html", "--junit", "out/r.xml", "--jsonl", "out/r.jsonl", "--markdown", "out/r.md"]


def create_project(folder: Path) -> Path:
    """Write an agent, its tasks and the answers of a judge."""
    for name, text in {
        "agent.py": AGENT,
        "answers.yml": ANSWERS,
        "eval/desk.yml": ENVIRONMENT,
        "eval/tasks/late.yml": TASK.replace("NAME", "Late order").replace("LINE", "Where is my order?"),
        "eval/tasks/crash.yml": TASK.replace("NAME", "Crash").replace("LINE", "Please crash."),
        "eval/tasks/again.yml": TASK.replace("NAME", "Late again").replace("LINE", "Late again?"),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run_command(here: Path, *words: str, exits: int = 0, seed: str | None = None) -> str:
    """Run a command, and return its output. A seed of hashes needs a new interpreter."""
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "200"}
    environment.pop("OPENAI_API_KEY", None)
    if seed is None:
        command, environment["PATH"] = ["clerkship", *words], get_command_path()
    else:
        command, environment["PYTHONHASHSEED"] = [sys.executable, "-m", "clerkship", *words], seed
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == exits, done.stdout + done.stderr
    return done.stdout + done.stderr


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_store(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of all tables of a store."""
    with closing(sqlite3.connect(store)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in tables}


def read_log_heads(folder: Path) -> list[tuple[object, ...]]:
    """Return task, trial and log head of each trial."""
    lines = [json.loads(line) for line in (folder / "out/r.jsonl").read_text().splitlines()]
    return [(line["task"], line["trial"], line["head"]) for line in lines if line["type"] == "task_run"]


@pytest.mark.parametrize("agent", [pytest.param("python:agent:Agent", marks=pytest.mark.slow), "recorded"])
def test_two_replays_in_different_folders_write_the_same_bytes(tmp_path: Path, agent: str) -> None:
    first, second = create_project(tmp_path / "here" / "one"), tmp_path / "elsewhere" / "and" / "deeper"
    judge = ("--judge", "scripted:answers.yml")
    recorded = run_command(
        first, "run", "eval", "-a", "python:agent:Agent", *judge, "--record", "--record-agent", "-k", "2", exits=1
    )
    assert "recorded  eval/tasks/cassettes/again.jsonl" in recorded
    create_project(second)
    for path in (first / "eval").rglob("cassettes"):
        path.rename(second / path.relative_to(first))
    for path in (second / "eval").rglob("cassettes"):
        (first / path.relative_to(second)).mkdir()
        for file in path.iterdir():
            (first / file.relative_to(second)).write_bytes(file.read_bytes())
    for number, here in enumerate((first, second)):
        (here / "answers.yml").unlink()
        told = run_command(
            here, "run", "eval", "-a", agent, *judge, "--replay", "-k", "2", *REPORTS, "--results", "rasa:out/results",
            "--store", "fresh/store.db", exits=1, seed=str(number + 1),
        )  # fmt: skip
        assert "replayed  eval/tasks/cassettes/again.jsonl" in told
    assert read_files(first / "out").keys() == read_files(second / "out").keys()
    for name, data in read_files(first / "out").items():
        assert data == read_files(second / "out")[name], name
        assert str(tmp_path).encode() not in data, name
    assert read_log_heads(first) == read_log_heads(second)
    assert len(read_log_heads(first)) == 6
    stores = [read_store(here / "fresh/store.db") for here in (first, second)]
    assert stores[0].keys() == stores[1].keys()
    for table in ("runs", "run_marks", "blobs"):
        assert stores[0][table] == stores[1][table], table


def test_recording_is_reported_as_text_and_json(tmp_path: Path) -> None:
    here = create_project(tmp_path)
    common = ("run", "eval/tasks/late.yml", "-a", "python:agent:Agent", "--judge", "scripted:answers.yml")
    assert "record 2 recorded  eval/tasks/cassettes/late.jsonl" in run_command(here, *common, "--record", exits=1)
    assert "refresh 0 recorded, 2 replayed" in run_command(here, *common, "--refresh", exits=1)
    found = json.loads(run_command(here, *common, "--replay", "--json", exits=1))
    assert found["tape"] == {
        "mode": "replay",
        "replayed": 2,
        "written": 0,
        "dropped": 0,
        "forgotten": 0,
        "unused": 0,
        "files": ["eval/tasks/cassettes/late.jsonl"],
        "failed": "",
        "missed": 0,
        "first_miss": "",
    }
    (here / "agent.py").write_text(AGENT.replace("It snows.", "It rains."))
    told = run_command(here, *common, "--replay", exits=2)
    assert told.count("not recorded: a question of judge about criterion, 'It is polite'") == 1
    assert '+[T1.2] agent: "It rains."' in told
    assert "not recorded: 1 trial needs answers that no cassette has; --refresh records what is missing" in told
    assert told.count("--refresh records what is missing") == 1
    assert "the trial differs from the recording" in told
    assert "fault" not in told
    shown = run_command(here, "show", "latest")
    assert shown.count("--refresh records what is missing") == 1
    assert run_command(here, "show", "latest", "Late").count("--refresh records what is missing") == 1
    missed = json.loads(run_command(here, *common, "--replay", "--json", exits=2))
    assert (missed["exit_code"], missed["tape"]["missed"]) == (2, 1)
    assert missed["tape"]["first_miss"] == missed["tasks"][0]["error"]
    assert "2 recorded answers of these trials were not used" in run_command(here, *common, "--refresh", exits=1)
    assert "exclude each other" in run_command(here, *common, "--record", "--replay", exits=2)
    assert "add --record or --refresh" in run_command(here, *common, "--record-agent", exits=2)


def test_answers_of_an_invalid_person_are_counted_and_not_recorded(tmp_path: Path) -> None:
    here = create_project(tmp_path)
    played = "scenario:\n  name: Played\n  simulation_context: You want your order ORD-1.\n"
    (here / "played.yml").write_text(played + "  goals: {assertions: [{bot_uttered: {text_matches: snow}}]}\n")
    (here / "person.yml").write_text("- {answer: {message: How can I help you today?, done: false}}\n")
    common = ("run", "played.yml", "-a", "python:agent:Agent", "--person", "scripted:person.yml")
    told = run_command(here, *common, "--record", exits=2)
    assert "record 0 recorded" in told
    assert "3 answers of an invalid person: not recorded" in told


def test_rescore_of_a_replay_uses_the_cassettes(tmp_path: Path) -> None:
    here = create_project(tmp_path)
    common = ("run", "eval/tasks/late.yml", "-a", "python:agent:Agent", "--judge", "scripted:answers.yml")
    run_command(here, *common, "--record", exits=1)
    run_command(here, *common, "--replay", exits=1)
    (here / "answers.yml").unlink()
    assert "replay 2 replayed" in run_command(here, "rescore", "latest", exits=1)
    task = here / "eval/tasks/late.yml"
    task.write_text(task.read_text().replace("It is polite", "It is kind"))
    assert "not recorded: 1 trial needs answers" in run_command(
        here, "rescore", "latest", "--by", "eval/tasks/late.yml", exits=2
    )


def test_damaged_cassette_is_reported_with_file_and_line(tmp_path: Path) -> None:
    here = create_project(tmp_path)
    common = ("run", "eval/tasks/late.yml", "-a", "python:agent:Agent", "--judge", "scripted:answers.yml")
    run_command(here, *common, "--record", exits=1)
    cassette = here / "eval/tasks/cassettes/late.jsonl"
    lines = cassette.read_text().splitlines()
    cassette.write_text("\n".join([*lines[:-1], lines[-1].replace("It is polite", "It is rude")[:-9]]) + "\n")
    told = run_command(here, *common, "--replay", exits=2)
    assert f"eval/tasks/cassettes/late.jsonl:{len(lines)}:1: it is no line of a cassette" in told
    assert "record it again with --record" in told
    told = run_command(here, *common, "--record", exits=1)
    assert f"eval/tasks/cassettes/late.jsonl:{len(lines)}:1: it is no line of a cassette" in told
    assert "it is replaced when something is recorded" in told
    assert cassette.read_text().splitlines() == lines
