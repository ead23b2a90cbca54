"""A comparison of two runs as one HTML file: opens from disk, loads nothing, needs no script."""

from html import escape
from string import Template

from clerkship.model.run import BenchmarkRun
from clerkship.report.comparison import STANDINGS, Comparison, Row
from clerkship.report.comparison_words import (
    Tone,
    axis_cells,
    change_tone,
    change_words,
    criterion_tags,
    detail,
    difference,
    is_shown,
    rated,
    tone,
    unknown,
)
from clerkship.report.criterion_changes import CHANGES, CriterionRow
from clerkship.report.embed import clip
from clerkship.report.gates import Gated
from clerkship.report.header import icon
from clerkship.report.html import policy, read_part

MOST_TASKS = 1_000
MOST_CRITERIA = 100
LONGEST = 2_000
_OUTCOMES: dict[Tone, str] = {
    "worse": "fail",
    "better": "pass",
    "flaky": "partial",
    "same": "skipped",
    "unknown": "errored",
}
"""The class and icon of each tone, as the report of a run has them."""
_HEADS = {0: ("pass", "Nothing that gates is worse"), 1: ("fail", "Worse"), 2: ("errored", "Nothing can be said")}


def render_comparison(gated: Gated) -> str:
    """The page. The same two runs give the same bytes."""
    comparison = gated.comparison
    style = read_part("style.css") + read_part("comparison.css")
    shown = [row for row in comparison.rows if is_shown(row)]
    return Template(read_part("comparison.html")).substitute(
        policy=policy(style),
        title=escape(f"{_HEADS[gated.exit_code()][1]}: {comparison.after.name}"),
        style=style,
        icons=read_part("icons.svg"),
        header=_header(gated),
        axes=_axes(comparison),
        tasks=_tasks(shown),
        same=_same([row for row in comparison.rows if not is_shown(row)]),
    )


def _header(gated: Gated) -> str:
    comparison = gated.comparison
    name, words = _HEADS[gated.exit_code()]
    why = f"<p>{escape('; '.join(unknown(gated)))}</p>" if gated.exit_code() == 2 else ""
    size, chance = difference(comparison)
    rate = f'<p class="notes">{escape(size)}{f". {escape(chance)}" if chance else ""}.</p>' if size else ""
    return f"""<header>
<div class="title"><p class="kicker">Comparison of two runs</p>
<h1 class="outcome is-{name}">{icon(name)}{words}</h1>
<p class="agent">{escape(comparison.after.name)}</p></div>
<section class="summary" aria-label="Result">
{why}{_gates(gated)}{_tally(comparison)}{rate}
</section>
<dl class="facts">{_run("Before", comparison.before)}{_run("After", comparison.after)}</dl>
</header>"""


def _gates(gated: Gated) -> str:
    states = {"worse": "fail", "held": "pass", "not judged": "errored"}
    items = [
        f'<li class="is-{states[result.state]}">{icon(states[result.state])}'
        f"<code>{escape(str(result.gate))}</code> <span>{escape(result.words())}</span></li>"
        for result in gated.results()
    ]
    return f'<ul class="gates" aria-label="Gates">{"".join(items)}</ul>'


def _tally(comparison: Comparison) -> str:
    items = [
        f'<li class="is-{_outcome(name)}" title="{escape(STANDINGS[name])}">{icon(_outcome(name))}'
        f"<b>{count:,}</b> {name}</li>"
        for name, count in comparison.standings().items()
        if count
    ]
    return f'<ul class="tally">{"".join(items)}</ul>'


def _outcome(name: str) -> str:
    return _OUTCOMES[tone(name)]


def _run(word: str, run: BenchmarkRun) -> str:
    made = f" ({escape(run.descent)})" if run.descent else ""
    return (
        f"<div><dt>{word}</dt><dd><code>{escape(run.id)}</code>{made}<br>"
        f"agent <code>{escape(run.solver)}</code></dd></div>"
    )


def _axes(comparison: Comparison) -> str:
    rows = "".join(_axis(*cells) for cells in axis_cells(comparison))
    titles = ("Axis", "Before", "After", "Newly failing", "Newly passing", "Flaky")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    table = f'<table class="by-axis"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f"<section><h2>Axes</h2>{table}</section>" if rows else ""


def _axis(name: str, before: str, after: str, failing: str, *rest: str) -> str:
    worse = ' class="worse"' if failing != "0" else ""
    cells = f"<td>{before}</td><td>{after}</td><td{worse}>{failing}</td>" + "".join(f"<td>{n}</td>" for n in rest)
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _tasks(rows: list[Row]) -> str:
    cards = "".join(map(_task, rows[:MOST_TASKS]))
    left = len(rows) - MOST_TASKS
    more = f"<p>{left:,} more tasks are left out; <code>--json</code> has them all.</p>" if left > 0 else ""
    none = "<p>No task and no criterion changed.</p>"
    return f"<section><h2>What changed</h2>{cards or none}{more}</section>"


def _task(row: Row) -> str:
    """A task, unfolded where something is worse."""
    name = _outcome(row.standing)
    changed = '<span class="badge">the task itself changed</span>' if row.changed else ""
    unfolded = " open" if row.changes and name != "pass" else ""
    summary = (
        f'<summary>{icon(name)}<span class="label"><span class="word">{row.standing}</span> {escape(row.task)}</span>'
        f'<span class="badges">{changed}<span class="moved">{rated(row.before)} → {rated(row.after)}</span></span>'
        "</summary>"
    )
    return (
        f'<details class="criterion is-{name}"{unfolded}>{summary}<div class="inside">{_changes(row)}</div></details>'
    )


def _changes(row: Row) -> str:
    if not row.changes:
        return f"<p>{escape(STANDINGS[row.standing]).capitalize()}.</p>"
    items = "".join(map(_criterion, row.changes[:MOST_CRITERIA]))
    left = len(row.changes) - MOST_CRITERIA
    more = f"<p>{left:,} more criteria are left out; <code>--json</code> has them all.</p>" if left > 0 else ""
    return f'<ul class="changes">{items}</ul>{more}'


def _criterion(found: CriterionRow) -> str:
    name = _OUTCOMES[change_tone(found)]
    tags = "".join(
        f'<span class="badge{" gate" * (tag == "gate")}">{escape(tag)}</span> ' for tag in criterion_tags(found)
    )
    why = f'<p class="detail">{escape(clip(detail(found), LONGEST))}</p>' if detail(found) else ""
    return (
        f'<li class="is-{name}">{icon(name)}<span class="change" title="{escape(CHANGES[found.change])}">'
        f"{change_words(found)}</span><span>{escape(clip(found.criterion.label, 400))} {tags}</span>{why}</li>"
    )


def _same(rows: list[Row]) -> str:
    """The tasks of which nothing changed, folded away."""
    items = "".join(f"<li>{escape(row.task)}</li>" for row in rows[:MOST_TASKS])
    count = f"{len(rows):,} task{'s' * (len(rows) != 1)} unchanged"
    return (
        f'<section class="unchanged"><details><summary>{count}</summary><ul>{items}</ul></details></section>'
        if rows
        else ""
    )
