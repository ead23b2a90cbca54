"""Step 2: select the tasks of a request, and add the limits and faults of the request."""

from dataclasses import dataclass, replace
from typing import Any

from clerkship.engine.stub_check import SUPPORTING_AGENT, build_stub_problem, describe_skipped, find_refused
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.model.persona import DEFAULT_PERSON_FACTS
from clerkship.model.run_options import PersonFacts
from clerkship.model.scenario import Scenario
from clerkship.model.task import Benchmark
from clerkship.sandbox.faults.registry import find_chaos_profile
from clerkship.service.planning.load import LoadedSuite
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from clerkship.suite_files.library import Library, LoadedTask

MAX_NAMED_TASKS = 5


@dataclass(frozen=True, eq=False, repr=False)
class SelectedTasks:
    """The tasks to run, and their benchmark if the request names one."""

    loaded: LoadedSuite
    tasks: tuple[LoadedTask, ...]
    benchmark: Benchmark | None = None
    warnings: tuple[InputProblem, ...] = ()


def select_tasks(loaded: LoadedSuite) -> SelectedTasks:
    """Select tasks by name, tag, file and benchmark. Raise InputError if none matches, or the agent cannot run one."""
    request, library = loaded.request, loaded.library
    published = library.published.slug if library.published is not None else None
    benchmark = _find_benchmark(library, request.benchmark or published)
    file = request.path if request.path.is_file() else None
    tasks = library.select(names=request.tasks, tags=request.tags, file=file)
    if benchmark is not None:
        inside = {task.task.name for task in library.select(names=benchmark.tasks, tags=benchmark.tags)}
        tasks = [task for task in tasks if task.task.name in inside]
    if request.only is not None:
        tasks = [task for task in tasks if task.task.name in request.only]
    if not tasks and request.only is not None:
        names = ", ".join(f"`{name}`" for name in sorted(request.only)[:MAX_NAMED_TASKS])
        hint = "give no other --task, --tag or --benchmark; or the tasks were renamed or removed"
        raise InputError.of(f"none of the tasks to run is in the selection: {names}", hint=hint)
    if not tasks:
        tags = sorted({tag for task in library.tasks.values() for tag in task.task.tags})
        raise InputError.of("no task matches the selection", hint=f"tags: {', '.join(tags) or 'none'}")
    tasks, warnings = _skip_stubbed(tasks, loaded)
    facts = _choose_person_facts(loaded)
    tasks = [_apply_request(task, request, loaded.settings, facts) for task in tasks]
    return SelectedTasks(loaded, tuple(tasks), benchmark, warnings)


def _choose_person_facts(loaded: LoadedSuite) -> PersonFacts:
    """Return what played people may make up if their file does not say: by the request, conftest or settings."""
    conftest = loaded.library.conftest
    project = conftest.person.facts if conftest is not None and conftest.person is not None else None
    return loaded.request.person_facts or project or loaded.settings.person_facts or DEFAULT_PERSON_FACTS


def _find_benchmark(library: Library, name: str | None) -> Benchmark | None:
    if name is not None and name not in library.benchmarks:
        raise InputError.of(f"unknown benchmark `{name}`", hint=did_you_mean(name, library.benchmarks))
    return library.benchmarks[name] if name is not None else None


def _skip_stubbed(tasks: list[LoadedTask], loaded: LoadedSuite) -> tuple[list[LoadedTask], tuple[InputProblem, ...]]:
    """Return the tasks that the agent can run, and a warning about the others.

    Raise InputError for tasks with stubs that the agent cannot apply, unless the request skips them.
    """
    refused = find_refused(tasks, loaded.solver)
    if not refused:
        return tasks, ()
    names = {task.task.name for task in refused}
    others = [task for task in tasks if task.task.name not in names]
    if not loaded.request.skip_stubbed:
        raise InputError(build_stub_problem(task, loaded.solver) for task in refused)
    if not others:
        message = f"every selected task stubs actions, and {loaded.solver.name} does not support stubs"
        raise InputError.of(message, hint=SUPPORTING_AGENT)
    return others, (describe_skipped(refused, loaded.solver),)


def _apply_request(loaded: LoadedTask, request: RunRequest, settings: Settings, facts: PersonFacts) -> LoadedTask:
    """Return the task with the faults and compatibility mode of the request, and with limits where it has none."""
    task, changed = loaded.task, dict[str, Any]()
    scenario = task.scenario or Scenario()
    if request.chaos is not None:
        changed["steps"] = (*find_chaos_profile(request.chaos), *scenario.steps)
    if scenario.all_people and scenario.max_turns is None:
        changed["max_turns"] = request.max_turns or settings.max_turns
    if scenario.all_people and scenario.turn_timeout is None:
        changed["turn_timeout"] = request.turn_timeout or settings.turn_timeout
    if any(person.needs_model for person in scenario.all_people):
        person = scenario.person
        changed["person"] = person.with_default_facts(facts) if person is not None else None
        changed["people"] = tuple(each.with_default_facts(facts) for each in scenario.people)
    if changed:
        task = task.model_copy(update={"scenario": scenario.model_copy(update=changed)})
    if request.compat is not None:
        task = task.model_copy(update={"compat": request.compat})
    return loaded if task is loaded.task else replace(loaded, task=task)
