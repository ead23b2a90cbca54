"""The MCP endpoint of each trial: `/{playground}/mcp`, with a token of its own.

It is opened when an agent gets its address, and its server is built with the first request.
See docs/decisions/0041-mcp.md.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from clerkship.by_name import load
from clerkship.events.sidecar import UnloggedRequests
from clerkship.kit.secrets import equal_in_constant_time, new_token
from clerkship.mcp.task import McpTask
from clerkship.playground.failure import SimulatorBroken, guard
from clerkship.playground.playground import Playground
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.component import PublicDocument
from clerkship.sandbox.handle import MCP, Sandboxes
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.sandbox.request import ByteStream, Refusal, Reply, Request
from clerkship.transports.http_parser import IncomingRequest
from clerkship.transports.loop_thread import WorkerPool
from clerkship.transports.network import SandboxNetwork

if TYPE_CHECKING:
    from clerkship.mcp.server import McpAnswer

TOKEN_PREFIX = "clk_mcp"
WRONG_TOKEN = "the bearer token is missing, wrong, or of a run that is over; use the one in CLERKSHIP_MCP_TOKEN"
BROKEN = "the simulator failed; the trial will be errored"
_WAIT = b'"wait"'
"""What a call of the tool `wait` contains."""


class ToolEndpoint:
    """The MCP endpoint of one trial."""

    def __init__(self, playground: Playground, served: McpTask) -> None:
        self.playground, self.served = playground, served
        self.token = new_token(TOKEN_PREFIX)
        self.answers: list[Any] = []
        """The answer with which the agent finished, once it has."""
        self._sandboxes: Sandboxes | None = None
        self._server: Any = None

    def serve(self, sandboxes: Sandboxes) -> None:
        """Execute later calls on these sandboxes, which are others if the agent is recorded."""
        if sandboxes is not self._sandboxes:
            self._sandboxes, self._server = sandboxes, None

    def answer(self, data: bytes, headers: Mapping[str, str]) -> "McpAnswer":
        """Answer one message. Raises SimulatorBroken if a simulator fails."""
        if self._server is None:
            self._server = load("clerkship.mcp.trial_server:TrialServer")(self._sandboxes, self)
        answer: McpAnswer = guard(self.playground, "an MCP call", partial(self._server.answer, data, headers))
        return answer

    def finish(self, answer: Any) -> None:
        """Take the answer to the task."""
        self.answers.append(answer)
        self.served.on_answer(answer)

    def list_documents(self) -> dict[str, PublicDocument]:
        """Return the public documents by path; the path begins with the name of a sandbox or domain."""
        with self.playground.lock:
            return {
                f"{name}/{document.path}": document
                for name, component in self.playground.components.items()
                for document in component.spec.documents(component.state)
            }


class ToolEndpoints:
    """The MCP endpoints of all trials of a gateway."""

    def __init__(
        self,
        add_playground: Callable[[Playground], str],
        playgrounds: Mapping[str, Playground],
        unmatched: UnloggedRequests,
    ) -> None:
        self._add_playground, self._playgrounds, self._unmatched = add_playground, playgrounds, unmatched
        self._open: dict[str, ToolEndpoint] = {}

    def open(
        self, playground: Playground, base_url: Callable[[], str], served: McpTask, sandboxes: Sandboxes
    ) -> McpAddress:
        """Offer the sandboxes of a trial over MCP, and return where; a trial has one endpoint."""
        base, name = base_url(), self._add_playground(playground)
        endpoint = self._open.get(name)
        if endpoint is None:
            endpoint = self._open[name] = ToolEndpoint(playground, served)
            playground.hidden[endpoint.token] = "[mcp token]"
        endpoint.serve(sandboxes)
        playground.base_url = base
        return McpAddress(f"{base}/{name}/{MCP}", endpoint.token)

    def find(self, playground_id: str, request: Request) -> ToolEndpoint:
        """Return the endpoint of a playground, if the token of the request is its own and its trial goes on.

        Raises Refusal. Refused requests are listed beside the log, without the token.
        """
        endpoint, token = self._open.get(playground_id), parse_bearer_token(request.headers)
        if endpoint is not None and not endpoint.playground.closed and equal_in_constant_time(endpoint.token, token):
            return endpoint
        playground = self._playgrounds.get(playground_id)
        unlogged = self._unmatched if playground is None else playground.sidecar.unauthenticated
        unlogged.add(sandbox=MCP, method=request.method, path=request.path, status=401, reason=WRONG_TOKEN)
        raise Refusal(401, "unauthorized", WRONG_TOKEN)

    def choose_answer(self, playground: Playground, answer: Any) -> Any:
        """Return the answer with which the agent finished over MCP; if it did not, the one that it gave otherwise."""
        endpoint = self._open.get(playground.id)
        return endpoint.answers[0] if endpoint is not None and endpoint.answers else answer

    def close(self, playground: Playground) -> None:
        """Refuse all further requests for a trial."""
        self._open.pop(playground.id, None)


class ToolRequest:
    """A request to an MCP endpoint. Those of one playground are answered in order of arrival.

    A call of `wait` does not keep others waiting: while it lets time pass, a sandbox may call the agent, which calls
    tools before it answers.
    """

    waits = True
    _numbers = count(1)

    def __init__(self, endpoints: ToolEndpoints, incoming: IncomingRequest, network: SandboxNetwork) -> None:
        self._endpoints, self._incoming, self._network = endpoints, incoming, network
        self.queue = f"{incoming.playground_id}/{MCP}"
        if _WAIT in incoming.request.body:
            self.queue += f"/{next(self._numbers)}"

    def try_answer(self) -> Reply | None:
        """Return None: a tool call may take a while."""
        return None

    def answer(self) -> Reply:
        """Check the sender, and answer the message."""
        http, incoming = load("clerkship.mcp.http"), self._incoming
        try:
            http.check_sender(incoming.request.headers, find_own_hosts(self._network))
            endpoint = self._endpoints.find(incoming.playground_id, incoming.request)
            if incoming.objection is not None:
                raise incoming.objection
            if incoming.request.path != "/":
                raise Refusal(404, "no_such_path", f"the endpoint is /{MCP}, without a path below it")
        except Refusal as refusal:
            refused: Reply = http.refuse(refusal)
            return refused
        try:
            reply: Reply = http.answer_request(incoming.request, endpoint.answer)
        except SimulatorBroken:
            reply = http.refuse(Refusal(500, "internal_error", BROKEN))
        return reply

    def read(self, stream: ByteStream) -> bytes | None:
        raise AssertionError("the endpoint sends no streams")

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        raise AssertionError("the endpoint accepts no WebSocket")


def find_own_hosts(network: SandboxNetwork) -> Collection[str] | None:
    """Return the hosts by which clients reach a server; None where other names may lead to it, too."""
    if network.is_exposed or network.public_url:
        return None
    return {"localhost", "127.0.0.1", "::1", network.host}
