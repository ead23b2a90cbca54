"""The list of runs, its filters, figures, comparisons, trends, agents, labels and deletion, as the pages get them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.kit.statistics import wilson_interval
from clerkship.sandbox.request import QueryParams, Reply, Request
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.store.sqlite import SqliteStore
from clerkship.viewer import figures, runs
from clerkship.viewer.answering import respond
from clerkship.viewer.context import ViewerContext
from tests.viewer.made_up import AGENTS, damage_verdict, make_store

Get = Callable[..., Any]


class Reader:
    """A reader of a store's viewer, without a server."""

    def __init__(self, path: Path, **options: Any) -> None:
        settings = Settings(store=path)
        self.context = ViewerContext(settings, partial(open_store, settings), **options)

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Reply:
        """Send a request as a page of the viewer does."""
        pairs = [
            (name, each) for name, value in query.items() for each in (value if isinstance(value, list) else [value])
        ]
        data = b"" if body is None else orjson.dumps(body)
        headers = {"x-clerkship-view": "1", "accept": "application/json"}
        return respond(self.context, Request(method, f"/view/{path}", QueryParams(tuple(pairs)), headers, data))

    def get(self, path: str, **query: Any) -> Any:
        """Return the data of an answer."""
        reply = self.send("GET", path, **query)
        assert reply.status == 200, reply.body
        return orjson.loads(reply.body)

    def ids(self, **query: Any) -> list[str]:
        """Return the ids of the list."""
        return [run["id"] for run in self.get("data/runs", **query)["runs"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_list_has_rate_interval_version_commit_and_duration(path: Path) -> None:
    ids = make_store(path, 3)
    found = Reader(path).get("data/runs")
    newest = found["runs"][0]
    assert [run["id"] for run in found["runs"]] == ids[::-1]
    assert (newest["benchmark"], newest["agent"], newest["passed"], newest["graded"]) == ("forms@1", "nop", 2, 4)
    interval = wilson_interval(2, 4)
    assert interval is not None
    assert newest["rate"] == list(interval)
    assert (newest["commit"][-3:], newest["seconds"], newest["status"]) == ("abe", 42, "completed")
    assert newest["tags"] == ["billing", "triage"]
    assert newest["outcomes"] == {"pass": 2, "fail": 2}
    assert found["choices"]["benchmark"] == ["forms@1", "forms@2", "made up"]
    assert found["choices"]["agent"] == sorted(AGENTS)


def test_list_is_filtered_sorted_and_paged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_store(path, 9)
    reader = Reader(path)
    assert reader.ids(agent="oracle") == [ids[7], ids[4], ids[1]]
    assert reader.ids(benchmark="made up") == [ids[6], ids[3], ids[0]]
    assert reader.ids(tag="billing") == ids[::-1]
    assert reader.ids(tag="nothing") == []
    assert reader.ids(verdict="fail", agent="oracle") == []
    assert reader.ids(sort="-rate")[:3] == [ids[7], ids[4], ids[1]]
    assert reader.ids(sort="agent")[:3] == [ids[8], ids[5], ids[2]]
    monkeypatch.setattr(runs, "PAGE_SIZE", 4)
    first = reader.get("data/runs")
    assert (len(first["runs"]), first["next"], first["total"]) == (4, "4", 9)
    assert reader.ids(after="8") == [ids[0]]
    assert reader.get("data/runs", after="8")["next"] is None
    assert "--agent oracle" in reader.get("data/runs", agent="oracle")["command"]
    for wrong in ({"after": "-1"}, {"after": "x"}, {"sort": "id"}):
        assert reader.send("GET", "data/runs", **wrong).status == 400


def test_run_at_work_updates_itself(path: Path) -> None:
    ids = make_store(path, 2)
    with SqliteStore(path) as store:
        store.mark(ids[1], "active", "2026-03-02T12:00:00+00:00")
        assert Reader(path).get("data/runs", run=ids[1])["runs"][0]["status"] == "interrupted"
        with store.hold(ids[1]):
            [row] = Reader(path).get("data/runs", run=[ids[1], "run-unknown"])["runs"]
            assert (row["status"], row["done"], row["total"]) == ("running", 4, 4)
            answer = Reader(path).send("DELETE", f"data/runs/{ids[1]}")
            assert (answer.status, b"another process is at work" in answer.body) == (409, True)


def test_changed_run_is_marked(path: Path) -> None:
    ids = make_store(path, 2)
    damage_verdict(path, ids[0])
    assert [run["changed"] for run in Reader(path).get("data/runs")["runs"]] == [False, True]
    answer = Reader(path).send("GET", "compare", before=ids[0], after=ids[1])
    assert (answer.status, b"changed" in answer.body) == (409, True)


def test_figures_are_computed_once_a_run_has_ended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_store(path, 2)
    reader = Reader(path)
    found = reader.get("data/figures", run=ids)["figures"]
    assert found == {ids[0]: {"axes": {"safety": 0.5}, "cost": 1.0}, ids[1]: {"axes": {"safety": 1.0}, "cost": 1.0}}
    monkeypatch.setattr(figures, "_compute", lambda store, run: {"axes": {}, "cost": None})
    assert reader.get("data/figures", run=ids)["figures"] == found
    with SqliteStore(path) as store:
        store.mark(ids[0], "active", "2026-03-02T12:00:00+00:00")
    assert reader.get("data/figures", run=ids[0])["figures"][ids[0]]["axes"] == {}
    assert reader.send("GET", "data/figures").status == 400
    assert reader.send("GET", "data/figures", run="run-unknown").status == 404


def test_label_and_deletion(path: Path) -> None:
    ids = make_store(path, 2)
    reader = Reader(path)
    saved = orjson.loads(reader.send("POST", f"data/runs/{ids[0]}/label", {"label": "first <b>"}).body)
    assert saved["label"] == "first <b>"
    assert reader.ids(label="first <b>") == [ids[0]]
    page = reader.send("GET", "")
    assert b"first <b>" not in page.body
    unusable: tuple[Any, ...] = (None, [], {"label": 1}, {"label": "x" * 201})
    for body in unusable:
        assert reader.send("POST", f"data/runs/{ids[0]}/label", body).status == 400
    assert reader.send("DELETE", f"data/runs/{ids[0]}").status == 200
    assert reader.ids() == [ids[1]]
    for gone in (ids[0], "latest", "run-"):
        assert reader.send("DELETE", f"data/runs/{gone}").status == 404
    assert reader.send("POST", f"data/runs/{ids[0]}/label", {"label": "a"}).status == 404


def test_reader_who_may_not_change_runs_is_refused(path: Path) -> None:
    ids = make_store(path, 1)
    reader = Reader(path, can_change=False)
    assert reader.send("DELETE", f"data/runs/{ids[0]}").status == 403
    assert reader.send("POST", f"data/runs/{ids[0]}/label", {"label": "a"}).status == 403
    assert reader.get("data/runs")["can_change"] is False


def test_comparison_shows_criteria_and_its_command(path: Path) -> None:
    ids = make_store(path, 2)
    reply = Reader(path, store_option=" --store x.db").send("GET", "compare", before=ids[0], after=ids[1])
    page = reply.body.decode()
    assert (reply.status, "newly passing" in page, "Books it" in page) == (200, True, True)
    assert f"compare {ids[0]} {ids[1]} --store x.db</code>" in page
    [style] = [part for part in page.split("'") if part.startswith("sha256-")]
    assert f"style-src 'self' '{style}'" in reply.headers["content-security-policy"]
    for query in ({"before": ids[0]}, {"before": ids[0], "after": ids[0]}):
        assert Reader(path).send("GET", "compare", **query).status == 400


def test_tasks_over_runs_show_what_is_flaky(path: Path) -> None:
    make_store(path, 9)
    page = Reader(path).send("GET", "tasks", benchmark="made up").body.decode()
    # Each of three runs of one agent: task 0 passes, fails, passes.
    row = page.partition(">Task 0 ")[2].partition("</tr>")[0]
    assert "flaky" in row
    assert "2 of 3" in row
    assert 'aria-label="1 of 1, 0 of 1, 1 of 1"' in row
    assert row.count("<circle") == 3
    steady = Reader(path).send("GET", "tasks", benchmark="forms@1", agent="oracle").body.decode()
    assert 'class="badge is-flaky"' not in steady


def test_agents_are_ranked_by_version_and_rescored_runs_are_left_out(path: Path) -> None:
    make_store(path, 9)
    page = Reader(path).send("GET", "agents").body.decode()
    first, second = (page.partition(f">{name} <small")[2].partition("</table>")[0] for name in ("forms@1", "forms@2"))
    assert first.index("oracle") < first.index("nop")
    assert "8 of 8" in second or "4 of 4" in second
    with SqliteStore(path) as store:
        again = store.run("latest").model_copy(update={"id": "run-again", "made_by": "rescore", "origin": "run"})
        store.open_run(again, {})
    assert Reader(path).send("GET", "agents").body.decode() == page


def test_pages_of_an_empty_store_say_so(path: Path) -> None:
    SqliteStore(path).close()
    for page in ("", "tasks", "agents"):
        assert Reader(path).send("GET", page).status == 200
    assert Reader(path).get("data/runs")["runs"] == []
