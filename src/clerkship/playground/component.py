"""Simulators and domains: prepared once, then running in each playground."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clerkship.model.freeze import freeze_fields
from clerkship.model.frozen import Frozen
from clerkship.playground.overlay import Overlay
from clerkship.sandbox.component import ComponentSpec
from clerkship.sandbox.state import State


@dataclass(frozen=True)
class PreparedComponent:
    """A simulator or domain with its config parsed and its datasets loaded, once for all playgrounds."""

    spec: ComponentSpec
    config: Frozen
    base: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze_fields(self.config)  # every playground has the same config

    def new_state(self) -> State:
        """Build the state before any event."""
        return self.spec.state(self.config, Overlay(self.base))


class RunningComponent:
    """A simulator or domain in one playground."""

    __slots__ = ("has_due_work", "name", "prepared", "spec", "state")

    def __init__(self, name: str, prepared: PreparedComponent) -> None:
        self.name = name
        self.prepared = prepared
        self.spec = prepared.spec
        self.has_due_work = self.spec.state.next_due is not State.next_due
        """Whether its state may have work for later."""
        self.state: State
        """Built when the playground starts, and again when it is rewound."""
