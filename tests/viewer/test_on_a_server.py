"""The viewer of a server: signing in, and that nobody sees the runs of another solver."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from clerkship.kit.wall import monotonic
from clerkship.model.errors import InputError
from clerkship.settings import Settings
from clerkship.viewer import sessions
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.forwarding import open_forwarding
from clerkship.viewer.routes import ROUTES
from tests.api.test_benchmark_runs import Hosted, copy_form
from tests.client.conftest import RunningServer

PAGE = {"accept": "text/html"}
CHANGE = {"x-clerkship-view": "1"}
SECRET_FACTS = ("out.txt", "file_present")


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path)
    yield hosted
    hosted.server.close()


def sign_in(hosted: Hosted, key: str) -> TestClient:
    """Return a browser that has signed in with a key and sends no other credentials."""
    browser = TestClient(hosted.app, follow_redirects=False)
    answer = browser.post("/view/sign-in", data={"key": key})
    assert answer.status_code == 303, answer.text
    return browser


def finish_run(hosted: Hosted, **options: Any) -> str:
    """Work on both tasks of a run by the hosted solver, and return its id."""
    agent = hosted.start(**options)
    copy_form(agent.post("Copy", "start").json())
    agent.post("Copy", "complete", answer="")
    agent.post("Say done", "start")
    agent.post("Say done", "complete", answer="done")
    return str(agent.run["id"])


def list_ids(browser: TestClient) -> list[str]:
    """Return the ids of the runs that a reader's list has."""
    return [run["id"] for run in browser.get("/view/data/runs").json()["runs"]]


def test_browser_without_a_session_is_led_to_the_page_that_asks_for_a_key(hosted: Hosted) -> None:
    browser = TestClient(hosted.app, follow_redirects=False)
    answer = browser.get("/view/", headers=PAGE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/view/sign-in")
    page = browser.get("/view/sign-in")
    assert "Your key of this server" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    style = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert browser.get(style).headers["content-type"] == "text/css; charset=utf-8"
    assert browser.get("/view/static/..%2fruns").status_code == 404
    assert browser.get("/view/data/runs").status_code == 401
    wrong = browser.post("/view/sign-in", data={"key": "clk_" + "x" * 43})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (403, False)
    assert "this key is not valid" in wrong.text


def test_session_cookie_is_opaque_and_ends_with_signing_out(hosted: Hosted) -> None:
    browser = sign_in(hosted, hosted.person)
    cookie = browser.cookies["clerkship-view-server"]
    assert hosted.person not in cookie
    assert browser.get("/view/").status_code == 200
    browser.post("/view/sign-out")
    other = TestClient(hosted.app, cookies={"clerkship-view-server": cookie})
    assert other.get("/view/data/runs").status_code == 401


def test_cookie_has_the_attributes_that_a_browser_enforces(hosted: Hosted) -> None:
    hosted.server.url = "https://tests.example.org"
    header = TestClient(hosted.app, follow_redirects=False).post("/view/sign-in", data={"key": hosted.person})
    parts = header.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/view", "Secure"} <= set(parts)


def test_revoked_key_and_old_session_end_it(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    key = hosted.server.keys.create_person("Bo")
    browser, other = sign_in(hosted, key.key), sign_in(hosted, hosted.person)
    hosted.server.keys.revoke(key.id)
    assert browser.get("/view/data/runs").status_code == 401
    assert other.get("/view/data/runs").status_code == 200
    later = monotonic() + sessions.MAX_SESSION_SECONDS + 1
    monkeypatch.setattr(sessions, "monotonic", lambda: later)
    assert other.get("/view/data/runs").status_code == 401


def test_sessions_are_bounded(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    browsers = [sign_in(hosted, hosted.person) for _ in range(3)]
    assert [browser.get("/view/data/runs").status_code for browser in browsers] == [401, 200, 200]


def test_form_of_another_site_does_not_sign_in(hosted: Hosted) -> None:
    browser = TestClient(hosted.app, follow_redirects=False)
    headers = {"sec-fetch-site": "cross-site"}
    assert browser.post("/view/sign-in", data={"key": hosted.person}, headers=headers).status_code == 403
    large = browser.post("/view/sign-in", content=b"key=" + b"x" * 200_000)
    assert large.status_code == 413


def test_person_sees_all_runs_and_a_solver_its_own(hosted: Hosted) -> None:
    run = finish_run(hosted)
    stranger = hosted.server.keys.create_solver_key(hosted.server.solvers.create("eve", "", "", "").id).key
    assert list_ids(sign_in(hosted, hosted.person)) == [run]
    assert list_ids(sign_in(hosted, hosted.solver)) == [run]
    assert list_ids(sign_in(hosted, stranger)) == []


def walk_routes(run: str, other: str) -> list[tuple[str, str]]:
    """Return a request to every route that names a run."""
    paths = [
        (route.method, "/view" + route.path.replace("{run}", run).replace("{name}", "x"))
        for route in ROUTES
        if "{run}" in route.path
    ]
    queries = (f"compare?before={run}&after={other}", f"compare?before={other}&after={run}", f"data/figures?run={run}")
    return [*paths, *(("GET", f"/view/{query}") for query in queries)]


def test_runs_of_another_solver_are_like_unknown_ones_on_every_route(hosted: Hosted) -> None:
    first, second = finish_run(hosted), finish_run(hosted)
    stranger = hosted.server.keys.create_solver_key(hosted.server.solvers.create("eve", "", "", "").id).key
    browser = sign_in(hosted, stranger)
    assert len(walk_routes(first, second)) >= 5
    for (method, path), (_, unknown) in zip(
        walk_routes(first, second), walk_routes("run-unknown", "run-other"), strict=True
    ):
        for headers in ({**CHANGE, **PAGE}, CHANGE):
            answer = browser.request(method, path, headers=headers)
            assert answer.status_code == (404 if method == "GET" else 403), path
            assert answer.text == browser.request(method, unknown, headers=headers).text
            assert "Copy" not in answer.text
    for page in ("", "tasks", "agents", f"data/runs?run={first}", "data/runs?benchmark=forms@1"):
        assert first not in browser.get(f"/view/{page}").text, page
        assert "forms" not in browser.get(f"/view/{page.partition('?')[0]}").text, page


def test_starts_of_ids_and_latest_do_not_reach_runs_of_others(hosted: Hosted) -> None:
    run = finish_run(hosted)
    stranger = hosted.server.keys.create_solver_key(hosted.server.solvers.create("eve", "", "", "").id).key
    browser = sign_in(hosted, stranger)
    for reference in ("latest", run[:-2], "latest~0"):
        assert browser.get(f"/view/data/figures?run={reference}").status_code == 404
        assert browser.get(f"/view/compare?before={reference}&after=latest").status_code == 404


def test_scored_run_is_listed_for_its_solver_and_its_results_are_hidden(hosted: Hosted) -> None:
    scored, other = finish_run(hosted, scored=True), finish_run(hosted)
    browser, person = sign_in(hosted, hosted.solver), sign_in(hosted, hosted.person)
    rows = {run["id"]: run for run in browser.get("/view/data/runs").json()["runs"]}
    assert {run: rows[run]["can_open"] for run in rows} == {scored: False, other: True}
    for method, path in walk_routes(scored, other):
        if method == "GET" and "figures" not in path:
            answer = browser.get(path)
            assert answer.status_code == 404, path
            assert not any(fact in answer.text for fact in SECRET_FACTS)
    compared = person.get(f"/view/compare?before={scored}&after={other}", headers=PAGE)
    assert (compared.status_code, other in compared.text) == (200, True)


def test_only_people_label_and_delete(hosted: Hosted) -> None:
    run = finish_run(hosted)
    solver, person = sign_in(hosted, hosted.solver), sign_in(hosted, hosted.person)
    for browser, headers, status in ((solver, CHANGE, 403), (person, {}, 403), (person, CHANGE, 200)):
        answer = browser.post(f"/view/data/runs/{run}/label", json={"label": "first"}, headers=headers)
        assert answer.status_code == status
    assert person.get("/view/data/runs").json()["runs"][0]["label"] == "first"
    assert solver.delete(f"/view/data/runs/{run}", headers=CHANGE).status_code == 403
    assert person.delete(f"/view/data/runs/{run}", headers=CHANGE).status_code == 200
    assert list_ids(person) == []
    assert hosted.client(hosted.person).get(f"/v1/benchmark-runs/{run}").status_code == 404
    assert hosted.client(hosted.person).get("/v1/benchmark-runs").json()["data"] == []


def test_run_under_way_is_not_deleted(hosted: Hosted) -> None:
    agent = hosted.start()
    person = sign_in(hosted, hosted.person)
    answer = person.delete(f"/view/data/runs/{agent.run['id']}", headers=CHANGE)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert list_ids(person) == [agent.run["id"]]
    assert agent.post("Say done", "start").status_code == 200


@contextmanager
def forward(running: RunningServer, key: str, folder: Path) -> Iterator[tuple[LocalViewer, httpx.Client]]:
    """Show a server on loopback with a key in a file, and return a browser that has exchanged the token."""
    file = folder / "key"
    file.write_text(key)
    with (
        open_forwarding(running.url, file, Settings()) as answer,
        LocalViewer(answer) as viewer,
        httpx.Client(trust_env=False, follow_redirects=True, timeout=30) as browser,
    ):
        assert browser.get(viewer.url).status_code == 200
        yield viewer, browser


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    (tmp_path / "server").mkdir()
    running = RunningServer(tmp_path / "server")
    yield running
    running.close()


def test_local_viewer_of_a_server_never_shows_the_key(running: RunningServer, tmp_path: Path) -> None:
    with forward(running, running.person, tmp_path) as (viewer, browser):
        page = browser.get(viewer.address, headers=PAGE)
        assert 'data-page="runs"' in page.text
        data = browser.get(f"{viewer.address}data/runs?sort=-rate")
        script = browser.get(f"{viewer.address}static/viewer.js")
        assert (data.json()["runs"], script.headers["content-type"]) == ([], "text/javascript; charset=utf-8")
        for answer in (page, data, script):
            assert running.person not in answer.text + str(answer.headers)
        changed = browser.post(f"{viewer.address}data/runs/run-1/label", json={"label": "a"}, headers=CHANGE)
        assert changed.status_code == 404
        assert browser.post(f"{viewer.address}data/runs/run-1/label", json={"label": "a"}).status_code == 403


def test_server_that_refuses_the_key_or_does_not_answer_is_an_error(running: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("clk_" + "x" * 43)
    with pytest.raises(InputError, match="does not accept the key"):
        open_forwarding(running.url, tmp_path / "key", Settings()).__enter__()
    with pytest.raises(InputError, match="does not answer"):
        open_forwarding("http://127.0.0.1:9", tmp_path / "key", Settings()).__enter__()
    with pytest.raises(InputError, match="a key of the server is needed"):
        open_forwarding(running.url, None, Settings()).__enter__()
