"""The handlers of the gateway: each looks at a request, may answer it, and may record it.

The order in which they run is in `Gateway`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any, cast

from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import RequestAnswered, RequestRefused
from clerkship.events.request import AgentRequest
from clerkship.kit.secrets import equal_in_constant_time
from clerkship.kit.wall import perf_counter
from clerkship.model.scenario import Actor
from clerkship.playground.agent_clock import answer_clock
from clerkship.playground.anonymous import (
    CLOCK_SCHEMES,
    answer_preflight,
    build_unlogged_context,
    find_access,
    has_valid_login,
    refuse_anonymous,
)
from clerkship.playground.faults import ActiveFault
from clerkship.playground.pace import Shape
from clerkship.playground.playground import Playground
from clerkship.playground.recording import add_body, describe_request, find_record, is_body_logged, title_of
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.authentication.scheme import AuthenticationScheme, refuse_expired
from clerkship.sandbox.operation import OperationContext, ProtocolCall, ignore_callback
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import TOO_LARGE, HttpCall

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
    """Why the transport refuses it; the client is told once it is authenticated."""
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
    if sandbox is None or not _is_allowed_without_credential(exchange, sandbox):
        raise refuse_anonymous(exchange.call, playground, sandbox)


def _has_credential(exchange: RequestContext, sandbox: Sandbox, schemes: Iterable[AuthenticationScheme]) -> bool:
    """Return whether a request carries the token of a sandbox, or a credential by one of its schemes over HTTP."""
    if exchange.token:
        return equal_in_constant_time(sandbox.token, exchange.token)
    call, playground = exchange.call, exchange.playground
    if not isinstance(call, HttpCall):
        return False
    request, credentials, clock = call.request, sandbox.credentials, playground.clock
    return any(scheme.verify(request, credentials, clock) for scheme in schemes)


def _is_allowed_without_credential(exchange: RequestContext, sandbox: Sandbox) -> bool:
    """Return whether a request without a valid credential is answered: a preflight request, an open operation, or a
    login with the right user and password, which is logged."""
    exchange.reply = answer_preflight(exchange.call, sandbox.spec)
    if exchange.reply is not None:
        return True
    access = find_access(exchange.call, sandbox.spec)
    if access == "login" and exchange.objection is None:
        exchange.counts = has_valid_login(exchange.call, exchange.playground, sandbox)
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
        _trigger_fault(exchange, active, spoiled.details)
        if playground.environment.time == "stepped":
            playground.clock.advance(spoiled.delay)
        else:
            exchange.delay += spoiled.delay  # to be waited for, where the request came in
        exchange.reply = spoiled.reply
        if spoiled.refusal is not None:  # not taken down as the sandbox's: it never saw the request
            worded = render_refusal(exchange, spoiled.refusal)
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
            sandbox.register_callback or ignore_callback,
            playground.log.room,
            call.transport,
            sandbox.credentials,
        )
    else:
        context = OperationContext(sandbox.state, build_unlogged_context(playground, sandbox), call.base)
    began = perf_counter()
    exchange.reply = call.render(context, operation.run(context, call.parse(context)))
    if exchange.shape is not None:
        sandbox.prepared.pace.note(exchange.shape, perf_counter() - began)


def record_request(exchange: RequestContext) -> None:
    """Make an event that the request caused its record, or add one; beside the log if it has no credential."""
    playground, since = exchange.playground, exchange.routed_at
    if not exchange.counts:
        _record_unauthenticated(exchange)
        return
    if exchange.refusal is None and (exchange.sandbox is None or since is None):
        return  # it was for the clock, which logs by itself, or a fault answered it
    event = None
    if exchange.refusal is None and since is not None:
        event = find_record(playground.log.events, since, exchange.sandbox_name, exchange.actor)
    event = event or _emit_record(playground, exchange)
    if exchange.actor != "agent":
        return
    holds = not exchange.call.body or (since is not None and is_body_logged(playground.log.events, since))
    playground.writer.attach(event, _describe_request(exchange) if holds else _describe_with_body(exchange))


def _describe_with_body(exchange: RequestContext) -> AgentRequest:
    """Describe the request with its body, where that may be kept. What is too large is not even read over HTTP."""
    described, call, refusal = _describe_request(exchange), exchange.call, exchange.refusal
    too_large = refusal is not None and refusal.status == TOO_LARGE
    operation = call.operation if exchange.is_routed else None
    if not call.body or too_large or (operation is not None and not operation.logs_body):
        return described
    playground = exchange.playground
    return add_body(described, call, playground.redactor(), playground.log.request_bodies)


def _emit_record(playground: Playground, exchange: RequestContext) -> Event:
    """Record a refusal, or a request that no event of the simulator records."""
    refusal, payload = exchange.refusal, cast(Payload, RequestAnswered(operation=exchange.operation))
    if refusal is not None:
        reason = playground.redacted(refusal.reason)  # it may quote the request
        payload = RequestRefused(operation=exchange.operation, status=refusal.status, code=refusal.code, reason=reason)
    return playground.emit(exchange.sandbox_name, payload, exchange.actor, exchange.cause)


def _describe_request(exchange: RequestContext) -> AgentRequest:
    playground, reply = exchange.playground, exchange.reply
    assert reply is not None
    return describe_request(exchange.call, reply, playground.redactor())


def _record_unauthenticated(exchange: RequestContext) -> None:
    refusal, playground = exchange.refusal, exchange.playground
    if refusal is None or refusal.status != LOG_FULL:
        described, reason = (
            _describe_request(exchange),
            "answered without a credential" if refusal is None else refusal.reason,
        )
        fields = {name: getattr(described, name) for name in ("method", "path", "query", "status", "over")}
        playground.sidecar.unauthenticated.add(sandbox=exchange.sandbox_name, reason=reason, **fields)


def record_faults(exchange: RequestContext) -> None:
    """Say in the events of faults which request they took effect on, and what the agent was answered."""
    if not exchange.faults:
        return
    playground = exchange.playground
    described = _describe_request(exchange) if exchange.routed_at is not None else _describe_with_body(exchange)
    for event in exchange.faults:
        playground.writer.attach(event, described)


def _trigger_fault(exchange: RequestContext, active: ActiveFault, details: Mapping[str, Any]) -> Event:
    event = exchange.playground.faults.trigger(active, exchange.sandbox_name, exchange.operation, details)
    exchange.faults.append(event)
    return event


def repeat_request(exchange: RequestContext) -> None:
    """A request that was doubled on its way comes again, a touch later; its answer is the one that counts."""
    for active, _ in exchange.struck:
        if not active.fault.doubles:
            continue
        playground = exchange.playground
        first = 0 if exchange.reply is None else exchange.reply.status
        event = _trigger_fault(exchange, active, {"first_status": first})
        exchange.cause, exchange.refusal = event.seq, None
        playground.clock.touch()
        try:
            run_operation(exchange)
        except Refusal as refusal:
            exchange.refusal = refusal
            exchange.reply = render_refusal(exchange, refusal)
        record_request(exchange)


def alter_reply(exchange: RequestContext) -> None:
    """What is in the way of the answer strikes, in the order it was put there."""
    playground, reply = exchange.playground, exchange.reply
    assert reply is not None
    for active, rng in exchange.struck:
        spoiled = active.fault.after(reply, rng, wants_body=exchange.call.wants_body)
        if spoiled is None:
            continue
        _trigger_fault(exchange, active, spoiled.details)
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


def render_refusal(exchange: RequestContext, refusal: Refusal) -> Reply:
    """Write a refusal in the words of the protocol and of the simulator."""
    return exchange.call.refuse(refusal, None if exchange.sandbox is None else exchange.sandbox.spec)
