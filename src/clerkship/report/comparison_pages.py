"""The comparison of two runs as an HTML page and as Markdown."""

from collections.abc import Callable, Mapping
from typing import Any

from clerkship.report import comparison_text as words
from clerkship.report.comparison import CHANGES, STANDINGS, CriterionComparison
from clerkship.report.gates import GatedComparison
from clerkship.report.markdown_page import MIN_PAGE_BYTES, MarkdownPage
from clerkship.report.pages import clip, load_pieces, read_part, render_page
from clerkship.report.plain_text import escape_markdown
from clerkship.report.published_version import describe_published

MAX_TASKS = 1_000
MAX_CRITERIA = 100
MAX_DETAIL = 2_000
_OUTCOMES: dict[words.Tone, str] = {
    "worse": "fail",
    "better": "pass",
    "flaky": "partial",
    "same": "skipped",
    "unknown": "errored",
}
"""The class and icon of each tone, as in the report of a run."""
_HEADS = {0: ("pass", "No gate is worse"), 1: ("fail", "Worse"), 2: ("errored", "Not conclusive")}
_GATES = {"worse": "fail", "held": "pass", "not judged": "errored"}
_MARKS = {"worse": "🔻", "better": "🔺", "flaky": "🔀", "same": "➖", "unknown": "❔"}
_GATE_MARKS = {"worse": "❌", "held": "✅", "not judged": "⚠️"}
_HEADLINES = {0: "✅ No gate is worse", 1: "❌ Worse", 2: "⚠️ Not conclusive"}
_FILTERS: Mapping[str, Callable[..., Any]] = {
    "outcome": lambda name: _OUTCOMES[words.tone(name)],
    "change_outcome": lambda criterion: _OUTCOMES[words.change_tone(criterion)],
    "change_words": words.change_words,
    "tags": words.criterion_tags,
    "detail": words.detail,
    "rated": words.rated,
    "clip": clip,
    "published": describe_published,
}


def render_comparison(gated: GatedComparison, prefix: str = "", command: str = "") -> str:
    """Render the page. The same two runs give the same bytes.

    With a prefix it links to the pages of the viewer, and shows the command that writes the same.
    """
    comparison = gated.comparison
    outcome, headline = _HEADS[gated.exit_code()]
    size, chance = words.difference(comparison)
    return render_page(
        "comparison.html",
        _FILTERS,
        style=read_part("style.css") + read_part("comparison.css"),
        title=f"{headline}: {comparison.after.name}",
        outcome=outcome,
        headline=headline,
        comparison=comparison,
        unknown=words.unknown(gated) if gated.exit_code() == 2 else (),
        gates=gated.results(),
        gate_outcomes=_GATES,
        size=size,
        chance=chance,
        versions=words.version_difference(comparison),
        axes=words.axis_cells(comparison),
        shown=[row for row in comparison.rows if words.is_shown(row)],
        same=[row for row in comparison.rows if not words.is_shown(row)],
        standings=STANDINGS,
        changes=CHANGES,
        max_tasks=MAX_TASKS,
        max_criteria=MAX_CRITERIA,
        max_detail=MAX_DETAIL,
        prefix=prefix,
        command=command,
    )


def render_comparison_markdown(gated: GatedComparison, limit: int) -> str:
    """Render the page with at most `limit` bytes: headline, gates, changes, then the criteria in folded sections."""
    comparison, code = gated.comparison, gated.exit_code()
    of_criteria = (words.change_words, words.criterion_tags, words.detail, change_mark)
    of_tasks = (words.rated, words.axis_cells, words.difference, words.version_difference, mark)
    pieces = load_pieces("comparison.md.jinja2", escape_markdown, describe_published, *of_criteria, *of_tasks)
    shown = [row for row in comparison.rows if words.is_shown(row)]
    folded = [row for row in shown if row.changes]
    ending = pieces.runs(comparison)
    page = MarkdownPage(max(limit, MIN_PAGE_BYTES) - len(ending.encode()))
    page.add(pieces.head(gated, _HEADLINES[code], words.headline(gated) if code == 2 else "", _GATE_MARKS), needed=True)
    page.add(pieces.axes(comparison))
    titles = "\n| | task | before | after | criteria |\n|---|---|---|---|---|\n"
    page.add_all(titles, map(pieces.row, shown), len(shown), share=0.5, what="more tasks that changed")
    page.add_all("\n", map(pieces.details, folded), len(folded), share=1.0, what="more tasks with changed criteria")
    page.add(ending, needed=True)
    return page.text()


def mark(name: str) -> str:
    """Return the symbol of a standing or a change."""
    return _MARKS[words.tone(name)]


def change_mark(criterion: CriterionComparison) -> str:
    """Return the symbol of a change of a criterion."""
    return _MARKS[words.change_tone(criterion)]
