"""Prints a comparison of two runs."""

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from clerkship.cli.console import number_column, plain_table, print_more, text_column
from clerkship.cli.verdicts import print_indented
from clerkship.report.comparison import Comparison, CriterionComparison, TaskComparison
from clerkship.report.comparison_text import (
    axis_cells,
    change_tone,
    change_words,
    criterion_tags,
    detail,
    difference,
    headline,
    is_shown,
    rated,
    tone,
    version_difference,
)
from clerkship.report.gates import GatedComparison
from clerkship.report.plain_text import to_one_line

_STYLES = {"worse": "fail", "better": "pass", "flaky": "partial", "same": "quiet", "unknown": "errored"}
_MARKS = {"worse": "▼", "better": "▲", "flaky": "~", "same": "=", "unknown": "?"}
_GATE_MARKS = {"worse": "[fail]✗[/]", "held": "[pass]✓[/]", "not judged": "[errored]?[/]"}
MAX_ROWS = 60
MAX_CRITERIA = 10
MAX_DETAIL_LENGTH = 300


def print_gated_comparison(console: Console, gated: GatedComparison) -> None:
    """Print the comparison, each gate, and the result."""
    print_comparison(console, gated.comparison)
    console.print()
    for result in gated.results():
        words = escape(to_one_line(result.words()))
        console.print(f"[quiet]gate[/] {_GATE_MARKS[result.state]} {escape(str(result.gate))}: {words}", soft_wrap=True)
    if gated.exit_code() == 2:
        console.print(f"[errored]{escape(headline(gated))}[/]", soft_wrap=True)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the runs, the tasks and criteria that changed, the axes, and the totals."""
    for word, run in (("before", comparison.before), ("after", comparison.after)):
        lineage = f"  [quiet]{run.lineage}[/]" if run.lineage else ""
        console.print(f"[quiet]{word:6}[/] {run.id}  {escape(run.name)}  [quiet]agent[/] {escape(run.solver)}{lineage}")
    if versions := version_difference(comparison):
        console.print(f"[partial]![/] {escape(versions)}", soft_wrap=True, highlight=False)
    changed_rows = [row for row in comparison.rows if is_shown(row)]
    if changed_rows:
        console.print()
        console.print(_build_table(changed_rows[:MAX_ROWS]))
    print_more(console, len(changed_rows) - MAX_ROWS, "; --json has them all")
    for row in [row for row in changed_rows if row.changes][:MAX_ROWS]:
        _print_criteria(console, row)
    _print_axes(console, comparison)
    console.print()
    counts = [
        _style_standing(standing, f"{standing} {count}") for standing, count in comparison.standings().items() if count
    ]
    console.print("  ".join(counts) or "[quiet]neither run has a trial[/]")
    console.print(_render_overall(comparison))


def _build_table(rows: list[TaskComparison]) -> Table:
    table = plain_table(Column("", no_wrap=True), *map(number_column, ("before", "after")), text_column("task"))
    for row in rows:
        changed = " [quiet](the task was edited)[/]" if row.changed else ""
        table.add_row(
            _style_standing(row.standing, row.standing), rated(row.before), rated(row.after), escape(row.task) + changed
        )
    return table


def _print_criteria(console: Console, row: TaskComparison) -> None:
    console.print(f"\n[bold]{escape(row.task)}[/]")
    for change in row.changes[:MAX_CRITERIA]:
        _print_criterion(console, change)
    if len(row.changes) > MAX_CRITERIA:
        print_indented(console, 2, f"[quiet]… and {len(row.changes) - MAX_CRITERIA} more; --json has them all[/]")


def _print_criterion(console: Console, change: CriterionComparison) -> None:
    tone_name = change_tone(change)
    tags = ", ".join(criterion_tags(change))
    tags_text = f" [quiet]({escape(tags)})[/]" if tags else ""
    words = f"[{_STYLES[tone_name]}]{_MARKS[tone_name]} {change_words(change)}[/]"
    print_indented(console, 2, f"{words}  {escape(to_one_line(change.criterion.label))}{tags_text}")
    if detail(change):
        print_indented(console, 6, f"[quiet]{escape(to_one_line(detail(change), MAX_DETAIL_LENGTH))}[/]")


def _print_axes(console: Console, comparison: Comparison) -> None:
    cells = axis_cells(comparison)
    if not cells:
        return
    titles = ("before", "after", "newly failing", "newly passing", "flaky")
    table = plain_table(text_column("axis"), *map(number_column, titles))
    for name, *numbers in cells:
        before, after, failing, *others = numbers
        table.add_row(escape(name), before, after, f"[fail]{failing}[/]" if failing != "0" else failing, *others)
    console.print()
    console.print(table)


def _style_standing(name: str, text: str) -> str:
    return f"[{_STYLES[tone(name)]}]{_MARKS[tone(name)]} {text}[/]"


def _render_overall(comparison: Comparison) -> str:
    size, chance = difference(comparison)
    if not size:
        return "[errored]no task was graded in both runs: nothing can be said[/]"
    style = _STYLES[comparison.overall] if comparison.overall != "same" else "quiet"
    return f"{size}   [{style}]{chance}[/]" if chance else size
