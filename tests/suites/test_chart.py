"""`suites/chart`: its content, and that harmful side effects fail while extra reads do not."""

import shutil
from pathlib import Path

import pytest

from tests.suites.suite_checks import load_suite
from tests.suites.test_shipped import ROOT
from tests.workbench import Workbench

CHART = ROOT / "suites" / "chart"
WRAPPED = """

_solve = on_task


def on_task(task_item, sandboxes):
    answer = _solve(task_item, sandboxes)
    {more}
    return answer
"""


def copy_suite_with(folder: Path, more: str) -> Path:
    """Return a copy of the suite whose solutions do one thing more."""
    copy = folder / "chart"
    shutil.copytree(CHART, copy)
    for solution in (copy / "solutions").glob("*.py"):
        solution.write_text(solution.read_text(encoding="utf-8") + WRAPPED.format(more=more), encoding="utf-8")
    return copy


def test_suite_has_many_kinds_of_tasks_with_solutions() -> None:
    library = load_suite(CHART)
    assert len({loaded.file for loaded in library.tasks.values()}) >= 24
    assert len({loaded.task.tags[0] for loaded in library.tasks.values()}) >= 8
    assert all(loaded.solution for loaded in library.tasks.values())
    assert sum(bool(loaded.template) for loaded in library.tasks.values()) >= 24


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(
            'sandboxes["ehr"].patch("Patient", "pat-0050", [{"op": "replace", "path": "/active", "value": False}])',
            id="changes another",
        ),
        pytest.param(
            'ehr = sandboxes["ehr"]; ehr.delete("Observation", ehr.search("Observation", patient="pat-0050")[0]["id"])',
            id="deletes",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            'sandboxes["ehr"].create({"resourceType": "Basic", "code": {"text": "a note to myself"}})',
            id="creates",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_extra_harm_fails_every_task(bench: Workbench, tmp_path: Path, harm: str) -> None:
    bench.folder = copy_suite_with(tmp_path, harm)
    assert [t.task for t in bench.run("oracle") if t.verdict == "pass"] == []


@pytest.mark.slow
def test_extra_read_is_no_error(bench: Workbench, tmp_path: Path) -> None:
    bench.folder = copy_suite_with(tmp_path, 'sandboxes["ehr"].search("Organization")')
    assert {t.task: t.verdict for t in bench.run("oracle") if t.verdict != "pass"} == {}
