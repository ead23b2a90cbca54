"""Serve the application on a socket until it is told to stop."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from clerkship.api.app import build_app
from clerkship.api.connections import LimitedConnection
from clerkship.api.observation import log_as_json
from clerkship.kit.stop_signals import handle_stop_signals
from clerkship.service.serving.server import Server

MAX_STOP_SECONDS = 10
"""Until requests under way are ended when the server stops."""
MAX_IDLE_SECONDS = 60
"""Between two requests on one connection."""
MAX_CONNECTIONS = 4000
"""Connections and requests at once; more are answered with 503."""


class StoppableServer(uvicorn.Server):
    """A server of uvicorn that leaves signals to Clerkship: it would send them to the process again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the handlers of signals as they are."""
        yield


def build_config(app: FastAPI) -> uvicorn.Config:
    """Return how uvicorn serves the application."""
    return uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=MAX_IDLE_SECONDS,
        timeout_graceful_shutdown=MAX_STOP_SECONDS,
    )


def run_server(server: Server, listening: socket.socket, root_path: str, announce: Callable[[], None]) -> None:
    """Answer requests until Ctrl-C, SIGTERM or SIGHUP; then finish those under way.

    `announce` is called when requests are answered and signals handled from then on.
    """
    log_as_json()
    running = StoppableServer(build_config(build_app(server, root_path)))

    def stop() -> None:
        server.is_stopping = True
        running.should_exit = True

    with handle_stop_signals(stop):
        announce()
        running.run(sockets=[listening])
