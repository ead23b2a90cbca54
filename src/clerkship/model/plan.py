"""What a run has to do, frozen when it begins: whoever goes on with it needs nothing but the store."""

from clerkship.model.addressed import Addressed
from clerkship.model.frozen import Frozen


class UntilSure(Frozen):
    """Repeat a task until the interval of its pass rate lies wholly on one side of this rate."""

    threshold: float


class Plan(Addressed):
    """Which tasks, how often, in what order. Two runs with one plan did the same work."""

    snapshots: tuple[str, ...]
    """Of the tasks, by hash."""
    seed: int
    trials: int
    """How often each task is run; with `until_sure`, at most."""
    until_sure: UntilSure | None = None
    shuffle: bool = False
