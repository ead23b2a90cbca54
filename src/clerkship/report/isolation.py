"""Describe how the agent of a run was isolated."""

from collections.abc import Mapping

from clerkship.model.run import BenchmarkRun, IsolationLevel

ISOLATION: Mapping[IsolationLevel, str] = {
    "bubblewrap": "bubblewrap: store, tasks and other processes hidden",
    "landlock": "Landlock: store and tasks hidden",
    "none": "none: the agent could read the store and the tasks",
    "trusted": "trusted: the agent runs in the process that grades it",
    "remote": "remote: the agent runs elsewhere, not isolated here",
    "built-in": "built-in: part of the platform",
}


def describe_isolation(run: BenchmarkRun) -> str:
    """Return how the agent was isolated; empty for a run of a version that did not store it."""
    return ISOLATION[run.isolation] if run.isolation is not None else ""
