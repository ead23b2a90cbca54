"""The telephone of the voice benchmark, the plain server beside it, and a client that calls through the menu."""

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.processes import BenchmarkSite, start_server
from clerkship.simulators import voice
from clerkship.simulators.voice.handle import Voice

MENU = "+15550100150"
NODES = 6
STEPS = tuple(str(number % 9 + 1) for number in range(NODES))
"""The key that leads on from each menu."""


def build_tree() -> dict[str, Any]:
    """Return a phone tree of six menus, one after another, and an end. The menus are patient, so calls stay open."""
    nodes: dict[str, Any] = {"end": {"type": "end", "prompt": "Thank you for calling. Goodbye."}}
    for number, key in enumerate(STEPS):
        following = f"menu_{number + 1}" if number + 1 < NODES else "end"
        other = "9" if key != "9" else "8"
        nodes[f"menu_{number}"] = {
            "type": "menu",
            "prompt": f"This is menu {number}. To go on, press {key}. To end the call, press {other}.",
            "timeout": "10m",
            "choices": [
                {"key": key, "speech": ["go on"], "next": following},
                {"key": other, "speech": ["end"], "next": "end"},
            ],
        }
    return {"name": "benchmark", "start": "menu_0", "nodes": nodes}


def open_site() -> BenchmarkSite:
    """Return a `voice` sandbox with one line."""
    line = {"number": MENU, "name": "Benchmark", "tree": build_tree()}
    return BenchmarkSite("phone", voice.SPEC, {"lines": [line]})


def serve_sandbox() -> None:
    """Open a new playground for each line read, and print its address and the CPU time so far."""
    office = open_site()
    for _ in sys.stdin:
        phone = office.open()[1].get_as(Voice)
        print(json.dumps({"url": phone.url, "token": phone.token, "cpu": time.process_time()}), flush=True)
    office.listener.close()


class PlainPhone(BaseHTTPRequestHandler):
    """Walks through the same tree: a call is the name of a node in a dictionary."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    nodes: dict[str, Any] = build_tree()["nodes"]
    calls: dict[str, str] = {}
    """Call -> node, of all connections."""

    def do_POST(self) -> None:
        """Dial, press a key, or return the prompt."""
        fields = json.loads(self.rfile.read(int(self.headers["content-length"])))
        parts = self.path.strip("/").split("/")
        if len(parts) == 1:
            call = f"call-{len(self.calls) + 1}"
            self.calls[call] = "menu_0"
            self._answer({"id": call, "status": "ringing"})
            return
        call, node = parts[1], self.nodes[self.calls[parts[1]]]
        if parts[2] == "press":
            self.calls[call] = next(each["next"] for each in node["choices"] if each["key"] == fields["digits"])
        self._answer({"call": call, "status": "connected", "heard": [{"speaker": "far_end", "text": node["prompt"]}]})

    def _answer(self, fields: dict[str, Any]) -> None:
        body = json.dumps(fields).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def serve_plain() -> None:
    """Serve with the standard library; print the address and the CPU time for each line read."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), PlainPhone)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _ in sys.stdin:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        print(json.dumps({"url": url, "token": "x", "cpu": time.process_time()}), flush=True)
    server.shutdown()


SERVERS: dict[str, Callable[[], None]] = {"sandbox": serve_sandbox, "plain": serve_plain}


class CallRate(NamedTuple):
    """What a server reaches."""

    rate: float
    per_cpu_second: float


class MenuClient:
    """Makes calls over one HTTP connection."""

    def __init__(self, address: dict[str, Any]) -> None:
        place = urlsplit(address["url"])
        self._path = place.path
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        self._headers = {"Authorization": f"Bearer {address['token']}", "Content-Type": "application/json"}

    def post(self, path: str, **fields: str) -> dict[str, Any]:
        """Send a request, and return the answer."""
        self._connection.request("POST", f"{self._path}/{path}", json.dumps(fields), self._headers)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status < 400, body
        answer: dict[str, Any] = json.loads(body)
        return answer

    def call(self, keys: Sequence[str] = STEPS) -> None:
        """Call, go through the whole menu, and listen to the last prompt."""
        id = self.post("calls", to=MENU)["id"]
        for key in keys:
            self.post(f"calls/{id}/hear")
            self.post(f"calls/{id}/press", digits=key)
        heard = self.post(f"calls/{id}/hear")["heard"]
        assert "Goodbye" in heard[-1]["text"], heard

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def measure_menu(server: str, calls: int) -> CallRate:
    """Return calls a second through the menu of a server, one after another."""
    with start_server("benchmarks.voice", server) as find_address:
        client = MenuClient(find_address())
        client.call()
        before, began = find_address()["cpu"], time.perf_counter()
        for _ in range(calls):
            client.call()
        spent = time.perf_counter() - began
        cpu = find_address()["cpu"] - before
        client.close()
    return CallRate(calls / spent, calls / cpu)
