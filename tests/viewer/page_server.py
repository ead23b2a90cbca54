"""The viewer on its own listener, for a browser in tests. It keeps the addresses that were asked for."""

from types import TracebackType
from typing import Self

from clerkship.sandbox.request import Reply, Request
from clerkship.viewer.answering import respond
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.context import ViewerContext


class PageServer:
    """Serves one context on loopback until it is closed."""

    def __init__(self, context: ViewerContext) -> None:
        self.requests: list[str] = []
        """Paths in the order in which they were asked for."""
        self._context = context
        self._viewer = LocalViewer(self._respond)
        self.url = self._viewer.address.removesuffix("/view/")
        self.sign_in = self._viewer.url
        """The address to open first: it has the token."""

    def _respond(self, request: Request) -> Reply:
        self.requests.append(request.path)
        return respond(self._context, request)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._viewer.close()
