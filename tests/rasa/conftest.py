"""A folder for each test."""

from pathlib import Path

import pytest

from tests.library.shelf import Shelf


@pytest.fixture
def folder(tmp_path: Path) -> Shelf:
    """An empty one."""
    return Shelf(tmp_path)
