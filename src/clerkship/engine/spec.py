"""The inputs of a trial: its task and number, and what all trials of a batch share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from clerkship.actors.contract import Solver
from clerkship.engine.build import BuiltTask
from clerkship.engine.models import NO_MODELS, ModelSelection
from clerkship.engine.watchdog import Watchdog
from clerkship.kit.rng import derive_seed
from clerkship.model.run import Attempt
from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool


@dataclass(frozen=True)
class TrialSpec:
    """A trial to run: its task, its number among the trials of the task, and the number of the attempt."""

    built: BuiltTask
    run: str
    seed: int
    trial: int = 1
    attempt: int = 1
    alone: bool = False
    """Whether nothing else runs at the same time, because an earlier attempt timed out from overload."""

    def key(self) -> Attempt:
        """Return what identifies this attempt in its run."""
        return Attempt(self.built.snapshot.task.name, self.trial, self.attempt)

    @property
    def playground_seed(self) -> str:
        """The seed of the playground.

        A fork uses the seed of the forked trial, so that its ids continue those of the trial.
        """
        fork_point = self.built.fork_point
        return (
            derive_seed(self.seed, self.built.snapshot.task.name, self.trial) if fork_point is None else fork_point.seed
        )


@dataclass(frozen=True)
class BatchContext:
    """What all trials of a batch share."""

    solver: Solver
    gateway: Gateway
    base_url: Callable[[], str]
    begin: Callable[[Attempt], None] = lambda attempt: None
    """Called with each attempt before its agent is started."""
    models: ModelSelection = NO_MODELS
    """The models that judge, play people, and replay recordings."""
    listeners: ListenerPool | None = None
    """The listeners of transports other than HTTP."""
    watchdog: Watchdog = field(default_factory=Watchdog)
