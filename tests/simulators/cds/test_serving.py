"""The HTTP server for services in Python: what it prints when an EHR has closed the connection."""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clerkship.simulators.cds.handle import describe_service
from clerkship.simulators.cds.serving import ServiceServer

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""The option SO_LINGER with which closing a socket resets its connection."""


def call_and_hang_up(answer: Callable[[], Any]) -> None:
    """Call a service, close the connection before it answers, and wait until its thread has ended."""
    called, closed = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def answer_late(request: dict[str, Any]) -> Any:
        threads.append(threading.current_thread())
        called.set()
        assert closed.wait(30)
        return answer()

    server = ServiceServer([describe_service("patient-view", answer_late, id="late", description="Late")])
    server.start()
    try:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            head = f"POST /cds-services/late HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}"
            connection.sendall(head.encode())
            assert called.wait(30)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        closed.set()
        threads[0].join(30)
        assert not threads[0].is_alive()
    finally:
        server.stop()


def test_answer_after_the_ehr_hung_up_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    call_and_hang_up(lambda: [{"summary": "Allergy", "detail": "x" * 5_000_000}])
    assert capsys.readouterr() == ("", "")


def test_connection_error_of_the_service_itself_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def answer() -> Any:
        raise ConnectionRefusedError("the database of the service")

    call_and_hang_up(answer)
    assert "the database of the service" in capsys.readouterr().err
