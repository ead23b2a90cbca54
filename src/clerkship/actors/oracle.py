"""`oracle`: an agent that runs the task's reference solution. A task that it fails cannot be passed."""

from clerkship.actors.contract import Agent
from clerkship.actors.python import load_source
from clerkship.model.errors import InputError
from clerkship.model.run import IsolationLevel


class Oracle:
    """The reference solution as an agent."""

    name = "oracle"
    isolation: IsolationLevel = "built-in"
    takes_solution = True

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent that runs the solution."""
        if solution is None:
            raise InputError.of("the task has no `solution` for oracle to run")
        return load_source(solution, "solution.py")
