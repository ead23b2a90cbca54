"""Load each suite that ships once, and prepare its domains once: nothing changes them, and most runs take less time."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from clerkship.engine import build
from clerkship.engine.build import prepare_domains
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.playground.component import PreparedComponent
from clerkship.service import checking
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from tests.workbench import Workbench

ROOT = Path(__file__).parents[2]
T = TypeVar("T")


class Recent(OrderedDict[object, T]):
    """A few values that were used last: a loaded suite, or its prepared domains, takes up to 50 MB."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def get_or_build(self, key: object, build: Callable[[], T]) -> T:
        """Return the value of a key; build it if it is not here, and forget the one that was not used for longest."""
        if key not in self:
            self[key] = build()
        self.move_to_end(key)
        while len(self) > self._size:
            self.popitem(last=False)
        return self[key]


@pytest.fixture(autouse=True, scope="package")
def loaded_once() -> Iterator[None]:
    libraries = Recent[Library](size=3)

    def load_once(path: Path, catalog: RegisteredCatalog, **options: Any) -> Library:
        if not path.is_relative_to(ROOT):
            return load_library(path, catalog, **options)
        options.pop("tasks", None)  # all files are valid, so the whole suite serves any selection
        return libraries.get_or_build(
            (path, id(catalog), repr(options)), lambda: load_library(path, catalog, **options)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "load_library", load_once)
        yield


@pytest.fixture(autouse=True, scope="package")
def prepared_once() -> Iterator[None]:
    prepared = Recent[tuple[dict[str, PreparedComponent], object]](size=6)

    def prepare_once(
        environment: Environment, datasets: Mapping[str, Dataset], catalog: RegisteredCatalog
    ) -> dict[str, PreparedComponent]:
        ids = tuple((name, id(dataset)) for name, dataset in sorted(datasets.items()))
        key = environment.model_dump_json(), ids, id(catalog)
        kept = dict(datasets), catalog  # so that no other object gets their ids
        return prepared.get_or_build(key, lambda: (prepare_domains(environment, datasets, catalog), kept))[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "prepare_domains", prepare_once)
        yield


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path_factory.mktemp("suites") / "store.db") as store:
        yield store


@pytest.fixture
def bench(tmp_path: Path, store: SqliteStore) -> Workbench:
    """A folder in which files are written and run. The store is shared, so that datasets are saved once."""
    return Workbench(tmp_path, store)
