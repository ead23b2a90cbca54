"""A sandbox: one running simulator with its credentials, addresses and request timings."""

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from clerkship.model.frozen import Frozen
from clerkship.playground.component import PreparedComponent, RunningComponent
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import select_http_schemes
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators.spec import Spec

MAX_QUICK_SECONDS = 0.01
MAX_QUICK_BODY = 32_768
MAX_QUICK_PARAMETERS = 20
MAX_SMALL_DATASET = 500
"""Records of a dataset that is so small that every request is quick."""
MAX_COST_KEYS = 4096
"""Cost keys remembered for one environment. Limited, because the agent chooses the names in them."""
CostKey = tuple[str, tuple[str, ...]]


def build_cost_key(call: ProtocolCall) -> CostKey | None:
    """Return the cost key of a request, or None if it always needs a worker thread."""
    names = call.cost_key() if len(call.body) <= MAX_QUICK_BODY else None
    if call.operation is None or names is None or len(names) > MAX_QUICK_PARAMETERS:
        return None
    return call.operation.name, names


class RequestTimings:
    """Whether the last request with each cost key was quick, in all playgrounds of one environment."""

    __slots__ = ("_quick",)

    def __init__(self) -> None:
        self._quick: dict[CostKey, bool] = {}

    def is_quick(self, cost_key: CostKey, records: Sized) -> bool:
        """Return whether the last request with this cost key was quick.

        The first one with a key may have to build an index, so it counts as slow if the dataset is not small.
        """
        quick = self._quick.get(cost_key)
        return len(records) <= MAX_SMALL_DATASET if quick is None else quick

    def record(self, cost_key: CostKey, seconds: float) -> None:
        """Remember how long a request with this cost key took, without the time that it waited for its playground."""
        if cost_key in self._quick or len(self._quick) < MAX_COST_KEYS:
            self._quick[cost_key] = seconds <= MAX_QUICK_SECONDS


@dataclass(frozen=True)
class PreparedSimulator(PreparedComponent):
    """A simulator with its config parsed and its datasets loaded, once for all playgrounds."""

    spec: Spec
    timings: RequestTimings = field(default_factory=RequestTimings)
    """How long requests of each shape have taken."""


def prepare_simulator(spec: Spec, config: Frozen, base: Mapping[str, Any]) -> PreparedSimulator:
    """Return a simulator with the routes and operations that follow from its datasets; raise InputError."""
    routes = spec.build_routes(config, base) if spec.build_routes is not None else ()
    if routes:
        operations = (*spec.operations, *(route.operation for route in routes))
        spec = replace(spec, routes=(*spec.routes, *routes), operations=operations)
    return PreparedSimulator(spec, config, base)


class Sandbox(RunningComponent):
    """One running simulator."""

    prepared: PreparedSimulator
    spec: Spec
    # Initial values are class attributes, because setting them for every trial would cost time.
    register_callback: Callable[[str, str], None] | None = None
    """Registers where the agent can be reached; set by the gateway."""
    address = ""
    """The address in protocols other than HTTP; empty until it is first needed."""
    connection_info: Mapping[str, ConnectionInfo] = MappingProxyType({})
    """Connection details given to the agent, by protocol; all are secrets."""

    @cached_property
    def callbacks(self) -> dict[str, str]:
        """Addresses where the agent accepts calls, by name. Never logged: they differ between machines."""
        return {}

    @property
    def has_credentials(self) -> bool:
        """Whether the credentials have been created."""
        return "credentials" in self.__dict__

    @cached_property
    def credentials(self) -> SandboxCredentials:
        """The credentials, created when they are first needed."""
        return SandboxCredentials(self.name, self.prepared.config)

    @property
    def token(self) -> str:
        return self.credentials.token

    def list_public_keys(self) -> dict[str, Any]:
        """Return the public keys of the sandbox as a JWK Set."""
        return self.credentials.signing_key.public_keys

    def secrets(self) -> list[str]:
        """Return the credentials that may not appear in a log; none if they have not been created."""
        schemes = self.spec.authentication if self.has_credentials else ()
        return [secret for scheme in schemes for secret in scheme.secrets(self.credentials)]

    def authentication_info(self, url: str) -> dict[str, ConnectionInfo]:
        """Return what an agent needs to authenticate at `url`, by scheme, except for schemes that use the token."""
        schemes = select_http_schemes(self.spec.authentication)
        infos = {scheme.name: scheme.connection_info(self.credentials, url) for scheme in schemes}
        return {name: info for name, info in infos.items() if info}
