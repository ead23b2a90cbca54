"""A comparison of two runs as one HTML file that opens from disk, loads nothing and needs no script."""

from collections.abc import Callable
from typing import Any

from clerkship.report import comparison_text as words
from clerkship.report.comparison import STANDINGS
from clerkship.report.criterion_changes import CHANGES
from clerkship.report.embed import clip
from clerkship.report.gates import GatedComparison
from clerkship.report.pages import read_part, render_page

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


def render_comparison(gated: GatedComparison) -> str:
    """Render the page. The same two runs give the same bytes."""
    comparison = gated.comparison
    outcome, headline = _HEADS[gated.exit_code()]
    size, chance = words.difference(comparison)
    filters: dict[str, Callable[..., Any]] = {
        "outcome": lambda name: _OUTCOMES[words.tone(name)],
        "change_outcome": lambda found: _OUTCOMES[words.change_tone(found)],
        "change_words": words.change_words,
        "tags": words.criterion_tags,
        "detail": words.detail,
        "rated": words.rated,
        "clip": clip,
    }
    return render_page(
        "comparison.html",
        filters,
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
        axes=words.axis_cells(comparison),
        shown=[row for row in comparison.rows if words.is_shown(row)],
        same=[row for row in comparison.rows if not words.is_shown(row)],
        standings=STANDINGS,
        changes=CHANGES,
        max_tasks=MAX_TASKS,
        max_criteria=MAX_CRITERIA,
        max_detail=MAX_DETAIL,
    )
