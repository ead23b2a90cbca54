"""Requests in the output of `clerkship show` and in the HTML report."""

import sys
from pathlib import Path

import pytest

from clerkship.cli.app import run

AGENT = """
import http.client
from urllib.parse import urlsplit


def ask(url, token, method, path, body=None):
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
    connection.request(method, place.path + path, body, {"Authorization": "Bearer " + token})
    connection.getresponse().read()
    connection.close()


def on_task(task_item, sandboxes):
    url, token = sandboxes["drop"].url, sandboxes["drop"].token
    ask(url, token, "GET", "/files/inbox%2Fa.csv")
    ask(url, token, "POST", "/rename", b'{"from": "inbox/a.csv"}')
    for _ in range(3):
        ask(url, "guessed-token", "DELETE", "/files/inbox/a.csv?token=guess")
    ask(url.replace("/pg", "/gone"), token, "GET", "/files")
    return "done"
"""
SUITE = """
environments:
  - {name: desk, simulators: {drop: {kind: files}}}
tasks:
  - name: Look
    environment: desk
    task_item: {instruction: look}
    criteria: [{label: done, assertion: {answer_matches: done}}]
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("asks", None)
    Path("asks.py").write_text(AGENT)
    Path("suite").mkdir()
    Path("suite/a.yml").write_text(SUITE)


def test_show_and_report_print_requests_including_unauthenticated_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--agent", "python:asks:on_task", "--report", "report.html"]) == 0
    assert "1 request for no trial under way" in capsys.readouterr().out
    assert run(["show", "latest", "Look", "--events"]) == 0
    shown = capsys.readouterr().out
    page = Path("report.html").read_text()
    for line in (
        "GET files/inbox/a.csv → 404 there is no file inbox/a.csv",
        "POST rename → 400 ",
        "3 requests without a valid credential, not in the log",
        "DELETE drop/files/inbox/a.csv?token=[redacted] → 401 ",
    ):
        assert line in " ".join(shown.split()), line
        assert line in page, line
    assert '"body":"{\\"from\\": \\"inbox/a.csv\\"}"' in page
    assert "guessed-token" not in shown + page
