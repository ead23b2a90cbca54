"""The gateway: one ordered list of handlers that every request to every sandbox goes through.

A request arrives in the form of its protocol and becomes a call of one of the simulator's operations. Handlers look at
the call in turn until one answers it; the closing handlers look at every call.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any, cast

from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import RequestAnswered, RequestRefused
from clerkship.events.request import AgentRequest
from clerkship.events.sidecar import UnloggedRequests
from clerkship.kit.secrets import Names, same
from clerkship.kit.wall import perf_counter
from clerkship.model.scenario import Actor
from clerkship.playground.anonymous import (
    CLOCK_SCHEMES,
    access_of,
    allow_origin,
    answer_preflight,
    is_login,
    refuse_anonymous,
    unlogged_context,
)
from clerkship.playground.clock_requests import answer_clock
from clerkship.playground.failure import MAX_CALLER_DEPTH, SimulatorBroken, call_depth, record_failure
from clerkship.playground.faults import ActiveFault
from clerkship.playground.pace import Shape, shape_of
from clerkship.playground.playground import Playground
from clerkship.playground.recording import (
    describe,
    describe_unplaced,
    is_body_held,
    record_of,
    title_of,
    with_body,
)
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.authentication.refusal import refuse_expired
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.authentication.secret import SecretTable
from clerkship.sandbox.direct_call import CallRecord, recordable
from clerkship.sandbox.exchange import Refusal, Reply, Request, refuse_as_json
from clerkship.sandbox.operation import OperationContext, ProtocolCall, no_callback
from clerkship.sandbox.route import TOO_LARGE, HttpCall
from clerkship.simulators.spec import Spec
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy, OutboundRefused

OVER = "the run is over, and its tokens with it"
MAX_REMEMBERED = 4096
"""Playgrounds that are over: later ones push the earliest out, and then nobody knows what was spoken there."""
LOG_FULL = 429
"""The status of requests that a full log has no room for."""
CLOCK = "clock"
"""A path beside the sandboxes: the simulated clock. No sandbox may have its name."""


@dataclass(slots=True)
class RequestContext:
    """A request on its way: where it goes, what it is, how it was answered."""

    playground_id: str
    sandbox_name: str
    call: ProtocolCall
    token: str = ""
    """The token of the sandbox, from a client of the platform: the in-process door or a listener. The credentials of an
    HTTP request are in its headers."""
    actor: Actor = "agent"
    """Whose request it is: `run` for what a delivery reads before it calls the agent."""
    playground: Playground = field(init=False)
    """Set by `Gateway.handle`."""
    sandbox: Sandbox | None = None
    is_routed: bool = False
    """Whether the operation is known; refusals before that are no operation's."""
    shape: Shape | None = None
    reply: Reply | None = None
    refusal: Refusal | None = None
    struck: list[tuple[ActiveFault, Random]] = field(default_factory=list)
    """Faults that wait for the answer."""
    delay: timedelta = timedelta(0)
    cause: int | None = None
    """The fault that sent it once more."""
    objection: Refusal | None = None
    """What its door found wrong with it, to be said once it is known who asks."""
    counts: bool = True
    """Whether it is recorded in the log: not without a valid credential, nor when the log is full."""
    routed_at: int | None = None
    """How many events there were when the simulator was given the request; None if it was not."""
    faults: list[Event] = field(default_factory=list)
    """The events of the faults that took effect on it."""
    began: float = field(default_factory=perf_counter)

    @property
    def operation(self) -> str:
        """The name of the operation; empty as long as it is not known."""
        return self.call.operation.name if self.is_routed and self.call.operation is not None else ""

    @property
    def title(self) -> str:
        """The sandbox and the request, to name it in an error."""
        return f"{self.sandbox_name}: {title_of(self.call)}"


Handler = Callable[[RequestContext], None]
Hear = Callable[[str, Request | CallRecord], None]
"""Receives each request or call, with the name of the sandbox that it was for."""


class Gateway:
    """All the playgrounds there are, behind one list of handlers."""

    def __init__(self, policy: OutboundPolicy = LOCAL_ONLY) -> None:
        self.policy = policy
        """Which addresses sandboxes may connect to."""
        self.playgrounds: dict[str, Playground] = {}
        self._names = Names()
        self._gate = threading.Lock()
        self._ears: dict[int, Hear] = {}
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
        self.closing: tuple[Handler, ...] = (record_request, repeat, spoil_reply, record_faults, record_touch)

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
                if len(self._past) > MAX_REMEMBERED:
                    del self._past[next(iter(self._past))]
        self._ears.pop(id(playground), None)
        for sandbox in playground.sandboxes.values():
            sandbox.register_callback = None  # it holds the playground
            if self._addresses.pop(sandbox.address) is not None and self.on_leave is not None:
                self.on_leave(sandbox.address)

    def overhear(self, playground: Playground, hear: Hear) -> None:
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
            hear(exchange.sandbox_name, recordable(exchange.call, answer))

    def try_handle(self, exchange: RequestContext) -> Reply | None:
        """Answer a request if that is quick; return None if it is for a worker thread, which calls `handle`.

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
            return self.handle(exchange)
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
        spec, refusal = self._spec_of(id, name), _unknown()
        if spec is not None or (name == CLOCK and (id in self._past or id in self.playgrounds)):
            refusal = refuse_expired(CLOCK_SCHEMES if spec is None else spec.authentication, OVER)
        self.unplaced.add(**describe_unplaced(name, call, refusal))
        if spec is None:
            return call.refuse(refusal, None)
        with suppress(Refusal):
            call.locate(spec)  # a route may have its own words
        return allow_origin(call, spec, call.refuse(refusal, spec))

    def _through(self, exchange: RequestContext) -> Reply:
        for handler in self.handlers:
            try:
                handler(exchange)
            except Refusal as refusal:
                exchange.refusal = refusal
                exchange.reply = _in_its_words(exchange, refusal)
            if exchange.reply is not None:
                break
        for handler in self.closing:
            handler(exchange)
        assert exchange.reply is not None
        if exchange.sandbox is None or exchange.sandbox.spec.cors is None:
            return exchange.reply
        return allow_origin(exchange.call, exchange.sandbox.spec, exchange.reply)

    def identify(self, exchange: RequestContext) -> None:
        """Find the sandbox."""
        if exchange.sandbox_name != CLOCK:
            exchange.sandbox = sandbox = exchange.playground.sandboxes.get(exchange.sandbox_name)
            if sandbox is None:
                exchange.counts = False
                raise _unknown()
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


def _unknown() -> Refusal:
    return Refusal(404, "no_such_sandbox", "there is no such sandbox, or its run is over")


def serve_asset(exchange: RequestContext, sandbox: Sandbox) -> None:
    """Answer a request for a static file. It needs no credential, leaves no event and meets no fault."""
    if not isinstance(exchange.call, HttpCall):
        return
    request = exchange.call.request
    folder = next((folder for folder in sandbox.spec.assets if folder.covers(request)), None)
    if folder is not None:
        exchange.counts = False  # not in the log even if it is refused: anyone could write to it otherwise
        exchange.reply = folder.serve(request)


def authenticate(exchange: RequestContext) -> None:
    """Check the credential of a request by the schemes of its simulator; the clock takes the token of any sandbox."""
    playground, sandbox = exchange.playground, exchange.sandbox
    if sandbox is not None:
        if _has_credential(exchange, sandbox, sandbox.spec.authentication):
            return
    elif any(_has_credential(exchange, box, CLOCK_SCHEMES) for box in playground.sandboxes.values()):
        return
    exchange.counts = False  # not in the log: anyone could write to it otherwise
    if sandbox is None or not _is_answered(exchange, sandbox):
        raise refuse_anonymous(exchange.call, playground, sandbox)


def _has_credential(exchange: RequestContext, sandbox: Sandbox, schemes: Iterable[AuthenticationScheme]) -> bool:
    """Return whether a request carries the token of a sandbox, or a credential by one of its schemes over HTTP."""
    if exchange.token:
        return same(sandbox.token, exchange.token)
    call, playground = exchange.call, exchange.playground
    if not isinstance(call, HttpCall):
        return False
    request, credentials, clock = call.request, sandbox.credentials, playground.clock
    return any(scheme.verify(request, credentials, clock) for scheme in schemes)


def _is_answered(exchange: RequestContext, sandbox: Sandbox) -> bool:
    """Return whether a request without a valid credential is answered: a preflight request, an open operation, or a
    login with the right user and password, which is logged."""
    exchange.reply = answer_preflight(exchange.call, sandbox.spec)
    if exchange.reply is not None:
        return True
    access = access_of(exchange.call, sandbox.spec)
    if access == "login" and exchange.objection is None:
        exchange.counts = is_login(exchange.call, exchange.playground, sandbox)
    return exchange.counts or access == "open"


def find_operation(exchange: RequestContext) -> None:
    """Find the operation that the request is; simulated time moves by one tick if the client has a credential."""
    if exchange.sandbox is None:
        if exchange.objection is not None:
            raise exchange.objection
        assert isinstance(exchange.call, HttpCall)
        exchange.reply = answer_clock(exchange.playground, exchange.call.request)
        return
    if exchange.counts:
        exchange.playground.clock.touch()
    if exchange.counts and exchange.playground.log.is_full:
        exchange.counts = False  # the log is what must not grow
        raise Refusal(LOG_FULL, "too_many_requests", "this run's log is full; nothing more is done in it")
    if exchange.objection is not None:
        raise exchange.objection
    exchange.call.locate(exchange.sandbox.spec)
    exchange.call.check_size()
    exchange.is_routed = True


def inject_faults(exchange: RequestContext) -> None:
    """Apply active faults to the request, in the order in which they were injected."""
    playground = exchange.playground
    if not playground.faults.active or not exchange.counts:
        return
    for active, rng in playground.faults.matching(exchange.sandbox_name, exchange.operation):
        spoiled = active.fault.before(rng)
        if spoiled is None:
            exchange.struck.append((active, rng))
            continue
        _trigger(exchange, active, spoiled.details)
        if playground.environment.time == "stepped":
            playground.clock.advance(spoiled.delay)
        else:
            exchange.delay += spoiled.delay  # to be waited for, where the request came in
        exchange.reply = spoiled.reply
        if spoiled.refusal is not None:  # not taken down as the sandbox's: it never saw the request
            worded = _in_its_words(exchange, spoiled.refusal)
            exchange.reply = replace(worded, headers={**worded.headers, **spoiled.headers})
            if spoiled.refusal.status == 401 and exchange.sandbox is not None:
                expired = refuse_expired(exchange.sandbox.spec.authentication, spoiled.refusal.reason)
                exchange.reply = replace(exchange.reply, headers={**exchange.reply.headers, **expired.headers})
        if exchange.reply is not None:
            exchange.struck.clear()  # there is no answer of the sandbox for them to strike
            return


def run_operation(exchange: RequestContext) -> None:
    """Have the simulator do it."""
    playground, sandbox, call = exchange.playground, exchange.sandbox, exchange.call
    assert sandbox is not None
    operation = call.operation
    assert operation is not None
    exchange.routed_at = len(playground.log.events)
    if exchange.counts:
        context = OperationContext(
            sandbox.state,
            playground.act(sandbox.name, exchange.actor, exchange.cause),
            call.base,
            sandbox.address,
            sandbox.register_callback or no_callback,
            playground.log.room,
            call.transport,
            sandbox.credentials,
        )
    else:
        context = OperationContext(sandbox.state, unlogged_context(playground, sandbox), call.base)
    began = perf_counter()
    exchange.reply = call.render(context, operation.run(context, call.parse(context)))
    if exchange.shape is not None:
        sandbox.prepared.pace.note(exchange.shape, perf_counter() - began)


def record_request(exchange: RequestContext) -> None:
    """Make an event that the request caused its record, or add one; beside the log if it has no credential."""
    playground, since = exchange.playground, exchange.routed_at
    if not exchange.counts:
        _record_beside(exchange)
        return
    if exchange.refusal is None and (exchange.sandbox is None or since is None):
        return  # it was for the clock, which logs by itself, or a fault answered it
    event = None
    if exchange.refusal is None and since is not None:
        event = record_of(playground.log.events, since, exchange.sandbox_name, exchange.actor)
    event = event or _emit_record(playground, exchange)
    if exchange.actor != "agent":
        return
    holds = not exchange.call.body or (since is not None and is_body_held(playground.log.events, since))
    playground.writer.attach(event, _described(exchange) if holds else _described_whole(exchange))


def _described_whole(exchange: RequestContext) -> AgentRequest:
    """Describe the request with its body, where that may be kept. What is too large is not even read over HTTP."""
    described, call, refusal = _described(exchange), exchange.call, exchange.refusal
    too_large = refusal is not None and refusal.status == TOO_LARGE
    operation = call.operation if exchange.is_routed else None
    if not call.body or too_large or (operation is not None and not operation.logs_body):
        return described
    playground = exchange.playground
    return with_body(described, call, playground.redactor(), playground.log.request_bodies)


def _emit_record(playground: Playground, exchange: RequestContext) -> Event:
    """Record a refusal, or a request that no event of the simulator records."""
    refusal, payload = exchange.refusal, cast(Payload, RequestAnswered(operation=exchange.operation))
    if refusal is not None:
        reason = playground.redacted(refusal.reason)  # it may quote the request
        payload = RequestRefused(operation=exchange.operation, status=refusal.status, code=refusal.code, reason=reason)
    return playground.emit(exchange.sandbox_name, payload, exchange.actor, exchange.cause)


def _described(exchange: RequestContext) -> AgentRequest:
    playground, reply = exchange.playground, exchange.reply
    assert reply is not None
    return describe(exchange.call, reply, playground.redactor())


def _record_beside(exchange: RequestContext) -> None:
    refusal, playground = exchange.refusal, exchange.playground
    if refusal is None or refusal.status != LOG_FULL:
        described, reason = _described(exchange), "answered without a credential" if refusal is None else refusal.reason
        fields = {name: getattr(described, name) for name in ("method", "path", "query", "status", "over")}
        playground.sidecar.unauthenticated.add(sandbox=exchange.sandbox_name, reason=reason, **fields)


def record_faults(exchange: RequestContext) -> None:
    """Say in the events of faults which request they took effect on, and what the agent was answered."""
    if not exchange.faults:
        return
    playground = exchange.playground
    described = _described(exchange) if exchange.routed_at is not None else _described_whole(exchange)
    for event in exchange.faults:
        playground.writer.attach(event, described)


def _trigger(exchange: RequestContext, active: ActiveFault, details: Mapping[str, Any]) -> Event:
    event = exchange.playground.faults.trigger(active, exchange.sandbox_name, exchange.operation, details)
    exchange.faults.append(event)
    return event


def repeat(exchange: RequestContext) -> None:
    """A request that was doubled on its way comes again, a touch later; its answer is the one that counts."""
    for active, _ in exchange.struck:
        if not active.fault.doubles:
            continue
        playground = exchange.playground
        first = 0 if exchange.reply is None else exchange.reply.status
        event = _trigger(exchange, active, {"first_status": first})
        exchange.cause, exchange.refusal = event.seq, None
        playground.clock.touch()
        try:
            run_operation(exchange)
        except Refusal as refusal:
            exchange.refusal = refusal
            exchange.reply = _in_its_words(exchange, refusal)
        record_request(exchange)


def spoil_reply(exchange: RequestContext) -> None:
    """What is in the way of the answer strikes, in the order it was put there."""
    playground, reply = exchange.playground, exchange.reply
    assert reply is not None
    for active, rng in exchange.struck:
        spoiled = active.fault.after(reply, rng, wants_body=exchange.call.wants_body)
        if spoiled is None:
            continue
        _trigger(exchange, active, spoiled.details)
        reply = spoiled.reply or reply
        if reply.lost:
            break
    if reply.delivery.over and playground.environment.time == "stepped":
        playground.clock.advance(timedelta(seconds=reply.delivery.over))
        reply = replace(reply, delivery=replace(reply.delivery, over=0.0))
    if exchange.delay:
        reply = replace(reply, delivery=replace(reply.delivery, delay=exchange.delay.total_seconds()))
    exchange.reply = reply


def record_touch(exchange: RequestContext) -> None:
    """What differs between machines goes to the sidecar."""
    assert exchange.reply is not None
    playground = exchange.playground
    wall_ms = (perf_counter() - exchange.began) * 1000
    seq = len(playground.log.events)
    operation = exchange.operation if exchange.counts else ""  # a fork counts by it what a fault has let pass
    playground.sidecar.touch(seq, exchange.sandbox_name, operation, exchange.reply.status, wall_ms)


def _in_its_words(exchange: RequestContext, refusal: Refusal) -> Reply:
    return exchange.call.refuse(refusal, None if exchange.sandbox is None else exchange.sandbox.spec)
