"""A run as Markdown for GitHub and GitLab: the summary of a job, or a comment on a change.

The headline comes first, then what did not pass, then why, then the rest; whole sections, while they fit.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from clerkship.kit.statistics import wilson_interval
from clerkship.model.run import BenchmarkRun, Counts, CriterionRun, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.judge_evidence import parse_judge_evidence
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.labels import (
    average_axes,
    axis_name,
    describe_axes,
    describe_isolation,
    list_axes,
    rerun_command,
    show_command,
)
from clerkship.report.markdown_page import MAX_SUMMARY_BYTES, MIN_PAGE_BYTES, MarkdownPage
from clerkship.report.outcome import (
    OUTCOMES,
    classify_result,
    count_outcomes,
    describe_ending,
    describe_role,
    is_not_recorded,
    urgency,
)
from clerkship.report.overview import Overview
from clerkship.report.pages import load_pieces
from clerkship.report.plain_text import (
    comparisons,
    describe_blame,
    describe_cited_pages,
    describe_error,
    escape_markdown,
    escape_markdown_lines,
    failed_checks,
    failed_criteria,
    failed_evidence,
    failed_results,
    outcome_word,
    skipped_criteria,
)
from clerkship.report.published_version import describe_notes, describe_published
from clerkship.report.repeats import TaskRate, compute_repeats, list_curves
from clerkship.report.templates import TemplateRates

MAX_ROWS = 500
MAX_CRITERIA = 10
MAX_EVIDENCE = 5
MAX_BREAKDOWN = 5
"""Rows of each breakdown of the overview."""
_OF_TRIALS = (
    outcome_word,
    describe_blame,
    describe_error,
    failed_results,
    describe_ending,
    is_not_recorded,
    show_command,
)
_OF_RUNS = (describe_published, describe_notes)
_OF_CRITERIA = (parse_judge_evidence, describe_cited_pages, comparisons, failed_evidence, describe_role)
_MARKS = {"passed": "✅", "failed": "❌", "errored": "⚠️", "skipped": "⏭️"}


@dataclass
class _TrialSummary:
    """Counts over all trials, without their records, so that a large run needs little memory."""

    passed: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    urgent: list[tuple[int, int]] = field(default_factory=list)
    """Urgency and index of the trials that did not pass."""
    rates: dict[str, TaskRate] = field(default_factory=dict)
    templates: TemplateRates = field(default_factory=TemplateRates)
    overview: Overview = field(default_factory=Overview)
    flawed: dict[str, dict[str, int]] = field(default_factory=dict)
    """By task: the criteria that failed in passed trials, with counts."""
    warned: dict[str, dict[str, int]] = field(default_factory=dict)
    """The same of what is checked on every task."""
    notes: Counter[str] = field(default_factory=Counter)
    """Notes on trials, with the number of trials."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Skipped criteria, with the number of trials."""


def render_markdown(
    run: BenchmarkRun,
    counts: Counts,
    trials: Callable[[], Iterable[TaskRun]],
    limit: int = MAX_SUMMARY_BYTES,
    judged: JudgingSummary | None = None,
    seals: SealCheck | None = None,
) -> str:
    """Render the page with at most `limit` bytes. The trials are iterated twice."""
    judged = judged or JudgingSummary.of(run)
    seen = _summarize(trials(), judged)
    pieces = load_pieces(
        "summary.md.jinja2", escape_markdown, escape_markdown_lines, mark, scores, *_OF_RUNS, *_OF_TRIALS, *_OF_CRITERIA
    )
    ending = pieces.again(run, rerun_command(run))
    page = MarkdownPage(max(limit, MIN_PAGE_BYTES) - len(ending.encode()))
    changed = seals is not None and seals.is_changed
    verdict = {0: "✅", 1: "❌", 130: "⏭️"}.get(2 if changed else run.exit_code(counts), "⚠️")
    rate = wilson_interval(counts.passed, counts.graded)
    numbers = [f"{number:,} {OUTCOMES[name][0].lower()}" for name, number in count_outcomes(counts).items() if number]
    page.add(pieces.headline(run, counts, verdict, rate, numbers, describe_isolation(run), seals), needed=True)
    if changed:
        page.add(pieces.changed(seals), needed=True)
    else:
        _add_totals(page, pieces, run, seen, judged)
    shown = _select_urgent(trials(), seen)
    total, left_out = len(seen.urgent), "more trials that did not pass"
    head = "\n| | task | score | why |\n|---|---|---|---|\n"
    page.add_all(head, map(pieces.row, shown), total, share=0.4, what=left_out)
    folded = (pieces.details(task_run, MAX_CRITERIA, MAX_EVIDENCE) for task_run in shown)
    page.add_all("\n", folded, total, share=0.9, what=left_out)
    if not changed:
        page.add(_render_passed(seen.passed, page.room // 2))
    page.add(ending, needed=True)
    return page.text()


def _add_totals(
    page: MarkdownPage, pieces: Any, run: BenchmarkRun, seen: _TrialSummary, judged: JudgingSummary
) -> None:
    """Add the totals over all trials, which mean nothing for a changed run."""
    both = sorted(seen.passed.keys() & seen.failed.keys())
    flaky = {task: f"{seen.passed[task]:,} of {seen.passed[task] + seen.failed[task]:,} trials passed" for task in both}
    flawed, warned = (
        {
            task: "; ".join(f"{label}{_times(number)}" for label, number in list(labels.items())[:MAX_CRITERIA])
            for task, labels in listed.items()
        }
        for listed in (seen.flawed, seen.warned)
    )
    skips, notes = (
        {text: f"in {number:,} trial{'s' * (number != 1)}" for text, number in counts.items()}
        for counts in (seen.skipped, seen.notes)
    )
    axes = average_axes([rate.axes for rate in seen.rates.values()])
    if seen.overview.failed > 1:
        page.add(pieces.overview(seen.overview.list_breakdowns(), MAX_BREAKDOWN))
    page.add(pieces.templates(seen.templates.rates()))
    page.add(pieces.repeated(list_curves(compute_repeats(seen.rates.values())) if run.trials > 1 else []))
    page.add(pieces.models(judged))
    page.add(pieces.listed("Notes", notes))
    page.add(pieces.listed("Flaky", flaky))
    page.add(pieces.listed("Passed, with failed criteria", flawed, "more tasks"))
    page.add(pieces.listed("Passed, with warnings", warned, "more tasks"))
    page.add(pieces.axes([(axis_name(axis), axes[axis]) for axis in list_axes([axes])]))
    page.add(pieces.listed(f"{_MARKS['skipped']} Skipped criteria", skips))


def _summarize(trials: Iterable[TaskRun], judged: JudgingSummary) -> _TrialSummary:
    seen = _TrialSummary()
    for place, task_run in enumerate(trials):
        judged.add(task_run)
        seen.templates.add(task_run)
        seen.overview.add(task_run)
        seen.notes.update(task_run.notes)
        seen.rates.setdefault(task_run.task, TaskRate(task_run.task)).add(task_run)
        for criterion in skipped_criteria(task_run):
            seen.skipped[criterion.label] = seen.skipped.get(criterion.label, 0) + 1
        match classify_result(task_run):
            case "passed":
                seen.passed[task_run.task] = seen.passed.get(task_run.task, 0) + 1
                _add_labels(seen.flawed, task_run.task, failed_criteria(task_run))
                _add_labels(seen.warned, task_run.task, failed_checks(task_run))
            case "skipped":
                continue
            case found:
                seen.urgent.append((urgency(task_run), place))
                if found == "failed":
                    seen.failed[task_run.task] = seen.failed.get(task_run.task, 0) + 1
    return seen


def _add_labels(by_task: dict[str, dict[str, int]], task: str, criteria: Iterable[CriterionRun]) -> None:
    for criterion in criteria:
        counts = by_task.setdefault(task, {})
        text = escape_markdown(criterion.label, 200) + (
            f" ({escape_markdown(criterion.axis, 40)})" if criterion.axis else ""
        )
        counts[text] = counts.get(text, 0) + 1


def _select_urgent(trials: Iterable[TaskRun], seen: _TrialSummary) -> list[TaskRun]:
    """Return the most urgent trials, as many as a page can show."""
    wanted = {place for _, place in sorted(seen.urgent)[:MAX_ROWS]}
    return sorted((task_run for place, task_run in enumerate(trials) if place in wanted), key=urgency)


def mark(task_run: TaskRun) -> str:
    """Return the symbol of an outcome."""
    return _MARKS[classify_result(task_run)]


def scores(task_run: TaskRun) -> str:
    """Return the score, and those of axes below 1."""
    below = {axis: result.score for axis, result in task_run.axes.items() if result.score < 1}
    axes = ", ".join(escape_markdown(words, 60) for words in describe_axes(below))
    score = "" if task_run.score is None else f"{task_run.score:.2f}"
    return f"{score} ({axes})" if axes else score


def _render_passed(passed: dict[str, int], room: int) -> str:
    """Render the tasks that passed, in a folded list."""
    if not passed:
        return ""
    total = sum(passed.values())
    rows = list(
        _take_fitting((f"<li>{escape_markdown(task, 200)}{_times(n)}</li>" for task, n in sorted(passed.items())), room)
    )
    more = f"<li>… and {len(passed) - len(rows):,} more</li>\n" if len(rows) < len(passed) else ""
    listed = "\n".join(rows)
    return f"\n<details><summary>✅ {total:,} passed</summary>\n<ul>\n{listed}\n{more}</ul>\n</details>\n"


def _times(number: int) -> str:
    return f" × {number:,}" if number > 1 else ""


def _take_fitting(rows: Iterable[str], room: int) -> Iterator[str]:
    for row in rows:
        room -= len(row.encode()) + 1
        if room < 0:
            return
        yield row
