"""Where the sandboxes of all trials of a server listen."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address

from clerkship.engine.spec import BatchContext, Watchdog
from clerkship.kit.descriptors import raise_limit
from clerkship.model.run import Attempt
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.listeners import ListenerPool
from clerkship.service.planning.plan import RunPlan
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy, PublicPolicy
from clerkship.transports.tcp import LOOPBACK


@dataclass(frozen=True)
class SandboxAddress:
    """Where the sandboxes of a server listen."""

    host: str = LOOPBACK
    port: int = 0
    public_url: str = ""
    """The URL at which agents reach them, if a proxy stands between."""

    @property
    def policy(self) -> OutboundPolicy:
        """Which addresses sandboxes may call: those of this machine, if only this machine reaches the sandboxes."""
        return LOCAL_ONLY if IPv4Address(self.host).is_loopback else PublicPolicy()


class SandboxHost:
    """The HTTP server and the listeners of all sandboxes, and the clock of their time limits."""

    def __init__(self, address: SandboxAddress) -> None:
        raise_limit()
        self._gateway = Gateway(address.policy)
        self._http = open_http(self._gateway, address.port, host=address.host)
        self._listeners = ListenerPool(self._gateway, host=address.host)
        self.url: Callable[[], str] = (lambda: address.public_url) if address.public_url else self._http.url
        """The URL of the HTTP server."""
        self.watchdog = Watchdog()

    def build_context(self, plan: RunPlan, begin: Callable[[Attempt], None]) -> BatchContext:
        """Return what the trials of a run share."""
        return BatchContext(
            plan.solver,
            self._gateway,
            self.url,
            begin,
            models=plan.models,
            listeners=self._listeners,
            watchdog=self.watchdog,
        )

    def close(self) -> None:
        """Stop listening, and wait for requests under way."""
        self._listeners.close()
        self._http.close()
