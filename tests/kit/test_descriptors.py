"""The limit on open files, and the throttled error handler."""

import asyncio
import logging
import resource
import socket
import subprocess
import sys

import pytest

from clerkship.kit import descriptors
from clerkship.kit.descriptors import ThrottledErrorHandler, max_connections, raise_limit


def test_limit_is_raised_as_far_as_the_system_allows() -> None:
    script = (
        "import resource; from clerkship.kit.descriptors import raise_limit, max_connections; "
        "hard = min(4000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]); "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)); "
        "print(raise_limit() == hard == resource.getrlimit(resource.RLIMIT_NOFILE)[0], raise_limit() == hard, "
        "max_connections())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    *raised, connections = done.stdout.split()
    assert raised == ["True", "True"]
    assert int(connections) * 4 < 4000 - 512


def test_max_connections_without_a_system_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "resource", None)
    assert raise_limit() == descriptors.MAX_DESCRIPTORS
    assert max_connections() > 2000


@pytest.mark.parametrize("limit", [100, 600, 1024, 4096, 16_384])
def test_shares_leave_reserved_descriptors_free(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(descriptors, "raise_limit", lambda: limit)
    assert 1 <= max_connections() * descriptors.SHARE_COUNT <= max(limit - descriptors.RESERVED_DESCRIPTORS, 4)


def test_error_handler_logs_the_same_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(ThrottledErrorHandler("line"))
        server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0, backlog=64)
        port = server.sockets[0].getsockname()[1]
        clients = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(5)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0.01)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 10)
        assert await asyncio.wait_for(reader.read(), 10) == b""
        for client in clients:
            client.close()
        writer.close()
        server.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    # On a slow machine, the loop also warns that it cannot try again on a socket that is closed by then.
    [record] = [each for each in caplog.records if "out of system resource" in each.getMessage()]
    assert record.getMessage() == "line: socket.accept() out of system resource: OSError"
    assert record.exc_info is None
