"""The viewer on loopback: who may read it, and the HTTP server that it runs on.

See docs/security.md, "The viewer".
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from itertools import count
from typing import Self

from clerkship.kit.secrets import equal_in_constant_time, new_token
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import ByteStream, Refusal, Reply, Request, redirect
from clerkship.transports.http_connection import HttpListener
from clerkship.transports.http_parser import IncomingRequest
from clerkship.transports.loop_thread import WorkerPool
from clerkship.transports.network import LOOPBACK, SandboxNetwork
from clerkship.viewer.answering import describe_refusal, is_public, secure
from clerkship.viewer.context import PREFIX

Answer = Callable[[Request], Reply]
"""Answers a request of a reader who is known."""
_NO_TOKEN = (
    "open the address that `clerkship` printed when it started this viewer: it has a token, which is missing here"
)
QUEUES = 4
"""Requests that are answered at the same time."""


def read_cookie(headers: Mapping[str, str], name: str) -> str:
    """Return a cookie of a request; empty if there is none."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


class _ViewerRequest:
    """A request that is answered in a worker thread."""

    waits = False

    def __init__(self, answer: Callable[[], Reply], number: int) -> None:
        self.answer = answer
        self.queue = f"view/{number % QUEUES}"

    def try_answer(self) -> Reply | None:
        """Return None: pages are read from a store."""
        return None

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next part of a streamed reply."""
        return next(stream, None)

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        raise AssertionError("the viewer accepts no WebSocket")


class LocalViewer:
    """A viewer that listens on loopback, until it is closed.

    The token is in the address that is opened first. It is exchanged for a cookie, so it is in no other address.
    `home` is the page that follows, below the prefix; by default the first one.
    """

    def __init__(self, answer: Answer, port: int = 0, home: str = "") -> None:
        self._answer_known, self._numbers = answer, count()
        self._home = f"{PREFIX}/{home}"
        self._token, self._session = new_token("clk_view"), new_token("clk_page")
        self._listener = HttpListener(self, SandboxNetwork(LOOPBACK, port))
        self.address = f"{self._listener.url()}{PREFIX}/"
        """The address of the first page, without the token."""
        self.port = self._listener.ports()[0]
        self._cookie = f"clerkship-view-{self.port}"
        self._hosts = (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}")

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"{self.address}?token={self._token}"

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The application of the HTTP server.

    def receive(self, incoming: IncomingRequest) -> _ViewerRequest:
        """Accept one request. What the parser has split off the path is put in front of it again."""
        rest = "" if incoming.request.path == "/" else incoming.request.path
        path = f"/{incoming.playground_id}/{incoming.sandbox_name}{rest}" if incoming.playground_id else "/"
        request = replace(incoming.request, path=path)
        incoming.base = ""  # redirects are paths of the whole server
        return _ViewerRequest(lambda: self._answer(request, incoming.objection), next(self._numbers))

    def refuse(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Refuse a request that is not answered."""
        return secure(describe_refusal(Request("GET", "/"), refusal))

    refuse_unreadable = refuse

    def _answer(self, request: Request, objection: Refusal | None) -> Reply:
        try:
            reply = self._let_in(request, objection)
        except Refusal as refusal:
            reply = describe_refusal(request, refusal)
        except Exception as error:  # a bug here must not leave the browser without an answer
            logging.getLogger(__name__).exception("the viewer failed")
            reply = describe_refusal(request, Refusal(500, "failed", f"the viewer failed: {type(error).__name__}"))
        return secure(reply)

    def _let_in(self, request: Request, objection: Refusal | None) -> Reply:
        """Answer a request that has the token or the cookie. Raise Refusal for any other."""
        if request.headers.get("host") not in self._hosts:  # a page of another site, whose name leads to loopback
            raise Refusal(421, "wrong_host", f"this viewer answers at {self._hosts[0]} only")
        if request.path == f"{PREFIX}/" and "token" in request.query:
            return self._exchange(request)
        if is_public(request) and objection is None:
            return self._answer_known(request)
        cookie, token = read_cookie(request.headers, self._cookie), parse_bearer_token(request.headers)
        if not equal_in_constant_time(cookie, self._session) and not equal_in_constant_time(token, self._token):
            raise Refusal(401, "no_token", _NO_TOKEN)
        if objection is not None:
            raise objection
        if request.path == "/":
            return redirect(self._home)
        return self._answer_known(request)

    def _exchange(self, request: Request) -> Reply:
        """Give the cookie for the token, and redirect to the address without it."""
        if request.method != "GET" or not equal_in_constant_time(request.query["token"], self._token):
            raise Refusal(401, "no_token", _NO_TOKEN)
        to_home = redirect(self._home)
        cookie = f"{self._cookie}={self._session}; Path={PREFIX}; HttpOnly; SameSite=Strict"
        return replace(to_home, headers={**to_home.headers, "Set-Cookie": cookie})
