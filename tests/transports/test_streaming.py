"""Streamed replies over HTTP and in process, with and without faults."""

import http.client
import threading
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from clerkship.playground.failure import SimulatorBroken
from clerkship.sandbox.faults.request_faults import DripFault, DropFault, TruncatedFault
from clerkship.sandbox.handle import Dropped
from clerkship.sandbox.request import ByteStream, Reply
from tests.raw_routes import RawCall, raw_route
from tests.transports.site import Site, open_site
from tests.waiting import wait_until_stable

CREATED_CHUNKS: list[int] = []
CONTINUE = threading.Event()


def count(call: RawCall) -> Reply:
    """Stream ten numbered chunks."""
    return Reply(200, media="text/plain", stream=ByteStream(f"chunk {number}\n".encode() for number in range(10)))


def flood(call: RawCall) -> Reply:
    """Stream as many chunks of 64 KB as are read, up to 400 MB."""

    def chunks() -> Iterator[bytes]:
        for number in range(6400):
            CREATED_CHUNKS.append(number)
            yield b"x" * 65_536

    return Reply(200, stream=ByteStream(chunks()))


def wait(call: RawCall) -> Reply:
    """Stream a chunk, and another one when the test sets CONTINUE."""

    def chunks() -> Iterator[bytes]:
        yield b"first"
        yield b""
        assert CONTINUE.wait(10)
        yield b"second"

    return Reply(200, stream=ByteStream(chunks()))


def breaks(call: RawCall) -> Reply:
    """Stream a chunk, then fail."""

    def chunks() -> Iterator[bytes]:
        yield b"good"
        raise ZeroDivisionError("in the middle")

    return Reply(200, stream=ByteStream(chunks()))


def move(call: RawCall) -> Reply:
    """Redirect with a streamed body."""
    return Reply(303, headers={"Location": "/count"}, stream=ByteStream([b"moved"]))


OPERATIONS = (count, flood, wait, breaks, move)
ROUTES = tuple(raw_route("GET", f"/{run.__name__}", run.__name__, run) for run in OPERATIONS)
COMPLETE_BODY = b"".join(f"chunk {number}\n".encode() for number in range(10))


@pytest.fixture
def site() -> Iterator[Site]:
    CREATED_CHUNKS.clear()
    CONTINUE.clear()
    with open_site(*ROUTES) as site:
        yield site


def request_in_process(site: Site, path: str) -> Reply:
    return site.box.request("GET", path)


def test_client_follows_streamed_redirect_to_a_path_of_the_sandbox(site: Site) -> None:
    with httpx.Client(headers=site.headers, follow_redirects=True) as client:
        assert client.get(f"{site.url}/move").content == COMPLETE_BODY


def test_streamed_reply_is_chunked_and_keeps_the_connection_open(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client:
        for _ in range(2):
            reply = client.get(f"{site.url}/count")
            assert (reply.status_code, reply.content) == (200, COMPLETE_BODY)
            assert reply.headers["transfer-encoding"] == "chunked"
            assert "content-length" not in reply.headers
            assert reply.headers["content-type"] == "text/plain"


def test_chunks_arrive_before_the_stream_ends(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/wait") as reply:
        chunks = reply.iter_raw()
        assert next(chunks) == b"first"
        CONTINUE.set()
        assert next(chunks) == b"second"


def test_http_1_0_client_gets_an_unchunked_stream_and_connection_close(site: Site) -> None:
    head, _, body = site.talk(f"GET {site.place.path}/count HTTP/1.0").partition(b"\r\n\r\n")
    assert body == COMPLETE_BODY
    assert b"chunked" not in head
    assert b"connection: close" in head


def test_head_of_a_stream_has_no_body(site: Site) -> None:
    with site.ask("HEAD", "/count") as reply:
        assert (reply.status, reply.read()) == (200, b"")


def test_stream_is_generated_no_faster_than_the_client_reads(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/flood") as reply:
        chunks = reply.iter_raw()
        next(chunks)
        assert wait_until_stable(lambda: len(CREATED_CHUNKS)) < 1000


def test_other_requests_are_answered_while_a_stream_waits(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/flood") as reply:
        next(reply.iter_raw())
        with site.ask("GET", "/count") as other:
            assert other.read() == COMPLETE_BODY


def test_stream_in_process_is_one_body(site: Site) -> None:
    assert request_in_process(site, "/count").body == COMPLETE_BODY


def test_failing_stream_aborts_the_connection_and_errors_the_run(site: Site) -> None:
    with site.ask("GET", "/breaks") as reply, pytest.raises((http.client.IncompleteRead, ConnectionError)):
        reply.read()
    assert "site: GET /breaks: ZeroDivisionError" in (site.playground.broken or "")


def test_failing_stream_in_process_errors_the_run(site: Site) -> None:
    with pytest.raises(SimulatorBroken, match="ZeroDivisionError"):
        request_in_process(site, "/breaks")
    assert site.playground.broken


def test_truncated_stream_ends_without_its_last_chunk(site: Site) -> None:
    site.playground.inject(TruncatedFault(keep=12, times=2))
    with site.ask("GET", "/count") as reply, pytest.raises(http.client.IncompleteRead) as broken:
        reply.read()
    assert broken.value.partial == COMPLETE_BODY[:12]
    with pytest.raises(Dropped, match="12 of"):
        request_in_process(site, "/count")
    assert request_in_process(site, "/count").body == COMPLETE_BODY


def test_stream_within_the_kept_length_is_not_truncated(site: Site) -> None:
    site.playground.inject(TruncatedFault(keep=1000))
    with site.ask("GET", "/count") as reply:
        assert reply.read() == COMPLETE_BODY


def test_truncation_point_follows_from_the_seed(site: Site) -> None:
    site.playground.inject(TruncatedFault(times=1))
    with pytest.raises(Dropped):
        request_in_process(site, "/count")
    [event] = [event for event in site.playground.log.events if event.kind == "fault.injected"]
    assert 0 <= event.payload.details["kept"] < len(COMPLETE_BODY)  # type: ignore[attr-defined]


def test_drip_fault_sends_a_stream_in_pieces_over_time() -> None:
    with open_site(*ROUTES, time="paced") as site:
        site.playground.inject(DripFault(over=timedelta(milliseconds=200), pieces=4))
        before = site.playground.now
        with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/count") as reply:
            chunks = list(reply.iter_raw())
        assert site.playground.now - before >= timedelta(milliseconds=200)
        assert (len(chunks), b"".join(chunks)) == (4, COMPLETE_BODY)


def test_drop_fault_sends_nothing_of_a_stream(site: Site) -> None:
    site.playground.inject(DropFault(when="reply", times=1))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)), site.ask("GET", "/count"):
        pass
