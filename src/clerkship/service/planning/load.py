"""Step 1: load the files, build the agent, and check the files against the agent."""

from dataclasses import dataclass, replace

from clerkship.actors.contract import Solver
from clerkship.engine.agents import check_process
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.library.library import Library
from clerkship.model.run import IsolationLevel
from clerkship.service.checking import load_and_check
from clerkship.service.isolating import choose_level
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.settings import Settings, override_isolation, override_settings


@dataclass(frozen=True, eq=False, repr=False)
class LoadedSuite:
    """The files of a request, its agent, and the settings with the changes of the request."""

    request: RunRequest
    settings: Settings
    catalog: RegisteredCatalog
    library: Library
    solver: Solver
    isolation: IsolationLevel


def load_suite(request: RunRequest, settings: Settings, catalog: RegisteredCatalog) -> LoadedSuite:
    """Load the files and the agent of a request. Raise InputError with all problems."""
    request.check()
    settings = _settings_for(request, settings, catalog)
    path, case = split_case(request.path)
    library, solver = load_and_check(path, request.agent, settings, catalog, domain=request.domain, tasks=request.tasks)
    assert solver is not None  # the request always has an agent
    isolation = choose_level(solver, settings.isolate)
    if case is not None:
        request = replace(request, path=path, tasks=(*request.tasks, library.find_case(path, case).task.name))
    return LoadedSuite(request, settings, catalog, library, solver, isolation)


def _settings_for(request: RunRequest, settings: Settings, catalog: RegisteredCatalog) -> Settings:
    """Return the settings with the changes of the request. Raise InputError if the agent cannot have a process."""
    settings = override_isolation(settings, request.isolate)
    settings = override_settings(settings, max_tokens=request.max_tokens, model_timeout=request.model_timeout)
    if not request.agent_process:
        return settings
    check_process(request.agent, catalog)
    return override_settings(settings, agent_process="on")
