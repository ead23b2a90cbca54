"""Requests without a valid credential: which ones are still answered, and how the others are refused."""

from clerkship.events.event import Event, Payload
from clerkship.kit.rng import Ids, Rng
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.password import check_login
from clerkship.sandbox.authentication.scheme import WRONG_LOGIN, AuthenticationScheme, refuse_credential, refuse_unknown
from clerkship.sandbox.operation import OperationAccess, OperationContext, ProtocolCall
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import HttpCall
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.spec import Spec

CLOCK_SCHEMES: tuple[AuthenticationScheme, ...] = (BearerToken(),)
"""The clock accepts the token of any sandbox."""


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

    return ActionContext("agent", now, Ids(seed), Rng(seed), discard)


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
