"""How the agent of a run was isolated, in words."""

from collections.abc import Mapping

from clerkship.model.run import BenchmarkRun, IsolationLevel

ISOLATION: Mapping[IsolationLevel, str] = {
    "bubblewrap": "bubblewrap (store, tasks and other processes hidden)",
    "landlock": "Landlock (store and tasks hidden)",
    "none": "not isolated (the agent could read the store and the tasks)",
    "trusted": "not isolated (the agent is trusted: it runs in the process that grades it)",
    "remote": "not isolated here (the agent runs elsewhere)",
    "built-in": "built-in agent",
}


def isolation_of(run: BenchmarkRun) -> str:
    """Return how its agent was isolated; empty for a run from before this was kept."""
    return ISOLATION[run.isolation] if run.isolation is not None else ""
