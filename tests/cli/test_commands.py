"""The commands that run, show and validate tasks."""

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import takewhile
from pathlib import Path

import jsonschema
import pytest

from clerkship import __version__
from clerkship.actors.isolation.contract import offered
from clerkship.cli.app import run
from clerkship.report.labels import ISOLATION
from clerkship.suite_files.yaml import parse_yaml
from tests.command_server import get_command
from tests.front_desk import SUITE
from tests.processes import start_process


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("agent",):
        sys.modules.pop(name, None)


def test_version_is_that_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clerkship", "--version"], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == f"clerkship {__version__}\n"


def test_demo_prints_verdicts_and_evidence_and_writes_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--report", "report.html"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"✓ pass +1.00 .* Explain why an order is late", text)
    assert re.search(r"✓ pass +1.00 .* Get an MRI authorized", text)
    assert re.search(r"✗ fail +0.71 .* Get an MRI authorized", text)
    assert "✗ The payer was called before the request was filed, and the record was faxed (process)" in text
    assert "payer.check_requirement', arguments.procedure_code is '72148', never happened" in text
    assert f"\n  {Path('report.html').absolute().as_uri()}#failed\n" in text
    assert "The payer was called before the request was filed" in Path("report.html").read_text(encoding="utf-8")


def test_demo_can_be_worked_by_hand() -> None:
    with start_process([get_command(), "demo", "--up"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        text = "".join(takewhile(lambda line: not line.startswith("stop "), process.stdout))
    for part in (
        "ehr  fhir  http://",
        "portal_url http://",
        "username m.okafor, password ",
        "+18005550142",
        "+15550100149",
        "fax  http://",
    ):
        assert part in text, part


def test_demo_shows_a_progress_bar_on_a_terminal_and_opens_its_report(tmp_path: Path) -> None:
    script = f"import pty, sys; sys.exit(pty.spawn([{get_command()!r}, 'demo']) >> 8)"
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/opened\n")
    browser.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "SSH_CONNECTION")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "120", "DISPLAY": ":9", "BROWSER": str(browser)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environment, check=False, timeout=240
    )
    text = done.stdout.decode()
    assert done.returncode == 0, text
    assert "\x1b[" in text
    assert "2/2" in text
    assert re.fullmatch(r"file:///\S+\.html#failed\n", (tmp_path / "opened").read_text())


def test_init_creates_a_working_project_and_overwrites_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["init", "mine"]) == 0
    assert "python:agent:Agent" in capsys.readouterr().out
    monkeypatch.chdir("mine")
    assert run(["validate", "practice"]) == 0
    assert run(["run", "practice", "--agent", "python:agent:Agent"]) == 0
    assert run(["init"]) == 2
    assert "already exists" in capsys.readouterr().err


def test_every_command_prints_json_with_json_option(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def said(*arguments: str, code: int = 0) -> object:
        assert run([*arguments, "--json"]) == code
        return json.loads(capsysbinary.readouterr().out)

    result = said("run", str(SUITE), "--agent", "nop", code=1)
    assert isinstance(result, dict)
    assert result["exit_code"] == 1
    assert len(result["tasks"]) == 5
    assert said("list")
    assert said("show", result["run"]["id"])
    assert said("show", "latest", "relative")
    assert said("validate", str(SUITE))
    assert said("schema", "task")
    assert said("init", "here")


def test_tag_and_task_options_select_tasks(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def tasks(*arguments: str) -> int:
        run(["run", str(SUITE), "-a", "oracle", "--json", *arguments])
        return len(json.loads(capsysbinary.readouterr().out)["tasks"])

    assert tasks("--tag", "files") == 2
    assert tasks("--tag", "files", "--tag", "privacy") == 3
    assert tasks("--task", "Wait*") == 1
    assert tasks("-k", "3", "--task", "Wait*") == 3


def test_show_prints_a_task_with_its_intact_log(capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", str(SUITE), "-a", "oracle"])
    capsys.readouterr()
    assert run(["show", "latest", "referral", "--events"]) == 0
    text = capsys.readouterr().out
    assert "files.file.written" in text
    assert "caused by #" in text
    assert "as it was graded, SHA-256 " in text
    assert run(["show", "latest", "--failed"]) == 0
    assert run(["list"]) == 0
    assert "oracle" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere", "-a", "nop"], "nowhere: there is no such file or folder"),
        (["run", str(SUITE), "-a", "magic"], "unknown agent `magic`"),
        (
            ["run", str(SUITE), "-a", "python:no_such_module:x"],
            "no module `no_such_module`; run clerkship in the folder",
        ),
        (["run", str(SUITE), "-a", "python:tests.front_desk.agent:FrontDisk"], "did you mean `FrontDesk`?"),
        (["run", str(SUITE), "-a", "nop", "--tag", "none"], "no task matches the selection; tags: conversation"),
        (["run", str(SUITE), "-a", "nop", "--task", "Wait for a reslut"], "no task `Wait for a reslut`"),
        (["run", str(SUITE), "-a", "nop", "--benchmark", "x"], "unknown benchmark `x`"),
        (["run", str(SUITE)], "Missing option '--agent'"),
        (["show"], "there is no store"),
        (["list"], "there is no store"),
        (["schema", "tusk"], "no schema `tusk`; did you mean `task`?"),
        (["validate", "."], "there is no task in this folder"),
        (["dmeo"], "No such command 'dmeo'"),
    ],
)
def test_input_errors_are_printed_without_traceback(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    output = capsys.readouterr()
    text = " ".join((output.out + output.err).split())
    assert said in text
    assert "Traceback" not in text


def test_invalid_setting_is_an_input_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLERKSHIP_TIMEOUT", "soon")
    assert run(["run", str(SUITE), "-a", "nop"]) == 2
    assert "CLERKSHIP_TIMEOUT is 'soon'" in capsys.readouterr().err


def test_validate_lists_all_mistakes_with_file_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yml").write_text("task:\n  name: A\n  critera: []\n  timeout: soon\n")
    Path("b.yml").write_text("task:\n  name: B\n  scenario: [{file.drop: {}}]\n")
    assert run(["validate", "."]) == 2
    text = capsys.readouterr().out
    assert "a.yml:3:3" in text
    assert "did you mean `criteria`?" in text
    assert "a.yml:4:12" in text
    assert "b.yml:3:" in text
    assert "did you mean `files.drop`?" in text
    assert "3 mistakes" in text


@pytest.mark.parametrize("sort", ["task", "environment"])
def test_schemas_accept_built_in_files_and_reject_unknown_keys(
    sort: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["schema", sort]) == 0
    schema = json.loads(capsysbinary.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    files = [parse_yaml(path.read_text(encoding="utf-8"), path.name).data for path in sorted(SUITE.rglob("*.yml"))]
    mine = [data for data in files if sort in data]
    assert mine
    for data in mine:
        validator.validate(data)
        broken = {sort: {**data[sort], "nmae": "x"}}
        assert not validator.is_valid(broken)


def test_schema_of_a_task_has_every_assertion_and_step(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["schema", "task"]) == 0
    text = capsysbinary.readouterr().out.decode()
    for name in ("sequencing", "file_present", "bot_uttered", "files.drop", "fault.latency", "chat.say"):
        assert f'"{name}"' in text


def test_output_of_an_agent_is_not_mixed_with_json(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text("def agent(task_item):\n    print('chatter')\n    return 1\n")
    (tmp_path / "t.yml").write_text("task: {name: A}")
    command = [get_command(), "run", "t.yml", "-a", "python:noisy:agent", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout)["tasks"][0]["answer"] == 1
    assert b"chatter" in done.stderr


@pytest.mark.parametrize("source", ["import sys; sys.exit(0)", "1/0", "raise SystemExit"])
def test_agent_that_exits_on_import_is_an_error(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"ends_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source)
    assert run(["run", str(SUITE), "-a", f"python:{name}:agent"]) == 2
    assert "importing it failed" in capsys.readouterr().err


def test_report_that_becomes_unwritable_is_reported_after_the_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in_the_way.py").write_text("import os\ndef agent(task_item):\n    os.mkdir('r.html')\n    return 1\n")
    (tmp_path / "t.yml").write_text("task: {name: A, criteria: [{label: a, assertion: {answer_matches: 1}}]}")
    assert run(["run", "t.yml", "-a", "python:in_the_way:agent", "--report", "r.html"]) == 2
    output = capsys.readouterr()
    assert "pass rate 100%" in output.out
    assert "the report r.html cannot be written: Is a directory" in output.err
    assert "bug" not in output.err


def test_report_has_the_command_that_repeats_the_run() -> None:
    run(["run", str(SUITE), "-a", "oracle", "--task", "Wait*", "--timeout", "9", "-k", "2", "--report", "r.html"])
    text = Path("r.html").read_text(encoding="utf-8")
    assert "--agent oracle --seed 0 --trials 2 --task &#39;Wait*&#39; --timeout 9s" in text


def test_mistakes_are_json_with_json_option(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.yml").write_text("task: {nmae: A}")
    assert run(["run", ".", "-a", "nop", "--json"]) == 2
    assert json.loads(capsysbinary.readouterr().out)["problems"][0]["message"] == "unknown key `nmae`"


def test_changed_blob_is_detected_although_the_log_is_intact(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.yml").write_text(
        "environment: {name: d, simulators: {drop: {kind: files}}}\n"
        f"task: {{name: A, scenario: [{{files.drop: {{path: a.txt, text: {'x' * 9000}}}}}]}}\n"
    )
    assert run(["run", "t.yml", "-a", "nop"]) == 1
    capsys.readouterr()
    assert run(["show", "latest", "A"]) == 0
    assert "as it was graded" in capsys.readouterr().out
    database = sqlite3.connect(".clerkship/store.db")
    database.execute("UPDATE blobs SET data = ? WHERE length(data) = 9000", (b"forged",))
    database.commit()
    database.close()
    assert run(["show", "latest", "A"]) == 2
    shown = capsys.readouterr().out
    assert "NOT the log that was graded" in shown
    assert "A (trial 1): blob" in shown


def test_show_and_report_have_the_traceback_of_the_agent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "crashes_deep.py").write_text("import json\ndef agent(task_item):\n    return json.loads('{')\n")
    Path("t.yml").write_text("task: {name: A}")
    assert run(["run", "t.yml", "-a", "python:crashes_deep:agent", "--report", "r.html"]) == 1
    assert "(crashes_deep.py:3)" in capsys.readouterr().out
    assert run(["show", "latest", "A"]) == 0
    assert "return json.loads('{')" in capsys.readouterr().out
    assert "return json.loads(" in Path("r.html").read_text(encoding="utf-8")


CHAOTIC = """
environment: {name: desk, simulators: {drop: {kind: files}}}
task:
  name: Write it down
  criteria: [{label: there, assertion: {file_present: {path: a.txt}}}]
"""
STUBBORN = """
from clerkship.sandbox.handle import Dropped, Refused

def on_task(task_item, sandboxes):
    for _ in range(30):
        try:
            sandboxes["drop"].write("a.txt", "x")
            sandboxes["drop"].list()
        except (Dropped, Refused):
            sandboxes.wait("1s")
    return "done"
"""


def test_chaos_is_reproducible_and_stored_in_snapshot_and_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("suite").mkdir()
    Path("suite/a.yml").write_text(CHAOTIC, encoding="utf-8")
    Path("agent.py").write_text(STUBBORN, encoding="utf-8")
    monkeypatch.syspath_prepend(".")
    command = ["run", "suite", "--agent", "python:agent:on_task", "--chaos", "rough", "-k", "3", "--json"]
    found = []
    for _ in range(2):
        assert run(command) == 0
        found.append(json.loads(capsys.readouterr().out))
    heads = [[task["head"] for task in shown["tasks"]] for shown in found]
    assert heads[0] == heads[1]
    assert len(set(heads[0])) == 3
    assert found[0]["run"]["options"] == ["--chaos", "rough"]
    with closing(sqlite3.connect(".clerkship/store.db")) as store:
        [[kept]] = store.execute("SELECT data FROM blobs WHERE sha256 = ?", [found[0]["tasks"][0]["snapshot"]])
    assert kept.count(b'"fault.') == 8
    assert "--chaos rough" in Path(found[0]["report"]).read_text(encoding="utf-8")
    assert run(["show", "latest", "Write it down", "--events", "--json"]) == 0
    text = capsys.readouterr().out
    assert text.count("fault.injected") > 5
    assert run(["run", "suite", "--agent", "python:agent:on_task", "--seed", "0"]) == 0
    assert run(["show", "latest", "Write it down", "--events", "--json"]) == 0
    assert "fault.injected" not in capsys.readouterr().out


def test_chaos_profile_is_printed_and_unknown_profile_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.yml").write_text(CHAOTIC, encoding="utf-8")
    assert run(["run", "a.yml", "--agent", "nop", "--chaos", "gentle"]) == 1
    assert "chaos gentle" in capsys.readouterr().out
    assert run(["run", "a.yml", "--agent", "nop", "--chaos", "gentel"]) == 2
    assert "unknown chaos profile `gentel`; did you mean `gentle`?" in capsys.readouterr().err


def test_isolation_is_reported_and_always_rejects_agents_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("suite").mkdir()
    Path("suite/a.yml").write_text("task: {name: Work, criteria: []}")
    Path("agent.py").write_text("print('done')\ndef agent(task_item): ...\n")
    agent = f"command:{shlex.quote(sys.executable)} agent.py"
    assert run(["run", "suite", "--agent", agent, "--junit", "junit.xml", "--markdown", "run.md"]) == 0
    level = offered()[0]
    assert f"isolation {ISOLATION[level]}" in capsys.readouterr().out
    [page] = Path(".clerkship/reports").glob("*.html")
    assert f"<dt>Isolation</dt><dd>{ISOLATION[level]}" in page.read_text(encoding="utf-8")
    assert f'name="isolation" value="{level}"' in Path("junit.xml").read_text(encoding="utf-8")
    assert ISOLATION[level] in Path("run.md").read_text(encoding="utf-8")
    assert run(["run", "suite", "--agent", "python:agent", "--isolate", "always"]) == 2
    assert "python:agent cannot be isolated: it runs in the process that grades it" in capsys.readouterr().err
    assert run(["rerun", "latest", "--isolate", "never"]) == 0
    assert f"isolation {ISOLATION['none']}" in capsys.readouterr().out


def test_standard_error_of_a_program_is_shown_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("suite").mkdir()
    Path("suite/a.yml").write_text("task: {name: Work, criteria: []}")
    Path("noisy.py").write_text(
        "import sys\n"
        "for number in range(100): print('complaint', number, file=sys.stderr)\n"
        "sys.exit('\\x1b[2Jthe [bold]end[/]')\n"
    )
    assert run(["run", "suite", "--agent", f"command:{shlex.quote(sys.executable)} noisy.py"]) == 1
    text = capsys.readouterr().out
    assert "it ended with exit code 1" in text
    assert "complaint 99" in text
    assert run(["show", "latest", "Work"]) == 0
    text = capsys.readouterr().out
    assert "standard error of the agent, last 40 of 101 lines" in text
    assert "complaint 61\n" in text
    assert "\N{REPLACEMENT CHARACTER}[2Jthe [bold]end[/]" in text
    assert "\x1b[2J" not in text
    [page] = Path(".clerkship/reports").glob("*.html")
    assert "complaint 99" in page.read_text(encoding="utf-8")
