"""A comparison of two runs as Markdown, for a comment on a pull request."""

from collections.abc import Sequence

from clerkship.report.comparison import Comparison, Row
from clerkship.report.comparison_words import (
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
)
from clerkship.report.criterion_changes import CriterionRow
from clerkship.report.foreign import foreign
from clerkship.report.gates import Gated
from clerkship.report.markdown_page import LEAST, Page

MOST_NAMED = 3
MOST_CRITERIA = 20
_MARKS = {"worse": "🔻", "better": "🔺", "flaky": "🔀", "same": "➖", "unknown": "❔"}
_STATES = {"worse": "❌", "held": "✅", "not judged": "⚠️"}
_HEADS = {0: "✅ Nothing that gates is worse", 1: "❌ Worse", 2: "⚠️ Nothing can be said"}


def render_comparison_markdown(gated: Gated, limit: int) -> str:
    """The page, of at most so many bytes: headline, gates, what changed, then the criteria folded away."""
    comparison = gated.comparison
    shown = [row for row in comparison.rows if is_shown(row)]
    folded = [row for row in shown if row.changes]
    ending = _runs(comparison)
    page = Page(max(limit, LEAST) - len(ending.encode()))
    page.add(_head(gated), needed=True)
    page.add(_axes(comparison))
    titles = "\n| | task | before | after | criteria |\n|---|---|---|---|---|\n"
    page.add_all(titles, map(_row, shown), len(shown), share=0.5, what="more tasks that changed")
    page.add_all("\n", map(_details, folded), len(folded), share=1.0, what="more tasks with changed criteria")
    page.add(ending, needed=True)
    return page.text()


def _head(gated: Gated) -> str:
    comparison = gated.comparison
    code = gated.exit_code()
    counts = " · ".join(f"{count:,} {name}" for name, count in comparison.standings().items() if count)
    size, chance = difference(comparison)
    told = f"{size}{f', {chance}' if chance else ''}"
    why = f"{foreign(headline(gated), 600)}\n\n" if code == 2 else ""
    gates = "".join(
        f"- {_STATES[result.state]} gate {foreign(str(result.gate), 60)}: {foreign(result.words(), 600)}\n"
        for result in gated.results()
    )
    return f"## {_HEADS[code]}\n\n{why}{counts or 'no task'}\n\n{told}\n\n{gates}"


def _axes(comparison: Comparison) -> str:
    rows = "".join(f"| {foreign(name, 60)} | {' | '.join(numbers)} |\n" for name, *numbers in axis_cells(comparison))
    head = "| axis | before | after | newly failing | newly passing | flaky |\n|---|---|---|---|---|---|\n"
    return f"\n{head}{rows}" if rows else ""


def _row(row: Row) -> str:
    labels = [f"{change_words(found)}: {foreign(found.criterion.label, 120)}" for found in row.changes[:MOST_NAMED]]
    more = f" and {len(row.changes) - MOST_NAMED} more" if len(row.changes) > MOST_NAMED else ""
    changed = " (the task itself changed)" if row.changed else ""
    mark = f"{_MARKS[tone(row.standing)]} {row.standing}"
    sides = f"{rated(row.before)} | {rated(row.after)}"
    return f"| {mark} | {foreign(row.task, 200)}{changed} | {sides} | {'; '.join(labels)}{more} |\n"


def _details(row: Row) -> str:
    """One block of HTML without an empty line, so that nothing in it is read as Markdown."""
    items = [_criterion(found) for found in row.changes[:MOST_CRITERIA]]
    left = len(row.changes) - MOST_CRITERIA
    items += [f"<li>… and {left:,} more</li>"] if left > 0 else []
    head = f"<details><summary>{_MARKS[tone(row.standing)]} {foreign(row.task, 200)}</summary>"
    return "\n".join([head, "<ul>", *items, "</ul>", "</details>\n\n"])


def _criterion(found: CriterionRow) -> str:
    tags = _tags(criterion_tags(found))
    why = f"<br>{foreign(detail(found), 600)}" if detail(found) else ""
    words = f"{_MARKS[change_tone(found)]} {change_words(found)}"
    return f"<li>{words}: {foreign(found.criterion.label, 200)}{tags}{why}</li>"


def _tags(tags: Sequence[str]) -> str:
    return f" ({', '.join(foreign(tag, 60) for tag in tags)})" if tags else ""


def _runs(comparison: Comparison) -> str:
    told = [
        f"{word} {foreign(run.id, 60)}, {foreign(run.name, 100)}, agent {foreign(run.solver, 200)}"
        for word, run in (("Before", comparison.before), ("After", comparison.after))
    ]
    return "\n" + "\n\n".join(told) + "\n"
