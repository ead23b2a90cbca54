"""`suites/revenue`: its content, and other correct ways to send."""

import io
import runpy
from fnmatch import fnmatch
from typing import Any

import pytest

from clerkship.plugin import Override, override_methods
from tests.suites.feeds_agents import open_sftp
from tests.suites.revenue_ways import NOT_APPLICABLE, REVENUE, WAYS
from tests.suites.suite_checks import check_all_pass, load_suite
from tests.suites.wrapped_solutions import Solution
from tests.workbench import Workbench


def list_tasks() -> list[str]:
    """Return the names of the tasks."""
    return sorted(load_suite(REVENUE).tasks)


def test_tasks_have_solutions_and_check_what_else_was_done() -> None:
    library = load_suite(REVENUE)
    assert all(loaded.solution for loaded in library.tasks.values())
    for name, loaded in library.tasks.items():
        assertions = {criterion.assertion.name for criterion in loaded.task.criteria}
        assert "fhir_no_other_changes" in assertions, name
        assert "privacy" in {criterion.axis for criterion in loaded.task.criteria}, name


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_way_to_send_passes(bench: Workbench, way: str) -> None:
    bench.folder = REVENUE
    excluded = NOT_APPLICABLE.get(way, ())
    tasks = tuple(name for name in list_tasks() if not any(fnmatch(name, pattern) for pattern in excluded))
    check_all_pass(bench.run(Solution(way, "revenue_ways"), tasks=tasks))


def exchange_over_sftp(task_item: Any, sandboxes: Any) -> Any:
    """Leave the batch of the solution and fetch the reply over SFTP."""
    reference = runpy.run_path(str(REVENUE / "solutions" / "tomorrow_in_one_batch.py"))["on_task"]
    with open_sftp(sandboxes["drop"].sftp) as client:
        overrides: dict[str, Override] = {
            "drop.write": lambda _, path, text: client.putfo(io.BytesIO(text.encode()), path),
            "drop.list": lambda _, folder: [f"{folder}/{name}" for name in client.listdir(folder)],
            "drop.read_text": lambda _, path: client.open(path).read().decode(),
        }
        return reference(task_item, override_methods(sandboxes, overrides))


@pytest.mark.slow
def test_batch_over_sftp_passes(bench: Workbench) -> None:
    bench.folder = REVENUE
    check_all_pass(bench.run(exchange_over_sftp, tasks=("Check the coverage of tomorrow*",)))
