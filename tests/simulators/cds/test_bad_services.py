"""Services that hang, redirect, or answer nonsense: a clear event each, and the run goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest

from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.simulators.cds.handle import Cds
from tests.simulators.cds.test_run import ENVIRONMENT, payloads
from tests.workbench import Workbench

JSON = "application/json"
SERVICE = {"hook": "patient-view", "id": "svc", "description": "A service"}
DISCOVERY = orjson.dumps({"services": [SERVICE]})
EMPTY = b'{"cards": []}'


class BadServer:
    """Answers discovery and hooks with fixed bytes."""

    def __init__(self) -> None:
        self.discovery = DISCOVERY
        self.status = 200
        self.body = EMPTY
        self.media = JSON
        self.location = ""
        self.hangs = False
        self.drips = False
        self.closed = threading.Event()
        self.calls = 0

    @contextmanager
    def run(self) -> Iterator[str]:
        """Serve, and yield the base URL."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._build_handler())
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            self.closed.set()
            server.shutdown()
            server.server_close()
            thread.join(60)

    def _build_handler(self) -> type[BaseHTTPRequestHandler]:
        bad = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(200, bad.discovery, JSON)

            def do_POST(self) -> None:
                bad.calls += 1
                self.rfile.read(int(self.headers["content-length"]))
                if bad.hangs:
                    bad.closed.wait(20)
                    return
                if bad.drips:
                    self._drip()
                    return
                self._send(bad.status, bad.body, bad.media)

            def _drip(self) -> None:
                """Send a byte now and then, so that the connection never is idle for long."""
                self.send_response(200)
                self.send_header("content-type", JSON)
                self.end_headers()
                while not bad.closed.wait(0.1):
                    try:
                        self.wfile.write(b" ")
                    except OSError:
                        return

            def _send(self, status: int, body: bytes, media: str) -> None:
                self.send_response(status)
                self.send_header("content-type", media)
                self.send_header("content-length", str(len(body)))
                if bad.location and self.command == "POST":
                    self.send_header("location", bad.location)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:  # the EHR stopped reading
                    return

            def log_message(self, format: str, *args: Any) -> None:
                """Do not print requests."""

        return Handler


def run_with(bench: Workbench, bad: BadServer) -> list[dict[str, Any]]:
    """Run the task with a bad server, and return the events."""

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        with bad.run() as url:
            sandboxes.get_as(Cds).register(url)
            sandboxes.wait("1m")

    bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", "max_response: 100000").replace("STEP", ""))
    run = bench.run_one(agent)
    assert run.verdict == "pass", run
    return bench.events(run)


def fail_with(bench: Workbench, bad: BadServer) -> tuple[str, int | None]:
    """Return reason and status of the one failure."""
    [failed] = payloads(run_with(bench, bad), "cds.hook.failed")
    return failed["reason"], failed["status"]


@pytest.mark.parametrize(
    ("status", "body", "media", "expected"),
    [
        (200, b'{"cards": [', JSON, ("invalid_json", 200)),
        (200, b"\xff\xfe", JSON, ("invalid_json", 200)),
        (200, b"", JSON, ("invalid_json", 200)),
        (200, b"[" * 50_000, JSON, ("invalid_json", 200)),
        (200, b"[]", JSON, ("invalid_response", 200)),
        (200, b'{"cards": 5}', JSON, ("invalid_response", 200)),
        (200, b"{}", JSON, ("invalid_response", 200)),
        (200, EMPTY, "text/html", ("wrong_content_type", 200)),
        (200, EMPTY + b" " * 200_000, JSON, ("too_large", None)),
        (204, b"", JSON, ("status", 204)),
        (404, b"{}", JSON, ("status", 404)),
        (412, b"{}", JSON, ("missing_prefetch", 412)),
        (500, b"oops", "text/plain", ("status", 500)),
    ],
)
def test_unusable_answer_is_a_failure(
    bench: Workbench, status: int, body: bytes, media: str, expected: tuple[str, int | None]
) -> None:
    bad = BadServer()
    bad.status, bad.body, bad.media = status, body, media
    assert fail_with(bench, bad) == expected
    assert bad.calls == 1


def test_service_that_hangs_times_out(bench: Workbench) -> None:
    bad = BadServer()
    bad.hangs = True
    assert fail_with(bench, bad) == ("timed_out", None)


def test_service_that_drips_times_out(bench: Workbench) -> None:
    bad = BadServer()
    bad.drips = True
    assert fail_with(bench, bad) == ("timed_out", None)


@pytest.mark.parametrize(
    ("status", "location", "expected"),
    [
        (307, "/cds-services/svc", ("redirected", 307)),
        (302, "/elsewhere", ("redirected", 302)),
        (307, "http://169.254.169.254/latest", ("refused_by_policy", None)),
        (308, "http://[", ("redirected", None)),
    ],
)
def test_redirect_is_not_followed_for_ever_nor_elsewhere(
    bench: Workbench, status: int, location: str, expected: tuple[str, int | None]
) -> None:
    bad = BadServer()
    bad.status, bad.location = status, location
    assert fail_with(bench, bad) == expected


def test_summary_of_ten_megabytes_is_too_large(bench: Workbench) -> None:
    bad = BadServer()
    bad.body = orjson.dumps({"cards": [{"summary": "x" * 10_000_000}]})
    assert fail_with(bench, bad)[0] == "too_large"


def test_services_with_duplicate_ids_are_refused_but_the_first(bench: Workbench) -> None:
    bad = BadServer()
    bad.discovery = orjson.dumps({"services": [SERVICE, SERVICE, {**SERVICE, "id": "..", "hook": "nap"}]})
    events = run_with(bench, bad)
    [refused] = payloads(events, "cds.service.refused")
    assert [problem["rule"] for problem in refused["problems"]] == ["service-id", "service-id"]
    assert [service["id"] for service in payloads(events, "cds.services.discovered")[0]["services"]] == ["svc"]
    assert bad.calls == 1


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"services": {}}'])
def test_unreadable_discovery_is_a_failure(bench: Workbench, body: bytes) -> None:
    bad = BadServer()
    bad.discovery = body
    events = run_with(bench, bad)
    assert [payload["reason"] for payload in payloads(events, "cds.discovery.failed")] == ["invalid_response"]
    assert bad.calls == 0


def test_services_that_are_not_there_are_a_failure(bench: Workbench) -> None:
    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        sandboxes.get_as(Cds).register("http://127.0.0.1:1")
        sandboxes.wait("1m")

    bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", "").replace("STEP", ""))
    events = bench.events(bench.run_one(agent))
    assert [payload["reason"] for payload in payloads(events, "cds.discovery.failed")] == ["not_reached"]


def test_bad_urls_are_refused(bench: Workbench) -> None:
    refused: list[int] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        for url in ("", "127.0.0.1:80", "ftp://127.0.0.1", "http://10.0.0.1", "http://127.0.0.1:9?x=1"):
            with pytest.raises(Refused) as error:
                sandboxes.get_as(Cds).register(url)
            refused.append(error.value.reply.status)
        reply = sandboxes.get_as(Cds).call("report_answer", {"id": "x", "status": 200, "body": "{}"})
        refused.append(reply.status)

    bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", "").replace("STEP", ""))
    run = bench.run_one(agent)
    assert run.verdict == "pass", run
    assert all(400 <= status < 500 for status in refused)
    assert len(refused) == 6
