"""Prints a run: the table of verdicts, and each failure with its reason and evidence."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Column, Table

from clerkship.cli.console import number_column, plain_table, print_changes, print_more, print_warning, text_column
from clerkship.cli.outcome_style import style_outcome
from clerkship.kit.command_option import REFRESH_HINT
from clerkship.kit.statistics import Interval, wilson_interval
from clerkship.model.duration import describe_duration
from clerkship.model.errors import InputProblem
from clerkship.model.quality import Quality
from clerkship.model.run import BenchmarkRun, Counts, CriterionRun, FieldCheck, TaskRun
from clerkship.report.costs import render_used
from clerkship.report.judge_evidence import describe_move, parse_judge_evidence
from clerkship.report.judging_summary import NOT_IN_VERDICT, JudgingSummary, describe_answer, is_judged_by_model
from clerkship.report.labels import axis_name, describe_isolation, list_axes, percent
from clerkship.report.outcome import (
    ENDINGS,
    CriteriaCount,
    count_outcomes,
    describe_ending,
    describe_role,
    outcome,
    split_criteria,
    why_undecided,
)
from clerkship.report.plain_text import (
    comparisons,
    count_notes,
    describe_blame,
    describe_cited_pages,
    describe_error,
    describe_left_out,
    failed_results,
    has_optional_criteria,
    to_one_line,
)
from clerkship.report.published_version import describe_notes, describe_published
from clerkship.report.repeats import Repeats, TaskRate, compute_repeats, group_by_threshold, group_rates, list_curves
from clerkship.service.reading import RunView
from clerkship.settings import get_command_prefix

_ENDING_NOTES = {"turn_limit": "turn limit", "agent_silent": "no reply", "agent_failed": "crashed"}
_LIMIT_OPTIONS = {
    "turn_limit": "`max_turns` in the file, or --max-turns,",
    "turn_timed_out": "`turn_timeout` in the file, or --turn-timeout,",
}
"""Limits that a run may have hit, and what raises them."""
OTHER_COLUMNS = 80
"""Characters that the other columns take, the task's name among them."""
OTHER_CELLS = 30
"""Characters of a row beside the task's cell."""
MAX_NAME_LENGTH = 14
MIN_GOOD_SCORE = 0.9
T = TypeVar("T")
MAX_ROWS = 40
MAX_FAILURES = 20
MAX_VALUE = 250
MAX_CITES = 5
_REFRESH_ADVICE = f"\n{REFRESH_HINT}"
"""Said once for all trials that are not recorded, and not of each."""


def render_verdict(task_run: TaskRun) -> str:
    """Return the outcome of a trial, with its ending if that is unusual."""
    is_idle = any(criterion.is_inaction_gate and not criterion.passed for criterion in task_run.criteria)
    note = (
        "timed out"
        if task_run.status == "timed_out"
        else _ENDING_NOTES.get(task_run.ending, "did nothing" if is_idle else "")
    )
    return style_outcome(outcome(task_run)) + (f" [quiet]({note})[/]" if note else "")


def render_ending(task_run: TaskRun) -> str:
    """Return how a trial ended, as text."""
    if task_run.ending == "timed_out" and task_run.timeout is not None:
        limit = describe_duration(task_run.timeout)
        return f"the time limit of {limit} passed; `timeout` in the task, or --timeout, changes it"
    if task_run.ending in _LIMIT_OPTIONS:
        return f"{ENDINGS[task_run.ending].lower()}; {_LIMIT_OPTIONS[task_run.ending]} changes it"
    text = describe_ending(task_run)
    return text[0].lower() + text[1:]


class AxisColumns:
    """The columns for the axes of a table."""

    def __init__(self, console: Console, rows: Sequence[Mapping[str, float]]) -> None:
        axes = list_axes(rows)
        needed = sum(max(len(_axis_title(axis)), 4) + 2 for axis in axes)
        self._columns = axes if needed <= console.width - OTHER_COLUMNS else []
        self._width = console.width - OTHER_CELLS

    def columns(self) -> list[Column]:
        return [number_column(escape(_axis_title(axis))) for axis in self._columns]

    def cells(self, axes: Mapping[str, float]) -> list[str]:
        return [_style_score(axes[axis]) if axis in axes else "" for axis in self._columns]

    def below(self, axes: Mapping[str, float]) -> str:
        """Return the scores as further lines of the task's cell, if there are no columns for them."""
        lines: list[str] = []
        room = 0
        for axis in [] if self._columns else list_axes([axes]):
            length = len(f"  {_axis_title(axis)} {axes[axis]:.2f}")
            cell = f"[quiet]{escape(_axis_title(axis))}[/] {_style_score(axes[axis])}"
            if length > room:
                lines.append(cell)
                room = self._width + 2 - length
            else:
                lines[-1] += f"  {cell}"
                room -= length
        return "".join(f"\n{line}" for line in lines)


def _axis_title(axis: str) -> str:
    return to_one_line(axis_name(axis))[:MAX_NAME_LENGTH]


def _style_score(score: float) -> str:
    style = "quiet" if score >= MIN_GOOD_SCORE else "partial" if score > 0 else "fail"
    return f"[{style}]{score:.2f}[/]"


def print_published(console: Console, run: BenchmarkRun) -> None:
    """Print which published version a run ran, or how its files differ from one."""
    if run.published is not None:
        console.print(escape(describe_published(run)), soft_wrap=True, highlight=False)


def print_published_notes(console: Console, run: BenchmarkRun) -> None:
    """Print how a run of a published version is graded, if by another version of the program or by its owner."""
    for sentence in describe_notes(run):
        print_warning(InputProblem(message=sentence), console)


def print_run(console: Console, view: RunView, store_option: str = "") -> None:
    """Print the table, the failures and the totals; `elsewhere` names the store if it is not the default."""
    run, counts, task_runs = view.run, view.counts, view.task_runs
    console.print()
    if not task_runs:
        console.print("[quiet]no such trial[/]" if counts.done else "[quiet]no trial has finished[/]")
    whole = len(task_runs) == counts.done
    rates = group_rates(task_runs)
    if whole and len(task_runs) > len(rates):
        _print_rates(console, list(rates.values()))
    elif task_runs:
        _print_table(console, task_runs)
    not_passed = [task_run for task_run in task_runs if outcome(task_run) not in ("pass", "ungraded")]
    shown = _first_trial_of_each_task(not_passed)[:MAX_FAILURES] if whole else not_passed[:MAX_FAILURES]
    for task_run in shown:
        print_failure(console, task_run)
    if len(shown) < len(not_passed):
        more = f"{len(not_passed) - len(shown)} more that did not pass"
        console.print(f"\n[quiet]… and {more}: {get_command_prefix()} show {run.id} --failed{escape(store_option)}[/]")
    _print_passed_with_failures(console, task_runs, whole=whole)
    console.print()
    if view.seals.is_changed:
        print_changes(console, view.seals)
        return
    console.print(render_summary(run, counts, _count_unjudged(task_runs) if whole else 0))
    for note, number in count_notes(task_runs).items():
        console.print(
            f"[partial]note[/] {escape(note)} [quiet](in {number} trial{'s' * (number != 1)})[/]", soft_wrap=True
        )
    print_published_notes(console, run)
    if run.isolation not in (None, "built-in"):
        console.print(f"[quiet]isolation[/] {describe_isolation(run)}")
    templates = view.templates()
    if templates is not None and templates.rates():
        console.print()
        _print_rates(console, templates.rates(), "template")
    if whole and run.trials > 1:
        _print_repeats(console, compute_repeats(rates.values()))
    if whole and run.until_sure is not None:
        _print_threshold_groups(console, run.until_sure, group_by_threshold(rates.values(), run.until_sure))
    if whole:
        _print_judging_summary(console, view.judged())


def _print_passed_with_failures(console: Console, task_runs: Sequence[TaskRun], *, whole: bool) -> None:
    """List failed criteria of trials that passed."""
    passed = [task_run for task_run in task_runs if outcome(task_run) == "pass" and failed_results(task_run)]
    shown = (_first_trial_of_each_task(passed) if whole else passed)[:MAX_FAILURES]
    for task_run in shown:
        trial = f" [quiet]trial {task_run.trial}[/]" if task_run.trial > 1 else ""
        console.print(f"\n{render_verdict(task_run)}  [bold]{escape(task_run.task)}[/]{trial}  [quiet]passed, but:[/]")
        for criterion in failed_results(task_run):
            mark = "[errored]![/]" if criterion.status == "error" else _failure_mark(criterion)
            detail = f"  [quiet]{escape(to_one_line(criterion.detail))}[/]" if criterion.detail else ""
            line = f"  {mark} {escape(to_one_line(criterion.label))}{_render_tags(criterion)}{detail}"
            # Cut at the edge of a terminal, and whole elsewhere.
            console.print(line, no_wrap=True, overflow="ellipsis" if console.is_terminal else "ignore", crop=False)
    if len(shown) < len(passed):
        console.print(f"\n[quiet]… and {len(passed) - len(shown)} more that passed with failed criteria[/]")


def _failure_mark(criterion: CriterionRun) -> str:
    return "[partial]![/]" if criterion.is_warning else "[fail]✗[/]"


def _render_tags(criterion: CriterionRun, *, gates: bool = True) -> str:
    """Return what a criterion is, and its axis."""
    tags = describe_role(criterion, gates=gates) + ([to_one_line(criterion.axis)] if criterion.axis else [])
    return f" [quiet]({escape(', '.join(tags))})[/]" if tags else ""


def _print_judging_summary(console: Console, judging: JudgingSummary) -> None:
    """Print what models judged and used."""
    lines: list[tuple[str, str]] = []
    for label, text in () if judging.is_empty else judging.lines():
        lines.append((label, escape(text)))
        if label == "quality":
            tasks = list(judging.quality_by_task().items())[:MAX_ROWS]
            lines += [("", f"[quiet]{escape(task)}:[/] {escape(rated)}") for task, rated in tasks]
    for label, text in lines:
        print_labelled(console, 0, f"{label:<7}", text)


def _first_trial_of_each_task(task_runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Return one trial of each task."""
    first_trials: dict[str, TaskRun] = {}
    for task_run in task_runs:
        first_trials.setdefault(task_run.task, task_run)
    return list(first_trials.values())


def _print_rates(console: Console, rates: Sequence[TaskRate], row_title: str = "task") -> None:
    """Print the pass rate of repeated tasks or of templates."""
    shown = _most_urgent(rates, _is_all_passed)
    axes = AxisColumns(console, [rate.axes for rate in shown])
    numbers = map(number_column, ("passed", "rate", "95 % interval"))
    table = plain_table(*numbers, *axes.columns(), text_column(row_title), Column("", no_wrap=True))
    for rate in shown:
        table.add_row(*_rate_row(rate, axes))
    console.print(table)
    print_more(console, len(rates) - len(shown))


def _most_urgent(rows: Sequence[T], is_good: Callable[[T], bool]) -> Sequence[T]:
    """Return the rows to show: all, or the first ones with those that are not good first."""
    return sorted(rows, key=is_good)[:MAX_ROWS] if len(rows) > MAX_ROWS else rows


def interval_cells(interval: Interval | None) -> tuple[str, str]:
    """Return a rate and its interval for two columns of a table; empty if there is none."""
    if interval is None:
        return "", ""
    return percent(interval.rate), f"{percent(interval.low)} – {percent(interval.high)}"


def _is_all_passed(rate: TaskRate) -> bool:
    return rate.passed == rate.graded > 0


def _rate_row(rate: TaskRate, axes: AxisColumns) -> tuple[str, ...]:
    style = "pass" if _is_all_passed(rate) else "partial" if rate.flaky else "fail"
    notes = ["[partial]flaky[/]"] if rate.flaky else []
    notes += [
        f"{style_outcome(name)} {n}" for name, n in sorted(rate.outcomes.items()) if n and name not in ("pass", "fail")
    ]
    passed, task = f"[{style}]{rate.passed}/{rate.graded}[/]", escape(rate.task) + axes.below(rate.axes)
    return passed, *interval_cells(rate.interval), *axes.cells(rate.axes), task, "  ".join(notes)


def _print_repeats(console: Console, repeats: Repeats) -> None:
    for curve in list_curves(repeats):
        points = "  ".join(f"k={k} {percent(share)}" for k, share in curve.points.items())
        console.print(f"{curve.name}  {points}   [quiet]{curve.meaning}[/]")
    if repeats.flaky:
        console.print(f"[partial]flaky[/]   {escape('; '.join(repeats.flaky))}", soft_wrap=True)


def _print_threshold_groups(console: Console, threshold: float, groups: dict[str, list[str]]) -> None:
    words = {"above": "[pass]at least[/]", "below": "[fail]below[/]", "not sure": "[partial]not sure of[/]"}
    for name, tasks in groups.items():
        if tasks:
            console.print(f"{words[name]} {percent(threshold)}   {escape('; '.join(tasks))}", soft_wrap=True)


def _print_table(console: Console, task_runs: Sequence[TaskRun]) -> None:
    shown = _most_urgent(task_runs, lambda task_run: outcome(task_run) == "pass")
    axes = AxisColumns(console, [_axis_scores(task_run) for task_run in shown])
    first = (Column("verdict", no_wrap=True), Column("score", justify="right"), *axes.columns())
    table = plain_table(*first, text_column("task"), number_column("criteria"))
    trials = max((task_run.trial for task_run in task_runs), default=1)
    for task_run in shown:
        score = "" if task_run.score is None else f"{task_run.score:.2f}"
        count = _count_criteria(task_run.criteria) if not why_undecided(task_run) else "[quiet]–[/]"
        trial = f" [quiet]trial {task_run.trial}[/]" if trials > 1 else ""
        table.add_row(
            render_verdict(task_run),
            score,
            *axes.cells(_axis_scores(task_run)),
            escape(task_run.task) + trial + axes.below(_axis_scores(task_run)),
            count,
        )
    console.print(table)
    print_more(console, len(task_runs) - len(shown))


def _axis_scores(task_run: TaskRun) -> dict[str, float]:
    """Return the scores by axis; empty if no criterion names one, because there is only the score of the trial then."""
    scores = {axis: result.score for axis, result in task_run.axes.items()}
    return scores if list_axes([scores]) else {}


def _count_criteria(criteria: Sequence[CriterionRun]) -> str:
    """Return how many criteria passed, and how many were skipped."""
    count = CriteriaCount.of(criteria)
    passed = f"{count.passed}/{count.total}" if count.total else ""
    return f"{passed} [quiet]{count.skipped} skipped[/]".strip() if count.skipped else passed


def print_failure(console: Console, task_run: TaskRun) -> None:
    """Print why a trial did not pass: each failed criterion with expected and actual values."""
    console.print()
    trial = f" [quiet]trial {task_run.trial}[/]" if task_run.trial > 1 else ""
    console.print(
        f"{render_verdict(task_run)}  [bold]{escape(task_run.task)}[/]{trial}  [quiet]{render_ending(task_run)}[/]"
    )
    if task_run.error:
        print_indented(
            console,
            4,
            f"[errored]{describe_blame(task_run)}:[/] {escape(describe_error(task_run).removesuffix(_REFRESH_ADVICE))}",
        )
    if task_run.agent_error:
        print_indented(console, 4, f"[fail]the agent failed:[/] {escape(task_run.agent_error)}")
    for note in task_run.notes:
        print_indented(console, 4, f"[partial]note:[/] {escape(note)}")
    criteria, checks = split_criteria(task_run.criteria if task_run.status in ("completed", "timed_out") else ())
    for criterion in (*criteria, *(check for check in checks if check.status != "skipped")):
        if not criterion.passed:
            print_criterion(console, criterion, gates=has_optional_criteria(task_run))


def print_indented(console: Console, indent: int, markup: str) -> None:
    """Print a line whose wrapped parts keep its indent."""
    if console.is_terminal:
        console.print(Padding(markup, (0, 0, 0, indent)))
    else:
        console.print(textwrap.indent(markup, " " * indent))


def print_labelled(console: Console, indent: int, label: str, markup: str) -> None:
    """Print a label with text beside it whose wrapped parts keep their indent."""
    if not console.is_terminal:
        console.print(textwrap.indent(f"[quiet]{label}[/] {markup}", " " * indent))
        return
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="quiet", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(label, markup)
    console.print(Padding(grid, (0, 0, 0, indent)))


def print_criterion(
    console: Console, criterion: CriterionRun, *, whole: bool = False, gates: bool = True, traced: bool = False
) -> None:
    """Print a criterion with its evidence: what failed, or all of it."""
    mark = {"error": "[errored]! error[/]", "skipped": "[quiet]– skipped[/]"}.get(
        criterion.status, "[pass]✓[/]" if criterion.passed else _failure_mark(criterion)
    )
    print_indented(console, 2, f"{mark} {escape(criterion.label)}{_render_tags(criterion, gates=gates)}")
    print_indented(console, 6, escape(criterion.detail))
    for line in describe_cited_pages(criterion):
        print_indented(console, 6, escape(to_one_line(line)))
    for line in criterion.traceback.splitlines() if traced else ():
        print_indented(console, 8, f"[quiet]{escape(line)}[/]")
    if is_judged_by_model(criterion):
        print_judge_evidence(console, criterion, whole=whole)
        return
    for field in criterion.evidence:
        if whole or criterion.passed or not field.passed:
            _print_field(console, field)


def print_judge_evidence(console: Console, criterion: CriterionRun, *, whole: bool = False, indent: int = 6) -> None:
    """Print what a judge's verdict rests on: citations, votes and model."""
    parts = parse_judge_evidence(criterion)
    for field in parts.rest:
        if whole or criterion.passed or not field.passed:
            _print_field(console, field)
    for cite in parts.cites if whole else parts.cites[:MAX_CITES]:
        event = f" [quiet]#{cite.seq}[/]" if cite.seq is not None and not cite.path.startswith("#") else ""
        quote = to_one_line(str(cite.expected["contains"]), MAX_VALUE)
        moved = f"[quiet]{escape(to_one_line(describe_move(cite)))}[/]"
        print_indented(console, indent, f"[place]{escape(cite.path)}[/]{event} “{escape(quote)}”{moved}")
    if not whole and len(parts.cites) > MAX_CITES:
        print_indented(console, indent, f"[quiet]… and {len(parts.cites) - MAX_CITES} more[/]")
    for vote in parts.votes if whole else ():
        print_indented(
            console, indent, f"[quiet]vote {vote.number}[/]  {vote.word}: {escape(to_one_line(vote.reason))}"
        )
    if whole and parts.judge:
        print_indented(console, indent, f"[quiet]judge[/] {escape(parts.judge)}")


def print_metrics_and_cost(console: Console, task_run: TaskRun, *, replayed: bool = False) -> None:
    """Print the metrics of a conversation, and the use of models, if there are any."""
    if task_run.quality is not None:
        _print_quality(console, task_run.quality)
    verdicts = sum(is_judged_by_model(criterion) for criterion in task_run.criteria)
    used = render_used(task_run.models, verdicts, as_recorded=replayed)
    if used:
        console.print(f"  [quiet]models[/] {escape(used)}")


def _print_quality(console: Console, quality: Quality) -> None:
    console.print(f"  [quiet]quality, {NOT_IN_VERDICT}[/]")
    if quality.error:
        print_indented(console, 4, f"[errored]not rated:[/] {escape(quality.error)}")
    for name, rating in quality.ratings.items():
        score = f"{rating.score} of 5" if rating.score is not None else describe_answer(rating.passed)
        reason = f"  [quiet]{escape(to_one_line(rating.reason))}[/]" if rating.reason else ""
        print_indented(console, 4, f"{escape(name.replace('_', ' '))} {score}{reason}")
    if quality.summary:
        print_indented(console, 4, f"[quiet]{escape(to_one_line(quality.summary))}[/]")


def _print_field(console: Console, field: FieldCheck) -> None:
    place = f" [quiet]#{field.seq}[/]" if field.seq is not None else ""
    print_indented(console, 6, f"[place]{escape(field.path)}[/]{place}")
    for path, expected, actual in comparisons(field):
        indent = 10 if path else 8
        if path:
            print_indented(console, 8, f"[place]{escape(path)}[/]")
        print_indented(console, indent, f"[quiet]expected[/] {escape(to_one_line(expected, MAX_VALUE))}")
        print_indented(console, indent, f"[quiet]actual  [/] {escape(to_one_line(actual, MAX_VALUE))}")
    if field.differences_left_out:
        print_indented(console, 8, f"[quiet]{describe_left_out(field)}[/]")


def _count_unjudged(task_runs: Sequence[TaskRun]) -> int:
    """Return the number of criteria that were skipped or could not be judged in finished trials."""
    return sum(CriteriaCount.of(run.criteria).unjudged for run in task_runs if not why_undecided(run))


def render_summary(run: BenchmarkRun, counts: Counts, unjudged: int = 0) -> str:
    """Return one line with the outcomes, the pass rate with its interval, and what was not graded."""
    outcomes = "  ".join(f"{style_outcome(name)} {count}" for name, count in count_outcomes(counts).items() if count)
    interval = wilson_interval(counts.passed, counts.graded)
    rate = ""
    if interval is not None:
        trials = f"{counts.graded:,} graded trial{'s' * (counts.graded != 1)}"
        interval_text = f"[quiet](95 % interval {percent(interval.low)} to {percent(interval.high)})[/]"
        rate = f"   pass rate {percent(interval.rate)} of {trials} {interval_text}"
    missing = run.count_missing(counts)
    not_run = f"   [cancelled]{missing} not run[/]" if missing else ""
    crashed = f"   [fail]the agent crashed in {counts.agent_errors}[/]" if counts.agent_errors else ""
    criteria = "criterion" if unjudged == 1 else "criteria"
    skipped = f"   [inconclusive]{unjudged} {criteria} not judged[/]" if unjudged else ""
    return f"{outcomes}{crashed}{rate}{skipped}{not_run}"
