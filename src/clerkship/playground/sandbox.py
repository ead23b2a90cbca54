"""One running simulator, and what it is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clerkship.kit.secrets import new_token
from clerkship.model.freeze import freeze_fields
from clerkship.model.frozen import Frozen
from clerkship.playground.overlay import Overlay
from clerkship.playground.pace import Pace
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.sandbox.state import State
from clerkship.simulators.spec import Spec


@dataclass(frozen=True)
class PreparedSimulator:
    """A simulator made ready once, for every playground that will be forked from it."""

    spec: Spec
    config: Frozen
    base: Mapping[str, Any] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)
    """How long requests of each shape have taken."""

    def __post_init__(self) -> None:
        freeze_fields(self.config)  # every playground has the same config


class Sandbox:
    """One running simulator."""

    __slots__ = ("_links", "_token", "address", "name", "room", "spec", "state", "told")

    def __init__(self, name: str, room: PreparedSimulator) -> None:
        self.name = name
        self.spec = room.spec
        self.state = room.spec.state(room.config, Overlay(room.base))
        self.room = room
        self._token: str | None = None
        self._links: dict[str, str] | None = None
        self.address = ""
        """Its address in every protocol but HTTP; empty until it is first used."""
        self.told: Mapping[str, ConnectionInfo] = {}
        """What its agent was told of each line: all of it opens something."""

    @property
    def links(self) -> dict[str, str]:
        """Where its agent says that it can be reached; in no log, for it differs between machines."""
        if self._links is None:
            self._links = {}
        return self._links

    def empty(self) -> None:
        """Be as it was before anything happened in it."""
        self.state = self.fresh()

    def fresh(self) -> State:
        """What it held before anything happened in it."""
        return self.spec.state(self.room.config, Overlay(self.room.base))

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
