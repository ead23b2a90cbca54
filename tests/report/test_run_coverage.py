"""Run coverage as rows, counts, JSON data and an HTML page."""

from clerkship.model.run import BenchmarkRun
from clerkship.report.run_coverage import CoverageTable, RunCoverage, render_run_coverage

RUN = BenchmarkRun(
    id="run-1",
    name="phone",
    solver="python:mine:Agent",
    seed=1,
    trials=1,
    started_at="2026-03-02T09:00:00Z",
    total=2,
    grading="13",
    clerkship="0",
)
NODES = CoverageTable(
    "phone nodes",
    possible={("Office", "menu"), ("Office", "goodbye"), ("Pharmacy", "menu")},
    exercised={("Office", "menu"), ("Review", "welcome")},
)


def test_rows_list_the_names_of_each_group_as_exercised_or_never() -> None:
    assert NODES.rows() == {
        "Office": {"exercised": ["menu"], "never": ["goodbye"]},
        "Pharmacy": {"exercised": [], "never": ["menu"]},
        "Review": {"exercised": ["welcome"], "never": []},
    }


def test_what_was_exercised_counts_as_possible_even_if_it_was_not_listed() -> None:
    assert NODES.count() == "2 of 4"


def test_a_table_without_a_list_of_what_is_possible_has_no_total() -> None:
    table = CoverageTable("flows", exercised={("", "refund")})
    assert (table.count(), table.total) == ("1", None)
    [data] = RunCoverage([RUN], 1, [table]).data()["tables"]
    assert data == {
        "name": "flows",
        "exercised": 1,
        "possible": None,
        "groups": {"": {"exercised": ["refund"], "never": []}},
    }


def test_page_has_every_table_and_escapes_names_that_an_agent_reported() -> None:
    tools = CoverageTable("tools", exercised={("", "<script>alert(1)</script>")})
    page = render_run_coverage(RunCoverage([RUN], 2, [NODES, tools]))
    assert "What 2 trials exercised" in page
    assert '<h2>phone nodes <span class="moved">2 of 4</span></h2>' in page
    assert '<th scope="row">Office</th><td><code>menu</code> </td><td class="never"><code>goodbye</code> </td>' in page
    assert "<script>" not in page
