"""CORS: which web pages may read the replies of a simulator (Fetch standard, CORS protocol)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from clerkship.sandbox.request import Reply, Request

_NAMES = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z, ]{1,1000}")
"""A list of header names."""


@dataclass(frozen=True)
class CorsPolicy:
    """The origins whose pages may send requests and read the replies."""

    origins: tuple[str, ...] = ("*",)
    expose: tuple[str, ...] = ()
    """Response headers that pages may read, besides those that are always readable."""
    max_age: int = 600
    """Seconds for which a browser may cache the reply to a preflight request."""
    credentials: bool = False
    """Whether browsers send cookies. Not allowed with the origin `*`."""

    def __post_init__(self) -> None:
        if self.credentials and "*" in self.origins:
            raise ValueError(
                "CORS with credentials needs a list of origins: with `*`, any page could send requests as its user"
            )

    def preflight(self, request: Request, methods: Iterable[str]) -> Reply | None:
        """Answer a preflight request; return None for any other request and for an origin that is not allowed."""
        requested_method = request.headers.get("access-control-request-method", "")
        origin = self._headers(request)
        if request.method != "OPTIONS" or not requested_method or not origin:
            return None
        headers = {
            **origin,
            "Access-Control-Allow-Methods": ", ".join(sorted({*methods, "HEAD"})),
            "Access-Control-Max-Age": str(self.max_age),
            "Vary": "Origin, Access-Control-Request-Headers",
        }
        names = request.headers.get("access-control-request-headers", "")
        if _NAMES.fullmatch(names):
            headers["Access-Control-Allow-Headers"] = names
        return Reply(204, headers=headers)

    def apply(self, request: Request, reply: Reply) -> Reply:
        """Return the reply with headers that let an allowed page read it."""
        if "origin" not in request.headers:
            return reply
        headers = self._headers(request)
        if not headers or "Access-Control-Allow-Origin" in reply.headers:
            return reply
        if self.expose:
            headers["Access-Control-Expose-Headers"] = ", ".join(self.expose)
        vary = ", ".join(filter(None, (reply.headers.get("Vary", ""), "Origin")))
        return replace(reply, headers={**reply.headers, **headers, "Vary": vary})

    def _headers(self, request: Request) -> dict[str, str]:
        origin = request.headers.get("origin", "")
        if not origin or ("*" not in self.origins and origin not in self.origins):
            return {}
        allowed = {"Access-Control-Allow-Origin": "*" if "*" in self.origins else origin}
        return allowed | ({"Access-Control-Allow-Credentials": "true"} if self.credentials else {})
