"""The benchmark of published versions does the work that it measures, with small sizes."""

from contextlib import chdir
from pathlib import Path

import pytest

from benchmarks.publish import LARGE, measure_large, measure_runs, measure_suites, publish_suite, write_large_archive
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.published.archive import open_archive
from clerkship.suite_files.published.reading import load_archive

pytestmark = pytest.mark.slow


def test_suites_runs_and_large_archives_are_measured(tmp_path: Path) -> None:
    with chdir(tmp_path):
        [(suite, tasks, *cells)] = measure_suites(["conversations"], tmp_path, 1)
        assert (suite, tasks) == ("`conversations`", "15")
        assert all(cells)
        [(suite, *cells)] = measure_runs({"messages": "a_wrong_number"}, tmp_path, 1)
        assert [cell[-1] for cell in cells] == ["s", "s", "×", "s"]
        rows = list(measure_large([(1, 15), (1, 20)], tmp_path, 1))
        assert [row[:2] for row in rows] == [("1 MB", "15"), ("1 MB", "20")]


def test_large_archive_is_a_whole_one(tmp_path: Path) -> None:
    with chdir(tmp_path):
        source = open_archive(publish_suite("conversations", tmp_path, RegisteredCatalog()).path)
        path = tmp_path / "large" / source.path.name
        path.parent.mkdir()
        write_large_archive(path, source, 2, 30)
        archive = open_archive(path)
    archive.check()
    [task, *_] = archive.manifest.tasks
    assert len(archive.manifest.tasks) == 30
    assert 1_500_000 < archive.manifest.entries[LARGE].size < 2_500_000
    _change(path, b'"text": "Weight"', b'"text": "Height"')
    loaded = load_archive(path, TaskSelection(names=(task.name,), is_exclusive=True))
    assert task.name in loaded.tasks, "what no selected task needs is not read"
    with pytest.raises(InputError, match="9999-large"):
        open_archive(path).check()


def _change(path: Path, old: bytes, new: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(old, new, 1))
