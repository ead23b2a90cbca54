"""A playground with one sandbox that has the routes of a test, reachable over HTTP and in process."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.route import Route
from clerkship.simulators import files
from clerkship.transports.limits import ConnectionLimits

SPEC = replace(files.SPEC, kind="site", handle=Handle)


class Site:
    """A running sandbox with its HTTP listener."""

    def __init__(self, routes: tuple[Route, ...], limits: ConnectionLimits | None = None, **changes: Any) -> None:
        time = changes.pop("time", "stepped")
        self.spec = replace(SPEC, routes=routes, **changes)
        environment = Environment(name="site", simulators={"site": Simulator(kind="files")}, time=time)
        self.gateway = Gateway()
        self.listener = open_http(self.gateway, limits=limits)
        self.playground = Playground(environment, {"site": PreparedSimulator(self.spec, self.spec.config())}, "site")
        self.box = open_sandboxes(self.gateway, self.playground, self.listener.url)["site"]
        self.url, self.token = self.box.url, self.box.token
        self.place = urlsplit(self.url)
        self.headers = {"Authorization": f"Bearer {self.token}"}

    @contextmanager
    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Iterator[http.client.HTTPResponse]:
        """Send one request with the HTTP client of the standard library."""
        connection = http.client.HTTPConnection(self.place.hostname or "", self.place.port, timeout=10)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, self.place.path + path, body or None, {**self.headers, **named})
            yield connection.getresponse()
        finally:
            connection.close()

    def talk(self, *lines: str) -> bytes:
        """Send a request head, and return all bytes until the server closes the connection."""
        with socket.create_connection((self.place.hostname, self.place.port), timeout=10) as connection:
            connection.sendall("\r\n".join([*lines, f"Authorization: Bearer {self.token}", "", ""]).encode())
            received = b""
            while more := connection.recv(65536):
                received += more
            return received

    def close(self) -> None:
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.listener.close()


@contextmanager
def open_site(*routes: Route, **changes: Any) -> Iterator[Site]:
    site = Site(routes, **changes)
    try:
        yield site
    finally:
        site.close()
