"""Planning of runs: five steps, and options that are declared once."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from clerkship.by_name import load
from clerkship.cli.commands import COMMANDS, CommandEntry
from clerkship.cli.run import fork, run
from clerkship.kit.command_option import options_of, words_of
from clerkship.model.errors import InputError
from clerkship.pytest_plugin import FixtureAttackOptions, FixtureRunOptions
from clerkship.service.attacking import AttackOptions
from clerkship.service.planning.request import RunRequest

ROOT = Path(__file__).parents[2]
STEPS = ["load_suite", "select_tasks", "freeze_tasks", "choose_models", "build_plan"]
MAX_FILES = 12
MAX_FUNCTIONS = 36
MAX_PARAMETERS = 6
HERE = Path()


def calls() -> list[list[str]]:
    """Return file, function and caller of each call in the service while the demo is planned."""
    # In a separate interpreter: after an exception in a thread, the profiler of CPython 3.11 does not stop.
    command = [sys.executable, "-m", "tests.service.path_of_a_plan"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [line.split(" ") for line in done.stdout.splitlines()]


def test_planning_has_five_steps_in_few_files() -> None:
    called = calls()
    assert [name for _, name, caller in called if caller == "plan_run"] == STEPS
    assert len({file for file, _, _ in called}) <= MAX_FILES
    assert len({(file, name) for file, name, _ in called}) <= MAX_FUNCTIONS


def test_planning_steps_do_not_call_each_other() -> None:
    callers = {caller for _, name, caller in calls() if name in STEPS}
    assert callers == {"plan_run"}


@pytest.mark.parametrize("name", ["run", "resume", "rerun", "rescore", "fork", "demo", "validate"])
def test_planning_commands_have_few_parameters(name: str) -> None:
    entry = COMMANDS[name]
    assert isinstance(entry, CommandEntry)
    written = inspect.unwrap(load(entry.target))
    assert len(inspect.getfullargspec(written).args + inspect.getfullargspec(written).kwonlyargs) <= MAX_PARAMETERS


def test_options_of_a_group_are_options_of_the_command() -> None:
    offered = set(inspect.signature(run).parameters)
    assert {"path", "agent", "tasks", "judge", "no_judge", "until_sure", "threshold", "record", "report"} <= offered
    assert "outbound" not in offered
    assert {"warm_up", "concurrency", "isolate", "junit"} <= set(inspect.signature(fork).parameters)


def test_command_receives_option_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {name: one.default for name, one in inspect.signature(fork).parameters.items()}
    given |= {"run": "latest", "task": "x", "turn": 2, "judge": "scripted:a.yml", "no_judge": True}
    with pytest.raises(InputError, match="--judge and --no-judge exclude each other"):
        fork(**given)


def test_run_stores_its_options_as_typed() -> None:
    request = RunRequest(path=HERE, agent="nop", tasks=("a", "b"), judge="none", until_sure=0.9, timeout=5.0, seed=7)
    words = "--until-sure --no-judge --task a --task b --timeout 5s --threshold 0.9"
    assert sorted(words_of(request)) == sorted(words.split())
    assert words_of(RunRequest(path=HERE, agent="nop", tape="replay", metrics=True)) == ("--metrics", "--replay")


def test_until_sure_has_fifty_trials_by_default() -> None:
    assert RunRequest(path=HERE, agent="nop").trial_count == 1
    assert RunRequest(path=HERE, agent="nop", until_sure=0.8).trial_count == 50
    assert RunRequest(path=HERE, agent="nop", until_sure=0.8, trials=3).trial_count == 3


def test_fixture_accepts_options_of_a_request() -> None:
    flags = {"record", "replay", "refresh"}
    assert set(FixtureRunOptions.__annotations__) - flags <= set(options_of(RunRequest))
    assert set(FixtureAttackOptions.__annotations__) <= set(options_of(AttackOptions))
