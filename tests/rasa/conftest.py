"""A folder for each test."""

from pathlib import Path

import pytest

from tests.suite_files.library_folder import LibraryFolder


@pytest.fixture
def folder(tmp_path: Path) -> LibraryFolder:
    return LibraryFolder(tmp_path)
