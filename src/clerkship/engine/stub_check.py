"""Find tasks with stubs of actions that an agent cannot apply: it would run the real actions."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from clerkship.actors.contract import AgentError, Solver
from clerkship.model.errors import InputProblem
from clerkship.suite_files.library import LoadedTask

SKIP_OPTION = "--skip-stubbed"
SUPPORTING_AGENT = "use a Python agent whose on_start applies `start.stubs`"
MAX_NAMED_CASES = 5


def find_stubbed(tasks: Iterable[LoadedTask]) -> list[LoadedTask]:
    """Return the tasks that stub actions."""
    return [loaded for loaded in tasks if loaded.task.scenario is not None and loaded.task.scenario.stubs]


def find_refused(tasks: Iterable[LoadedTask], solver: Solver) -> list[LoadedTask]:
    """Return the tasks whose stubs the agent cannot apply."""
    stubbed = find_stubbed(tasks)
    if not stubbed:
        return []
    try:
        agent = solver.open(stubbed[0].solution)
    except AgentError:
        return []  # each trial fails with this error
    agent.close()
    return [] if "on_start" in agent.entries and getattr(solver, "takes_stubs", True) else stubbed


def build_stub_problem(loaded: LoadedTask, solver: Solver) -> InputProblem:
    """Return the problem of a task that an agent cannot run because of its stubs."""
    stubs = ", ".join(f"`{name}`" for name in loaded.task.scenario.stubs) if loaded.task.scenario else ""
    return InputProblem(
        file=loaded.file,
        line=loaded.line,
        column=loaded.column,
        message=f"{loaded.task.name!r} stubs {stubs}, but {solver.name} does not support stubs",
        hint=f"{SUPPORTING_AGENT}, or leave such tasks out with {SKIP_OPTION}",
    )


def warn_of_stubs(tasks: Iterable[LoadedTask], solver: Solver | None) -> Iterator[InputProblem]:
    """Yield warnings about the tasks that `run` refuses for this agent; without one, one for each file with stubs."""
    if solver is not None:
        yield from (build_stub_problem(loaded, solver) for loaded in find_refused(tasks, solver))
        return
    for file, grouped in groupby(find_stubbed(tasks), key=lambda loaded: loaded.file):
        stubbed = list(grouped)
        count = "1 task stubs" if len(stubbed) == 1 else f"{len(stubbed)} tasks stub"
        yield InputProblem(
            file=file,
            line=stubbed[0].line,
            column=stubbed[0].column,
            message=f"{count} actions: {_list_names(stubbed)}",
            hint="`run` refuses them for an agent that runs its own actions, such as one behind a server; with "
            f"{SKIP_OPTION} it runs the others",
        )


def describe_skipped(tasks: Sequence[LoadedTask], solver: Solver) -> InputProblem:
    """Return the warning that tasks are left out because of their stubs."""
    count = "1 task with stubs is" if len(tasks) == 1 else f"{len(tasks)} tasks with stubs are"
    return InputProblem(message=f"{count} skipped: {_list_names(tasks)}", hint=f"{solver.name} does not support stubs")


def _list_names(tasks: Sequence[LoadedTask]) -> str:
    """Return the names of tasks for a message: the first few, and how many more there are."""
    names = ", ".join(repr(loaded.task.name) for loaded in tasks[:MAX_NAMED_CASES])
    more = len(tasks) - MAX_NAMED_CASES
    return f"{names} and {more} more" if more > 0 else names
