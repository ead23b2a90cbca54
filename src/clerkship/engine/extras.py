"""Find the extras that tasks need or can use, and that are not installed."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.extras import describe_install, is_installed
from clerkship.model.call import ANY_OF, AssertionCall, nested_calls
from clerkship.model.environment import Environment
from clerkship.model.errors import InputProblem
from clerkship.model.task import Task
from clerkship.simulators.spec import Spec

MAX_NAMED_TASKS = 3


class TaskInEnvironment(Protocol):
    """A task and its environment, loaded or frozen."""

    @property
    def task(self) -> Task:
        """The task."""

    @property
    def environment(self) -> Environment:
        """The environment."""


def find_missing_extras(spec: Spec) -> dict[str, str]:
    """Return what is not available in a kind of sandbox, by the extra that it needs."""
    unheard = [listener for listener in spec.listeners if not listener.is_available()]
    without = {extra.name: extra.without for extra in spec.extras if not is_installed(extra.name)}
    return {listener.extra: f"{listener.name.upper()} is not available" for listener in unheard} | without


def find_needed_extras(tasks: Iterable[TaskInEnvironment], catalog: RegisteredCatalog) -> dict[str, list[str]]:
    """Return the names of the tasks that cannot be done without an extra, by each extra that is not installed.

    A task needs the extras of a kind of sandbox if one of its steps acts on it, or a criterion needs an effect in it.
    """
    missing: dict[str, tuple[str, ...]] = {}
    needed: dict[str, list[str]] = {}
    for each in tasks:
        for kind in {simulator.kind for simulator in each.environment.simulators.values()}:
            if kind not in missing:
                extras = catalog.simulator(kind).extras
                missing[kind] = tuple(one.name for one in extras if one.is_needed and not is_installed(one.name))
            if missing[kind] and _uses(each.task, kind, catalog):
                for extra in missing[kind]:
                    needed.setdefault(extra, []).append(each.task.name)
    return needed


def build_extra_problems(needed: dict[str, list[str]]) -> list[InputProblem]:
    """Return a problem for each extra that is not installed and that tasks need."""
    return [
        InputProblem(
            message=f"the extra `{extra}` is not installed, and {_describe_tasks(names)}",
            hint=f"install it with {describe_install(extra)}",
        )
        for extra, names in needed.items()
    ]


def warn_of_optional_extras(
    environments: Iterable[Environment], catalog: RegisteredCatalog, reported: Collection[str] = ()
) -> Iterator[InputProblem]:
    """Yield a warning for each extra that is not installed and that agents could use; none for those reported."""
    for kind in sorted({simulator.kind for place in environments for simulator in place.simulators.values()}):
        for extra, without in find_missing_extras(catalog.simulator(kind)).items():
            if extra not in reported:
                yield InputProblem(
                    message=f"in `{kind}` sandboxes {without}, because the extra `{extra}` is not installed",
                    hint=f"if an agent uses it, install it with {describe_install(extra)}",
                )


def _uses(task: Task, kind: str, catalog: RegisteredCatalog) -> bool:
    """Return whether a task cannot be done without using a kind of sandbox."""
    steps = task.scenario.steps if task.scenario is not None else ()
    return any(catalog.acts_on("step", step.name) == kind for step in steps) or any(
        _needs(criterion.assertion, kind, catalog) for criterion in task.criteria
    )


def _needs(call: AssertionCall, kind: str, catalog: RegisteredCatalog) -> bool:
    if call.name == ANY_OF:
        return all(_needs(nested, kind, catalog) for _, nested in nested_calls(call.args))
    return catalog.acts_on("assertion", call.name) == kind and not catalog.passes_on_inaction(call)


def _describe_tasks(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]!r} needs it"
    listing = ", ".join(map(repr, names[:MAX_NAMED_TASKS])) + ("…" if len(names) > MAX_NAMED_TASKS else "")
    return f"{len(names)} tasks need it: {listing}"


def find_used_extras(task: TaskInEnvironment, catalog: RegisteredCatalog) -> set[str]:
    """Return the extras that are installed here and that the sandboxes of a task use.

    Without one, a sandbox would do less, so that the log of a trial would differ.
    """
    specs = [catalog.simulator(kind) for kind in {each.kind for each in task.environment.simulators.values()}]
    extras = {extra.name for spec in specs for extra in spec.extras}
    extras |= {listener.extra for spec in specs for listener in spec.listeners if listener.extra}
    return {extra for extra in extras if is_installed(extra)}
