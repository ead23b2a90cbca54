"""Find listeners that are not available because their package is not installed."""

from collections.abc import Iterable, Iterator

from clerkship.actors.command import CommandSolver
from clerkship.actors.contract import Solver
from clerkship.actors.webhook import WebhookSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.environment import Environment
from clerkship.model.errors import InputProblem
from clerkship.playground.listeners import is_available
from clerkship.simulators.spec import Spec


def find_unavailable_listeners(spec: Spec) -> dict[str, str]:
    """Return the listeners of a simulator that are not available, each with the command that installs its package."""
    return {
        listener.name: f"pip install 'clerkship[{listener.extra}]', or uv run --extra {listener.extra}"
        for listener in spec.listeners
        if not is_available(listener)
    }


def warn_unavailable_listeners(
    solver: Solver, environments: Iterable[Environment], catalog: RegisteredCatalog
) -> Iterator[InputProblem]:
    """Yield warnings for an agent in another program, which gets no error if it tries to connect."""
    if not isinstance(solver, CommandSolver | WebhookSolver):
        return
    for kind in sorted({simulator.kind for place in environments for simulator in place.simulators.values()}):
        for line, how in find_unavailable_listeners(catalog.simulators.get(kind)).items():
            yield InputProblem(
                message=f"`{kind}` sandboxes are not available over {line}: a package is not installed", hint=how
            )
