"""Mistakes of new users on the command line: what was wrong, what was expected, what to write."""

import shlex
from pathlib import Path

import pytest

from clerkship.cli.app import run

MISTAKES = {
    "rum practice": "No such command 'rum'; did you mean `run`?",
    "test practice": "No such command 'test'; did you mean `run`?",
    "lint practice": "No such command 'lint'; did you mean `validate`?",
    "ls": "No such command 'ls'; did you mean `list`?",
    "suite attck practice": "No such command 'attck'; did you mean `attack`?",
    "run practice --agnt nop": "No such option: --agnt; did you mean `--agent`?",
    "run practice -a nop --repeat 3": "No such option: --repeat; did you mean `--trials`?",
    "run practice -a nop --parallel 3": "No such option: --parallel; did you mean `--concurrency`?",
    "run practice -a nop --trials three": "Invalid value for '--trials' / '-k': expected a whole number, not 'three'",
    "run practice -a nop --trials 0": "expected at least 1, not '0'",
    "run practice -a nop --timeout soon": "expected a duration such as 30m, 1h30m or a number of seconds, not 'soon'",
    "run practice -a nop --timeout 3d": "--timeout is 259200 seconds (expected: more than 0, at most 24h)",
    "run practise -a nop": "practise: there is no such file or folder; did you mean `practice`?",
    "run practice -a orcale": "unknown agent `orcale`; did you mean `oracle`?",
    "run practice -a nop --task Ad": "no task `Ad`",
    "init x --kind sms": "fax, messages, chat; did you mean `messages`?",
    "init x --kind faxx": "'faxx' is not one of fhir, hl7, files, portal, payer, phone, fax, messages, chat",
    "new tsk": "No such command 'tsk'; did you mean `task`?",
    "docs write_task": "there is no page `write_task`; did you mean `write_a_task`?",
    "validate practice --strict": "No such option: --strict; known: --agent, --domain, --help, --json, --verbose",
    "up --prot 3": "No such option: --prot; did you mean `--port`?",
}
TASK = "task: {name: Sort, criteria: [{label: Sorted, assertion: {answer_matches: 1}}]}\n"


@pytest.mark.parametrize("line", MISTAKES)
def test_mistake_on_the_command_line_says_what_to_write(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("practice").mkdir()
    Path("practice/sort.yml").write_text(TASK, encoding="utf-8")
    assert run(shlex.split(line)) == 2
    printed = capsys.readouterr()
    assert MISTAKES[line] in " ".join((printed.out + printed.err).split())


@pytest.mark.parametrize("timeout", ["1h", "90s", "1h30m", "30", "0.5"])
def test_timeout_is_a_duration_or_seconds(
    timeout: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sort.yml").write_text(TASK, encoding="utf-8")
    assert run(["run", "sort.yml", "-a", "nop", "--timeout", timeout]) == 1, capsys.readouterr()
