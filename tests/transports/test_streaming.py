"""Replies that are streamed: over HTTP in chunks, in process in one piece, and what faults make of them."""

import http.client
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest

from clerkship.faults.drip import DripFault
from clerkship.faults.drop import DropFault
from clerkship.faults.truncated import TruncatedFault
from clerkship.playground.failure import SimulatorBroken
from clerkship.sandbox.handle import Dropped
from clerkship.sandbox.request import ByteStream, Reply
from tests.raw_routes import RawCall, raw_route
from tests.transports.site import Site, open_site

MADE: list[int] = []
MAY_GO_ON = threading.Event()


def count(call: RawCall) -> Reply:
    """Stream ten numbered chunks."""
    return Reply(200, media="text/plain", stream=ByteStream(f"chunk {number}\n".encode() for number in range(10)))


def flood(call: RawCall) -> Reply:
    """Stream as many chunks of 64 KB as are read, up to 400 MB."""

    def chunks() -> Iterator[bytes]:
        for number in range(6400):
            MADE.append(number)
            yield b"x" * 65_536

    return Reply(200, stream=ByteStream(chunks()))


def wait(call: RawCall) -> Reply:
    """Stream a chunk, and another one when the test says so."""

    def chunks() -> Iterator[bytes]:
        yield b"first"
        yield b""
        assert MAY_GO_ON.wait(10)
        yield b"second"

    return Reply(200, stream=ByteStream(chunks()))


def breaks(call: RawCall) -> Reply:
    """Fail in the middle."""

    def chunks() -> Iterator[bytes]:
        yield b"good"
        raise ZeroDivisionError("in the middle")

    return Reply(200, stream=ByteStream(chunks()))


def move(call: RawCall) -> Reply:
    """Redirect with a streamed body."""
    return Reply(303, headers={"Location": "/count"}, stream=ByteStream([b"moved"]))


OPERATIONS = (count, flood, wait, breaks, move)
ROUTES = tuple(raw_route("GET", f"/{run.__name__}", run.__name__, run) for run in OPERATIONS)
WHOLE = b"".join(f"chunk {number}\n".encode() for number in range(10))


@pytest.fixture
def site() -> Iterator[Site]:
    MADE.clear()
    MAY_GO_ON.clear()
    with open_site(*ROUTES) as site:
        yield site


def in_process(site: Site, path: str) -> Reply:
    return site.box.request("GET", path)


def test_a_streamed_redirect_to_a_path_of_the_sandbox_is_followed_by_a_client(site: Site) -> None:
    with httpx.Client(headers=site.headers, follow_redirects=True) as client:
        assert client.get(f"{site.url}/move").content == WHOLE


def test_a_streamed_reply_is_chunked_and_the_connection_is_kept(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client:
        for _ in range(2):
            reply = client.get(f"{site.url}/count")
            assert (reply.status_code, reply.content) == (200, WHOLE)
            assert reply.headers["transfer-encoding"] == "chunked"
            assert "content-length" not in reply.headers
            assert reply.headers["content-type"] == "text/plain"


def test_chunks_arrive_before_the_stream_ends(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/wait") as reply:
        chunks = reply.iter_raw()
        assert next(chunks) == b"first"
        MAY_GO_ON.set()
        assert next(chunks) == b"second"


def test_http_1_0_gets_the_stream_until_the_connection_closes(site: Site) -> None:
    head, _, body = site.talk(f"GET {site.place.path}/count HTTP/1.0").partition(b"\r\n\r\n")
    assert body == WHOLE
    assert b"chunked" not in head
    assert b"connection: close" in head


def test_head_of_a_stream_has_no_body(site: Site) -> None:
    with site.ask("HEAD", "/count") as reply:
        assert (reply.status, reply.read()) == (200, b"")


def test_a_stream_is_made_no_faster_than_it_is_read(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/flood") as reply:
        chunks = reply.iter_raw()
        next(chunks)
        made = -1
        while made != len(MADE):  # until it stands still
            made = len(MADE)
            time.sleep(0.05)
        assert made < 1000


def test_others_are_served_while_a_stream_waits(site: Site) -> None:
    with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/flood") as reply:
        next(reply.iter_raw())
        with site.ask("GET", "/count") as other:
            assert other.read() == WHOLE


def test_in_process_the_stream_is_one_body(site: Site) -> None:
    assert in_process(site, "/count").body == WHOLE


def test_a_stream_that_fails_breaks_the_connection_and_errors_the_run(site: Site) -> None:
    with site.ask("GET", "/breaks") as reply, pytest.raises((http.client.IncompleteRead, ConnectionError)):
        reply.read()
    assert "site: GET /breaks: ZeroDivisionError" in (site.playground.broken or "")


def test_in_process_a_stream_that_fails_errors_the_run(site: Site) -> None:
    with pytest.raises(SimulatorBroken, match="ZeroDivisionError"):
        in_process(site, "/breaks")
    assert site.playground.broken


def test_a_truncated_stream_ends_without_its_last_chunk(site: Site) -> None:
    site.playground.inject(TruncatedFault(keep=12, times=2))
    with site.ask("GET", "/count") as reply, pytest.raises(http.client.IncompleteRead) as broken:
        reply.read()
    assert broken.value.partial == WHOLE[:12]
    with pytest.raises(Dropped, match="12 of"):
        in_process(site, "/count")
    assert in_process(site, "/count").body == WHOLE


def test_a_stream_no_longer_than_what_is_kept_is_not_truncated(site: Site) -> None:
    site.playground.inject(TruncatedFault(keep=1000))
    with site.ask("GET", "/count") as reply:
        assert reply.read() == WHOLE


def test_where_a_stream_is_cut_is_the_seeds_choice(site: Site) -> None:
    site.playground.inject(TruncatedFault(times=1))
    with pytest.raises(Dropped):
        in_process(site, "/count")
    [event] = [event for event in site.playground.log.events if event.kind == "fault.injected"]
    assert 0 <= event.payload.details["kept"] < len(WHOLE)  # type: ignore[attr-defined]


def test_a_dripping_stream_comes_in_pieces_over_its_time() -> None:
    with open_site(*ROUTES, time="paced") as site:
        site.playground.inject(DripFault(over=timedelta(milliseconds=200), pieces=4))
        began = time.monotonic()
        with httpx.Client(headers=site.headers) as client, client.stream("GET", f"{site.url}/count") as reply:
            chunks = list(reply.iter_raw())
        assert time.monotonic() - began > 0.15
        assert (len(chunks), b"".join(chunks)) == (4, WHOLE)


def test_a_dropped_stream_sends_nothing(site: Site) -> None:
    site.playground.inject(DropFault(when="reply", times=1))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)), site.ask("GET", "/count"):
        pass
