"""The control door: the log of a playground that is up, for whoever started it. It only reads.

It stands beside the gateway, so that nothing of it goes through the list of handlers: no event, no touch, no tick of
the clock. A playground has one only if it was opened with one.
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
"""A path beside the sandboxes. No sandbox may have its name."""
MAX_PAGE_EVENTS = 1000
MAX_PAGE_BYTES = 2_000_000
NDJSON = "application/x-ndjson"


class ControlEndpoint:
    """Answers for `/{playground}/control/…` with a token of its own."""

    def __init__(self, playground: Playground, about: Mapping[str, Any]) -> None:
        self._playground = playground
        self._about = about
        self.token = new_token("clk_ctl")

    def covers(self, incoming: IncomingRequest) -> bool:
        """Return whether a request is for the control endpoint."""
        return (incoming.playground_id, incoming.sandbox_name) == (self._playground.id, CONTROL)

    def try_answer(self, exchange: RequestContext) -> Reply | None:
        """Answer at once what needs no lock: the log. All else waits for the playground, in a thread."""
        return self.answer(exchange) if _request_of(exchange).path.startswith(("/log", "/blob")) else None

    def answer(self, exchange: RequestContext) -> Reply:
        """Answer one request."""
        try:
            return self._answer(exchange)
        except Refusal as refusal:
            return refuse_as_json(refusal)

    def _answer(self, exchange: RequestContext) -> Reply:
        request = _request_of(exchange)
        if not equal_in_constant_time(self.token, parse_bearer_token(request.headers)):
            raise Refusal(401, "unauthorized", "the bearer token is missing, wrong, or a sandbox's")
        if exchange.objection is not None:
            raise exchange.objection
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "method_not_allowed", "nothing is changed here: GET is all there is")
        first, _, rest = request.path.strip("/").partition("/")
        if first == "blob":
            return self._blob(rest)
        if first == "log" and not rest:
            return self._page(request)
        if first:
            raise Refusal(404, "no_such_route", "control has GET /, /log?after= and /blob/{sha256}")
        return self._tell()

    def _tell(self) -> Reply:
        """What it is, and how far it has come."""
        playground = self._playground
        with playground.lock:
            now = {
                "now": playground.now.isoformat(),
                "events": len(playground.log.lines),
                "head": playground.log.head,
                "left": playground.people.left,
                "error": playground.broken or "; ".join(playground.steps.errors),
            }
        return json_reply(200, {**self._about, **now})

    def _page(self, request: Request) -> Reply:
        """The lines of the log as they are kept, after a place in it: as many as fit a page, and none at the end."""
        after = request.query.get("after", "0")
        if not (after.isascii() and after.isdigit()) or len(after) > 18:
            raise Refusal(400, "bad_after", "`after` is the number of an event, or 0")
        page: list[bytes] = []
        room = MAX_PAGE_BYTES
        for line in self._playground.log.lines[int(after) : int(after) + MAX_PAGE_EVENTS]:
            room -= len(line) + 1
            if page and room < 0:
                break
            page.append(line)
        return Reply(200, b"".join(line + b"\n" for line in page), media=NDJSON)

    def _blob(self, digest: str) -> Reply:
        data = self._playground.log.blobs.get(digest)
        if data is None:
            raise Refusal(404, "no_such_blob", "no event of this log has a body with that hash")
        return Reply(200, data, media="application/octet-stream")


def _request_of(exchange: RequestContext) -> Request:
    assert isinstance(exchange.call, HttpCall)  # it is reached over HTTP alone
    return exchange.call.request
