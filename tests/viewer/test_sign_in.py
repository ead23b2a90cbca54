"""Who may read the viewer on loopback: the token, the cookie, the host and the header of changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from clerkship.sandbox.request import Reply, Request
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.store.sqlite import SqliteStore
from clerkship.viewer.answering import respond
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.context import ViewerContext

PAGE = {"accept": "text/html"}


@contextmanager
def open_viewer(path: Path) -> Iterator[LocalViewer]:
    """Serve a store."""
    settings = Settings(store=path)
    with LocalViewer(partial(respond, ViewerContext(settings, partial(open_store, settings)))) as viewer:
        yield viewer


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[LocalViewer]:
    SqliteStore(tmp_path / "store.db").close()
    with open_viewer(tmp_path / "store.db") as viewer:
        yield viewer


@pytest.fixture
def client(viewer: LocalViewer) -> Iterator[httpx.Client]:
    base = viewer.address.removesuffix("/view/")
    with httpx.Client(base_url=base, trust_env=False, timeout=10) as client:
        yield client


def get_token(viewer: LocalViewer) -> str:
    """Return the token of a viewer."""
    return urlsplit(viewer.url).query.removeprefix("token=")


def test_token_has_256_bits(viewer: LocalViewer) -> None:
    assert len(get_token(viewer).removeprefix("clk_view_")) == 43


def test_token_is_exchanged_for_a_cookie_and_the_address_is_clean(viewer: LocalViewer, client: httpx.Client) -> None:
    answer = client.get("/view/", params={"token": get_token(viewer)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/view/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"clerkship-view-{viewer.port}=")
    assert cookie.endswith("; Path=/view; HttpOnly; SameSite=Strict")
    assert get_token(viewer) not in cookie
    page = client.get("/view/")
    assert page.status_code == 200
    assert get_token(viewer) not in page.text


def test_without_token_or_cookie_is_a_page_in_words(viewer: LocalViewer, client: httpx.Client) -> None:
    answer = client.get("/view/", headers=PAGE)
    assert answer.status_code == 401
    assert "open the address that <code>clerkship</code> printed" in answer.text
    assert client.get("/view/data/runs").json()["error"]["code"] == "no_token"
    style = answer.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert client.get(style).status_code == 200
    assert client.post(style, headers={"x-clerkship-view": "1"}).status_code == 401
    for token in ("", "clk_view_guess", "ü"):
        assert client.get("/view/", params={"token": token}).status_code == 401


def test_bearer_token_is_accepted(viewer: LocalViewer, client: httpx.Client) -> None:
    assert client.get("/view/", headers={"authorization": f"Bearer {get_token(viewer)}"}).status_code == 200
    assert client.get("/view/", headers={"authorization": "Bearer wrong"}).status_code == 401


def test_cookie_of_another_viewer_is_not_accepted(viewer: LocalViewer, client: httpx.Client, tmp_path: Path) -> None:
    with open_viewer(tmp_path / "store.db") as other:
        found = httpx.get(other.url, trust_env=False).headers["set-cookie"].partition(";")[0].partition("=")[2]
    cookies = {"cookie": f"clerkship-view-{viewer.port}={found}"}
    assert client.get("/view/", headers=cookies).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}"])
def test_other_host_names_are_refused(viewer: LocalViewer, client: httpx.Client, host: str) -> None:
    headers = {"host": host.format(port=viewer.port), "authorization": f"Bearer {get_token(viewer)}"}
    answer = client.get("/view/", headers=headers)
    assert answer.status_code == 421
    assert client.get("/view/", headers={**headers, "host": f"localhost:{viewer.port}"}).status_code == 200


def test_change_needs_a_header_that_no_form_of_another_site_sends(viewer: LocalViewer, client: httpx.Client) -> None:
    bearer = {"authorization": f"Bearer {get_token(viewer)}"}
    answer = client.delete("/view/data/runs/run-1", headers=bearer)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "no_header")
    answer = client.delete("/view/data/runs/run-1", headers={**bearer, "x-clerkship-view": "1"})
    assert answer.status_code == 404


def test_every_reply_has_the_headers_that_a_browser_enforces(viewer: LocalViewer, client: httpx.Client) -> None:
    bearer = {"authorization": f"Bearer {get_token(viewer)}"}
    for answer in (
        client.get("/view/", headers=bearer),
        client.get("/view/", headers=PAGE),
        client.get("/view/nothing", headers=bearer),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy


def test_static_files_are_cached_by_their_digest(viewer: LocalViewer, client: httpx.Client) -> None:
    bearer = {"authorization": f"Bearer {get_token(viewer)}"}
    first = client.get("/view/static/viewer.js", headers=bearer)
    assert first.headers["cache-control"] == "private, no-cache"
    etag = first.headers["etag"]
    again = client.get("/view/static/viewer.js", params={"v": etag.strip('"')}, headers=bearer)
    assert again.headers["cache-control"].endswith("immutable")
    assert again.content == first.content
    unchanged = client.get("/view/static/viewer.js", headers={**bearer, "if-none-match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/view/static/../runs.py", "/view/static/..%2f..%2fsettings.py", "/view/static/%2e%2e/a", "/view/static/x"]
)
def test_static_files_are_only_those_of_the_list(viewer: LocalViewer, client: httpx.Client, path: str) -> None:
    request = client.build_request("GET", "/", headers={"authorization": f"Bearer {get_token(viewer)}"})
    request.url = request.url.copy_with(raw_path=path.encode())
    assert client.send(request).status_code == 404


def test_malformed_requests_are_refused_without_a_trace(viewer: LocalViewer, client: httpx.Client) -> None:
    bearer = {"authorization": f"Bearer {get_token(viewer)}"}
    assert client.get("/view/runs/%ff", headers=bearer).status_code == 400
    assert client.get("/", headers=bearer).headers["location"] == "/view/"
    assert client.post("/view/", headers={**bearer, "x-clerkship-view": "1"}).status_code == 405


def test_bug_of_a_page_is_answered_and_its_words_stay_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fails(request: Request) -> Reply:
        raise ZeroDivisionError("a secret")

    with LocalViewer(fails) as viewer:
        answer = httpx.get(viewer.url, follow_redirects=True, trust_env=False, timeout=10)
    assert (answer.status_code, "a secret" in answer.text) == (500, False)
    assert "ZeroDivisionError" in answer.text
    assert get_token(viewer) not in caplog.text
