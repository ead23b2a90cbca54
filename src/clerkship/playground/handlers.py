"""The handlers of the gateway. Each of them does one step of answering or recording a request.

`Gateway` defines the order in which they run.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any, cast

from clerkship.events.event import AgentRequest, Event, Payload
from clerkship.events.lifecycle import RequestAnswered, RequestRefused
from clerkship.events.states import find_state
from clerkship.kit.rng import Ids, Rng
from clerkship.kit.secrets import equal_in_constant_time
from clerkship.kit.wall import perf_counter
from clerkship.model.scenario import Actor
from clerkship.playground.agent_clock import MAX_AHEAD, MAX_SLEEP_SECONDS, advance_to, answer_clock
from clerkship.playground.faults import ActiveFault
from clerkship.playground.playground import Playground
from clerkship.playground.request_record import (
    CredentialRedactor,
    add_body,
    describe_request,
    find_record,
    is_body_logged,
    title_of,
)
from clerkship.playground.sandbox import CostKey, Sandbox
from clerkship.sandbox.authentication.bearer import BearerToken, refuse_scope
from clerkship.sandbox.authentication.password import check_login
from clerkship.sandbox.authentication.scheme import (
    WRONG_LOGIN,
    AuthenticationScheme,
    refuse_credential,
    refuse_expired,
    refuse_unknown,
)
from clerkship.sandbox.authentication.scope import AccessGrant
from clerkship.sandbox.faults.contract import Fault
from clerkship.sandbox.operation import OperationAccess, OperationContext, ProtocolCall, ignore_callback
from clerkship.sandbox.request import IMMEDIATE, Refusal, Reply
from clerkship.sandbox.route import TOO_LARGE, HttpCall
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.spec import Spec

CLOCK_SCHEMES: tuple[AuthenticationScheme, ...] = (BearerToken(),)
"""The clock accepts the token of any sandbox."""
LOG_FULL = 429
"""The status of requests after the log is full."""
CLOCK = "clock"
"""The path of the simulated clock, next to those of the sandboxes. No sandbox may have this name."""

_new_operation_context: Callable[[Iterable[Any]], OperationContext[Any]] = partial(tuple.__new__, OperationContext)
"""Makes a context from all its fields: half the time of a call of the class, which checks their names."""


def answer_preflight(call: ProtocolCall, spec: Spec) -> Reply | None:
    """Answer a CORS preflight request if the simulator allows it; return None for any other request."""
    if not isinstance(call, HttpCall) or spec.cors is None:
        return None
    return spec.cors.preflight(call.request, {route.method for route in spec.routes})


def find_access(call: ProtocolCall, spec: Spec) -> OperationAccess:
    """Return who may call the operation of a request. An unknown operation is for the agent only."""
    try:
        call.locate(spec)
    except Refusal:
        return "agent"
    return "agent" if call.operation is None else call.operation.access


def build_unlogged_context(playground: Playground, sandbox: Sandbox) -> ActionContext:
    """Build a context that discards events, for clients without a credential, which may change nothing."""
    now, seed = playground.now, playground.seed

    def discard(payload: Payload) -> Event:
        return Event(0, now, sandbox.name, payload.kind, "agent", None, payload)

    def find_domain(kind: type[State[Any]], name: str | None) -> tuple[State[Any], ActionContext]:
        states = {each: domain.state for each, domain in playground.domains.items()}
        return find_state(states, kind, name)[1], context

    context = ActionContext("agent", now, Ids(seed), Rng(seed), discard, find_domain=find_domain)
    return context


def has_valid_login(call: ProtocolCall, playground: Playground, sandbox: Sandbox) -> bool:
    """Return whether a login request has the user and the password of its sandbox; may raise Refusal."""
    call.check_size()
    context = OperationContext(sandbox.state, build_unlogged_context(playground, sandbox), call.base)
    return check_login(sandbox.spec.authentication, sandbox.credentials, call.parse(context))


def refuse_anonymous(call: ProtocolCall, playground: Playground, sandbox: Sandbox | None) -> Refusal:
    """Build the refusal of a request without a valid credential. `sandbox` is None for the clock."""
    if sandbox is None or not isinstance(call, HttpCall):
        return refuse_unknown(CLOCK_SCHEMES if sandbox is None else sandbox.spec.authentication)
    refusal = refuse_credential(sandbox.spec.authentication, call.request, sandbox.credentials, playground.clock)
    if call.operation is not None and call.operation.access == "login":
        refusal.reason = WRONG_LOGIN
    return refusal


def pass_time(playground: Playground, limit: timedelta, is_done: Callable[[], bool]) -> datetime:
    """Let time pass until `is_done` returns true, at most for `limit`; return the time then.

    A stepped clock jumps from one scheduled event to the next. A paced clock is waited for without the lock, so that
    other requests go on. Raises Refusal if simulated time would be too far ahead of its start.
    """
    end = playground.now + limit
    if end - playground.started_at > MAX_AHEAD:
        raise Refusal(400, "time_limit", f"simulated time runs at most {MAX_AHEAD.days:,} days ahead of its start")
    if playground.environment.time == "stepped":
        _step(playground, end, is_done)
    else:
        _wait(playground, end, is_done)
    return playground.now


def _step(playground: Playground, end: datetime, is_done: Callable[[], bool]) -> None:
    while not is_done() and not playground.closed:
        due = playground.clock.next_due()
        if due is None or due > end:
            advance_to(playground, end)
            return
        advance_to(playground, due)


def _wait(playground: Playground, end: datetime, is_done: Callable[[], bool]) -> None:
    was_holding = not playground.writer.hold()  # during a request over HTTP, the lines of events are held
    playground.writer.release()
    playground.clock.settle()
    while not is_done() and not playground.closed and (left := (end - playground.now).total_seconds()) > 0:
        playground.clock_hold.changed.wait(min(left, MAX_SLEEP_SECONDS))
        playground.clock.settle()
    if was_holding:
        playground.writer.hold()


@dataclass(slots=True)
class RequestContext:
    """A request, its reply, and what the handlers pass to each other."""

    playground_id: str
    sandbox_name: str
    call: ProtocolCall
    token: str = ""
    """The token of the sandbox, for requests in process and from listeners. HTTP requests have headers instead."""
    actor: Actor = "agent"
    """Who sent the request; `run` for requests of a delivery."""
    playground: Playground = field(init=False)
    """Set by `Gateway.handle`."""
    sandbox: Sandbox | None = None
    is_routed: bool = False
    """Whether the operation is known."""
    cost_key: CostKey | None = None
    reply: Reply | None = None
    refusal: Refusal | None = None
    pending_faults: list[tuple[ActiveFault[Fault], Random]] = field(default_factory=list)
    """Faults that will be applied to the reply."""
    delay: timedelta = timedelta(0)
    cause: int | None = None
    """The event of the fault that repeated the request."""
    transport_refusal: Refusal | None = None
    """Why the transport refuses the request. Raised after authentication."""
    access: AccessGrant | None = None
    """What the access token of the request is limited to; None if it is not limited."""
    is_logged: bool = True
    """Whether the request is logged: not without a valid credential, nor when the log is full."""
    events_before: int | None = None
    """The number of events when the simulator got the request; None if it did not get it."""
    fault_events: list[Event] = field(default_factory=list)
    """The events of the faults that affected the request."""
    started_at: float = field(default_factory=perf_counter)

    @property
    def operation(self) -> str:
        """The name of the operation; empty until it is known."""
        return self.call.operation.name if self.is_routed and self.call.operation is not None else ""

    @property
    def title(self) -> str:
        """The sandbox and the request, for error messages."""
        return f"{self.sandbox_name}: {title_of(self.call)}"


Handler = Callable[[RequestContext], None]


def serve_asset(context: RequestContext, sandbox: Sandbox) -> None:
    """Answer a request for a static file, which needs no credential, causes no event and is not affected by faults."""
    if not isinstance(context.call, HttpCall):
        return
    request = context.call.request
    folder = next((folder for folder in sandbox.spec.assets if folder.covers(request)), None)
    if folder is not None:
        context.is_logged = False  # not even a refusal, else any client could write to the log
        context.reply = folder.serve(request)


def authenticate(context: RequestContext) -> None:
    """Check the credential of a request against the schemes of its simulator.

    The clock accepts the token of any sandbox.
    """
    playground, sandbox = context.playground, context.sandbox
    if sandbox is not None:
        if _has_credential(context, sandbox, sandbox.spec.authentication):
            return
    elif any(_has_credential(context, each, CLOCK_SCHEMES) for each in playground.sandboxes.values()):
        return
    context.is_logged = False  # else any client could write to the log
    if sandbox is None or not _is_allowed_without_credential(context, sandbox):
        raise refuse_anonymous(context.call, playground, sandbox)


def _has_credential(context: RequestContext, sandbox: Sandbox, schemes: Iterable[AuthenticationScheme]) -> bool:
    """Return whether a request has the token of a sandbox, or over HTTP a credential for one of its schemes."""
    if context.token:
        return equal_in_constant_time(sandbox.token, context.token)
    call, playground = context.call, context.playground
    if not isinstance(call, HttpCall):
        return False
    request, credentials, clock = call.request, sandbox.credentials, playground.clock
    for scheme in schemes:
        if scheme.verify(request, credentials, clock):
            context.access = scheme.find_grant(request, credentials) if credentials.has_grants else None
            return True
    return False


def _is_allowed_without_credential(context: RequestContext, sandbox: Sandbox) -> bool:
    """Return whether a request is answered without a valid credential.

    That is a preflight request, an open operation, or a login with the right user and password. Only a login is
    logged.
    """
    context.reply = answer_preflight(context.call, sandbox.spec)
    if context.reply is not None:
        return True
    access = find_access(context.call, sandbox.spec)
    if access == "login" and context.transport_refusal is None:
        context.is_logged = has_valid_login(context.call, context.playground, sandbox)
    return context.is_logged or access == "open"


def find_operation(context: RequestContext) -> None:
    """Find the operation of a request. If the request is authenticated, advance the simulated clock by one tick."""
    if context.sandbox is None:
        if context.transport_refusal is not None:
            raise context.transport_refusal
        assert isinstance(context.call, HttpCall)
        context.reply = answer_clock(context.playground, context.call.request)
        return
    if context.is_logged:
        context.playground.clock.tick()
    if context.is_logged and context.playground.log.is_full:
        context.is_logged = False  # the log must not grow any more
        raise Refusal(LOG_FULL, "too_many_requests", "the log of this run is full; no more requests are accepted")
    if context.transport_refusal is not None:
        raise context.transport_refusal
    context.call.locate(context.sandbox.spec)
    context.call.check_size()
    context.is_routed = True
    operation = context.call.operation
    if context.access is not None and operation is not None and not operation.scoped:
        raise refuse_scope(f"an access token with scopes is not accepted for {operation.name}", context.access)


def inject_faults(context: RequestContext) -> None:
    """Apply active faults to the request, in the order in which they were injected."""
    playground = context.playground
    if not playground.faults.active or not context.is_logged:
        return
    for active, rng in playground.faults.matching(context.sandbox_name, context.operation):
        effect = active.fault.on_request(rng)
        if effect is None:
            context.pending_faults.append((active, rng))
            continue
        _trigger_fault(context, active, effect.details)
        if playground.environment.time == "stepped":
            playground.clock.advance(effect.delay)
        else:
            context.delay += effect.delay  # the transport waits before it sends the reply
        context.reply = effect.reply
        if effect.refusal is not None:  # not logged as a refusal: the sandbox never saw the request
            reply = render_refusal(context, effect.refusal)
            context.reply = replace(reply, headers={**reply.headers, **effect.headers})
            if effect.refusal.status == 401 and context.sandbox is not None:
                expired = refuse_expired(context.sandbox.spec.authentication, effect.refusal.reason)
                context.reply = replace(context.reply, headers={**context.reply.headers, **expired.headers})
        if context.reply is not None:
            context.pending_faults.clear()  # the sandbox gives no reply that they could alter
            return


def run_operation(context: RequestContext) -> None:
    """Run the operation in the simulator."""
    playground, sandbox, call = context.playground, context.sandbox, context.call
    assert sandbox is not None
    operation = call.operation
    assert operation is not None
    context.events_before = len(playground.log.events)
    if context.is_logged:
        operation_context = _new_operation_context(
            (
                sandbox.state,
                playground.context_for(sandbox.name, context.actor, context.cause),
                call.base,
                sandbox.address,
                sandbox.register_callback or ignore_callback,
                playground.log.events_left,
                call.transport,
                sandbox.credentials,
                sandbox.callbacks,
                context.access,
                sandbox.list_public_keys,
                partial(pass_time, playground),
            )
        )
    else:
        action, keys = build_unlogged_context(playground, sandbox), sandbox.list_public_keys
        operation_context = OperationContext(sandbox.state, action, call.base, public_keys=keys)
    started_at = perf_counter()
    context.reply = call.render(operation_context, operation.run(operation_context, call.parse(operation_context)))
    if context.cost_key is not None:
        sandbox.prepared.timings.record(context.cost_key, perf_counter() - started_at)


def record_request(context: RequestContext) -> None:
    """Attach the request to the event of the simulator that records it, or to a new event if there is none.

    Requests without a credential are listed in the sidecar instead.
    """
    playground, since = context.playground, context.events_before
    if not context.is_logged:
        _record_unauthenticated(context)
        return
    if context.refusal is None and (context.sandbox is None or since is None):
        return  # the clock logs its requests itself, and `record_faults` those that a fault answered
    caused = [] if since is None else playground.log.events[since:]
    event = None
    if context.refusal is None:
        event = find_record(caused, context.sandbox_name, context.actor)
    if event is None:
        event = _emit_record(playground, context)
    if context.actor != "agent":
        return
    is_complete = not context.call.body or (since is not None and is_body_logged(caused))
    playground.writer.attach(event, _describe_request(context) if is_complete else _describe_with_body(context))


def _describe_with_body(context: RequestContext) -> AgentRequest:
    """Describe a request with its body, unless the body is too large or the operation forbids logging it."""
    playground, call, refusal = context.playground, context.call, context.refusal
    redact = playground.redactor()
    description = _describe_request(context, redact)
    too_large = refusal is not None and refusal.status == TOO_LARGE
    operation = call.operation if context.is_routed else None
    if not call.body or too_large or (operation is not None and not operation.logs_body):
        return description
    return add_body(description, call, redact, playground.log.request_bodies)


def _emit_record(playground: Playground, context: RequestContext) -> Event:
    """Log a refusal, or a request that no event of the simulator records."""
    refusal, payload = context.refusal, cast(Payload, RequestAnswered(operation=context.operation))
    if refusal is not None:
        reason = playground.redact(refusal.reason)  # it may quote the request
        payload = RequestRefused(operation=context.operation, status=refusal.status, code=refusal.code, reason=reason)
    return playground.emit(context.sandbox_name, payload, context.actor, context.cause)


def _describe_request(context: RequestContext, redact: CredentialRedactor | None = None) -> AgentRequest:
    assert context.reply is not None
    description = describe_request(context.call, context.reply, redact or context.playground.redactor())
    return description if context.access is None else description._replace(scope=context.access.scope)


def _record_unauthenticated(context: RequestContext) -> None:
    refusal, playground = context.refusal, context.playground
    if refusal is None or refusal.status != LOG_FULL:
        description = _describe_request(context)
        reason = "answered without a credential" if refusal is None else refusal.reason
        fields = {name: getattr(description, name) for name in ("method", "path", "query", "status", "over")}
        playground.sidecar.unauthenticated.add(sandbox=context.sandbox_name, reason=reason, **fields)


def record_faults(context: RequestContext) -> None:
    """Attach the request and its reply to the events of the faults that affected it."""
    if not context.fault_events:
        return
    playground = context.playground
    description = _describe_request(context) if context.events_before is not None else _describe_with_body(context)
    for event in context.fault_events:
        playground.writer.attach(event, description)


def _trigger_fault(context: RequestContext, active: ActiveFault[Fault], details: Mapping[str, Any]) -> Event:
    event = context.playground.faults.trigger(active, context.sandbox_name, context.operation, details)
    context.fault_events.append(event)
    return event


def repeat_request(context: RequestContext) -> None:
    """Run a duplicated request again, one tick later. The agent gets the second reply."""
    for active, _ in context.pending_faults:
        if not active.fault.repeats_request:
            continue
        playground = context.playground
        first = 0 if context.reply is None else context.reply.status
        event = _trigger_fault(context, active, {"first_status": first})
        context.cause, context.refusal = event.seq, None
        playground.clock.tick()
        try:
            run_operation(context)
        except Refusal as refusal:
            context.refusal = refusal
            context.reply = render_refusal(context, refusal)
        record_request(context)


def alter_reply(context: RequestContext) -> None:
    """Apply active faults to the reply, in the order in which they were injected."""
    playground, reply = context.playground, context.reply
    assert reply is not None
    if not context.pending_faults and not context.delay and reply.delivery is IMMEDIATE:
        return
    for active, rng in context.pending_faults:
        effect = active.fault.on_reply(reply, rng, wants_body=context.call.wants_body)
        if effect is None:
            continue
        _trigger_fault(context, active, effect.details)
        reply = effect.reply or reply
        if reply.lost:
            break
    if reply.delivery.over and playground.environment.time == "stepped":
        playground.clock.advance(timedelta(seconds=reply.delivery.over))
        reply = replace(reply, delivery=replace(reply.delivery, over=0.0))
    if context.delay:
        reply = replace(reply, delivery=replace(reply.delivery, delay=context.delay.total_seconds()))
    context.reply = reply


def record_timing(context: RequestContext) -> None:
    """Record a request and its duration in the sidecar. Durations differ between machines, so they are not logged."""
    assert context.reply is not None
    playground = context.playground
    wall_ms = (perf_counter() - context.started_at) * 1000
    seq = len(playground.log.events)
    # A fork counts by it how many requests a fault has skipped. Faults do not apply to requests that are not logged.
    operation = context.operation if context.is_logged else ""
    playground.sidecar.add_request(seq, context.sandbox_name, operation, context.reply.status, wall_ms)


def render_refusal(context: RequestContext, refusal: Refusal) -> Reply:
    """Render a refusal in the format of the protocol and of the simulator."""
    return context.call.refuse(refusal, None if context.sandbox is None else context.sandbox.spec)
