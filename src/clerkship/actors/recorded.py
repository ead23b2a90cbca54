"""`recorded[:name]`: an agent whose recorded turns are replayed."""

from clerkship.actors.contract import Agent, AgentError
from clerkship.model.run import IsolationLevel
from clerkship.settings import Settings

RECORDED = "recorded"


class RecordedSolver:
    """The agent that was recorded under a name; without a name, the only recorded one."""

    isolation: IsolationLevel = "built-in"

    def __init__(self, whose: str = "") -> None:
        self.whose = whose
        self.name = f"{RECORDED}:{whose}" if whose else RECORDED

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Raise AgentError: the engine builds the agent, because turns are found by the task."""
        raise AgentError("a recorded agent can only be used in a replay")


def load_recorded(rest: str, settings: Settings) -> RecordedSolver:
    """Build a solver from `recorded` or `recorded:python:my_agent:Agent`."""
    return RecordedSolver(rest)
