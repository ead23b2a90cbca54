"""Where the sandboxes of all trials of a server listen."""

from collections.abc import Callable

from clerkship.engine.spec import BatchContext, Watchdog
from clerkship.kit.descriptors import raise_limit
from clerkship.model.run import Attempt
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.listeners import ListenerPool
from clerkship.service.planning.plan import RunPlan
from clerkship.transports.network import SandboxNetwork
from clerkship.transports.outbound.policy import LOCAL_ONLY, PublicPolicy


class SandboxHost:
    """The HTTP server and the listeners of all sandboxes, and the clock of their time limits.

    Sandboxes may call this machine, if only this machine reaches them, else public addresses.
    """

    def __init__(self, network: SandboxNetwork) -> None:
        raise_limit()
        self._gateway = Gateway(PublicPolicy() if network.is_exposed else LOCAL_ONLY)
        self._http = open_http(self._gateway, network)
        self._listeners = ListenerPool(self._gateway, network)
        self.watchdog = Watchdog()

    def url(self) -> str:
        """Return the URL of the HTTP server; start it if it is not running."""
        return self._http.url()

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
