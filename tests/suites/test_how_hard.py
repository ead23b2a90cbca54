"""docs/guide/how_hard_is_it.md: every suite and every task has its row, and the rows are what runs give."""

from functools import partial
from operator import attrgetter
from pathlib import Path

import pytest

from scripts.how_hard import (
    DETAILED,
    PAGE,
    SUITES,
    SuiteResult,
    describe_suite,
    describe_task,
    find_level,
    measure,
    read_table,
    update_page,
    write_table,
)
from tests.suites.suite_checks import load_suite
from tests.suites.test_shipped import each_shipped_suite
from tests.workbench import Workbench

VARIANTS = {"wrong solutions that fail": attrgetter("wrong"), "other ways that pass": attrgetter("ways")}
HINT = "run `uv run --group dev python -m scripts.how_hard {}`"
TABLE = "| suite | tasks | mutants |\n|---|---|---|\n| `a` | 1 | 5 of 6 |"
SMALL_PAGE = f"<!-- how hard: suites -->\n\n{TABLE}\n\n<!-- end -->\n"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_suite_that_ships_has_a_row(page: str) -> None:
    assert list(read_table(page, "suites")) == [f"`{name}`" for name in SUITES]


def test_every_task_of_the_detailed_suite_has_a_row_with_its_level(page: str) -> None:
    levels = {name: find_level(loaded.task.tags) for name, loaded in load_suite(SUITES[DETAILED]).tasks.items()}
    assert {name: row["level"] for name, row in read_table(page, "tasks").items()} == levels, HINT.format(DETAILED)


@each_shipped_suite
def test_cells_of_variants_count_all_that_the_tasks_have(suite: Path, page: str) -> None:
    """Running all variants takes minutes. That some were added since they were measured is seen at once."""
    name, suites, details = suite.name, read_table(page, "suites"), read_table(page, "tasks")
    if not any(suites[f"`{name}`"][column] for column in VARIANTS):
        return
    tasks = {task: loaded.task for task, loaded in load_suite(suite).tasks.items()}
    rows = {f"`{name}`": [*tasks.values()]} | ({task: [tasks[task]] for task in details} if name == DETAILED else {})
    for column, variants in VARIANTS.items():
        totals = {row: sum(map(len, map(variants, counted))) for row, counted in rows.items()}
        shown = {row: int((suites | details)[row][column].rpartition(" of ")[2]) for row in rows}
        assert shown == totals, HINT.format(name)


@pytest.mark.slow
@pytest.mark.long
def test_rows_of_the_detailed_suite_are_what_reference_and_nop_get(page: str, bench: Workbench) -> None:
    bench.folder = SUITES[DETAILED]
    reference, nop = ({run.task: run for run in bench.run(agent)} for agent in ("oracle", "nop"))
    check_rows(page, SuiteResult(DETAILED, reference, nop))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", SUITES)
def test_rows_of_a_suite_are_what_all_agents_get(page: str, name: str) -> None:
    result = measure(name)
    check_rows(page, result)
    assert update_page(page, result) == page, HINT.format(name)


def check_rows(page: str, result: SuiteResult) -> None:
    """Check that the cells that were measured are those of the page."""
    rows = {"suites": {f"`{result.name}`": describe_suite(result)}}
    if result.name == DETAILED:
        rows["tasks"] = {task: describe_task(result, task) for task in result.reference}
    for block, measured in rows.items():
        written = read_table(page, block)
        shown = {row: {key: written[row][key] for key in cells} for row, cells in measured.items()}
        assert shown == measured, HINT.format(result.name)


def test_table_keeps_cells_that_were_not_measured() -> None:
    write = partial(write_table, SMALL_PAGE, "suites", ["`a`", "`b`"])
    assert read_table(write({"`a`": {"tasks": "2"}, "`b`": {"mutants": "1 of 1"}}), "suites") == {
        "`a`": {"tasks": "2", "mutants": "5 of 6"},
        "`b`": {"tasks": "", "mutants": "1 of 1"},
    }
    with pytest.raises(KeyError, match="has no column `nop`"):
        write({"`a`": {"`nop`": "0 of 2"}})


def test_script_measures_all_suites_that_the_tests_check() -> None:
    assert {path.name for path in (Path(__file__).parents[2] / "suites").iterdir() if path.is_dir()} == SUITES.keys()
