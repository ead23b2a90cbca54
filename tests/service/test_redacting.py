"""No output of a run contains the value of a variable that its tasks use, in any encoding."""

import base64
import html
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.cli.console import out
from clerkship.cli.up import EventPrinter
from clerkship.events.agent import SlotSet
from clerkship.service.comparing import compare_runs
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets, ResultsFolder
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.settings import load_settings
from tests.workbench import CATALOG, Workbench

KEY = "Sk-live-0123456789"
SUITE = """\
environment: {name: clinic, simulators: {drop: {kind: files}}}
task:
  name: A
  task_item: {key: "${MY_API_KEY}"}
  scenario: [{files.drop: {path: a.txt, text: "key ${MY_API_KEY}"}}]
  criteria:
    - {label: writes nothing, assertion: {file_present: "${MY_API_KEY}.txt"}}
    - {label: says, assertion: {answer_matches: {expected: {said: "not ${MY_API_KEY}"}}}}
"""


def forms() -> list[str]:
    """Return the encodings of the key that an agent may use."""
    coded = [base64.b64encode(b"x" * count + KEY.encode() + b"y").decode() for count in range(3)]
    return [KEY, KEY.upper(), KEY.lower(), *coded]


def find_leaks(text: str) -> list[str]:
    """Return the encodings in a text; of base64 only the part that does not depend on its surroundings."""
    return [form for form in [*forms()[:3], *(form[4:-4] for form in forms()[3:])] if form in text]


async def agent(task_item: Any, sandboxes: Any) -> Any:
    """Repeat the key everywhere."""
    assert task_item["key"] == KEY
    sandboxes["drop"].write("b.txt", "\n".join(forms()) * 200)
    sandboxes["drop"].write("c.bin", b"\xff\x00" + KEY.encode() + b"\x00" * 5000)
    sandboxes["drop"].write(f"{KEY.lower()}.txt", "x")
    return {"said": forms(), KEY: {"nested": KEY}}


async def crash(task_item: Any) -> None:
    """Repeat the key in an error."""
    raise RuntimeError(f"cannot use {task_item['key']}\nnor {task_item['key'].upper()}")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    """A suite that uses a key, run twice."""
    monkeypatch.setenv("MY_API_KEY", KEY)
    workbench = Workbench(tmp_path)
    workbench.write("suite.yml", SUITE)
    workbench.run(agent)
    workbench.run(crash)
    yield workbench
    workbench.store.close()


def test_reports_show_the_variable_name_instead_of_its_value(bench: Workbench, tmp_path: Path) -> None:
    for number, reference in enumerate(("latest", "latest~1")):
        out = tmp_path / f"out{number}"
        names = {sort: out / f"run.{sort}" for sort in ("html", "junit", "jsonl", "markdown")}
        write_reports(bench.store, reference, ReportTargets(**names, results=ResultsFolder(out / "rasa")))  # type: ignore[arg-type]
        written = {path: html.unescape(path.read_text(encoding="utf-8")) for path in out.rglob("*") if path.is_file()}
        assert len(written) > 5
        for path, text in written.items():
            assert not find_leaks(text), path
        for sort in names.values():
            assert "MY_API_KEY" in written[sort]
        for line in names["jsonl"].read_text(encoding="utf-8").splitlines():
            body = json.loads(line)
            if body["type"] == "blob":
                assert KEY.encode() not in base64.b64decode(body["base64"])
    assert not find_leaks(str(compare_runs(bench.store, "latest~1", "latest").data()))


def test_command_line_shows_the_variable_name_instead_of_its_value(
    bench: Workbench, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ["--store", str(tmp_path / "store.db")]
    for reference in ("latest", "latest~1"):
        for options in ([], ["A"], ["A", "--events", "--criteria"], ["A", "--json"], ["--json"]):
            assert run(["show", reference, *options, *store]) == 0
            shown = capsysbinary.readouterr().out.decode()
            assert not find_leaks(shown), (reference, options)
            assert "MY_API_KEY" in shown
    run(["compare", "latest~1", "latest", *store])
    shown, warned = map(bytes.decode, capsysbinary.readouterr())
    assert not find_leaks(shown)
    assert "MY_API_KEY" not in warned
    monkeypatch.delenv("MY_API_KEY")
    for command in (["show", "latest"], ["compare", "latest~1", "latest"]):
        run([*command, *store])
        assert "may be shown: MY_API_KEY; set the variables" in capsysbinary.readouterr().err.decode()


def test_playground_events_show_the_variable_name_instead_of_its_value(
    bench: Workbench, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLERKSHIP_STORE", str(tmp_path / "s.db"))
    tail = EventPrinter()
    request = PlaygroundRequest(path=bench.folder, task="A")
    with tail.stop_on_signal(), open_playground(request, load_settings(), CATALOG, tail.add) as play:
        play.playground.emit("agent", SlotSet(name="key", value=forms()), "agent")
        for options in ([], ["--json"]):
            assert run(["events", *options]) == 0
            shown = capsysbinary.readouterr().out.decode()
            assert not find_leaks(shown)
            assert "MY_API_KEY" in shown
        Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        tail.follow(play.playground, out(), play.redactor)
    shown = capsysbinary.readouterr().out.decode()
    assert not find_leaks(shown)
    assert "slot" in shown


def test_secret_that_no_task_uses_is_redacted_where_a_crash_text_quotes_it(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "s3cr3t-Value-12345")
    monkeypatch.setenv("ADMIN_PASSWORD", "administrator")

    class ReplyError(Exception):
        """As an HTTP client raises it."""

        response = type("Reply", (), {"text": "you sent Bearer s3cr3t-Value-12345, administrator"})

    def crashes(task_item: Any) -> None:
        raise ReplyError("refused")

    bench.write("suite.yml", "task: {name: A, criteria: [{label: a, assertion: {answer_matches: 1}}]}")
    bench.run_one(crashes)
    assert run(["show", "latest", "A", "--store", str(bench.store.path)]) == 0
    assert "the server replied: you sent Bearer ${OTHER_TOKEN}, administrator" in capsys.readouterr().out
