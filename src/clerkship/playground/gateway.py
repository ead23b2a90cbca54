"""The gateway: one ordered list of handlers for every request to every sandbox.

A request arrives in the form of its protocol and becomes a call of one of the simulator's operations. The handlers
run in order until one of them answers the call. The final handlers then run for every call.

See docs/decisions/0004-operations-and-transports.md.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from clerkship.by_name import load
from clerkship.events.sidecar import UnloggedRequests
from clerkship.kit.secrets import NameGenerator
from clerkship.model.errors import MissingExtra
from clerkship.playground.failure import MAX_CALLER_DEPTH, SimulatorBroken, call_depth, record_failure
from clerkship.playground.handlers import (
    CLOCK,
    CLOCK_SCHEMES,
    Handler,
    RequestContext,
    alter_reply,
    authenticate,
    find_operation,
    inject_faults,
    record_faults,
    record_request,
    record_timing,
    render_refusal,
    repeat_request,
    run_operation,
    serve_asset,
)
from clerkship.playground.later_replies import ReplyTable
from clerkship.playground.playground import Playground
from clerkship.playground.request_record import describe_unmatched
from clerkship.playground.sandbox import Sandbox, build_cost_key
from clerkship.sandbox.authentication.credentials import SecretTable
from clerkship.sandbox.authentication.scheme import refuse_expired
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.direct_call import to_recordable
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import Refusal, Reply, Request, refuse_as_json
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.spec import Spec
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.policy import LOCAL_ONLY, LOCALHOST, OutboundPolicy, OutboundRefused, ResolvedAddress
from clerkship.transports.tcp import is_own_address

if TYPE_CHECKING:  # few runs have agents that call models through the proxy
    from clerkship.model_proxy.proxy import ModelProxy
    from clerkship.playground.tool_endpoints import ToolEndpoints
    from clerkship.traces.receiver import TraceReceiver

RUN_OVER = "the run is over, so its tokens are no longer valid"
MAX_ENDED_PLAYGROUNDS = 4096
"""How many ended playgrounds the gateway remembers. Late requests to older ones get a generic refusal."""

RequestSubscriber = Callable[[str, Request | CallRecord], None]
"""Called with the name of the sandbox and each request or call to it."""


class Gateway:
    """All playgrounds of this process, behind one list of handlers."""

    def __init__(self, policy: OutboundPolicy = LOCAL_ONLY) -> None:
        self.policy = policy
        """Which addresses sandboxes may connect to."""
        self.playgrounds: dict[str, Playground] = {}
        self._names = NameGenerator()
        self._lock = threading.Lock()
        self._subscribers: dict[int, RequestSubscriber] = {}
        self._ended: dict[str, dict[str, Spec]] = {}
        self._addresses = SecretTable[tuple[Playground, Sandbox]]()
        self.unmatched = UnloggedRequests()
        """Requests whose address belongs to no running trial."""
        self.on_registered: Callable[[Playground, Sandbox, str], None] | None = None
        """Called when an agent has registered an address, with its name."""
        self.on_run_ended: Callable[[str], None] | None = None
        """Called with the address of each sandbox that had one, when its trial has ended."""
        self.replies = ReplyTable()
        """The replies that agents may send later than the response to a message."""
        self.models: ModelProxy | None = None
        """Takes the agents' model calls; None if no provider is configured."""
        self.traces: TraceReceiver | None = None
        """Takes the agents' spans; None until an agent has read where to send them."""
        self.http_url: Callable[[], str] = str
        """Returns the URL of the HTTP server, and starts it if it is not running; empty if there is no server."""
        self.http_ports: Callable[[], Iterable[int]] = tuple
        """Returns the port of the HTTP server, if it is running."""
        self.listener_ports: Callable[[], Iterable[int]] = tuple
        """Returns the ports of the running listeners."""
        self.handlers: tuple[Handler, ...] = (
            self.identify_sandbox,
            authenticate,
            find_operation,
            inject_faults,
            run_operation,
        )
        self.final_handlers: tuple[Handler, ...] = (
            record_request,
            repeat_request,
            alter_reply,
            record_faults,
            record_timing,
        )

    @cached_property
    def tools(self) -> "ToolEndpoints":
        """The sandboxes of each trial as tools, over MCP."""
        build = load("clerkship.playground.tool_endpoints:ToolEndpoints")
        tools: ToolEndpoints = build(self.add_playground, self.playgrounds, self.unmatched)
        return tools

    def choose_answer(self, playground: Playground, answer: Any) -> Any:
        """Return the answer with which an agent finished over MCP; if it did not, the one that it gave otherwise."""
        return self.tools.choose_answer(playground, answer) if "tools" in self.__dict__ else answer

    def get_trace_receiver(self, build: "Callable[[], TraceReceiver]") -> "TraceReceiver":
        """Return the receiver of the agents' spans, which is built on the first call."""
        with self._lock:
            self.traces = self.traces or build()
            return self.traces

    def add_playground(self, playground: Playground) -> str:
        """Accept requests for a playground; return its secret id, which is created on the first call."""
        if not playground.id:
            with playground.lock:
                if not playground.id and not playground.closed:
                    name = self._names.new("pg")
                    self.playgrounds[name] = playground
                    playground.id = name
        return playground.id

    def assign_address(self, playground: Playground, sandbox: Sandbox) -> str:
        """Return the secret address of a sandbox for protocols other than HTTP, which is created on the first call."""
        self.add_playground(playground)
        with playground.lock:
            if not sandbox.address and not playground.closed:
                sandbox.address = self._names.address()
                self._addresses.add(sandbox.address, (playground, sandbox))
        return sandbox.address

    def find_by_address(self, address: str) -> tuple[Playground, Sandbox] | None:
        """Return the sandbox with this address, and its playground, while its trial goes on."""
        return self._addresses.get(address.upper())

    def check_address(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused if the policy forbids the address, or if it is one of our own listeners."""
        self.policy.check_written(address)
        self._refuse_own(address.port, LOCALHOST if address.is_loopback else [address.host] if address.ip else ())

    async def resolve(self, address: OutboundAddress) -> ResolvedAddress:
        """Check an address like `check_address`, and return the IP addresses to connect to."""
        self.check_address(address)
        resolved = await self.policy.check(address)
        self._refuse_own(address.port, resolved.ips)
        return resolved

    def _refuse_own(self, port: int, ips: Iterable[str]) -> None:
        """Raise OutboundRefused for our own listeners: else a sandbox could send requests to itself or to others."""
        if str(port) in self._own_ports() and any(map(is_own_address, ips)):
            reason = "a simulator listens on that port; give one where the agent listens"
            raise OutboundRefused("not_yours", reason)

    def register_callback(self, playground: Playground, sandbox: Sandbox, name: str, value: str) -> None:
        """Register an address where the agent accepts calls, `host:port` or a URL; an empty value removes it.

        Raises Refusal if it is not an address, or if the policy forbids it.
        """
        if value:
            try:
                self.check_address(OutboundAddress.parse(value))
            except BadAddress as error:
                raise Refusal(400, "bad_address", str(error)) from None
            except OutboundRefused as refused:
                raise Refusal(400, refused.code, refused.reason) from None
        sandbox.callbacks[name] = value  # if empty, the agent is not called, whatever the config says
        if self.on_registered is not None:
            self.on_registered(playground, sandbox, name)

    def _own_ports(self) -> set[str]:
        """Return the ports of the HTTP server and of the protocol listeners."""
        ports = set(map(str, self.http_ports()))
        for _, sandbox in self._addresses.values():
            ports.update(str(info.get("port")) for info in sandbox.connection_info.values())
        return ports.union(map(str, self.listener_ports()))

    def remove_playground(self, playground: Playground) -> None:
        """Stop accepting requests for a playground.

        Its simulators are remembered for a while, so that late requests are refused in the format of their protocol.
        """
        if self.playgrounds.pop(playground.id, None) is not None:
            with self._lock:
                self._ended[playground.id] = {name: sandbox.spec for name, sandbox in playground.sandboxes.items()}
                if len(self._ended) > MAX_ENDED_PLAYGROUNDS:
                    del self._ended[next(iter(self._ended))]
        self._subscribers.pop(id(playground), None)
        if "tools" in self.__dict__:
            self.tools.close(playground)
        if self.models is not None:
            self.models.end_trial(playground)
        if self.traces is not None:
            self.traces.end_trial(playground)
        for sandbox in playground.sandboxes.values():
            sandbox.register_callback = None  # it would keep the playground in memory
            if sandbox.address and self._addresses.pop(sandbox.address) is not None and self.on_run_ended is not None:
                self.on_run_ended(sandbox.address)

    def subscribe_requests(self, playground: Playground, subscriber: RequestSubscriber) -> None:
        """Call a function with each request of the agent to a playground, in the order in which they are answered."""
        with self._lock:
            self._subscribers[id(playground)] = subscriber
            # The handler is only added when it is needed, because it costs time for each request.
            if self.notify_subscriber not in self.final_handlers:
                self.final_handlers = (*self.final_handlers, self.notify_subscriber)

    def notify_subscriber(self, context: RequestContext) -> None:
        """Pass an authenticated request of the agent to the subscriber of its playground."""
        subscriber = self._subscribers.get(id(context.playground))
        is_for_clock = context.sandbox_name == CLOCK and context.refusal is None
        is_by_agent = context.is_logged and context.actor == "agent"
        if subscriber is not None and is_by_agent and (context.sandbox is not None or is_for_clock):
            answer = "" if context.reply is None else context.reply.answer
            subscriber(context.sandbox_name, to_recordable(context.call, answer))

    def answer(self, context: RequestContext) -> Reply:
        """Answer a request like `handle`, but with status 500 if the simulator fails, or 501 if it lacks a package."""
        try:
            return self.handle(context)
        except SimulatorBroken as broken:
            failed = Refusal(500, "internal_error", "the simulator failed; the trial will be errored")
            if isinstance(broken.__cause__, MissingExtra):
                failed = Refusal(501, "not_installed", f"{broken.__cause__}; the trial will be errored")
            return context.call.refuse(failed, self._spec_of(context.playground_id, context.sandbox_name))

    def try_answer(self, context: RequestContext) -> Reply | None:
        """Answer a request if that is quick. Return None if it needs a worker thread, which calls `answer`.

        This runs on an event loop, so it never waits for the lock of a playground.
        """
        playground = self.playgrounds.get(context.playground_id)
        if playground is None:
            return self._refuse_ended(context)
        if playground.people.uses_model or not _is_quick(context, playground):
            return None
        if not playground.lock.acquire(blocking=False):
            return None
        try:
            return self.answer(context)
        finally:
            playground.lock.release()

    def may_wait(self, context: RequestContext) -> bool:
        """Return whether a request may wait for a model that plays a person, or for a call to the agent.

        Such a request needs a worker thread, but hardly any processor time.
        """
        playground = self.playgrounds.get(context.playground_id)
        if playground is None:
            return False
        if playground.people.uses_model:
            return True
        return playground.clock_hold.is_used if context.sandbox_name == CLOCK else _waits(context, playground)

    def handle(self, context: RequestContext) -> Reply:
        """Run one request through all handlers.

        Raises SimulatorBroken if the simulator fails.
        """
        playground = self.playgrounds.get(context.playground_id)
        if playground is None:
            return self._refuse_ended(context)
        context.playground = playground
        with playground.lock:
            if playground.closed:
                return self._refuse_ended(context)
            # The lines of events are written after the request, because handlers attach the request to its event.
            holds = playground.writer.hold()
            try:
                return self._run_handlers(context)
            except RecursionError:
                if call_depth() > MAX_CALLER_DEPTH:
                    raise  # the agent's own recursion used up the stack
                playground.broken = f"{context.title}: infinite recursion"
                raise SimulatorBroken(playground.broken) from None
            except Exception as error:  # a bug of a simulator is not a failure of the agent: the trial is errored
                raise SimulatorBroken(record_failure(playground, error, context.title)) from error
            finally:
                if holds:
                    playground.writer.release()

    def refuse(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Render a refusal in the format of the simulator that is, or was, at this address."""
        spec = self._spec_of(playground_id, sandbox)
        return refuse_as_json(refusal) if spec is None else spec.refuse(refusal)

    def refuse_unreadable(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Refuse bytes that are not an HTTP request, and list them beside the log: their sender is unknown."""
        reply = self.refuse(playground_id, sandbox, refusal)
        playground = self.playgrounds.get(playground_id)
        requests = self.unmatched if playground is None else playground.sidecar.unauthenticated
        requests.add(sandbox=sandbox, method="", path="", status=reply.status, reason=refusal.reason)
        return reply

    def _spec_of(self, playground_id: str, sandbox: str) -> Spec | None:
        """Return the spec of the simulator that is, or was, at this address."""
        playground = self.playgrounds.get(playground_id)
        if playground is None:
            return self._ended.get(playground_id, {}).get(sandbox)
        running = playground.sandboxes.get(sandbox)
        return None if running is None else running.spec

    def _refuse_ended(self, context: RequestContext) -> Reply:
        """Refuse a request for a trial that has ended, or that never existed."""
        id, name, call = context.playground_id, context.sandbox_name, context.call
        spec, refusal = self._spec_of(id, name), _unknown_sandbox()
        if spec is not None or (name == CLOCK and (id in self._ended or id in self.playgrounds)):
            refusal = refuse_expired(CLOCK_SCHEMES if spec is None else spec.authentication, RUN_OVER)
        self.unmatched.add(**describe_unmatched(name, call, refusal))
        if spec is None:
            return call.refuse(refusal, None)
        with suppress(Refusal):
            call.locate(spec)  # a route may have its own format
        return _add_cors_headers(call, spec, call.refuse(refusal, spec))

    def _run_handlers(self, context: RequestContext) -> Reply:
        for handler in self.handlers:
            try:
                handler(context)
            except Refusal as refusal:
                context.refusal = refusal
                context.reply = render_refusal(context, refusal)
            if context.reply is not None:
                break
        for handler in self.final_handlers:
            handler(context)
        assert context.reply is not None
        if context.sandbox is None or context.sandbox.spec.cors is None:
            return context.reply
        return _add_cors_headers(context.call, context.sandbox.spec, context.reply)

    def identify_sandbox(self, context: RequestContext) -> None:
        """Find the sandbox of a request."""
        if context.sandbox_name != CLOCK:
            context.sandbox = sandbox = context.playground.sandboxes.get(context.sandbox_name)
            if sandbox is None:
                context.is_logged = False
                raise _unknown_sandbox()
            if sandbox.register_callback is None:
                sandbox.register_callback = partial(self.register_callback, context.playground, sandbox)
            if sandbox.spec.assets:
                serve_asset(context, sandbox)


def _is_quick(context: RequestContext, playground: Playground) -> bool:
    """Return whether a request is likely to be quick enough for the event loop.

    Stores the shape of the request in its context.
    """
    call, sandbox = context.call, playground.sandboxes.get(context.sandbox_name)
    if sandbox is None:  # the clock: a request that advances it runs all steps that become due
        return isinstance(call, HttpCall) and call.request.method in ("GET", "HEAD")
    try:
        call.locate(sandbox.spec)
    except Refusal:
        return True
    if _waits(context, playground):
        return False
    context.cost_key = build_cost_key(call)
    return context.cost_key is not None and sandbox.prepared.timings.is_quick(context.cost_key, sandbox.prepared.base)


def _waits(context: RequestContext, playground: Playground) -> bool:
    """Return whether a request may wait for the wall clock, or for a call to the agent."""
    operation = context.call.operation
    if operation is None or not operation.waits:
        return False
    return playground.environment.time == "paced" or playground.clock_hold.is_used


def _add_cors_headers(call: ProtocolCall, spec: Spec, reply: Reply) -> Reply:
    """Let the web page that sent a request read the reply, if the simulator allows it."""
    return spec.cors.apply(call.request, reply) if spec.cors is not None and isinstance(call, HttpCall) else reply


def _unknown_sandbox() -> Refusal:
    return Refusal(404, "no_such_sandbox", "unknown sandbox, or its run is over")
