"""The HTTP routes of an EHR that calls CDS services, for the agent that offers them."""

from collections.abc import Sequence
from typing import Any

from clerkship.sandbox.authentication.jwks import PUBLIC_KEYS
from clerkship.sandbox.request import Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.cds import operations as ops
from clerkship.simulators.cds.operations import Context
from clerkship.simulators.cds.records import ServiceCall, TriggeredHook


def show_hook(hook: TriggeredHook) -> dict[str, Any]:
    """Return a hook with its calls."""
    return {
        "hookInstance": hook.instance,
        "hook": hook.hook,
        "at": hook.at.isoformat(),
        "context": hook.context,
        "calls": [_show_call(call) for call in hook.calls or ()],
    }


def _show_call(call: ServiceCall) -> dict[str, Any]:
    return {
        "service": call.service.id,
        "status": call.status,
        "failure": call.failure or None,
        "httpStatus": call.http_status,
        "cards": [card.to_wire() for card in call.cards],
        "systemActions": [action.to_wire() for action in call.system_actions],
        "problems": [problem.model_dump() for problem in call.problems],
        "decisions": [
            {"card": each.card, "outcome": each.outcome, "suggestions": list(each.suggestions)} for each in call.decided
        ],
    }


def render_services(call: HttpCall, context: Context, registered: ops.RegisteredServices) -> Reply:
    """Render the services that were discovered."""
    services = [service.to_wire() for service in registered.services]
    return json_reply(200, {"discovered": registered.is_discovered, "services": services})


def render_hooks(call: HttpCall, context: Context, hooks: Sequence[TriggeredHook]) -> Reply:
    """Render the hooks that fired."""
    return json_reply(200, {"hooks": [show_hook(hook) for hook in hooks]})


def render_hook(call: HttpCall, context: Context, hook: TriggeredHook) -> Reply:
    """Render one hook."""
    return json_reply(200, show_hook(hook))


ROUTES = (
    Route("POST", "/services", ops.register_services),
    Route("GET", "/services", ops.list_services, render=render_services),
    Route("DELETE", "/services", ops.remove_services),
    Route("GET", "/hooks", ops.list_hooks, render=render_hooks),
    Route("GET", "/hooks/{instance}", ops.read_hook, render=render_hook),
    PUBLIC_KEYS,
)
