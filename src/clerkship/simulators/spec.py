"""What a simulator says of itself. Everything else about it stays in its folder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clerkship.domains.component import ComponentSpec
from clerkship.domains.contract import DomainSpec
from clerkship.sandbox.attack import NO_ATTACK, SandboxAttack
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
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
    """The parts of a new task, as YAML without indentation. `«sandbox»` stands for the sandbox's name in quotes."""

    task_item: str
    """The keys of what the agent is given."""
    criteria: str
    """A list of criteria, each with comments."""
    solution: str
    """The body of a Python function `on_task(task_item, sandboxes)` that passes the task."""
    steps: str = ""
    """A list of steps before the agent starts, if there are any."""


@dataclass(frozen=True, kw_only=True)
class Spec(ComponentSpec):
    """The contract between a simulator and the playground it runs in."""

    operations: tuple[Operation[Any, Any], ...]
    """What it can be asked to do, in any protocol."""
    routes: tuple[Route, ...] = ()
    """Its operations over HTTP; none for a simulator that only has listeners of other protocols."""
    handle: type[Handle] = Handle
    exercise: tuple[Request | OperationCall[Any, Any], ...]
    """HTTP requests, and calls in other protocols, that touch every operation. The conformance suite sends them."""
    domains: tuple[DomainSpec, ...] = ()
    """Domains that its operations call. An environment with this simulator must have one of each."""
    refuse: Callable[[Refusal], Reply] = refuse_as_json
    example: str = ""
    """Path and query of a GET to try first; where it says none, its first route that takes nothing."""
    listeners: tuple[type[ProtocolListener], ...] = ()
    """Listeners of protocols other than HTTP."""
    outbound: tuple[type[OutboundDelivery], ...] = ()
    """How it delivers messages to an agent that has registered an address with `OperationContext.register_callback`."""
    assets: tuple[AssetFolder, ...] = ()
    """Folders of static files, for a simulator that is a website."""
    authentication: tuple[AuthenticationScheme, ...] = (BearerToken(),)
    """Which credentials clients may present; any one of them is enough."""
    cors: CorsPolicy | None = None
    """Which web pages may read its answers; none by default."""
    converses: bool = False
    """Whether a person can sit on it: its state is a Conversation."""
    attack: SandboxAttack = NO_ATTACK
    """What the strategies of `clerkship suite attack` do here."""
    scaffold: TaskScaffold | None = None
    """What `clerkship new task` writes for an environment that has such a sandbox."""
