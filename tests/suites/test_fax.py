"""`suites/fax`: its content, and other ways to fax and to read that apply to all tasks."""

from fnmatch import fnmatch

import pytest

from tests.suites.fax_ways import FAX, NOT_APPLICABLE, WAYS
from tests.suites.suite_checks import check_all_pass, load_suite
from tests.suites.wrapped_solutions import Solution
from tests.workbench import Workbench


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    for name, loaded in load_suite(FAX).tasks.items():
        assert loaded.solution, name
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert {"fhir_no_other_changes", "fax_sent"} <= assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_way_to_fax_or_read_passes(bench: Workbench, way: str) -> None:
    bench.folder = FAX
    excluded = NOT_APPLICABLE.get(way, ())
    tasks = tuple(name for name in load_suite(FAX).tasks if not any(fnmatch(name, each) for each in excluded))
    check_all_pass(bench.run(Solution(way, "fax_ways"), tasks=tasks))
