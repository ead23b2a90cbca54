"""Axis scores in a table of the terminal: a column each where they fit, else a line under the task."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.report.axes import axis_name, shown_axes
from clerkship.report.plain import on_one_line

OTHER_COLUMNS = 80
"""Characters that the other columns take, the task's name among them."""
LONGEST_NAME = 14
PASS = 0.9


class AxisColumns:
    """The axes of the rows of one table."""

    def __init__(self, console: Console, rows: Sequence[Mapping[str, float]]) -> None:
        axes = shown_axes(rows)
        needed = sum(max(len(_title(axis)), 4) + 2 for axis in axes)
        self._columns = axes if needed <= console.width - OTHER_COLUMNS else []

    def add_to(self, table: Table) -> None:
        """Add the columns, if there are any."""
        for axis in self._columns:
            table.add_column(escape(_title(axis)), justify="right", no_wrap=True)

    def cells(self, axes: Mapping[str, float]) -> list[str]:
        """The cells of one row."""
        return [_score(axes[axis]) if axis in axes else "" for axis in self._columns]

    def below(self, axes: Mapping[str, float]) -> str:
        """The scores as a second line of the task's cell, where they have no columns."""
        names = [] if self._columns else shown_axes([axes])
        words = [f"[quiet]{escape(_title(axis))}[/] {_score(axes[axis])}" for axis in names]
        return f"\n{'  '.join(words)}" if words else ""


def _title(axis: str) -> str:
    return on_one_line(axis_name(axis))[:LONGEST_NAME]


def _score(score: float) -> str:
    style = "quiet" if score >= PASS else "partial" if score > 0 else "fail"
    return f"[{style}]{score:.2f}[/]"
