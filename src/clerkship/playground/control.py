"""The control endpoint: read-only access to the log of a running playground, for the process that started it.

It does not go through the handlers of the gateway: a request causes no event and no tick of the clock. A playground
has this endpoint only if it was opened with one.
"""

from collections.abc import Mapping
from typing import Any

from clerkship.kit.secrets import equal_in_constant_time, new_token
from clerkship.playground.handlers import RequestContext
from clerkship.playground.playground import Playground
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.request import Refusal, Reply, Request, json_reply, refuse_as_json
from clerkship.sandbox.route import HttpCall
from clerkship.transports.http_application import IncomingRequest

CONTROL = "control"
"""The path of this endpoint, next to those of the sandboxes. No sandbox may have this name."""
MAX_PAGE_EVENTS = 1000
MAX_PAGE_BYTES = 2_000_000
NDJSON = "application/x-ndjson"


class ControlEndpoint:
    """Answers requests to `/{playground}/control/…`, which need a token of their own."""

    def __init__(self, playground: Playground, info: Mapping[str, Any]) -> None:
        self._playground = playground
        self._info = info
        self.token = new_token("clk_ctl")

    def covers(self, incoming: IncomingRequest) -> bool:
        """Return whether a request is for the control endpoint."""
        return (incoming.playground_id, incoming.sandbox_name) == (self._playground.id, CONTROL)

    def try_answer(self, context: RequestContext) -> Reply | None:
        """Answer a request for the log, which needs no lock; return None for any other request."""
        return self.answer(context) if _request_of(context).path.startswith(("/log", "/blob")) else None

    def answer(self, context: RequestContext) -> Reply:
        """Answer one request."""
        try:
            return self._answer(context)
        except Refusal as refusal:
            return refuse_as_json(refusal)

    def _answer(self, context: RequestContext) -> Reply:
        request = _request_of(context)
        if not equal_in_constant_time(self.token, parse_bearer_token(request.headers)):
            raise Refusal(401, "unauthorized", "the bearer token is missing, wrong, or that of a sandbox")
        if context.transport_refusal is not None:
            raise context.transport_refusal
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "method_not_allowed", "the control endpoint is read-only: use GET")
        name, _, argument = request.path.strip("/").partition("/")
        if name == "blob":
            return self._read_blob(argument)
        if name == "log" and not argument:
            return self._read_log(request)
        if name:
            raise Refusal(404, "no_such_route", "control has GET /, /log?after= and /blob/{sha256}")
        return self._describe()

    def _describe(self) -> Reply:
        playground = self._playground
        with playground.lock:
            progress = {
                "now": playground.now.isoformat(),
                "events": len(playground.log.lines),
                "head": playground.log.head,
                "left": playground.people.leave_reasons,
                "error": playground.broken or "; ".join(playground.steps.errors),
                "calls": playground.sidecar.list_calls(),
            }
        return json_reply(200, {**self._info, **progress})

    def _read_log(self, request: Request) -> Reply:
        """Return the lines of the log after an event, as many as fit a page; none at the end."""
        after = request.query.get("after", "0")
        if not (after.isascii() and after.isdigit()) or len(after) > 18:
            raise Refusal(400, "bad_after", "`after` is the number of an event, or 0")
        page: list[bytes] = []
        bytes_left = MAX_PAGE_BYTES
        for line in self._playground.log.lines[int(after) : int(after) + MAX_PAGE_EVENTS]:
            bytes_left -= len(line) + 1
            if page and bytes_left < 0:
                break
            page.append(line)
        return Reply(200, b"".join(line + b"\n" for line in page), media=NDJSON)

    def _read_blob(self, digest: str) -> Reply:
        data = self._playground.log.blobs.get(digest)
        if data is None:
            raise Refusal(404, "no_such_blob", "no event of this log has a body with that hash")
        return Reply(200, data, media="application/octet-stream")


def _request_of(context: RequestContext) -> Request:
    assert isinstance(context.call, HttpCall)  # it is only reachable over HTTP
    return context.call.request
