"""The tasks of suites as pytest collects them. Each suite is loaded once in a session."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.checking import load_and_check
from clerkship.service.planning.load import LoadedSuite, load_suite
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.settings import Settings, load_settings, override_settings
from clerkship.suite_files.library import Library


@dataclass(frozen=True)
class CollectedTask:
    """A task of a suite. As a path it is `FILE::NAME`, which `clerkship run` accepts too."""

    name: str
    suite: Path
    file: Path
    line: int = 0
    tags: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return f"{self.file}::{self.name}"

    def __str__(self) -> str:
        return self.name


class SuiteCollection:
    """The suites that a session has loaded."""

    def __init__(self, catalog: RegisteredCatalog | None = None) -> None:
        self._catalog = catalog or RegisteredCatalog()
        self._libraries: dict[Path, Library] = {}
        self._last: tuple[tuple[object, ...], object, LoadedSuite] | None = None

    def tasks(
        self, path: Path, *, file: Path | None = None, names: Iterable[str] = (), tags: Iterable[str] = ()
    ) -> list[CollectedTask]:
        """Return the tasks of a suite in order, or those of one file, name or tag. Raise InputError."""
        suite, case = split_case(path)
        if suite not in self._libraries:
            self._libraries[suite], _ = load_and_check(suite, None, load_settings(), self._catalog)
        library = self._libraries[suite]
        if case is not None:
            names = [*names, library.find_case(suite, case).task.name]
        file = file or (suite if suite.is_file() else None)
        return [
            CollectedTask(loaded.task.name, suite, Path(loaded.file), loaded.line, loaded.task.tags)
            for loaded in library.select(names=names, tags=tags, file=file)
        ]

    def load(self, request: RunRequest, settings: Settings, agent: object) -> LoadedSuite:
        """Return the files and the agent of a request. They are loaded again if the path or the agent is another one
        than in the request before.
        """
        key = (request.path, request.isolate, request.agent_process, request.domain)
        last = self._last
        if last is None or last[0] != key or last[1] is not agent:
            last = self._last = (key, agent, load_suite(request, settings, self._catalog))
        loaded = last[2]
        return replace(loaded, request=request, settings=override_settings(loaded.settings, store=settings.store))
