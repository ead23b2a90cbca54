"""A sandbox: one running simulator with its credentials and addresses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from clerkship.playground.component import PreparedComponent, RunningComponent
from clerkship.playground.request_timings import RequestTimings
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import select_http_schemes
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.simulators.spec import Spec


@dataclass(frozen=True)
class PreparedSimulator(PreparedComponent):
    """A simulator with its config parsed and its datasets loaded, once for all playgrounds."""

    spec: Spec
    timings: RequestTimings = field(default_factory=RequestTimings)
    """How long requests of each shape have taken."""


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
