"""One running simulator, and what it is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from clerkship.kit.secrets import new_token
from clerkship.playground.component import PreparedComponent, RunningComponent
from clerkship.playground.pace import Pace
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.simulators.spec import Spec


@dataclass(frozen=True)
class PreparedSimulator(PreparedComponent):
    """A simulator made ready once, for every playground that will be forked from it."""

    spec: Spec
    pace: Pace = field(default_factory=Pace)
    """How long requests of each shape have taken."""


class Sandbox(RunningComponent):
    """One running simulator."""

    room: PreparedSimulator
    spec: Spec
    # Class attributes are the initial values: a fork sets none of them.
    _token: str | None = None
    _links: dict[str, str] | None = None
    address = ""
    """Its address in every protocol but HTTP; empty until it is first used."""
    told: Mapping[str, ConnectionInfo] = MappingProxyType({})
    """What its agent was told of each line: all of it opens something."""

    @property
    def links(self) -> dict[str, str]:
        """Where its agent says that it can be reached; in no log, for it differs between machines."""
        if self._links is None:
            self._links = {}
        return self._links

    @property
    def opened(self) -> bool:
        """Whether its credential has been used."""
        return self._token is not None

    @property
    def token(self) -> str:
        """Its own credential, made when first asked for."""
        if self._token is None:
            self._token = new_token("clk_sbx")
        return self._token
