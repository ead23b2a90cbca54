"""What a simulator says of itself. Everything else about it stays in its folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clerkship.assertions.contract import Assertion
from clerkship.events.event import Payload
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.frozen import Frozen
from clerkship.sandbox.attack import NO_ATTACK, SandboxAttack
from clerkship.sandbox.door import Handle
from clerkship.sandbox.exchange import Refusal, Reply, Request, refuse_as_json
from clerkship.sandbox.listener import ProtocolListener
from clerkship.sandbox.operation import Operation
from clerkship.sandbox.route import Route
from clerkship.sandbox.state import State
from clerkship.steps.contract import Step
from clerkship.transports.assets import AssetFolder
from clerkship.transports.outbound.delivery import OutboundDelivery


def merge_files(datasets: Sequence[Dataset]) -> Mapping[str, bytes]:
    """All their files; of two at one path, the later dataset's."""
    return {path: data for dataset in datasets for path, data in dataset.files.items()}


def as_written(config: Any, environment: Environment) -> Frozen:
    """A config that leaves nothing to the environment."""
    written: Frozen = config
    return written


class NoConfig(Frozen):
    """A simulator with nothing to configure."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The contract between a simulator and the playground it runs in."""

    kind: str
    summary: str
    state: type[State]
    events: tuple[type[Payload], ...]
    operations: tuple[Operation[Any, Any], ...]
    """What it can be asked to do, in any protocol."""
    routes: tuple[Route, ...]
    """Its operations over HTTP."""
    handle: type[Handle]
    exercise: tuple[Request, ...]
    """Requests that touch every operation: what the conformance suite sends through both doors."""
    exercise_datasets: tuple[Dataset, ...] = ()
    """Datasets that the exercise starts from, and whose records it reads, changes and deletes."""
    config: type[Frozen] = NoConfig
    dataset: str | None = None
    """The type of dataset it is loaded from, if any."""
    prepare: Callable[[Sequence[Dataset]], Mapping[str, Any]] = merge_files
    """Makes of its datasets, once, what every playground lays its changes over."""
    configure: Callable[[Any, Environment], Frozen] = as_written
    """Fills in what a config leaves to the environment it is in."""
    refuse: Callable[[Refusal], Reply] = refuse_as_json
    assertions: tuple[type[Assertion], ...] = ()
    steps: tuple[type[Step], ...] = ()
    example: str = ""
    """Path and query of a GET to try first; where it says none, its first route that takes nothing."""
    lines: tuple[type[ProtocolListener], ...] = ()
    """Ways in beside HTTP, in protocols of their own."""
    outbound: tuple[type[OutboundDelivery], ...] = ()
    """How it delivers messages to an agent that has registered an address with `OperationContext.link`."""
    assets: tuple[AssetFolder, ...] = ()
    """Folders of static files, for a simulator that is a website."""
    converses: bool = False
    """Whether a person can sit on it: its state is a Conversation."""
    attack: SandboxAttack = NO_ATTACK
    """What the strategies of `clerkship suite attack` do here."""
