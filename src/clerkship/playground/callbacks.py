"""Addresses where agents accept calls."""

from collections.abc import Callable

from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.exchange import Refusal
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.policy import OutboundRefused


def register_callback(
    playground: Playground,
    sandbox: Sandbox,
    check_address: Callable[[OutboundAddress], None],
    on_registered: Callable[[Playground, Sandbox], None] | None,
    name: str,
    value: str,
) -> None:
    """Register an address where the agent accepts calls, `host:port` or a URL; an empty value removes it.

    Raises Refusal for what is no address, or one that the policy refuses.
    """
    if value:
        try:
            check_address(OutboundAddress.parse(value))
        except BadAddress as error:
            raise Refusal(400, "bad_address", str(error)) from None
        except OutboundRefused as refused:
            raise Refusal(400, refused.code, refused.reason) from None
    sandbox.callbacks[name] = value  # if empty, the agent is not called, whatever the config says
    if on_registered is not None:
        on_registered(playground, sandbox)
