"""The files that a stored run was made from, where they are still there."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clerkship.actors.contract import Solver, takes_solution
from clerkship.actors.isolation.choice import LEVELS
from clerkship.engine.catalog import Registered
from clerkship.library.library import Library
from clerkship.library.load import load, root_of
from clerkship.library.source import Folder
from clerkship.model.problem import InputError
from clerkship.model.run import BenchmarkRun, IsolationLevel
from clerkship.model.snapshot import Snapshot
from clerkship.service.frozen import without_solution
from clerkship.service.isolating import paths_of, task_files
from clerkship.service.running import split_case
from clerkship.settings import Settings


@dataclass(frozen=True)
class Sources:
    """The files of one run; they are read when something is needed of them, and only then."""

    run: BenchmarkRun
    catalog: Registered
    settings: Settings

    @cached_property
    def path(self) -> Path:
        """Where they were."""
        return split_case(Path(self.run.path))[0]

    @cached_property
    def library(self) -> Library | None:
        """What they say today; None where they are gone, or have mistakes."""
        try:
            return load(self.path, self.catalog, cache=self.settings.cache) if self.run.path else None
        except InputError:
            return None

    def hidden(self, level: IsolationLevel | None, solver: Solver) -> tuple[Path, ...]:
        """Return what to hide from the agents of a solver at this level of isolation; files with mistakes, too."""
        if level not in LEVELS or not self.run.path or not self.path.exists():
            return ()
        root = root_of(self.path)
        found = self.library.files if self.library is not None else {file.resolve() for file in Folder(root).files()}
        return task_files(root, found, self.settings, paths_of(solver))

    def fitted(self, snapshot: Snapshot, solver: Solver) -> Snapshot:
        """Return the snapshot with the reference solution where a solver needs it, else without; it is looked up in the
        files where the store does not have it. Raise InputError if it is not there either."""
        if not takes_solution(solver):
            return without_solution(snapshot)
        if snapshot.solution is not None or snapshot.task.solution is None:
            return snapshot
        loaded = self.library.tasks.get(snapshot.task.name) if self.library is not None else None
        if loaded is None or loaded.solution is None:
            raise InputError.of(
                f"{self.run.id} has no solution of {snapshot.task.name!r}: solutions are stored for `oracle` alone, "
                f"and {self.run.path or 'its path'} does not have it any more",
                hint="run the files anew with `--agent oracle`",
            )
        return snapshot.model_copy(update={"solution": loaded.solution})
