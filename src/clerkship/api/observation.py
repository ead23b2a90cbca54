"""What the server tells of its requests: an id, a line of JSON in the log, counters and times as metrics.

Neither has a key: headers and bodies are not logged, and what looks like a key is replaced.
"""

import logging
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clerkship.api.problems import FAILURE_DETAIL, PROBLEMS, render_problem
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now, perf_counter
from clerkship.service.serving.keys import SECRET, Principal
from clerkship.service.serving.server import Gauge

LOG = logging.getLogger("clerkship.server")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds, as Prometheus has them by default."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_FACTS = ("request_id", "method", "path", "route", "status", "ms", "key_id", "run_id", "client")


class RequestMetrics:
    """Counts requests and how long they took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], list[float]] = {}
        """For each route the sum of seconds, then how many took at most as long as each bucket."""
        self.under_way = 0

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        with self._lock:
            self._counts[method, route, status] += 1
            row = self._seconds.setdefault((method, route), [0.0] * (len(BUCKETS) + 2))
            row[0] += seconds
            row[next((n for n, limit in enumerate(BUCKETS, 1) if seconds <= limit), len(BUCKETS) + 1)] += 1

    def render(self, gauges: Mapping[str, Gauge]) -> str:
        """Return all metrics in the text format of Prometheus."""
        return "\n".join((*self._render_requests(), *_render_gauges(gauges, self.under_way), ""))

    def _render_requests(self) -> Iterator[str]:
        with self._lock:
            counts, times = dict(self._counts), {key: list(row) for key, row in self._seconds.items()}
        yield "# HELP clerkship_http_requests_total Answered requests."
        yield "# TYPE clerkship_http_requests_total counter"
        for (method, route, status), count in sorted(counts.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            yield f"clerkship_http_requests_total{{{labels}}} {count}"
        yield "# HELP clerkship_http_request_seconds How long requests took."
        yield "# TYPE clerkship_http_request_seconds histogram"
        for (method, route), (total, *row) in sorted(times.items()):
            labels, count = f'method="{method}",route="{route}"', 0
            for limit, each in zip((*map(str, BUCKETS), "+Inf"), row, strict=True):
                count += int(each)
                yield f'clerkship_http_request_seconds_bucket{{{labels},le="{limit}"}} {count}'
            yield f"clerkship_http_request_seconds_sum{{{labels}}} {total:.6f}"
            yield f"clerkship_http_request_seconds_count{{{labels}}} {count}"


def _render_gauges(gauges: Mapping[str, Gauge], under_way: int) -> Iterator[str]:
    requests = Gauge("Requests under way.", lambda: under_way)
    for name, gauge in sorted({"http_requests_under_way": requests, **gauges}.items()):
        yield f"# HELP clerkship_{name} {gauge.help}"
        yield f"# TYPE clerkship_{name} gauge"
        yield f"clerkship_{name} {gauge.read():g}"


class Observation:
    """Gives each request an id, answers what failed without a trace of the failure, and logs and counts it."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics, root_path: str) -> None:
        self._app = app
        self._root_path = root_path
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["root_path"] = self._root_path  # Starlette takes it off the path, if the proxy has not
        request, started, status = Request(scope, receive), perf_counter(), 0
        given = request.headers.get("x-request-id", "")
        scope["request_id"] = request_id = given if _REQUEST_ID.fullmatch(given) else new_name("req")

        async def send_answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        self._metrics.under_way += 1
        try:
            await self._app(scope, receive, send_answer)
        except Exception as error:
            LOG.error("request failed", exc_info=error, extra={"request_id": request_id})
            if not status:  # else the connection is closed, so the client sees that the answer is not whole
                await render_problem(request, PROBLEMS[500], FAILURE_DETAIL)(scope, receive, send_answer)
        finally:
            self._metrics.under_way -= 1
            self._observe(request, status, perf_counter() - started)

    def _observe(self, request: Request, status: int, seconds: float) -> None:
        scope = request.scope
        route = getattr(scope.get("route"), "path", "none")
        method = request.method if route != "none" else "none"  # a client may make up many
        self._metrics.add(method, route, status, seconds)
        principal: Principal | None = scope.get("principal")
        facts = {
            "request_id": scope["request_id"],
            "method": request.method[:20],
            "path": request.url.path[:500],
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 2),
            "key_id": principal.key_id if principal else None,
            "run_id": scope.get("run_id") or (principal.run_id if principal else None),
            "client": request.client.host if request.client else None,
        }
        LOG.info("request", extra=facts)


class JsonFormatter(logging.Formatter):
    """Writes each record as one line of JSON, without keys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        data: dict[str, Any] = {
            "at": now().isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        data |= {name: value for name in _FACTS if (value := getattr(record, name, None)) is not None}
        if record.exc_info and record.exc_info[0] is not None:
            data["error"] = self.formatException(record.exc_info)
        return SECRET.sub(lambda match: f"{match[0][:4]}…", orjson.dumps(data).decode())


def log_as_json(stream: TextIO = sys.stderr) -> None:
    """Write the log of the server and of uvicorn to a stream, one line of JSON for each record."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    for name, level in (("clerkship.server", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def observe(app: FastAPI, root_path: str) -> RequestMetrics:
    """Observe all requests of an application."""
    metrics = RequestMetrics()
    app.add_middleware(Observation, metrics=metrics, root_path=root_path)
    return metrics
