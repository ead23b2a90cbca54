"""Text of agents cannot contain commands to the CI system that reads the output."""

import re
from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.report.plain_text import escape_ci_commands
from tests.cli.terminal import clerkship

CI_COMMAND = re.compile(r"(?m)(?:^|\r)\s*::|##(?:vso)?\[")
AGENT = """\
import logging, sys, warnings
logging.basicConfig()
ORDERS = "x\\n::error::a\\n  ::add-mask::b\\r::c\\n##[error]d\\nat the end ##vso[task.complete]e"

def agent(task_item):
    key = task_item["key"]
    print(ORDERS, key, key.upper())
    print(ORDERS, key, file=sys.stderr)
    logging.warning("%s %s", ORDERS, key)
    warnings.warn(key)
    sys.stdout.write("in parts " + key[:9])
    sys.stdout.write(key[9:] + "\\n")
    raise RuntimeError(ORDERS)
"""
TASK = """\
task:
  name: "::warning::A ##[debug]"
  task_item: {key: "${MY_API_KEY}"}
  criteria: [{label: "::error::L", assertion: {answer_matches: 1}}]
"""


def test_commands_in_output_of_an_agent_are_escaped_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "ordering.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "t.yml").write_text(TASK, encoding="utf-8")
    monkeypatch.setenv("MY_API_KEY", "Sk-live-0123456789")
    done = clerkship(tmp_path, "run", "t.yml", "-a", "python:ordering:agent", "--junit", "junit.xml")
    assert done.returncode == 1, done.stderr
    assert r"\::error::a" in done.stderr
    assert "e ${MY_API_KEY} ${MY_API_KEY}" in done.stderr
    assert "UserWarning: ${MY_API_KEY}" in done.stderr
    assert "in parts ${MY_API_KEY}" in done.stderr
    assert "sk-live" not in done.stderr.lower()
    monkeypatch.chdir(tmp_path)
    shown = b""
    for options in ((), ("--events",), ("--json",), ("--failed",)):
        task = [] if "--failed" in options else ["warning"]
        assert run(["show", "latest", *task, *options]) == 0
        shown += capsysbinary.readouterr().out
    assert r"\::error::a" in shown.decode()
    for text in (done.stdout, done.stderr, shown.decode(), Path("junit.xml").read_text(encoding="utf-8")):
        assert not CI_COMMAND.search(text), CI_COMMAND.findall(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\::error::x"),
        ("a\n \t::error::x", "a\n \t\\::error::x"),
        ("a\r::error::x", "a\r\\::error::x"),
        ("\x1b[2m::error::x", "\x1b[2m\\::error::x"),
        ("a ##[group]b ###vso[c]", r"a #\#[group]b ##\#vso[c]"),
        ("a::b # c ## d", "a::b # c ## d"),
    ],
)
def test_commands_are_escaped_with_a_backslash(text: str, shown: str) -> None:
    assert escape_ci_commands(text) == shown
