"""The FHIR benchmark does the work that it measures, with small sizes."""

import http.server
import threading
from pathlib import Path

import pytest

from benchmarks.fhir import (
    CONNECTIONS,
    Peer,
    Site,
    find_peer,
    fork,
    generated,
    idle,
    in_process,
    measure_chart_loading,
    ours_over_http,
    pinned,
    theirs_in_process,
    theirs_over_http,
    validated,
)
from benchmarks.fhir_work import chart, resources, transaction, works
from benchmarks.http_load import keep_asking, render_request
from clerkship.formats.fhir.resource import render_resource
from clerkship.formats.fhir.validation import validate

pytestmark = pytest.mark.slow


def test_generated_chart_is_valid_and_has_the_requested_size() -> None:
    made = list(resources(60))
    assert [issue for resource in made for issue in validate(resource)] == []
    assert len(chart(60)) == 60
    assert 1000 < sum(len(render_resource(resource)) for resource in made) / 60 < 2000
    bundle = render_resource(transaction(650_000, 1))
    assert 645_000 < len(bundle) < 655_000


def test_every_workload_runs_in_process_and_over_http() -> None:
    inside = in_process(60, 0.02)  # which asserts that each is answered right
    outside = ours_over_http(60, 0.02, CONNECTIONS)
    assert inside.keys() == outside.keys() == works(60).keys()
    assert all(rate.wall > 0 and rate.cpu > 0 for rate in (*inside.values(), *outside.values()))


def test_growth_is_measured() -> None:
    took = fork(30)
    assert all(took[part] > 0 for part in ("fork", "read", "search"))
    assert idle(20, 30).keys() == {"idle", "used"}
    site = Site(chart(30))
    assert site.fork() is not site.fork()


def test_datasets_are_measured(tmp_path: Path) -> None:
    took = measure_chart_loading(tmp_path, 40)
    assert min(took["first"], took["second"], took["indexes"]) > 0
    assert generated(2)["resources"] > 20
    found = validated(1)
    assert found["ours"] > 0
    assert found["theirs"] > 0


@pytest.mark.fhir
def test_peer_runs_the_workloads_it_supports(tmp_path: Path) -> None:
    peer: Peer = find_peer(install=True)
    assert not peer.why_not
    data = tmp_path / "chart.ndjson"
    data.write_bytes(b"\n".join(render_resource(resource) for resource in resources(30)))
    inside = theirs_in_process(peer, data, 30, 0.02)
    outside = theirs_over_http(peer, data, 30, 0.02, 2)
    for found in (inside, outside):
        assert found["search by chain"] == "cannot"
        assert all(rate.wall > 0 for rate in found.values() if not isinstance(rate, str))


def test_client_sends_every_request_and_fails_on_an_error_response() -> None:
    class Answering(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = b"y" * 300_000
            self.send_response(404 if self.path == "/no" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """The client has hung up on it, as it should."""

    with Server(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"
        load = keep_asking(place, render_request("GET", f"http://{place}/x?a=b", "t"), 3, 60, 10)
        assert (load.requests, len(load.sample)) == (10, 300_000)
        assert load.rate > 0
        with pytest.raises(ConnectionError, match="404"):
            keep_asking(place, render_request("GET", f"http://{place}/no", "t"), 2, 60, 10)
        server.shutdown()


def test_process_is_pinned_to_a_core_if_there_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.fhir.CORES", [0])
    assert pinned(0) is None
    monkeypatch.setattr("benchmarks.fhir.CORES", [0, 1])
    assert pinned(-1) is not None
