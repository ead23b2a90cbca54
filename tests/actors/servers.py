"""An HTTP server on loopback with answers defined by a test."""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self


class Asked(NamedTuple):
    """A received request."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"
    port: int = 0
    """The caller's: the same one for all that comes over one connection."""


Answered = tuple[int, Mapping[str, str], bytes]
Answer = Callable[[Asked], Answered | None]


class Served:
    """A server; an answer of None closes the connection."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[Asked] = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                given = {key.lower(): value for key, value in self.headers.items()}
                asked = Asked(self.path, given, body, self.command, self.client_address[1])
                served.asked.append(asked)
                found = answer(asked)
                if found is None:
                    self.close_connection = True
                    return
                status, headers, data = found
                self.send_response(status)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *arguments: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                """Ignore clients that disconnect, which some tests do on purpose."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
