"""Plan from a stored run: the start of a rerun, a resumed run and a fork."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from clerkship.actors.contract import Solver, takes_solution
from clerkship.actors.isolation.contract import LEVELS
from clerkship.by_name import load
from clerkship.engine.build import build_agent, check_reachable, settings_of
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import CassetteConfig, ModelRequest, find_model_needs
from clerkship.model.bot_format import NO_BOT_FORMAT, parse_headers
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, IsolationLevel
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.report.published_version import describe_version
from clerkship.service.isolating import choose_level, find_task_files, get_solver_paths, isolate_import
from clerkship.service.planning.freeze import FrozenRun, require_extras
from clerkship.service.planning.load import add_headers, apply_bot_options, is_http
from clerkship.service.planning.options import NO_BOT_OPTIONS, BotOptions
from clerkship.service.planning.published import refuse_recording, require_solutions
from clerkship.service.planning.request import split_case
from clerkship.service.stored_runs import load_datasets, with_current_grading, without_solution
from clerkship.settings import Settings, override_settings
from clerkship.store.contract import Store
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import find_root, load_library
from clerkship.suite_files.published.places import find_version, is_archive, is_published_name, list_published_folders
from clerkship.suite_files.published.recordings import find_recordings
from clerkship.suite_files.source import SourceFolder

_ARCHIVE_HINT = "put its archive into .clerkship/published"


@dataclass(frozen=True, eq=False, repr=False)
class StoredRun:
    """A stored run, with the agent for the next run. Its files are loaded only if needed."""

    run: BenchmarkRun
    store: Store
    settings: Settings
    catalog: RegisteredCatalog
    solver: Solver
    isolation: IsolationLevel | None

    @cached_property
    def path(self) -> Path:
        """The path of its files."""
        return find_run_files(self.run)

    @cached_property
    def library(self) -> Library | None:
        """The files as they are now; None if they are missing or have mistakes."""
        try:
            return load_library(self.path, self.catalog, cache=self.settings.cache) if self.run.path else None
        except InputError:
            return None

    @cached_property
    def hidden(self) -> tuple[Path, ...]:
        """The paths that an isolated agent must not see; includes files with mistakes."""
        if self.isolation not in LEVELS or not self.run.path:
            return ()
        if not self.path.exists():
            return tuple(list_published_folders())
        root = find_root(self.path)
        files = (
            self.library.files if self.library is not None else {file.resolve() for file in SourceFolder(root).files()}
        )
        return find_task_files(root, files, self.settings, get_solver_paths(self.solver))

    def check_agent(self) -> None:
        """Raise InputError if the agent cannot be reached. If the check imports the agent, the import is isolated."""
        isolate_import(self.solver, self.isolation, self.hidden, self.store.place)
        check_reachable(self.solver)

    def current(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot for the agent, with the current grading version.

        It includes the reference solution if the agent runs it. If the store has none, it comes from the files.
        Raise InputError if it is not there either.
        """
        snapshot = with_current_grading(snapshot)
        if not takes_solution(self.solver):
            return without_solution(snapshot)
        if snapshot.solution is None:
            require_solutions(self.run.published)
        if snapshot.solution is not None or snapshot.task.solution is None:
            return snapshot
        loaded = self.library.tasks.get(snapshot.task.name) if self.library is not None else None
        if loaded is None or loaded.solution is None:
            raise self._build_solution_error(snapshot)
        return snapshot.model_copy(update={"solution": loaded.solution})

    def _build_solution_error(self, snapshot: Snapshot) -> InputError:
        where, hint = f"{self.run.path or 'its path'} no longer has it", "run the files again with `--agent oracle`"
        version = self.run.published
        if version is not None and self.run.changed_tasks is None:
            where = f"the archive of {describe_version(version)} is not here"
            hint = _ARCHIVE_HINT
        message = f"{self.run.id} has no solution of {snapshot.task.name!r}: solutions are stored only for `oracle`"
        return InputError.of(f"{message}, and {where}", hint=hint)

    def freeze(self, snapshots: Iterable[Snapshot], plan: Plan, request: ModelRequest, **others: Any) -> FrozenRun:
        """Return the frozen run of some of its tasks; `others` are fields of `FrozenRun`."""
        snapshots = tuple(snapshots)
        require_extras(snapshots, self.catalog)
        return FrozenRun(
            snapshots,
            load_datasets(self.store, snapshots),
            find_model_needs(snapshots, self.catalog),
            self.settings,
            request,
            get_cassette_config(request.run or self.run),
            plan=plan,
            catalog=self.catalog,
            solver=self.solver,
            isolation=self.isolation,
            concurrency=self.settings.concurrency,
            hidden=self.hidden,
            **others,
        )


def open_stored_run(
    store: Store,
    run: BenchmarkRun,
    agent: str | Solver | None,
    settings: Settings,
    catalog: RegisteredCatalog,
    bot: BotOptions = NO_BOT_OPTIONS,
) -> StoredRun:
    """Return a stored run with the given agent, or with its own."""
    settings = _settings_for_agent(run, agent, bot, settings_of(run, settings))
    solver = build_agent(agent or run.solver, settings, catalog)
    return StoredRun(run, store, settings, catalog, solver, choose_level(solver, settings.isolate))


def _settings_for_agent(run: BenchmarkRun, agent: str | Solver | None, bot: BotOptions, settings: Settings) -> Settings:
    """Return the settings for the agent of a run, or for another one.

    Requests to it are those of the run, unless options are given. Another agent for a run without such requests uses
    those in the settings.
    """
    reference, stored = agent or run.solver, run.bot_format
    if is_http(reference) and (agent is None or stored is not None):
        headers = add_headers(bot.agent_headers, settings).agent_headers
        request = NO_BOT_FORMAT if stored is None else stored.settings(parse_headers(headers))
        settings = override_settings(settings, **request)
    return apply_bot_options(bot, settings, reference)


def get_cassette_config(run: BenchmarkRun) -> CassetteConfig:
    """Return where the recordings of a run are. Raise InputError if they are needed and their folder is missing."""
    path = find_run_files(run)
    if run.asking.tape is not None and not path.exists():
        hint = _ARCHIVE_HINT if is_published_name(path) else "change to the folder in which the run was started"
        raise InputError.of(f"the recordings of {run.id} are in {run.path}, which does not exist here", hint=hint)
    if not path.exists():
        return CassetteConfig(path, run.trials)
    refuse_recording(path, run.asking.tape)
    return CassetteConfig(find_recordings(find_root(path)), run.trials)


def find_run_files(run: BenchmarkRun) -> Path:
    """Return the path of a run's files. That of a published version is its archive, wherever it is now; if it is not
    here, its digest, so that other content under its name is not used instead.
    """
    path, version = split_case(Path(run.path))[0], run.published
    if version is None or run.changed_tasks is not None:
        return path
    open_archive = load("clerkship.suite_files.published.archive:open_archive")
    by_digest = Path(f"sha256:{version.digest}")
    for named in (path, by_digest):
        with suppress(InputError):
            archive = find_version(named)
            if is_archive(archive) and open_archive(archive).digest == version.digest:
                return archive
    return by_digest
