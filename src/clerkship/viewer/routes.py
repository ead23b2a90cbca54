"""The routes of the viewer: a method and a path below the prefix, with the function that answers.

See docs/decisions/0047-viewer.md.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from clerkship.by_name import load
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.store.contract import UnknownRun
from clerkship.viewer.context import PREFIX, ViewerContext

Handler = Callable[..., Reply]
"""Called with the context, the request and the parts of the path that are in braces."""


class ViewerRoute(NamedTuple):
    """One route. The handler's module is imported when it is first used."""

    method: str
    path: str
    handler: str


ROUTES: Sequence[ViewerRoute] = (
    ViewerRoute("GET", "/", "clerkship.viewer.runs:show_runs"),
    ViewerRoute("GET", "/data/runs", "clerkship.viewer.runs:read_runs"),
    ViewerRoute("GET", "/data/figures", "clerkship.viewer.figures:read_figures"),
    ViewerRoute("POST", "/data/runs/{run}/label", "clerkship.viewer.runs:label"),
    ViewerRoute("DELETE", "/data/runs/{run}", "clerkship.viewer.runs:delete"),
    ViewerRoute("GET", "/compare", "clerkship.viewer.comparing:show_comparison"),
    ViewerRoute("GET", "/tasks", "clerkship.viewer.trends:show_tasks"),
    ViewerRoute("GET", "/agents", "clerkship.viewer.agents:show_agents"),
    ViewerRoute("GET", "/runs/{run}", "clerkship.viewer.run_pages:show_run"),
    ViewerRoute("GET", "/data/runs/{run}/rows", "clerkship.viewer.run_pages:read_rows"),
    ViewerRoute("GET", "/data/runs/{run}/trial", "clerkship.viewer.run_pages:read_trial"),
    ViewerRoute("GET", "/data/runs/{run}/events", "clerkship.viewer.run_pages:read_events"),
    ViewerRoute("GET", "/data/runs/{run}/state", "clerkship.viewer.moment:show_state"),
    ViewerRoute("GET", "/data/runs/{run}/search", "clerkship.viewer.search:search_run"),
    ViewerRoute("POST", "/data/runs/{run}/judgement", "clerkship.viewer.search:label_judgement"),
    ViewerRoute("GET", "/play", "clerkship.viewer.play:show_play"),
    ViewerRoute("GET", "/data/play", "clerkship.viewer.play:read_state"),
    ViewerRoute("GET", "/data/play/tools", "clerkship.viewer.play:read_tools"),
    ViewerRoute("POST", "/data/play/call", "clerkship.viewer.play:call_tool"),
    ViewerRoute("POST", "/data/play/answer", "clerkship.viewer.play:send_answer"),
    ViewerRoute("POST", "/data/play/give-up", "clerkship.viewer.play:give_up"),
    ViewerRoute("GET", "/static/{name}", "clerkship.viewer.static:read_static"),
)


@cache
def _compile(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def import_handlers() -> None:
    """Import the modules of all handlers, so that the first request need not."""
    for route in ROUTES:
        load(route.handler)


def answer(context: ViewerContext, request: Request) -> Reply:
    """Answer a request of a reader who is known. The path begins with the prefix and is decoded."""
    path = request.path.removeprefix(PREFIX) or "/"
    allowed = []
    for route in ROUTES:
        match = _compile(route.path).fullmatch(path)
        if match is None:
            continue
        if route.method == request.method or (route.method, request.method) == ("GET", "HEAD"):
            parts = match.groupdict()
            try:
                return _handle(context, request, load(route.handler), parts)
            except UnknownRun:  # also for one that the reader may not see: in the same words
                raise Refusal(404, "no_such_run", "there is no such run") from None
        allowed.append(route.method)
    if allowed:
        raise Refusal(405, "method_not_allowed", f"use {' or '.join(allowed)}", {"allow": ", ".join(allowed)})
    raise Refusal(404, "no_such_page", "there is no such page")


def _handle(context: ViewerContext, request: Request, handler: Handler, parts: dict[str, str]) -> Reply:
    """Call a handler. Raise UnknownRun for a run that the reader may not see."""
    if "run" in parts and not context.may_see(parts["run"]):
        raise UnknownRun(parts["run"])
    return handler(context, request, **parts)
