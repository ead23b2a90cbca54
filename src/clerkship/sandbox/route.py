"""Routes: which request is which operation of a simulator."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel

from clerkship.sandbox.exchange import Refusal, Reply, Request
from clerkship.sandbox.state import ActionContext

MOST_ROUTES = 12
"""Named to somebody who is lost."""
_PARAMETER = re.compile(r"\{(\w+)(\*?)\}")


def _unlinked(name: str, value: str) -> None:
    """Nobody is there who would call back."""


def _never(request: Request) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Call:
    """One request on its way through a simulator."""

    request: Request
    params: Mapping[str, str]
    state: Any
    act: ActionContext
    base: str = ""
    """Address of the sandbox as the caller has it, without a slash at its end."""
    alias: str = ""
    """The sandbox's unguessable name on its lines, if anybody has asked for it: where an agent writes it in what it
    sends, it must not get into the log."""
    link: Callable[[str, str], None] = _unlinked
    """Keep where the agent says it can be reached (a name, and `host:port` or nothing), outside the log."""
    room: int = sys.maxsize
    """Events that the run's log has room for: one request may be much to do."""


Body = type[BaseModel] | Literal["text", "bytes"]
"""What a request's body is: JSON that fits a model, text, or whatever bytes."""


class Route:
    """A method and a path (`/files/{path*}` takes slashes too) with the operation they mean, and what else it takes."""

    def __init__(  # noqa: PLR0913  (a line of a table: all but what it is and who does it have names)
        self,
        method: str,
        path: str,
        operation: str,
        handler: Callable[[Call], Reply],
        *,
        query: Mapping[str, str] = MappingProxyType({}),
        body: Body | None = None,
        media: str = "",
        open_query: str = "",
        about: Mapping[str, str] = MappingProxyType({}),
        less: str = "",
        tool: bool = True,
        limit: int = 0,
        logs_body: bool = True,
        heavy: Callable[[Request], bool] = _never,
    ) -> None:
        self.method, self.path, self.operation, self.handler = method, path, operation, handler
        self.query, self.body = query, body
        self.media = media
        """What the body is called, where its sort does not say it."""
        self.open_query = open_query
        """Where any name may stand in the query: what to write there."""
        self.about = about
        """What the parameters of its path are, and its body."""
        self.less = less
        """How to ask for less, where an answer may be long."""
        self.tool = tool
        """Whether a model is given it as a tool; what another operation does as well only makes a choice harder."""
        self.limit = limit
        """Bytes that its body may have, where they may be more than HTTP brings: a line may bring more."""
        self.logs_body = logs_body
        """Whether the body may be kept in the log; not where it differs between machines, as a port does."""
        self.heavy = heavy
        """Whether a request may take long whatever the one before it took: it is never answered on the event loop."""
        self.params = tuple(name for name, _ in _PARAMETER.findall(path))
        literal, *rest = _PARAMETER.split(path)  # then name, star and literal, again and again
        parts = [
            f"(?P<{name}>{'.+' if star else '[^/]+'}){re.escape(text)}"
            for name, star, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        ]
        self.pattern = re.compile(re.escape(literal) + "".join(parts))


def path_of(route: Route, params: Mapping[str, str]) -> str:
    """The path with these put in, decoded as a Request has it."""
    return _PARAMETER.sub(lambda found: params[found[1]], route.path)


def _instead(
    routes: Sequence[Route], request: Request, path: str, allowed: list[str]
) -> tuple[Route, Mapping[str, str]]:
    """Where there is GET there is HEAD, which is the same up to the body (RFC 9110 §9.3.2); all else is refused."""
    if request.method == "HEAD" and "GET" in allowed:
        return find_route(routes, Request("GET", path))
    if "GET" in allowed and "HEAD" not in allowed:
        allowed.insert(allowed.index("GET") + 1, "HEAD")
    listed = ", ".join(allowed)
    reason = f"{request.method} is not done here; what is done is {listed}"
    raise Refusal(405, "method_not_allowed", reason, {"Allow": listed})


def find_route(routes: Sequence[Route], request: Request) -> tuple[Route, Mapping[str, str]]:
    """The route of a request, or the refusal that HTTP has for it (RFC 9110 §15.5.5, §15.5.6)."""
    allowed: dict[str, None] = {}
    for path in dict.fromkeys((request.path, request.path.removesuffix("/"))):
        for route in routes:
            found = route.pattern.fullmatch(path)
            if found is None:
                continue
            if route.method == request.method:
                return route, found.groupdict()
            allowed[route.method] = None
        if allowed:
            return _instead(routes, request, path, list(allowed))
    there = ", ".join(f"{route.method} {route.path}" for route in routes[:MOST_ROUTES])
    more = f" and {len(routes) - MOST_ROUTES} more" if len(routes) > MOST_ROUTES else ""
    raise Refusal(404, "no_such_route", f"nothing is at {request.path[:200]}; there is {there}{more}")
