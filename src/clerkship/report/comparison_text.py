"""Texts of a comparison, the same on the terminal, in Markdown and in HTML."""

from typing import Literal

from clerkship.report.comparison import Change, Comparison, CriterionComparison, TaskComparison
from clerkship.report.gates import MIN_TASKS, GatedComparison
from clerkship.report.labels import axis_name
from clerkship.report.outcome import describe_role
from clerkship.report.plain_text import to_one_line
from clerkship.report.published_version import describe_version_difference
from clerkship.report.repeats import TaskRate

Tone = Literal["worse", "better", "flaky", "same", "unknown"]
_TONES: dict[str, Tone] = {
    "worse": "worse",
    "criteria worse": "worse",
    "newly failing": "worse",
    "better": "better",
    "criteria better": "better",
    "newly passing": "better",
    "flaky": "flaky",
    "criteria flaky": "flaky",
    "same": "same",
    "held": "better",
}


def tone(name: str) -> Tone:
    """Return whether a standing, a change or a gate's state is good or bad."""
    return _TONES.get(name, "unknown")


def change_tone(pair: CriterionComparison) -> Tone:
    """Return whether the change of a criterion is good or bad; a score by its difference."""
    if pair.change == "score" and pair.before is not None and pair.after is not None:
        return "better" if pair.after.score * pair.before.graded > pair.before.score * pair.after.graded else "worse"
    return tone(pair.change)


def change_words(pair: CriterionComparison) -> str:
    """Return the change, `newly failing`, with counts or scores if they say more."""
    change: Change = pair.change
    return f"{change} {pair.words()}" if pair.repeated or change in ("score", "only after", "not judged") else change


def criterion_tags(pair: CriterionComparison) -> list[str]:
    """Return what a criterion counts for: gate, axis, weight."""
    criterion = pair.criterion
    tags = describe_role(criterion) + ([to_one_line(criterion.axis, 60)] if criterion.axis else [])
    return tags + ([f"weight {criterion.weight:g}"] if criterion.weight != 1 and not criterion.is_implied else [])


def detail(pair: CriterionComparison) -> str:
    """Return why a criterion fails now or was not judged; empty if it passes."""
    return pair.after.detail if pair.after is not None and pair.after.passed < max(pair.after.graded, 1) else ""


def rated(rate: TaskRate | None) -> str:
    """Describe one trial by outcome and score, several by how many passed."""
    if rate is None:
        return "–"
    [first, *others] = sorted(rate.outcomes.elements())
    if others:
        broken = sum(rate.outcomes.values()) - rate.graded
        notes = [f" +{broken} not graded"] * bool(broken) + [f" ({rate.crashed} crashed)"] * bool(rate.crashed)
        return f"{rate.passed}/{rate.graded}{''.join(notes)}"
    crashed = " (crashed)" if rate.crashed else ""
    return f"{first}{'' if rate.mean_score is None else f' {rate.mean_score:.2f}'}{crashed}"


def is_shown(row: TaskComparison) -> bool:
    """Return whether a task changed in any way."""
    return row.standing != "same" or row.changed or bool(row.changes)


def score(value: float | None) -> str:
    """Return a score with two digits, or a dash."""
    return "–" if value is None else f"{value:.2f}"


def axis_cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return for each axis: name, score before and after, newly failing, newly passing, flaky."""
    return [
        (
            axis_name(row.axis),
            score(row.before),
            score(row.after),
            *(str(row.changes[name]) for name in ("newly failing", "newly passing", "flaky")),
        )
        for row in comparison.axes()
    ]


def headline(gated: GatedComparison) -> str:
    """Return the result in a sentence."""
    match gated.exit_code():
        case 0:
            return "No gate is worse"
        case 1:
            return f"Worse: {'; '.join(f'{r.gate}: {r.words()}' for r in gated.results() if r.state == 'worse')}"
    return f"Not conclusive: {'; '.join(unknown(gated))}"


def unknown(gated: GatedComparison) -> list[str]:
    """Return why the comparison is not conclusive."""
    comparison = gated.comparison
    if comparison.difference is None:
        return ["no task was graded in both runs"]
    if comparison.after.status != "completed":
        return ["the second run is not complete"]
    if not comparison.is_conclusive:
        return ["trials of the second run are errored, inconclusive or without a verdict"]
    return [f"{result.gate}: {result.words()}" for result in gated.results() if result.state == "not judged"]


def version_difference(comparison: Comparison) -> str:
    """Return that the runs are of different published versions; empty if they are not."""
    return describe_version_difference(comparison.before, comparison.after)


def difference(comparison: Comparison) -> tuple[str, str]:
    """Return the difference of the pass rates and its significance; empty if no task is in both runs."""
    interval = comparison.difference
    if interval is None:
        return "", ""
    low, high = f"{100 * interval.low:+.0f}", f"{100 * interval.high:+.0f}"
    size = f"pass rate {100 * interval.rate:+.1f} points (95 % interval {low} to {high})"
    return size, _chance(comparison)


def _chance(comparison: Comparison) -> str:
    if comparison.after.made_by == "rescore":
        return ""  # the same trials, graded twice: there is no chance in it
    if comparison.tasks < MIN_TASKS:
        few = "1 task is" if comparison.tasks == 1 else f"{comparison.tasks} tasks are"
        return f"{few} too few for a statement about all tasks together"
    if comparison.overall == "same":
        return f"the difference may be chance (p = {comparison.chance:.2f})"
    return f"{comparison.overall} overall (p = {comparison.chance:.3f})"
