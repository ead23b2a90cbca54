"""The page of a run and its data: rows, trials, events, redaction, and what a reader may not see."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.report.html import render_html
from clerkship.report.site_pages import list_styles
from clerkship.sandbox.request import QueryParams, Refusal, Reply, Request
from clerkship.viewer import run_pages
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.routes import answer
from clerkship.viewer.static import link
from tests.report import made_up
from tests.viewer.stored import build_context, list_trials, save_run
from tests.workbench import Workbench


def get(context: ViewerContext, path: str, **query: str) -> Reply:
    """Return the reply of a page."""
    return answer(context, Request("GET", f"/view{path}", QueryParams(tuple(query.items()))))


def read(context: ViewerContext, path: str, **query: str) -> Any:
    """Return the data of a reply."""
    return orjson.loads(get(context, path, **query).body)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[ViewerContext, str]:
    """Save a run of 60 trials, and return what handlers are given, and its id."""
    path = tmp_path_factory.mktemp("store") / "store.db"
    run = save_run(path, list_trials(60))
    return build_context(path), run


def test_page_has_the_header_of_the_report_and_no_trials(stored: tuple[ViewerContext, str]) -> None:
    context, run = stored
    reply = get(context, f"/runs/{run}")
    page = reply.body.decode()
    assert '<body data-page="run">' in page
    assert f'<script src="{link("viewer.js")}" defer></script>' in page
    assert f'<link rel="stylesheet" href="{link("viewer.css")}">' in page
    assert "<style" not in page
    assert "52 of 58 graded trials passed" in " ".join(re.sub("<[^>]+>", " ", page).split())
    assert 'data-by="cause"' in page
    found = re.search(r'id="data">(.*?)</script>', page)
    assert found is not None
    assert orjson.loads(found[1]) == {"run": run, "data": f"/view/data/runs/{run}"}
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-")
    assert "unsafe" not in policy
    assert policy.count("sha256-") == len(list_styles())


def test_rows_are_those_of_the_report(stored: tuple[ViewerContext, str]) -> None:
    context, run = stored
    data = read(context, f"/data/runs/{run}/rows")
    details = made_up.many(60, 0)
    page = render_html(made_up.RUN, made_up.counts(details), details)
    found = re.search(r'id="data">(.*?)</script>', page)
    assert found is not None
    embedded = orjson.loads(found[1])
    rows = [{key: row[key] for key in row.keys() - {"body", "log", "seconds"}} for row in embedded["trials"]]
    assert [{key: row[key] for key in row.keys() - {"seconds"}} for row in data["trials"]] == rows
    assert {row["seconds"] for row in data["trials"]} == {1.2}
    assert (data["run"], data["is_active"], data["outcomes"]) == (run, False, embedded["outcomes"])


def test_trial_has_its_body_and_events(stored: tuple[ViewerContext, str]) -> None:
    context, run = stored
    data = read(context, f"/data/runs/{run}/trial", task="Call 00003 about the referral", trial="1")
    assert [event["seq"] for event in data["log"]] == [1, 2, 3, 4, 5]
    assert data["log"][0]["by_agent"]
    assert (data["log_total"], data["changed"]) == (5, "")
    assert [criterion["label"] for criterion in data["body"]["criteria"]] == [f"Rule {number}" for number in range(5)]
    assert (data["pictures"], data["site_pages"], data["site_styles"]) == ({}, {}, {})


def test_long_log_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_pages, "MAX_EVENTS", 7)
    run = save_run(tmp_path / "s.db", list_trials(1), 20)
    context = build_context(tmp_path / "s.db")
    task = {"task": "Call 00000 about the referral"}
    trial = read(context, f"/data/runs/{run}/trial", **task)
    assert [event["seq"] for event in trial["log"]] == [1, 2, 3, 4, 5, 6, 7]
    assert trial["log_total"] == 20
    part = read(context, f"/data/runs/{run}/events", **task, after="7", limit="4")
    assert [event["seq"] for event in part["events"]] == [8, 9, 10, 11]
    part = read(context, f"/data/runs/{run}/events", **task, after="18")
    assert [event["seq"] for event in part["events"]] == [19, 20]
    assert read(context, f"/data/runs/{run}/events", **task, after="20")["events"] == []


def test_last_attempt_is_shown(tmp_path: Path) -> None:
    error = {"status": "errored", "verdict": None, "score": None, "ending": "errored", "error": "the disk was full"}
    trials = [made_up.task_run("A", attempt=1, **error), made_up.task_run("A", attempt=2)]
    run = save_run(tmp_path / "s.db", trials)
    context = build_context(tmp_path / "s.db")
    [row] = read(context, f"/data/runs/{run}/rows")["trials"]
    assert (row["attempt"], row["outcome"]) == (2, "pass")
    assert read(context, f"/data/runs/{run}/trial", task="A", trial="1")["body"]["verdict"] == "pass"


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        ("trial", {"task": "No such", "trial": "1"}, 404, "no_such_trial"),
        ("trial", {"task": "Call 00003 about the referral", "trial": "2"}, 404, "no_such_trial"),
        ("trial", {"task": "Call 00003 about the referral", "trial": "one"}, 400, "invalid_trial"),
        ("events", {"task": "Call 00003 about the referral", "after": "-1"}, 400, "invalid_after"),
    ],
)
def test_trial_that_cannot_be_found_is_refused(
    stored: tuple[ViewerContext, str], path: str, query: Mapping[str, str], status: int, code: str
) -> None:
    context, run = stored
    with pytest.raises(Refusal) as refused:
        get(context, f"/data/runs/{run}/{path}", **query)
    assert (refused.value.status, refused.value.code) == (status, code)


@pytest.mark.parametrize("path", ["/runs/{}", "/data/runs/{}/rows", "/data/runs/{}/trial", "/data/runs/{}/events"])
def test_run_of_another_reader_is_like_one_that_does_not_exist(tmp_path: Path, path: str) -> None:
    run = save_run(tmp_path / "s.db", list_trials(1))
    context = build_context(tmp_path / "s.db", may_see=lambda run_id: False)
    refusals = []
    for name in (run, "run-of-nobody"):
        with pytest.raises(Refusal) as refused:
            get(context, path.format(name))
        refusals.append((refused.value.status, refused.value.code, refused.value.reason.replace(name, "RUN")))
    assert refusals[0] == refusals[1]
    assert refusals[0][0] == 404


def test_changed_trial_says_so_when_it_is_opened(tmp_path: Path) -> None:
    run = save_run(tmp_path / "s.db", list_trials(3))
    context = build_context(tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        change = "UPDATE task_runs SET record = replace(record, 'agent_done', 'cancelled') WHERE task LIKE '%1 %'"
        database.execute(change)
    name = "Call 0000{} about the referral"
    changes = [read(context, f"/data/runs/{run}/trial", task=name.format(n))["changed"] for n in (0, 1)]
    assert changes[0] == ""
    assert "record" in changes[1]


def test_run_in_progress_has_no_counts_that_would_soon_be_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = save_run(tmp_path / "s.db", list_trials(10), status="active")
    context = build_context(tmp_path / "s.db")
    assert "In progress" not in get(context, f"/runs/{run}").body.decode()  # interrupted
    with context.open_store() as store, store.hold(run):
        page = get(context, f"/runs/{run}").body.decode()
        data = read(context, f"/data/runs/{run}/rows")
    assert "In progress" in page
    assert "10 of 10 trials are done." in page
    assert 'class="overview"' not in page
    assert data["is_active"]
    assert data["progress"] == {"done": 10, "total": 10}
    assert not any("tag" in row for row in data["trials"])


VALUE = "Adaeze Okafor 4471902"
SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}}}
tasks:
  - name: File for ${PATIENT_NAME}
    task_item: {instruction: "Write about ${PATIENT_NAME}."}
    criteria: [{label: written, assertion: {file_present: {path: note.txt}}}]
"""


def write_note(task_item: Any, sandboxes: Any) -> str:
    """Write a file that contains the value."""
    sandboxes["drop"].request("PUT", "/files/note.txt", body=VALUE.encode())
    return f"wrote about {VALUE}"


def test_values_of_variables_are_redacted(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATIENT_NAME", VALUE)
    bench.write("a.yml", SUITE)
    run = bench.run_one(write_note).run
    context = build_context(bench.store.path)
    page, rows = get(context, f"/runs/{run}").body, get(context, f"/data/runs/{run}/rows").body
    [row] = orjson.loads(rows)["trials"]
    query = {"task": row["task"], "trial": "1"}
    replies: Sequence[bytes] = (
        page,
        rows,
        get(context, f"/data/runs/{run}/trial", **query).body,
        get(context, f"/data/runs/{run}/events", **query).body,
        get(context, f"/data/runs/{run}/events", **query, after="2").body,
    )
    assert all(b"Okafor" not in reply for reply in replies)
    assert all(b"${PATIENT_NAME}" in reply for reply in replies[1:3])
    assert orjson.loads(replies[-1])["events"][0]["seq"] == 3
