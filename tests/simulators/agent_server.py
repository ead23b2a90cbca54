"""The HTTP server of an agent that sandboxes call."""

import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from clerkship.sandbox.request import Request
from clerkship.transports.multipart import FormPart, parse_form


class PostedRequest(NamedTuple):
    """A request that the agent got."""

    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        """The fields of a form in the body."""
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def parts(self) -> dict[str, FormPart]:
        """The parts of a multipart form by name."""
        return {part.name: part for part in parse_form(Request("POST", self.path, {}, self.headers, self.body))}


class AgentAnswer(NamedTuple):
    """What the agent answers."""

    status: int = 200
    body: bytes = b""
    media: str = "text/xml"
    location: str = ""
    repeat: int = 1
    """How often the body is sent."""


class AgentServer:
    """A server that keeps what is posted to it."""

    def __init__(self, answer: Callable[[PostedRequest], AgentAnswer] = lambda _: AgentAnswer()) -> None:
        self.posted: list[PostedRequest] = []
        self.released = threading.Event()
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {key.lower(): value for key, value in self.headers.items()}
                posted = PostedRequest(self.path, headers, body, self.command)
                agent.posted.append(posted)
                result = answer(posted)
                body = result.body * result.repeat
                headers = {"content-type": result.media, "location": result.location}
                with suppress(OSError):  # the sandbox waited no longer
                    self.send_response(result.status)
                    self.send_header("content-length", str(len(body)))
                    for name, value in headers.items():
                        if value:
                            self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)

            do_PUT = do_POST  # noqa: N815  (the name that the base class looks for)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop, and release requests that hang."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
