"""Help, completion and usage errors come from the table of commands, which matches the commands."""

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from clerkship.by_name import load
from clerkship.cli.app import run
from clerkship.cli.commands import COMMANDS, CommandEntry


def entries() -> Iterator[tuple[str, CommandEntry]]:
    """Yield every command by its whole name, those of groups too."""
    for name, entry in COMMANDS.items():
        if isinstance(entry, CommandEntry):
            yield name, entry
        else:
            yield from ((f"{name} {inner}", command) for inner, command in entry.commands.items())


ENTRIES = dict(entries())


@pytest.mark.parametrize("name", ENTRIES)
def test_help_in_the_table_is_the_first_paragraph_of_the_docstring(name: str) -> None:
    paragraph = (inspect.getdoc(load(ENTRIES[name].target)) or "").split("\n\n")[0]
    assert ENTRIES[name].help == " ".join(paragraph.split())


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: clerkship {name} ")
    assert ENTRIES[name].help in " ".join(text.split())
    assert "--help" in text


def test_help_lists_every_command_with_its_whole_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, entry in COMMANDS.items():
        assert f" {name} {entry.help}" in text


def test_help_of_a_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"scenario {ENTRIES['new scenario'].help}" in text


def test_help_of_run_has_a_section_for_each_panel(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--help"]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings[:4] == ["Arguments:", "Options:", "Selection:", "Execution:"]
    assert "Reports:" in headings


@pytest.mark.parametrize("arguments", [[], ["new"]])
def test_missing_command_prints_help_and_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vlidate"], "Error: No such command 'vlidate'; did you mean `validate`?"),
        (["new", "tsk"], "Error: No such command 'tsk'; did you mean `task`?"),
        (["run", "x", "--agnt", "nop"], "Error: No such option: --agnt; did you mean `--agent`?"),
        (["run"], "Error: Missing argument 'path'."),
    ],
)
def test_usage_error_names_the_mistake_and_the_nearest_name(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        ("clerkship s", ["show", "store", "schema", "serve", "suite"]),
        ("clerkship new t", ["task"]),
        ("clerkship run --agent", ["--agent", "--agent-process"]),
    ],
)
def test_shell_completion_suggests_commands_and_options(words: str, suggested: list[str]) -> None:
    request = {"_CLERKSHIP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-m", "clerkship"]
    done = subprocess.run(command, env=os.environ | request, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == suggested
