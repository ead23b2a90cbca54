"""Which tasks of a suite changed between two moments, for `clerkship run --watch`. The agent is not imported."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.settings import Settings
from clerkship.suite_files.load import load_library


@dataclass(frozen=True, eq=False)
class SuiteState:
    """The content of a suite's files, as far as a request selects from it."""

    tasks: Mapping[str, str]
    """The hash of each selected task's snapshot: of everything that it is made of, by name."""
    others: tuple[Any, ...]
    """What applies to every task and is not part of a snapshot."""
    files: frozenset[Path]

    def find_changed_tasks(self, before: "SuiteState", changed: Collection[Path]) -> tuple[str, ...] | None:
        """Return the tasks to run after a change of files; None if all must run.

        All must run if a file changed that is not part of the suite, such as one of the agent.
        """
        files = self.files | before.files
        if self.others != before.others or any(file.resolve() not in files for file in changed):
            return None
        names = tuple(name for name, hash in self.tasks.items() if before.tasks.get(name) != hash)
        return names if len(names) < len(self.tasks) else None


def read_suite_state(request: RunRequest, settings: Settings, catalog: RegisteredCatalog) -> SuiteState | None:
    """Load the files of a request and return their state; None if they have a mistake, or the request names one task
    of a file.
    """
    path, case = split_case(request.path)
    if case is not None:
        return None
    try:
        library = load_library(path, catalog, cache=settings.cache)
        tasks = library.select(names=request.tasks, tags=request.tags, file=path if path.is_file() else None)
    except InputError:
        return None
    hashes = {task.task.name: library.snapshot(task, settings.timeout).hash for task in tasks}
    return SuiteState(hashes, (library.conftest, library.prompts, library.benchmarks), library.files)
