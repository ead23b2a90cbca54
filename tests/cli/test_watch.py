"""`clerkship run --watch`: runs again when files change."""

import os
import signal
from pathlib import Path

import pytest

from clerkship.cli.watching import select_tasks
from clerkship.service.planning.request import RunRequest
from clerkship.service.watched_files import find_changes, find_watched_files
from tests.cli.terminal import Process, clerkship

SUITE = "task: {name: One, criteria: [{label: right, assertion: {answer_matches: 1}}]}"
AGENT = "from answers import ANSWER\n\n\ndef answer(task_item):\n    return ANSWER\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a suite and an agent of two modules."""
    tmp_path.joinpath("suite").mkdir()
    tmp_path.joinpath("suite", "a.yml").write_text(SUITE)
    tmp_path.joinpath("agent.py").write_text(AGENT)
    tmp_path.joinpath("answers.py").write_text("ANSWER = 0\n")
    return tmp_path


@pytest.mark.long
def test_changes_of_agent_and_suite_are_run_and_mistakes_do_not_end_it(project: Path) -> None:
    command = ("run", "suite", "--agent", "python:agent:answer", "--watch", "--report", "suite/report.html")
    with Process(project, *command, merges_errors=True) as process:
        process.expect("[1/1] fail: One")
        process.expect("watching 3 files; Ctrl-C stops")
        project.joinpath("answers.py").write_text("ANSWER = 1  # right\n")
        process.expect("answers.py changed, running again")
        assert "report.html changed" not in process.expect("[1/1] pass: One")
        process.expect("watching 3 files; Ctrl-C stops")
        project.joinpath("suite", "a.yml").write_text("task: {name: One, critera: []}")
        process.expect("suite/a.yml changed, running again")
        process.expect("unknown key `critera`")
        project.joinpath("suite", "a.yml").write_text(SUITE.replace("One", "Uno"))
        process.expect("pass: Uno")
        process.expect("watching 3 files; Ctrl-C stops")
        stopped = process.stop(signal.SIGINT)
    assert (stopped.code, stopped.out) == (0, "")


@pytest.mark.slow
def test_change_of_one_task_runs_that_task_only(project: Path) -> None:
    project.joinpath("suite", "b.yml").write_text(SUITE.replace("One", "Two"))
    with Process(project, "run", "suite", "--agent", "python:agent:answer", "--watch", merges_errors=True) as process:
        process.expect("[2/2] fail")
        process.expect("watching 4 files; Ctrl-C stops")
        project.joinpath("suite", "b.yml").write_text(SUITE.replace("One", "Two").replace("1}", "0}"))
        process.expect("suite/b.yml changed, running 1 task again")
        process.expect("[1/1] pass: Two")
        process.expect("watching 4 files; Ctrl-C stops")
        project.joinpath("suite", "b.yml").write_text(SUITE.replace("One", "Two").replace("1}", "0}") + "  # the same")
        process.expect("suite/b.yml changed, no task did")
        process.expect("watching 4 files; Ctrl-C stops")
        project.joinpath("answers.py").write_text("ANSWER = 1  # right\n")
        process.expect("answers.py changed, running again")
        process.expect("[2/2]")
        process.stop(signal.SIGINT)


def test_tasks_of_the_command_are_replaced_by_those_that_changed() -> None:
    command = ["run", "suite", "--task", "a", "-k", "2", "--task=b", "--tag", "c"]
    expected = ["run", "suite", "-k", "2", "--tag", "c", "--task", "One", "--task", "Two"]
    assert select_tasks(command, ["One", "Two"]) == expected


def test_sigterm_ends_it_with_the_exit_code_of_the_last_run(project: Path) -> None:
    with Process(project, "run", "suite", "--agent", "nop", "--watch", merges_errors=True) as process:
        process.expect("watching 1 file; Ctrl-C stops")
        assert process.stop(signal.SIGTERM).code == 1


@pytest.mark.slow
def test_in_the_background_of_a_script_it_ignores_ctrl_c(project: Path) -> None:
    command = ("run", "suite", "--agent", "nop", "--watch")
    with Process(project, *command, merges_errors=True, in_background=True) as process:
        process.expect("watching 1 file; Ctrl-C stops")
        os.kill(process.pid, signal.SIGINT)
        project.joinpath("suite", "a.yml").write_text(SUITE.replace("One", "Uno"))
        process.expect("fail: Uno")
        process.expect("watching 1 file; Ctrl-C stops")
        assert process.stop(signal.SIGTERM).code == 1


def test_missing_path_is_refused_at_once(project: Path) -> None:
    done = clerkship(project, "run", "nowhere", "--agent", "nop", "--watch")
    assert done.returncode == 2
    assert "nowhere: there is no such file or folder" in done.stderr


def test_watched_files_are_those_of_suite_agent_and_scripted_models(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    for name in (
        "suite/cassettes/a.jsonl",
        "suite/.hidden.yml",
        "suite/data/p.json",
        "bot/main.py",
        "go.mjs",
        "j.json",
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("{}")

    def list_files(agent: str, **options: str) -> set[str]:
        request = RunRequest(path=Path("suite"), agent=agent, **options)  # type: ignore[arg-type]
        states = find_watched_files(request).read_states()
        return {path.relative_to(project).as_posix() if project in path.parents else path.name for path in states}

    suite = {"suite/a.yml", "suite/data/p.json"}
    assert list_files("https://agent.example/chat") == suite
    assert list_files("python:agent:answer") == suite | {"agent.py", "answers.py"}
    assert list_files("python:bot.main:Agent") == suite | {"bot/main.py"}
    assert list_files("command:node go.mjs --fast") == suite | {"go.mjs"}
    assert list_files("command:node 'go.mjs") == suite
    assert list_files("oracle", judge="scripted:j.json") == suite | {"j.json"}
    assert suite | {"decoder.py"} <= list_files("python:json:tool"), "an installed package is watched too"


def test_added_removed_and_changed_files_are_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    files = find_watched_files(RunRequest(path=Path("suite/a.yml"), agent="python:agent:answer"))
    before = files.read_states()
    Path("suite/b.yml").write_text(SUITE)
    Path("answers.py").unlink()
    os.utime("agent.py", ns=(1, 1))
    changed = find_changes(before, files.read_states())
    assert [path.name for path in changed] == ["agent.py", "answers.py", "b.yml"]
