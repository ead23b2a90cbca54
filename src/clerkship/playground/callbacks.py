"""Addresses where agents accept calls."""

from collections.abc import Callable
from typing import Protocol

from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.exchange import Refusal
from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.policy import OutboundRefused


class CallbackRegistry(Protocol):
    """Knows which addresses may be called, and who wants to know of new ones: the gateway."""

    @property
    def on_registered(self) -> Callable[[Playground, Sandbox], None] | None:
        """Called when an agent has registered an address."""
        ...

    def check_address(self, address: OutboundAddress) -> None:
        """Raise OutboundRefused for an address that a sandbox may not call."""
        ...


def register_callback(
    registry: CallbackRegistry, playground: Playground, sandbox: Sandbox, name: str, value: str
) -> None:
    """Register an address where the agent accepts calls, `host:port` or a URL; an empty value removes it.

    Raises Refusal for what is no address, or one that the policy refuses.
    """
    if value:
        try:
            registry.check_address(OutboundAddress.parse(value))
        except BadAddress as error:
            raise Refusal(400, "bad_address", str(error)) from None
        except OutboundRefused as refused:
            raise Refusal(400, refused.code, refused.reason) from None
    sandbox.callbacks[name] = value  # if empty, the agent is not called, whatever the config says
    if registry.on_registered is not None:
        registry.on_registered(playground, sandbox)
