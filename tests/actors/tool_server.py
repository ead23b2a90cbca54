"""An MCP server for tests, with one tool that reads a file, and a bearer token."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

TOKEN = "clk_token-of-the-tools-of-this-trial"
TOOL = {
    "name": "read_file",
    "description": "Read a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
UNAUTHORIZED, NO_CONTENT = 401, 202


@dataclass
class ToolServer:
    """Answers `initialize`, `tools/list` and `tools/call` as JSON, without sessions."""

    text: str
    calls: list[dict[str, Any]] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("authorization") != f"Bearer {TOKEN}":
                    self.reply(UNAUTHORIZED, b"")
                    return
                message = json.loads(body)
                owner.methods.append(message["method"])
                if "id" not in message:
                    self.reply(NO_CONTENT, b"")
                    return
                answer = {"jsonrpc": "2.0", "id": message["id"], **owner.answer(message)}
                self.reply(200, json.dumps(answer).encode())

            def do_GET(self) -> None:
                self.reply(405, b"")

            do_DELETE = do_GET  # noqa: N815  (a name of the standard library)

            def reply(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request, or an error for a method that it does not have."""
        params = message.get("params", {})
        match message["method"]:
            case "initialize":
                info = {"serverInfo": {"name": "tools", "version": "1"}, "capabilities": {"tools": {}}}
                return {"result": {"protocolVersion": params["protocolVersion"], **info}}
            case "tools/list":
                return {"result": {"tools": [TOOL]}}
            case "tools/call":
                self.calls.append(params)
                return {"result": {"content": [{"type": "text", "text": self.text}]}}
        return {"error": {"code": -32601, "message": f"no method {message['method']}"}}
