"""A run as Markdown for GitHub and GitLab: the summary of a job, or a comment on a change.

The headline first, then what did not pass, then why, then the rest; whole pieces for as long as there is room.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from clerkship.kit.statistics import wilson
from clerkship.model.run import BenchmarkRun, Counts, CriterionRun, FieldCheck, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.axes import axis_name, axis_words, mean_axes, shown_axes
from clerkship.report.command import look_closer, run_again
from clerkship.report.foreign import foreign, foreign_lines
from clerkship.report.isolation import isolation_of
from clerkship.report.judged import Judged
from clerkship.report.markdown_page import LEAST, Page
from clerkship.report.outcome import NO_RATE, OUTCOMES, ended, is_missed, standing, tally, urgency
from clerkship.report.percent import percent
from clerkship.report.plain import blame, comparisons, shown_evidence, skipped, unmet, word, wrong
from clerkship.report.reliance import reliance
from clerkship.report.repeats import TaskRate, curves, repeats
from clerkship.report.templates import Templates

SUMMARY = 1_000_000
"""Bytes that a job's summary may have: GitHub takes 1 MiB."""
COMMENT = 65_000
"""Bytes that fit a comment: GitHub takes 65,536 characters."""
MOST_ROWS = 500
MOST_CRITERIA = 10
MOST_EVIDENCE = 5
_MARKS = {"passed": "✅", "failed": "❌", "errored": "⚠️", "skipped": "⏭️"}


@dataclass
class _Seen:
    """What one walk over the trials leaves: no records, so that a large run needs little room."""

    passed: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    urgent: list[tuple[int, int]] = field(default_factory=list)
    """How urgent, and the how-manieth: those that did not pass."""
    rates: dict[str, TaskRate] = field(default_factory=dict)
    templates: Templates = field(default_factory=Templates)
    flawed: dict[str, dict[str, int]] = field(default_factory=dict)
    """By task: criteria that failed in trials that passed, and in how many."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Criteria that nobody was asked about, and in how many trials."""


def render_markdown(
    run: BenchmarkRun,
    counts: Counts,
    trials: Callable[[], Iterable[TaskRun]],
    limit: int = SUMMARY,
    judged: Judged | None = None,
    seals: SealCheck | None = None,
) -> str:
    """The page, of at most so many bytes. The trials are gone through twice."""
    judged = judged or Judged.of(run)
    seen = _look(trials(), judged)
    ending = _again(run)
    page = Page(max(limit, LEAST) - len(ending.encode()))
    changed = seals is not None and seals.is_changed
    page.add(_headline(run, counts, seals), needed=True)
    if seals is not None and changed:
        page.add(_changed(seals), needed=True)
    else:
        _add_counted(page, run, seen, judged)
    shown = _chosen(trials(), seen)
    page.add_all(
        "\n| | task | score | why |\n|---|---|---|---|\n",
        map(_row, shown),
        len(seen.urgent),
        share=0.4,
        what="more that did not pass",
    )
    page.add_all("\n", map(_details, shown), len(seen.urgent), share=0.9, what="more that did not pass")
    if not changed:
        page.add(_passes(seen.passed, page.room // 2))
    page.add(ending, needed=True)
    return page.text()


def _add_counted(page: Page, run: BenchmarkRun, seen: _Seen, judged: Judged) -> None:
    """Add what is counted over all trials, which says nothing of a changed run."""
    page.add(_templates(seen))
    page.add(_repeated(run, seen))
    page.add(_judged(judged))
    page.add(_flaky(seen))
    page.add(_flawed(seen))
    page.add(_axes(seen))
    page.add(_skipped(seen))


def _look(trials: Iterable[TaskRun], judged: Judged) -> _Seen:
    seen = _Seen()
    for place, task_run in enumerate(trials):
        judged.add(task_run)
        seen.templates.add(task_run)
        seen.rates.setdefault(task_run.task, TaskRate(task_run.task)).add(task_run)
        for criterion in skipped(task_run):
            seen.skipped[criterion.label] = seen.skipped.get(criterion.label, 0) + 1
        match standing(task_run):
            case "passed":
                seen.passed[task_run.task] = seen.passed.get(task_run.task, 0) + 1
                _note_flaws(task_run, seen)
            case "skipped":
                continue
            case found:
                seen.urgent.append((urgency(task_run), place))
                if found == "failed":
                    seen.failed[task_run.task] = seen.failed.get(task_run.task, 0) + 1
    return seen


def _note_flaws(task_run: TaskRun, seen: _Seen) -> None:
    for criterion in unmet(task_run):
        found = seen.flawed.setdefault(task_run.task, {})
        text = foreign(criterion.label, 200) + (f" ({foreign(criterion.axis, 40)})" if criterion.axis else "")
        found[text] = found.get(text, 0) + 1


def _chosen(trials: Iterable[TaskRun], seen: _Seen) -> list[TaskRun]:
    """The most urgent, as many as a page could ever show."""
    wanted = {place for _, place in sorted(seen.urgent)[:MOST_ROWS]}
    return sorted((task_run for place, task_run in enumerate(trials) if place in wanted), key=urgency)


def _changed(seals: SealCheck) -> str:
    """Name what was changed since the run was saved."""
    rows = "".join(f"- {foreign(sentence, 300)}\n" for sentence in seals.sentences())
    return f"\n### ⚠️ Changed in the store\n\n**{foreign(seals.headline(), 300)}**\n\n{rows}"


def _headline(run: BenchmarkRun, counts: Counts, seals: SealCheck | None) -> str:
    changed = seals is not None and seals.is_changed
    mark = {0: "✅", 1: "❌", 130: "⏭️"}.get(2 if changed else run.exit_code(counts), "⚠️")
    told = f"**{NO_RATE}**" if changed else _counted(run, counts)
    judge = f", judge {foreign(run.judge.who)}" if run.judge is not None else ""
    person = f", person {foreign(run.person.who)}" if run.person is not None else ""
    isolation = f", isolation {isolation_of(run)}" if run.isolation not in (None, "built-in") else ""
    agent = f"Agent {foreign(run.solver)}{isolation}{judge}{person}"
    checked = f"\nSeals: {seals.state()}\n" if seals is not None else ""
    return f"## {mark} {foreign(run.name, 100)}\n\n{told}\n\n{agent}\n{checked}"


def _counted(run: BenchmarkRun, counts: Counts) -> str:
    """Return the pass rate, and below it how many trials came out how."""
    rate = wilson(counts.passed, counts.graded)
    told = "no trial was graded"
    if rate is not None:
        told = (
            f"**{counts.passed:,} of {counts.graded:,}** graded trials passed: **{percent(rate.rate)}** "
            f"(95 % interval {percent(rate.low)} to {percent(rate.high)})"
        )
    numbers = " · ".join(f"{number:,} {OUTCOMES[name][0].lower()}" for name, number in tally(counts).items() if number)
    crashed = f" · the agent crashed in {counts.agent_errors:,}" if counts.agent_errors else ""
    missing = run.missing(counts)
    left = f" · {missing:,} not run" if missing > 0 else ""
    return f"{told}\n\n{numbers}{crashed}{left}"


def _judged(found: Judged) -> str:
    """What models said and took, beside the rate."""
    if found.is_empty:
        return ""
    rows = "".join(f"- {about}: {foreign(told, 600)}\n" for about, told in found.lines())
    tasks = "".join(
        f"<li>{foreign(task, 200)}: {foreign(told)}</li>\n" for task, told in list(found.quality_by_task().items())[:50]
    )
    folded = f"\n<details><summary>Quality by task</summary>\n<ul>\n{tasks}</ul>\n</details>\n" if tasks else ""
    return f"\n### Models\n\n{rows}{folded}" if rows else ""


def _templates(seen: _Seen) -> str:
    """How often each template was done right, over its records."""
    found = seen.templates.rates()
    rows = "".join(f"| {foreign(rate.task, 200)} | {len(rate.tasks):,} | {_rated(rate)} |\n" for rate in found[:100])
    more = f"\n… and {len(found) - 100:,} more\n" if len(found) > 100 else ""
    head = "| template | tasks | passed | rate | 95 % interval |\n|---|---|---|---|---|\n"
    return f"\n### Templates\n\n{head}{rows}{more}" if rows else ""


def _rated(rate: TaskRate) -> str:
    found = rate.interval
    sure = (percent(found.rate), f"{percent(found.low)} to {percent(found.high)}") if found is not None else ("", "")
    return " | ".join((f"{rate.passed:,} of {rate.graded:,}", *sure))


def _repeated(run: BenchmarkRun, seen: _Seen) -> str:
    """What repetition tells, where there was any."""
    told = curves(repeats(seen.rates.values())) if run.trials > 1 else []
    rows = "".join(f"- {foreign(curve.name)}: {curve.words()} ({curve.meaning})\n" for curve in told)
    return f"\n{rows}" if rows else ""


def _flaky(seen: _Seen) -> str:
    """Tasks that passed in some trials and not in others."""
    found = sorted(seen.passed.keys() & seen.failed.keys())
    if not found:
        return ""
    rows = "".join(
        f"- {foreign(task, 200)}: {seen.passed[task]:,} of {seen.passed[task] + seen.failed[task]:,} trials passed\n"
        for task in found[:20]
    )
    more = f"- … and {len(found) - 20:,} more\n" if len(found) > 20 else ""
    return f"\n### Flaky\n\n{rows}{more}"


def _flawed(seen: _Seen) -> str:
    """Criteria that failed although the trial passed."""
    if not seen.flawed:
        return ""
    rows = ""
    for task, found in list(seen.flawed.items())[:20]:
        labels = [f"{label}{_times(number)}" for label, number in list(found.items())[:MOST_CRITERIA]]
        rows += f"- {foreign(task, 200)}: {'; '.join(labels)}\n"
    more = f"- … and {len(seen.flawed) - 20:,} more tasks\n" if len(seen.flawed) > 20 else ""
    return f"\n### Passed, with failed criteria\n\n{rows}{more}"


def _axes(seen: _Seen) -> str:
    """The mean score of each axis, over tasks; nothing where there is only the default one."""
    axes = mean_axes([rate.axes for rate in seen.rates.values()])
    rows = "".join(f"| {foreign(axis_name(axis), 40)} | {axes[axis]:.2f} |\n" for axis in shown_axes([axes]))
    return f"\n| axis | mean score |\n|---|---|\n{rows}" if rows else ""


def _skipped(seen: _Seen) -> str:
    """Criteria that are counted nowhere."""
    if not seen.skipped:
        return ""
    rows = "".join(
        f"- {foreign(label, 200)}: in {number:,} trial{'s' * (number != 1)}\n"
        for label, number in list(seen.skipped.items())[:20]
    )
    more = f"- … and {len(seen.skipped) - 20:,} more\n" if len(seen.skipped) > 20 else ""
    return f"\n### {_MARKS['skipped']} Skipped criteria\n\n{rows}{more}"


def _name(task_run: TaskRun) -> str:
    trial = f" trial {task_run.trial}" if task_run.trial > 1 else ""
    return f"{foreign(task_run.task, 200)}{trial}"


def _row(task_run: TaskRun) -> str:
    score = "" if task_run.score is None else f"{task_run.score:.2f}"
    below = [foreign(words, 60) for words in axis_words(_below(task_run))]
    score += f" ({', '.join(below)})" if below else ""
    mark = f"{_MARKS[standing(task_run)]} {word(task_run).lower()}"
    return f"| {mark} | {_name(task_run)} | {score} | {_why(task_run)} |\n"


def _below(task_run: TaskRun) -> dict[str, float]:
    """The axes that are not perfect."""
    return {axis: found.score for axis, found in task_run.axes.items() if found.score < 1}


def _why(task_run: TaskRun) -> str:
    """In a table's cell: what broke, or which criteria were not met."""
    if task_run.error:
        return foreign(task_run.error.partition("\n")[0] if is_missed(task_run) else task_run.error)
    if task_run.agent_error:
        return f"the agent crashed: {foreign(task_run.agent_error)}"
    labels = [foreign(criterion.label, 120) for criterion in unmet(task_run)]
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
    return "; ".join(labels[:3]) + more if labels else ended(task_run).lower()


def _details(task_run: TaskRun) -> str:
    """One block of HTML without an empty line, so that nothing in it is read as Markdown."""
    told = [f"<p>{ended(task_run)}.</p>"]
    told += [_error(task_run)] if task_run.error else []
    told += [f"<p>The agent crashed: {foreign(task_run.agent_error, 1000)}</p>"] if task_run.agent_error else []
    found = unmet(task_run)
    items = [_criterion(criterion) for criterion in found[:MOST_CRITERIA]]
    items += [f"<li>… and {len(found) - MOST_CRITERIA:,} more</li>"] if len(found) > MOST_CRITERIA else []
    told += ["<ul>", *items, "</ul>"] if items else []
    told.append(f"<p>Look closer: {foreign(look_closer(task_run), 600)}</p>")
    mark = _MARKS[standing(task_run)]
    return "\n".join([f"<details><summary>{mark} {_name(task_run)}</summary>", *told, "</details>\n\n"])


def _error(task_run: TaskRun) -> str:
    """What kept it from a verdict; of something not recorded, line by line what is not as it was."""
    first, _, others = wrong(task_run).partition("\n") if is_missed(task_run) else (task_run.error, "", "")
    told = f"<p>{blame(task_run).capitalize()}: {foreign(first, 1000)}</p>"
    return f"{told}\n{foreign_lines(others)}" if others else told


def _criterion(criterion: CriterionRun) -> str:
    mark = "could not be judged: " if criterion.status == "error" else ""
    gate = " (gate)" if criterion.gate else ""
    evidence = "".join(_check(check) for check in shown_evidence(criterion)[:MOST_EVIDENCE])
    detail = f"<br>{foreign(criterion.detail)}" if criterion.detail else ""
    detail += "".join(_cite(cite) for cite in reliance(criterion).cites[:MOST_EVIDENCE])
    return f"<li>{mark}{foreign(criterion.label, 200)}{gate}{detail}{evidence}</li>"


def _cite(cite: FieldCheck) -> str:
    return f"<br>{foreign(cite.path)} in event {cite.seq}: {foreign(str(cite.expected['contains']))}"


def _check(check: FieldCheck) -> str:
    place = f" in event {check.seq}" if check.seq is not None else ""
    return "".join(
        f"<br>{foreign(check.path, 200)}{place}{path and ', '}{foreign(path)}: "
        f"expected {foreign(expected)}, actual {foreign(actual)}"
        for path, expected, actual in islice(comparisons(check), MOST_EVIDENCE)
    )


def _passes(passed: dict[str, int], room: int) -> str:
    """What passed, folded away; with trials, how many of each."""
    if not passed:
        return ""
    total = sum(passed.values())
    rows = list(_fitting((f"<li>{foreign(task, 200)}{_times(n)}</li>" for task, n in sorted(passed.items())), room))
    more = f"<li>… and {len(passed) - len(rows):,} more</li>\n" if len(rows) < len(passed) else ""
    listed = "\n".join(rows)
    return f"\n<details><summary>✅ {total:,} passed</summary>\n<ul>\n{listed}\n{more}</ul>\n</details>\n"


def _times(number: int) -> str:
    return f" × {number:,}" if number > 1 else ""


def _fitting(rows: Iterable[str], room: int) -> Iterator[str]:
    for row in rows:
        room -= len(row.encode()) + 1
        if room < 0:
            return
        yield row


def _again(run: BenchmarkRun) -> str:
    return f"\nRun it again: {foreign(run_again(run), 600)}\n\nRun {foreign(run.id, 60)}, clerkship {run.clerkship}\n"
