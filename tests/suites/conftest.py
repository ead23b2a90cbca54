"""Load each suite that ships once: nothing changes its files, and loading takes longer than most runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.library.library import Library
from clerkship.library.load import load_library
from clerkship.service import checking

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="package")
def loaded_once() -> Iterator[None]:
    libraries: dict[object, Library] = {}

    def load_once(path: Path, catalog: RegisteredCatalog, **options: Any) -> Library:
        if not path.is_relative_to(ROOT):
            return load_library(path, catalog, **options)
        key = path, id(catalog), repr(options)
        if key not in libraries:
            libraries[key] = load_library(path, catalog, **options)
        return libraries[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "load_library", load_once)
        yield
