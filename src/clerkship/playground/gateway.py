"""The gateway: one ordered list of handlers that every request to every sandbox goes through.

A request arrives in the form of its protocol and becomes a call of one of the simulator's operations. Handlers look at
the call in turn until one answers it; the closing handlers look at every call.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from clerkship.events.sidecar import UnloggedRequests
from clerkship.kit.secrets import NameGenerator
from clerkship.playground.anonymous import CLOCK_SCHEMES
from clerkship.playground.failure import MAX_CALLER_DEPTH, SimulatorBroken, call_depth, record_failure
from clerkship.playground.handlers import (
    CLOCK,
    Handler,
    RequestContext,
    alter_reply,
    authenticate,
    find_operation,
    inject_faults,
    record_faults,
    record_request,
    record_touch,
    render_refusal,
    repeat_request,
    run_operation,
    serve_asset,
)
from clerkship.playground.pace import shape_of
from clerkship.playground.playground import Playground
from clerkship.playground.recording import describe_unmatched
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.authentication.scheme import refuse_expired
from clerkship.sandbox.authentication.secret import SecretTable
from clerkship.sandbox.direct_call import CallRecord, to_recordable
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import Refusal, Reply, Request, refuse_as_json
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.spec import Spec
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy, OutboundRefused

RUN_OVER = "the run is over, and its tokens with it"
MAX_ENDED_PLAYGROUNDS = 4096
"""Playgrounds that are over: later ones push the earliest out, and then nobody knows what was spoken there."""

RequestSubscriber = Callable[[str, Request | CallRecord], None]
"""Receives each request or call, with the name of the sandbox that it was for."""


class Gateway:
    """All the playgrounds there are, behind one list of handlers."""

    def __init__(self, policy: OutboundPolicy = LOCAL_ONLY) -> None:
        self.policy = policy
        """Which addresses sandboxes may connect to."""
        self.playgrounds: dict[str, Playground] = {}
        self._names = NameGenerator()
        self._gate = threading.Lock()
        self._ears: dict[int, RequestSubscriber] = {}
        self._past: dict[str, dict[str, Spec]] = {}
        self._addresses = SecretTable[tuple[Playground, Sandbox]]()
        self.unplaced = UnloggedRequests()
        """Requests whose address names no trial under way."""
        self.on_registered: Callable[[Playground, Sandbox], None] | None = None
        """Called when an agent has registered an address."""
        self.on_leave: Callable[[str], None] | None = None
        """Called with the address of each sandbox that had one, when its run has ended."""
        self.listener_ports: Callable[[], Iterable[int]] = tuple
        """Returns the ports of the running listeners."""
        self.handlers: tuple[Handler, ...] = (
            self.identify,
            authenticate,
            find_operation,
            inject_faults,
            run_operation,
        )
        self.closing: tuple[Handler, ...] = (record_request, repeat_request, alter_reply, record_faults, record_touch)

    def admit(self, playground: Playground) -> str:
        """Let requests for it in, under an unguessable name; made once, when first asked for."""
        if not playground.id:
            with playground.lock:
                if not playground.id and not playground.closed:
                    name = self._names.new("pg")
                    self.playgrounds[name] = playground
                    playground.id = name
        return playground.id

    def locate(self, playground: Playground, sandbox: Sandbox) -> str:
        """Return the secret address of a sandbox in protocols other than HTTP; made once, when first needed."""
        self.admit(playground)
        with playground.lock:
            if not sandbox.address and not playground.closed:
                sandbox.address = self._names.address()
                self._addresses.add(sandbox.address, (playground, sandbox))
        return sandbox.address

    def at(self, address: str) -> tuple[Playground, Sandbox] | None:
        """Who has this name, if their run goes on."""
        return self._addresses.get(address.upper())

    def check_address(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for an address that the policy refuses as it is written, and for our own listeners."""
        self.policy.check_written(address)
        if address.is_loopback and str(address.port) in self._own_ports():
            reason = "that port is one of the simulators' own; name one where you listen"
            raise OutboundRefused("not_yours", reason)

    def register_callback(self, playground: Playground, sandbox: Sandbox, name: str, value: str) -> None:
        """Register an address where the agent accepts calls, `host:port` or a URL; an empty value removes it.

        Raises Refusal for what is no address, or one that the policy refuses.
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
            self.on_registered(playground, sandbox)

    def _own_ports(self) -> set[str]:
        """Return the ports of the HTTP listener and of protocol listeners."""
        ports = {playground.address.rpartition(":")[2] for playground in list(self.playgrounds.values())}
        for _, sandbox in self._addresses.values():
            ports.update(str(info.get("port")) for info in sandbox.connection_info.values())
        return ports.union(map(str, self.listener_ports()))

    def dismiss(self, playground: Playground) -> None:
        """Let none in any more; who still comes is told so in the words of the protocol they speak."""
        if self.playgrounds.pop(playground.id, None) is not None:
            with self._gate:
                self._past[playground.id] = {name: box.spec for name, box in playground.sandboxes.items()}
                if len(self._past) > MAX_ENDED_PLAYGROUNDS:
                    del self._past[next(iter(self._past))]
        self._ears.pop(id(playground), None)
        for sandbox in playground.sandboxes.values():
            sandbox.register_callback = None  # it holds the playground
            if sandbox.address and self._addresses.pop(sandbox.address) is not None and self.on_leave is not None:
                self.on_leave(sandbox.address)

    def overhear(self, playground: Playground, hear: RequestSubscriber) -> None:
        """Have somebody told of each request to a playground's sandboxes, in the order they are answered."""
        with self._gate:
            self._ears[id(playground)] = hear
            if self.tell not in self.closing:  # where nobody listens, requests do not even go past here
                self.closing = (*self.closing, self.tell)

    def tell(self, exchange: RequestContext) -> None:
        """Whoever listens hears of it; not of a stranger's knock."""
        hear = self._ears.get(id(exchange.playground))
        at_clock = exchange.sandbox_name == CLOCK and exchange.refusal is None
        is_agents = exchange.counts and exchange.actor == "agent"
        if hear is not None and is_agents and (exchange.sandbox is not None or at_clock):
            answer = "" if exchange.reply is None else exchange.reply.answer
            hear(exchange.sandbox_name, to_recordable(exchange.call, answer))

    def answer(self, exchange: RequestContext) -> Reply:
        """Answer a request like `handle`, with status 500 where the simulator fails."""
        try:
            return self.handle(exchange)
        except SimulatorBroken:
            failed = Refusal(500, "internal_error", "the simulator failed; the run will be errored")
            return exchange.call.refuse(failed, self._spec_of(exchange.playground_id, exchange.sandbox_name))

    def try_answer(self, exchange: RequestContext) -> Reply | None:
        """Answer a request if that is quick; return None if it is for a worker thread, which calls `answer`.

        Called on an event loop, so it never waits for the lock of a playground.
        """
        playground = self.playgrounds.get(exchange.playground_id)
        if playground is None:
            return self._turn_away(exchange)
        if playground.people.thinks or not _is_quick(exchange, playground):
            return None
        if not playground.lock.acquire(blocking=False):
            return None
        try:
            return self.answer(exchange)
        finally:
            playground.lock.release()

    def thinks(self, exchange: RequestContext) -> bool:
        """Return whether the request may wait for a model that plays a person, or for a call to the agent, rather than
        for the processor."""
        playground = self.playgrounds.get(exchange.playground_id)
        if playground is None:
            return False
        return playground.people.thinks or (exchange.sandbox_name == CLOCK and playground.clock_hold.is_used)

    def handle(self, exchange: RequestContext) -> Reply:
        """One request, through the whole list."""
        playground = self.playgrounds.get(exchange.playground_id)
        if playground is None:
            return self._turn_away(exchange)
        exchange.playground = playground
        with playground.lock:
            if playground.closed:
                return self._turn_away(exchange)
            holds = playground.writer.hold()
            try:
                return self._through(exchange)
            except RecursionError:
                if call_depth() > MAX_CALLER_DEPTH:
                    raise  # the agent's own recursion left no room
                playground.broken = f"{exchange.title}: it recurses without end"
                raise SimulatorBroken(playground.broken) from None
            except Exception as error:  # a simulator's bug is ours: the run is errored, the agent not blamed
                raise SimulatorBroken(record_failure(playground, error, exchange.title)) from error
            finally:
                if holds:
                    playground.writer.release()

    def refuse(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Write a refusal in the words of the simulator that is, or was, at this address."""
        spec = self._spec_of(playground_id, sandbox)
        return refuse_as_json(refusal) if spec is None else spec.refuse(refusal)

    def refuse_unreadable(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Refuse what is no HTTP request, whose sender is therefore not known, and list it beside the log."""
        reply = self.refuse(playground_id, sandbox, refusal)
        playground = self.playgrounds.get(playground_id)
        listed = self.unplaced if playground is None else playground.sidecar.unauthenticated
        listed.add(sandbox=sandbox, method="", path="", status=reply.status, reason=refusal.reason)
        return reply

    def _spec_of(self, playground_id: str, sandbox: str) -> Spec | None:
        """Return the simulator that is, or was, at this address."""
        playground = self.playgrounds.get(playground_id)
        if playground is None:
            return self._past.get(playground_id, {}).get(sandbox)
        box = playground.sandboxes.get(sandbox)
        return None if box is None else box.spec

    def _turn_away(self, exchange: RequestContext) -> Reply:
        """Refuse a request for a run that is over, or for one that never was."""
        id, name, call = exchange.playground_id, exchange.sandbox_name, exchange.call
        spec, refusal = self._spec_of(id, name), _unknown_sandbox()
        if spec is not None or (name == CLOCK and (id in self._past or id in self.playgrounds)):
            refusal = refuse_expired(CLOCK_SCHEMES if spec is None else spec.authentication, RUN_OVER)
        self.unplaced.add(**describe_unmatched(name, call, refusal))
        if spec is None:
            return call.refuse(refusal, None)
        with suppress(Refusal):
            call.locate(spec)  # a route may have its own words
        return _add_cors_headers(call, spec, call.refuse(refusal, spec))

    def _through(self, exchange: RequestContext) -> Reply:
        for handler in self.handlers:
            try:
                handler(exchange)
            except Refusal as refusal:
                exchange.refusal = refusal
                exchange.reply = render_refusal(exchange, refusal)
            if exchange.reply is not None:
                break
        for handler in self.closing:
            handler(exchange)
        assert exchange.reply is not None
        if exchange.sandbox is None or exchange.sandbox.spec.cors is None:
            return exchange.reply
        return _add_cors_headers(exchange.call, exchange.sandbox.spec, exchange.reply)

    def identify(self, exchange: RequestContext) -> None:
        """Find the sandbox."""
        if exchange.sandbox_name != CLOCK:
            exchange.sandbox = sandbox = exchange.playground.sandboxes.get(exchange.sandbox_name)
            if sandbox is None:
                exchange.counts = False
                raise _unknown_sandbox()
            if sandbox.register_callback is None:
                sandbox.register_callback = partial(self.register_callback, exchange.playground, sandbox)
            if sandbox.spec.assets:
                serve_asset(exchange, sandbox)


def _is_quick(exchange: RequestContext, playground: Playground) -> bool:
    """Return whether a request can be answered on the event loop; its route and shape are kept with it."""
    call, sandbox = exchange.call, playground.sandboxes.get(exchange.sandbox_name)
    if sandbox is None:  # the clock: letting time pass runs whatever falls due
        return isinstance(call, HttpCall) and call.request.method in ("GET", "HEAD")
    try:
        call.locate(sandbox.spec)
    except Refusal:
        return True
    exchange.shape = shape_of(call)
    return exchange.shape is not None and sandbox.prepared.pace.is_quick(exchange.shape, sandbox.prepared.base)


def _add_cors_headers(call: ProtocolCall, spec: Spec, reply: Reply) -> Reply:
    """Let the page that sent a request read the reply, where the simulator allows it."""
    return spec.cors.apply(call.request, reply) if spec.cors is not None and isinstance(call, HttpCall) else reply


def _unknown_sandbox() -> Refusal:
    return Refusal(404, "no_such_sandbox", "there is no such sandbox, or its run is over")
