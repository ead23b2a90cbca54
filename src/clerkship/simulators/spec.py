"""The SPEC of a simulator: everything the rest of the system knows about it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clerkship.sandbox.attack import NO_ATTACK, SandboxAttack
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.component import ComponentSpec, DomainSpec
from clerkship.sandbox.cors import CorsPolicy
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.listener import ProtocolListener
from clerkship.sandbox.operation import Operation, OperationCall
from clerkship.sandbox.request import Refusal, Reply, Request, refuse_as_json
from clerkship.sandbox.route import Route
from clerkship.transports.assets import AssetFolder
from clerkship.transports.outbound.delivery import OutboundDelivery


@dataclass(frozen=True, kw_only=True)
class TaskScaffold:
    """The parts of a new task, as YAML without indentation. `«sandbox»` stands for the quoted name of the sandbox."""

    task_item: str
    """The keys of the task item."""
    criteria: str
    """A list of criteria, with comments."""
    solution: str
    """The body of a Python function `on_task(task_item, sandboxes)` that passes the task."""
    steps: str = ""
    """A list of steps that run before the agent starts; empty if there are none."""


class SimulatorExtra(NamedTuple):
    """An extra of Clerkship that a simulator uses, such as `websocket`."""

    name: str
    without: str
    """What is not possible without it, as the end of a sentence."""
    is_needed: bool = False
    """Whether the simulator cannot be used without it."""


@dataclass(frozen=True, kw_only=True)
class Spec(ComponentSpec):
    """The contract between a simulator and the playground in which it runs."""

    operations: tuple[Operation[Any, Any], ...]
    """All operations, over any protocol."""
    routes: tuple[Route, ...] = ()
    """The operations over HTTP; empty for a simulator that only has listeners of other protocols."""
    build_routes: Callable[[Any, Any], tuple[Route, ...]] | None = None
    """Builds further routes from the config and the base, where what an agent can do follows from the datasets."""
    handle: type[Handle] = Handle
    exercise: tuple[Request | OperationCall[Any, Any], ...]
    """HTTP requests, and calls over other protocols, that use every operation. The conformance suite sends them."""
    domains: tuple[DomainSpec, ...] = ()
    """Domains that the operations call. An environment with this simulator must have one of each."""
    refuse: Callable[[Refusal], Reply] = refuse_as_json
    example: str = ""
    """Path and query of a GET to try first; by default the first route without parameters."""
    listeners: tuple[type[ProtocolListener], ...] = ()
    """Listeners of protocols other than HTTP."""
    extras: tuple[SimulatorExtra, ...] = ()
    """Extras of this package that its operations need; listeners name theirs."""
    outbound: tuple[type[OutboundDelivery], ...] = ()
    """Deliveries to an address that the agent registered with `OperationContext.register_callback`."""
    assets: tuple[AssetFolder, ...] = ()
    """Folders of static files, for a simulator that is a website."""
    authentication: tuple[AuthenticationScheme, ...] = (BearerToken(),)
    """Which credentials clients may present; any one of them is enough."""
    cors: CorsPolicy | None = None
    """Which web origins may read its responses; none by default."""
    converses: bool = False
    """Whether a person can talk on it. Its state must then be a Conversation."""
    channels: tuple[str, ...] = ()
    """Channels on which people can be reached at an address. Its state must then be a ConversationHost."""
    activity: str = ""
    """The `module:function` that lists what the agent did in such a sandbox, for monitors: a `ListActivity`. Empty if
    nothing that it offers leaves the office."""
    run_coverage: str = ""
    """The `module:name` of what `clerkship coverage` counts besides operations, events, steps, faults and assertions: a
    tuple of `CoverageDimension`. No run imports it."""
    attack: SandboxAttack = NO_ATTACK
    """What the attack agents of `clerkship suite attack` do in this sandbox."""
    scaffold: TaskScaffold | Path | None = None
    """The task that `clerkship new task` writes for an environment with such a sandbox; or a YAML file with it."""
