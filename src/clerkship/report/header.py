"""The head of the page: which run, how it came out, how to do it again. Plain HTML, readable without a script."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape

from clerkship.kit.statistics import wilson
from clerkship.model.run import BenchmarkRun, Counts
from clerkship.model.seals import SealCheck
from clerkship.report.command import run_again
from clerkship.report.detail import TaskDetail
from clerkship.report.isolation import isolation_of
from clerkship.report.judged import NOT_IN_VERDICT, Judged
from clerkship.report.outcome import CHANGED, GRADED, NO_RATE, OUTCOMES, ended, tally
from clerkship.report.percent import percent
from clerkship.report.repeats import Repeats, curves
from clerkship.report.templates import TemplateRate, Templates

ROWS_WITHOUT_SCRIPT = 2_000
MOST_NAMED = 12
MOST_RATED = 200
MOST_UNFOLDED = 6
_RARE = ("invalid_person",)
_ABOUT = {"judge": "Judge", "errors": "Errors", "votes": "Votes", "flips": "Flips", "people": "People"}
_ABOUT |= {"quality": "Quality", "models": "Models"}


def render_header(
    run: BenchmarkRun,
    counts: Counts,
    repeated: Repeats | None = None,
    judged: Judged | None = None,
    templates: Templates | None = None,
    seals: SealCheck | None = None,
) -> str:
    """Render the run, its verdicts and its facts; above them what was changed since it was saved."""
    summary = f"{_rate(counts)}{_bar(counts)}{_tally(counts)}{_repeated(repeated)}{_notes(run, counts)}"
    summary, rates = f"{summary}\n{_judged(judged)}", _templates(templates)
    if seals is not None and seals.is_changed:
        summary, rates = _no_rate(), ""
    return f"""<header>
<div class="title"><p class="kicker">Run report</p><h1>{escape(run.name)}</h1>
<p class="agent">Agent <code>{escape(run.solver)}</code></p></div>
{_changed(seals)}<section class="summary" aria-label="Verdicts">
{summary}
</section>
{rates}
{_facts(run, seals)}
</header>"""


def _no_rate() -> str:
    """Render the summary of a changed run: nothing that is counted from its trials."""
    return (
        f'<p class="rate changed-rate"><strong>{NO_RATE}</strong></p>'
        '<p class="notes">The trials below are shown as they are in the store now.</p>'
    )


def _changed(seals: SealCheck | None) -> str:
    if seals is None or not seals.is_changed:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in seals.sentences())
    return (
        f'<section class="changed" role="alert"><strong>{escape(seals.headline())}</strong><ul>{items}</ul></section>\n'
    )


def _rate(counts: Counts) -> str:
    found = wilson(counts.passed, counts.graded)
    if found is None:
        return '<p class="rate"><strong>No rate</strong> <span>no trial was graded</span></p>'
    return (
        f'<p class="rate"><strong>{percent(found.rate)}</strong> '
        f"<span>{counts.passed:,} of {counts.graded:,} graded {_trials(counts.graded)} passed"
        f"<small>95 % interval {percent(found.low)} to {percent(found.high)}</small></span></p>"
    )


def _bar(counts: Counts) -> str:
    """Widths are attributes of SVG, because the page's policy allows no style attributes."""
    rects, x = [], 0
    for name, number in reversed(tally(counts).items()):
        if number:
            rects.append(f'<rect class="fill-{name}" x="{x}" y="0" width="{number}" height="1"></rect>')
            x += number
    return (
        f'<svg class="bar" viewBox="0 0 {max(x, 1)} 1" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(rects)}</svg>"
    )


def _tally(counts: Counts) -> str:
    items = [
        f'<li class="is-{name}{"" if number else " none"}" title="{escape(OUTCOMES[name][1])}">'
        f"{icon(name)}<b>{number:,}</b> {OUTCOMES[name][0].lower()}</li>"
        for name, number in _as_read(tally(counts))
        if number or name not in _RARE
    ]
    return f'<ul class="tally">{"".join(items)}</ul>'


def _as_read(found: dict[str, int]) -> Iterable[tuple[str, int]]:
    """Good news first, as people read a tally; what has no verdict last."""
    return [(name, found[name]) for name in (*GRADED, *reversed([name for name in found if name not in GRADED]))]


def _repeated(found: Repeats | None) -> str:
    """What repetition tells, and who is flaky, by name."""
    if found is None:
        return ""
    told = " ".join(
        f'<span title="{curve.meaning}"><b>{curve.name}</b> {curve.words()}</span>' for curve in curves(found)
    )
    named = ", ".join(f"“{escape(task)}”" for task in found.flaky[:MOST_NAMED])
    more = f" and {len(found.flaky) - MOST_NAMED:,} more" if len(found.flaky) > MOST_NAMED else ""
    flaky = f"<span><b>Flaky</b> {named}{more}</span>" if found.flaky else ""
    return f'<p class="repeats">{told} {flaky}</p>' if told or flaky else ""


def _templates(found: Templates | None) -> str:
    """How often each template was done right, over its records."""
    rates = found.rates() if found is not None else []
    if not rates:
        return ""
    titles = "".join(f'<th scope="col">{title}</th>' for title in ("passed", "rate", "95 % interval", "tasks"))
    rows = "".join(_template(rate) for rate in rates[:MOST_RATED])
    more = f"<p>{len(rates) - MOST_RATED:,} more templates are left out.</p>" if len(rates) > MOST_RATED else ""
    head = f"<summary>{len(rates):,} template{'s' * (len(rates) != 1)}, by their records</summary>"
    table = f'<table><thead><tr>{titles}<th scope="col">template</th></tr></thead><tbody>{rows}</tbody></table>'
    unfolded = " open" if len(rates) <= MOST_UNFOLDED else ""
    return f'<details class="rated templates"{unfolded}>{head}{table}{more}</details>'


def _template(rate: TemplateRate) -> str:
    sure = rate.interval
    numbers = [
        f"{rate.passed:,} of {rate.graded:,}",
        percent(sure.rate) if sure is not None else "none",
        f"{percent(sure.low)} to {percent(sure.high)}" if sure is not None else "",
        f"{len(rate.tasks):,}",
    ]
    tone = "skipped" if sure is None else "pass" if rate.passed == rate.graded else "fail"
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<tr class="is-{tone}">{cells}<th scope="row">{escape(rate.task)}</th></tr>'


def _judged(found: Judged | None) -> str:
    """What models said and took, beside the rate and never in it."""
    if found is None or found.is_empty:
        return ""
    rows = "".join(
        f"<div><dt>{_ABOUT[about]}</dt><dd>{_kept_together(told)}</dd></div>" for about, told in found.lines()
    )
    return f'<dl class="judged">{rows}</dl>{_quality(found)}' if rows else ""


def _kept_together(told: str) -> str:
    """With no break between κ and its number."""
    return escape(told).replace("κ ", "κ&nbsp;")


def _quality(found: Judged) -> str:
    """The ratings of each task, folded away."""
    told = list(found.quality_by_task().items())
    cells = [f'<th scope="row">{escape(task)}</th><td>{escape(words)}</td>' for task, words in told[:MOST_RATED]]
    rows = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<p>{len(told) - MOST_RATED:,} more tasks are left out.</p>" if len(told) > MOST_RATED else ""
    head = f"<summary>Quality by task, {NOT_IN_VERDICT}</summary>"
    return f'<details class="rated">{head}<table>{rows}</table>{more}</details>' if told else ""


def _notes(run: BenchmarkRun, counts: Counts) -> str:
    left_out = [f"{n:,} {OUTCOMES[name][0].lower()}" for name, n in _as_read(tally(counts)) if n and name not in GRADED]
    timed_out = counts.statuses.get("timed_out", 0)
    sure_early = run.until_sure is not None and run.status == "completed"
    notes = [
        f"Left out of the rate: {', '.join(left_out)}." if left_out else "",
        f"{timed_out:,} failed {_trials(timed_out)} ran out of time." if timed_out else "",
        f"In {counts.agent_errors:,} {_trials(counts.agent_errors)} the agent crashed." if counts.agent_errors else "",
        f"{counts.done:,} of {run.total:,} trials are done." if counts.done < run.total and not sure_early else "",
        "Tasks were repeated until their rate was clear of "
        f"{percent(run.until_sure or 0)}, at most {run.trials:,} times."
        if sure_early
        else "",
        "The run was cancelled." if run.status == "cancelled" else "",
    ]
    text = " ".join(filter(None, notes)) or "Every trial is in the rate."
    return f'<p class="notes">{text}</p>'


def _trials(number: int) -> str:
    return "trial" if number == 1 else "trials"


def _facts(run: BenchmarkRun, seals: SealCheck | None) -> str:
    facts = {
        "Run": f"<code>{escape(run.id)}</code>",
        "Started": escape(_instant(run.started_at)),
        "Finished": escape(_instant(run.completed_at)) if run.completed_at else "not yet",
        "Seed": str(run.seed),
        "Trials per task": f"{run.trials:,}",
        "Grading": escape(run.grading),
        "Clerkship": escape(run.clerkship),
        **({"Judge": f"<code>{escape(run.judge.who)}</code>"} if run.judge is not None else {}),
        **({"Person": f"<code>{escape(run.person.who)}</code>"} if run.person is not None else {}),
        **({"Isolation": escape(isolation_of(run))} if run.isolation is not None else {}),
        **({"Seals": escape(seals.state())} if seals is not None else {}),
        **({"From": _descent(run)} if run.descent else {}),
        **({"Plug-ins": escape(", ".join(map(" ".join, run.plugins.items())))} if run.plugins else {}),
        "Run it again": f'<code class="copy">{escape(run_again(run))}</code>',
    }
    return f'<dl class="facts">{"".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items())}</dl>'


def _instant(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text


def icon(name: str) -> str:
    """A verdict's sign, so that colour is never alone."""
    return f'<svg class="icon" aria-hidden="true"><use href="#icon-{name}"></use></svg>'


def render_table(details: Sequence[TaskDetail]) -> str:
    """Render all trials as a plain table, for a browser without scripts."""
    rows = "".join(_row(detail) for detail in details[:ROWS_WITHOUT_SCRIPT])
    more = len(details) - ROWS_WITHOUT_SCRIPT
    note = f"<p>{more:,} more trials are left out of this table.</p>" if more > 0 else ""
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Task", "Verdict", "Score", "How it ended"))
    return f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}'


def _row(detail: TaskDetail) -> str:
    task_run, name = detail.task_run, detail.outcome
    trial = f" <small>trial {task_run.trial}</small>" if task_run.trial > 1 else ""
    score = "none" if task_run.score is None or detail.changed else f"{task_run.score:.2f}"
    word = CHANGED[0] if detail.changed else OUTCOMES[name][0] if name in OUTCOMES else escape(name)
    return (
        f'<tr><th scope="row">{escape(task_run.task)}{trial}</th><td class="is-{name}">{icon(name)} {word}</td>'
        f"<td>{score}</td><td>{escape(detail.changed) or ended(task_run)}</td></tr>\n"
    )


def _descent(run: BenchmarkRun) -> str:
    origin = escape(run.origin)
    return escape(run.descent).replace(origin, f"<code>{origin}</code>", 1)
