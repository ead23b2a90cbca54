"""Static files and redirects, requested with third-party clients."""

import http.client
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from clerkship.sandbox.faults.request_faults import ErrorFault
from clerkship.sandbox.request import Reply, Request, redirect
from clerkship.transports.assets import CACHE_CONTROL, AssetFolder
from tests.raw_routes import RawCall, raw_route
from tests.transports.site import Site, open_site


def redirect_client(call: RawCall) -> Reply:
    return redirect(call.request.query["to"], int(call.request.query.get("status", "303")))


def echo_path(call: RawCall) -> Reply:
    return Reply(200, call.request.path.encode(), "text/plain")


ROUTES = (raw_route("GET", "/move", "move", redirect_client), raw_route("GET", "/{path*}", "land", echo_path))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    package = tmp_path / "portal_under_test"
    (package / "assets" / "js").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "secret.txt").write_text("not an asset")
    (package / "assets" / "site.css").write_text("body { color: teal }")
    (package / "assets" / "js" / "app.js").write_text("start()")
    (package / "assets" / "data.bin").write_bytes(bytes(range(256)))
    monkeypatch.syspath_prepend(tmp_path)
    with open_site(*ROUTES, assets=(AssetFolder("/static", "portal_under_test"),)) as site:
        yield site
    sys.modules.pop("portal_under_test", None)


def test_asset_has_media_type_and_needs_no_credential(site: Site) -> None:
    for path, media, body in (
        ("site.css", "text/css; charset=utf-8", b"body { color: teal }"),
        ("js/app.js", "text/javascript; charset=utf-8", b"start()"),
        ("data.bin", "application/octet-stream", bytes(range(256))),
    ):
        reply = httpx.get(f"{site.url}/static/{path}")
        assert (reply.status_code, reply.headers["content-type"], reply.content) == (200, media, body)
        assert reply.headers["cache-control"] == CACHE_CONTROL


def test_asset_with_matching_etag_returns_304(site: Site) -> None:
    with httpx.Client() as client:
        etag = client.get(f"{site.url}/static/site.css").headers["etag"]
        for tags in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            reply = client.get(f"{site.url}/static/site.css", headers={"If-None-Match": tags})
            assert (reply.status_code, reply.content, reply.headers["etag"]) == (304, b"", etag)
        changed = client.get(f"{site.url}/static/site.css", headers={"If-None-Match": '"other"'})
        assert changed.status_code == 200


def test_asset_allows_only_get_and_head(site: Site) -> None:
    reply = httpx.head(f"{site.url}/static/site.css")
    assert (reply.status_code, reply.content, reply.headers["content-length"]) == (200, b"", "20")
    reply = httpx.post(f"{site.url}/static/site.css", content=b"x")
    assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path", ["../secret.txt", "%2e%2e/secret.txt", "js/../../secret.txt", "..%2fsecret.txt", "/etc/passwd", "js", ""]
)
def test_path_outside_the_folder_returns_404(site: Site, path: str) -> None:
    connection = http.client.HTTPConnection(site.place.hostname or "", site.place.port, timeout=10)
    connection.request("GET", f"{site.place.path}/static/{path}")
    assert connection.getresponse().status == 404
    connection.close()


def test_asset_request_is_noted_in_the_sidecar_without_event_or_fault(site: Site) -> None:
    site.playground.inject(ErrorFault(status=503))
    events, now = len(site.playground.log.events), site.playground.now
    assert httpx.get(f"{site.url}/static/site.css").status_code == 200
    assert (len(site.playground.log.events), site.playground.now) == (events, now)
    assert [(name, status) for _, name, _, status, _ in site.playground.sidecar.requests] == [("site", 200)]
    assert httpx.get(f"{site.url}/land", headers=site.headers).status_code == 503


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "nope.css", 404), ("POST", "site.css", 405)])
@pytest.mark.parametrize("has_token", [False, True])
def test_refused_asset_request_is_listed_in_the_sidecar(
    site: Site, method: str, path: str, status: int, has_token: bool
) -> None:
    events, now = len(site.playground.log.events), site.playground.now
    reply = httpx.request(method, f"{site.url}/static/{path}", headers=site.headers if has_token else {})
    assert reply.status_code == status
    assert (len(site.playground.log.events), site.playground.now) == (events, now)
    [listed] = site.playground.sidecar.unauthenticated.requests
    assert (listed["method"], listed["path"], listed["status"]) == (method, f"/static/{path}", status)


def test_paths_outside_the_prefix_need_a_credential(site: Site) -> None:
    assert httpx.get(f"{site.url}/staticky").status_code == 401
    assert httpx.get(f"{site.url}/staticky", headers=site.headers).text == "/staticky"


@pytest.mark.parametrize("prefix", ["static", "/static/", "/", ""])
def test_prefix_must_start_with_a_slash_and_not_end_with_one(prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix of assets"):
        AssetFolder(prefix, "clerkship")


def test_client_follows_redirect_to_a_path_of_the_sandbox(site: Site) -> None:
    with httpx.Client(headers=site.headers, follow_redirects=True) as client:
        reply = client.get(f"{site.url}/move", params={"to": "/visits/für?day=1"})
        assert (reply.text, str(reply.url)) == ("/visits/für", f"{site.url}/visits/f%C3%BCr?day=1")
        assert reply.history[0].status_code == 303
        assert client.get(f"{site.url}/move", params={"to": "c"}).text == "/c"


def test_redirect_to_a_path_stays_in_the_sandbox(site: Site) -> None:
    with site.ask("GET", "/move?to=//evil.example/x") as reply:
        assert reply.headers["location"] == f"{site.url}//evil.example/x"
    with site.ask("GET", "/move?to=https://example.org/x&status=307") as reply:
        assert (reply.status, reply.headers["location"]) == (307, "https://example.org/x")


def test_redirect_in_process_is_a_path_of_the_sandbox(site: Site) -> None:
    reply = site.box.send_as_is(Request("GET", "/move", {"to": "/visits"}))
    assert (reply.status, reply.headers["Location"]) == (303, "/visits")


def test_redirect_with_another_status_raises_value_error() -> None:
    with pytest.raises(ValueError, match="200 is not the status of a redirect"):
        redirect("/", 200)
