"""A comparison of two runs as Markdown, for a comment on a pull request."""

from clerkship.report import comparison_text as words
from clerkship.report.criterion_changes import CriterionComparison
from clerkship.report.gates import GatedComparison
from clerkship.report.markdown_escape import escape_markdown
from clerkship.report.markdown_page import MIN_PAGE_BYTES, MarkdownPage
from clerkship.report.pages import load_pieces

_MARKS = {"worse": "🔻", "better": "🔺", "flaky": "🔀", "same": "➖", "unknown": "❔"}
_GATE_MARKS = {"worse": "❌", "held": "✅", "not judged": "⚠️"}
_HEADLINES = {0: "✅ No gate is worse", 1: "❌ Worse", 2: "⚠️ Not conclusive"}


def render_comparison_markdown(gated: GatedComparison, limit: int) -> str:
    """Render the page with at most `limit` bytes: headline, gates, changes, then the criteria in folded sections."""
    comparison, code = gated.comparison, gated.exit_code()
    of_criteria = (words.change_words, words.criterion_tags, words.detail, change_mark)
    of_tasks = (words.rated, words.axis_cells, words.difference, mark)
    pieces = load_pieces("comparison.md.jinja2", escape_markdown, *of_criteria, *of_tasks)
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


def change_mark(found: CriterionComparison) -> str:
    """Return the symbol of a change of a criterion."""
    return _MARKS[words.change_tone(found)]
