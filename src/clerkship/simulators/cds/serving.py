"""A small HTTP server for the CDS services of an agent written in Python."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from clerkship.formats.cds_hooks.wire_model import DISCOVERY_PATH, CdsService

MAX_REQUEST = 20_000_000
OK, BAD_REQUEST, NOT_FOUND, TOO_LARGE, FAILED = 200, 400, 404, 413, 500
Answer = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A list of cards, or a whole response: {"cards": […], "systemActions": […]}."""
AnswerHook = Callable[[dict[str, Any]], Answer]
"""Returns cards for the body of a hook request."""
TakeFeedback = Callable[[str, list[dict[str, Any]]], None]
"""Called with the id of a service and the feedback on its cards."""


@dataclass(frozen=True, slots=True)
class ServedService:
    """A service and the function that answers its hook."""

    description: CdsService
    answer: AnswerHook


class PreconditionFailed(Exception):
    """Raised by a service that lacks data: the answer has the status 412, as the specification says."""


class ServiceServer:
    """Serves CDS services on a free port of 127.0.0.1, each call in a thread of its own."""

    def __init__(self, services: Iterable[ServedService], take_feedback: TakeFeedback | None = None) -> None:
        self._services = {service.description.id: service for service in services}
        self._take_feedback = take_feedback
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _build_handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL of the services."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Answer requests from now on."""
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def list_services(self) -> dict[str, Any]:
        """Return the answer of the discovery endpoint."""
        return {"services": [service.description.to_wire() for service in self._services.values()]}

    def post(self, path: str, body: bytes) -> tuple[int, Any]:
        """Return status and data for a call of a service or its feedback endpoint."""
        id, _, rest = path.removeprefix(f"{DISCOVERY_PATH}/").partition("/")
        service = self._services.get(id)
        if service is None or rest not in ("", "feedback"):
            return NOT_FOUND, {"error": "no such service"}
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError:
            return BAD_REQUEST, {"error": "not JSON"}
        if rest:
            if self._take_feedback is not None:
                self._take_feedback(id, data.get("feedback", []))
            return OK, {}
        try:
            answer = service.answer(data)
        except PreconditionFailed as error:
            return 412, {"error": str(error)}
        return OK, dict(answer) if isinstance(answer, Mapping) else {"cards": list(answer)}


def _build_handler(server: ServiceServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET and POST."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == DISCOVERY_PATH:
                self._send(OK, server.list_services())
            else:
                self._send(NOT_FOUND, {"error": "no such path"})

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            if length > MAX_REQUEST:
                self._send(TOO_LARGE, {"error": "too large"})
                return
            self._send(*server.post(self.path, self.rfile.read(length)))

        def _send(self, status: int, data: Any) -> None:
            body = orjson.dumps(data)
            lines = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
                "content-type: application/json",
                f"content-length: {len(body)}",
                "connection: close",
            )
            self.close_connection = True
            with suppress(ConnectionError):  # the EHR does not wait for a late answer
                self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)

        def log_message(self, format: str, *args: Any) -> None:
            """Do not print requests."""

    return Handler
