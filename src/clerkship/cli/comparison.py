"""A comparison on the terminal: what moved, and how sure one can be."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.report.comparison import Comparison, Row
from clerkship.report.repeats import TaskRate

_STYLES = {"worse": "fail", "better": "pass", "flaky": "partial", "same": "quiet"}
_MARKS = {"worse": "▼", "better": "▲", "flaky": "~", "same": "="}
MOST_ROWS = 60
FEWEST_TASKS = 6
"""With fewer, the paired test cannot find anything, however they come out."""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Which runs, the tasks that moved, the sum."""
    for word, run in (("before", comparison.before), ("after", comparison.after)):
        made = f"  [quiet]{run.descent}[/]" if run.descent else ""
        console.print(f"[quiet]{word:6}[/] {run.id}  {escape(run.name)}  [quiet]agent[/] {escape(run.solver)}{made}")
    moved = [row for row in comparison.rows if row.standing != "same" or row.changed]
    if moved:
        console.print()
        console.print(_table(moved[:MOST_ROWS]))
    if len(moved) > MOST_ROWS:
        console.print(f"[quiet]… and {len(moved) - MOST_ROWS} more; --json has them all[/]")
    console.print()
    told = [_styled(standing, f"{standing} {count}") for standing, count in comparison.standings().items() if count]
    console.print("  ".join(told) or "[quiet]neither run has a trial[/]")
    console.print(_overall(comparison))


def _table(rows: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    table.add_column("", no_wrap=True)
    table.add_column("before", justify="right", no_wrap=True)
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("task", overflow="fold")
    for row in rows:
        changed = " [quiet](the task itself changed)[/]" if row.changed else ""
        table.add_row(
            _styled(row.standing, row.standing), _told(row.before), _told(row.after), escape(row.task) + changed
        )
    return table


def _styled(standing: str, text: str) -> str:
    return f"[{_STYLES.get(standing, 'errored')}]{_MARKS.get(standing, '?')} {text}[/]"


def _told(rate: TaskRate | None) -> str:
    """One trial by its outcome and score; several by how many passed."""
    if rate is None:
        return "–"
    [first, *others] = sorted(rate.outcomes.elements())
    if others:
        broken = sum(rate.outcomes.values()) - rate.graded
        return f"{rate.passed}/{rate.graded}" + (f" +{broken} not graded" if broken else "")
    return first if rate.mean_score is None else f"{first} {rate.mean_score:.2f}"


def _overall(comparison: Comparison) -> str:
    found = comparison.difference
    if found is None:
        return "[errored]no task was graded in both runs: nothing can be said[/]"
    low, high = f"{100 * found.low:+.0f}", f"{100 * found.high:+.0f}"
    size = f"pass rate {100 * found.rate:+.1f} points [quiet](95 % interval {low} to {high})[/]"
    if comparison.after.made_by == "rescore":
        return size  # the same trials, graded twice: there is no chance in it
    if comparison.tasks < FEWEST_TASKS:
        few = "1 task is" if comparison.tasks == 1 else f"{comparison.tasks} tasks are"
        return f"{size}   [quiet]{few} too few to tell a change of all of them from chance[/]"
    if comparison.overall == "same":
        return f"{size}   [quiet]chance alone could do this (p = {comparison.chance:.2f})[/]"
    word = _styled(comparison.overall, f"{comparison.overall} overall")
    return f"{size}   {word} [quiet](p = {comparison.chance:.3f})[/]"
