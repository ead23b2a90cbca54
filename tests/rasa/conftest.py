"""A folder for each test."""

from pathlib import Path

import pytest

from tests.library.library_folder import Shelf


@pytest.fixture
def folder(tmp_path: Path) -> Shelf:
    """An empty one."""
    return Shelf(tmp_path)
