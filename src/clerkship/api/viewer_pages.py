"""The pages of the viewer on the server: signing in with a key, and what each reader sees."""

from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clerkship.api.authorization import read_secret
from clerkship.api.routes.benchmark_runs import require_run
from clerkship.api.routing import receive_file
from clerkship.sandbox.request import QueryParams, Refusal, Reply, redirect
from clerkship.sandbox.request import Request as ViewerRequest
from clerkship.service.serving.keys import Principal
from clerkship.service.serving.refusals import ObjectNotFound
from clerkship.service.serving.results import is_hidden
from clerkship.service.serving.server import Server
from clerkship.store.contract import RunBusy
from clerkship.store.opening import open_store
from clerkship.viewer.answering import HTML, describe_refusal, is_public, respond, secure
from clerkship.viewer.application import read_cookie
from clerkship.viewer.context import PREFIX, ViewerContext
from clerkship.viewer.sessions import MAX_SESSION_SECONDS, SessionTable
from clerkship.viewer.templates import render_sign_in

MAX_CHANGE_BYTES = 100_000
"""Bytes of the body of a change, and of the form to sign in."""
COOKIE = "clerkship-view-server"
_METHODS = ["GET", "POST", "DELETE"]  # HEAD comes with GET
_NOBODY = Principal("run", "", "")
_NOT_SIGNED_IN = "sign in first: the page `/view/sign-in` asks for your key"


class ViewerPages:
    """Answers all requests below the prefix."""

    def __init__(self, server: Server, root_path: str) -> None:
        self._server = server
        self._sessions = SessionTable(server.keys)
        self._prefix = root_path + PREFIX

    @property
    def routes(self) -> list[Route]:
        """The routes of the application."""
        return [Route(path, self._answer, methods=_METHODS) for path in (PREFIX, f"{PREFIX}/{{path:path}}")]

    async def _answer(self, request: Request) -> Response:
        body = bytearray()
        if request.method == "POST":
            await receive_file(request, MAX_CHANGE_BYTES, body.extend)
        path = f"{PREFIX}/{request.path_params.get('path', '')}"
        query = QueryParams(tuple(request.query_params.multi_items()))
        given = ViewerRequest(request.method, path, query, dict(request.headers), bytes(body))
        reply = await run_in_threadpool(self._handle, request, given)
        return Response(reply.body, reply.status, dict(reply.headers), reply.media)

    def _handle(self, request: Request, given: ViewerRequest) -> Reply:
        if given.path == f"{PREFIX}/sign-in":
            return secure(self._sign_in(given))
        if given.path == f"{PREFIX}/sign-out" and given.method == "POST":
            return secure(self._sign_out(given))
        if is_public(given):
            return respond(self._build_context(_NOBODY), given)
        secret, cookie = read_secret(request), read_cookie(given.headers, COOKIE)
        principal = self._server.keys.find(secret) if secret else self._sessions.find(cookie)
        if principal is None:
            return secure(self._ask(given))
        request.scope["principal"] = principal
        # A program that sends its key, such as the viewer of another machine, has its own address for the pages.
        prefix = PREFIX if secret else self._prefix
        return respond(replace(self._build_context(principal), prefix=prefix, signs_out=not secret), given)

    def _ask(self, given: ViewerRequest) -> Reply:
        """Lead a browser to the page that asks for a key; refuse any other request."""
        if given.method == "GET" and "text/html" in given.headers.get("accept", ""):
            return redirect(f"{self._prefix}/sign-in")
        return describe_refusal(given, Refusal(401, "not_signed_in", _NOT_SIGNED_IN))

    def _sign_in(self, given: ViewerRequest) -> Reply:
        if given.method != "POST":
            return Reply(200, render_sign_in(self._prefix).encode(), HTML)
        if given.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return describe_refusal(given, Refusal(403, "other_site", "sign in on the page of this server"))
        form = parse_qs(given.body.decode("utf-8", "replace"), max_num_fields=10)
        cookie = self._sessions.begin(form.get("key", [""])[0].strip())
        if cookie is None:
            return Reply(403, render_sign_in(self._prefix, "this key is not valid").encode(), HTML)
        return self._go(f"{self._prefix}/", cookie, int(MAX_SESSION_SECONDS))

    def _sign_out(self, given: ViewerRequest) -> Reply:
        self._sessions.end(read_cookie(given.headers, COOKIE))
        return self._go(f"{self._prefix}/sign-in", "", 0)

    def _go(self, place: str, cookie: str, seconds: int) -> Reply:
        """Redirect with a cookie."""
        encrypted = "; Secure" if self._server.url.startswith("https://") else ""
        header = f"{COOKIE}={cookie}; Path={self._prefix}; Max-Age={seconds}; HttpOnly; SameSite=Strict{encrypted}"
        reply = redirect(place)
        return replace(reply, headers={**reply.headers, "set-cookie": header})

    def _build_context(self, principal: Principal) -> ViewerContext:
        """Return what a reader may see: a person all runs; others their own, of which scored ones are only listed."""
        server, is_person = self._server, principal.kind == "person"
        return ViewerContext(
            settings=server.settings,
            open_store=partial(open_store, server.settings, server.store.place),
            can_change=is_person,
            may_see=lambda run_id: is_person or self._may_see(principal, run_id, hidden=False),
            lists=lambda run_id: is_person or self._may_see(principal, run_id, hidden=True),
            forget=self._forget,
            store_option=None,
        )

    def _may_see(self, principal: Principal, run_id: str, *, hidden: bool) -> bool:
        """Return whether a run is the reader's own, and not hidden unless hidden ones count."""
        try:
            run = require_run(self._server, principal, run_id)
        except ObjectNotFound:
            return False
        return hidden or not is_hidden(run, principal)

    def _forget(self, run_id: str) -> None:
        """Remove a run that is deleted from the server's table. Raise RunBusy if it has not ended."""
        table = self._server.live.table
        try:
            if table.run(run_id).phase != "completed":
                raise RunBusy(f"{run_id} has not ended; cancel it first")
        except ObjectNotFound:
            return
        table.remove(run_id)
