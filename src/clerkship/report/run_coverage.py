"""Run coverage: what a set of runs exercised of what it could, in one table for each dimension, and its HTML page."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clerkship.model.run import BenchmarkRun
from clerkship.report.pages import read_part, render_page
from clerkship.sandbox.run_coverage import CoveredItem


@dataclass
class CoverageTable:
    """One dimension: what was exercised, and what is possible besides, if that is known."""

    name: str
    possible: set[CoveredItem] = field(default_factory=set)
    exercised: set[CoveredItem] = field(default_factory=set)

    def rows(self) -> dict[str, dict[str, list[str]]]:
        """Return the names that were `exercised` and those that were `never`, by group."""
        rows: dict[str, dict[str, list[str]]] = {}
        for group, name in sorted(self.possible | self.exercised):
            row = rows.setdefault(group, {"exercised": [], "never": []})
            row["exercised" if (group, name) in self.exercised else "never"].append(name)
        return rows

    @property
    def total(self) -> int | None:
        """How many can be exercised; None if that is not known."""
        return len(self.possible | self.exercised) if self.possible else None

    def count(self) -> str:
        """Return how many were exercised of how many, such as `3 of 7`."""
        return f"{len(self.exercised):,}" + ("" if self.total is None else f" of {self.total:,}")


class RunCoverage(NamedTuple):
    """The tables of some runs, without empty ones."""

    runs: list[BenchmarkRun]
    trials: int
    tables: list[CoverageTable]
    notes: tuple[str, ...] = ()
    """What could not be checked, such as seals with a key that is not known here."""

    def data(self) -> dict[str, Any]:
        """Return the tables as JSON data."""
        tables = [
            {"name": each.name, "exercised": len(each.exercised), "possible": each.total, "groups": each.rows()}
            for each in self.tables
        ]
        return {"runs": [run.id for run in self.runs], "trials": self.trials, "tables": tables}


def render_run_coverage(coverage: RunCoverage) -> str:
    """Render the page. The same runs give the same bytes."""
    style = "\n".join(map(read_part, ("style.css", "comparison.css", "run_coverage.css")))
    title = f"Run coverage: {', '.join(run.name for run in coverage.runs)}"
    return render_page("run_coverage.html", {}, style=style, title=title, coverage=coverage)
