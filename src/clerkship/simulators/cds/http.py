"""The HTTP routes of an EHR that calls CDS services, for the agent that offers them."""

from collections.abc import Sequence

from clerkship.sandbox.authentication.jwks import PUBLIC_KEYS
from clerkship.sandbox.request import Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.cds import operations as ops
from clerkship.simulators.cds.operations import Context
from clerkship.simulators.cds.records import TriggeredHook
from clerkship.simulators.cds.views import show_hook


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
