"""A run as one HTML file of limited size that opens from disk without a network, with every string as untrusted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from clerkship.kit.statistics import wilson_interval
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.report.detail import TaskDetail
from clerkship.report.judging_summary import NOT_IN_VERDICT, JudgingSummary
from clerkship.report.labels import average_axes, describe_axes, describe_isolation, percent, rerun_command
from clerkship.report.outcome import (
    CHANGED_OUTCOME,
    GRADED,
    NO_RATE_TEXT,
    OUTCOMES,
    count_outcomes,
    describe_ending,
    urgency,
)
from clerkship.report.overview import Overview
from clerkship.report.page_images import build_page_images
from clerkship.report.pages import embed_json, read_part, render_json, render_page, strip_backticks
from clerkship.report.published_version import describe_notes, describe_published
from clerkship.report.repeats import compute_repeats, group_rates, list_curves
from clerkship.report.site_pages import build_site_pages
from clerkship.report.templates import TemplateRates
from clerkship.report.trial_card import build_body, build_row, list_cited_events, sort_events
from clerkship.settings import get_command_prefix

MAX_PAGE_DATA = 8 * 1024 * 1024
"""Bytes of data in one page, besides the list of trials."""
MAX_ROWS = 2_000
"""Rows of the table that is shown without scripts."""
MAX_RATED = 200
"""Rows of each other table."""
MAX_UNFOLDED = 5
"""Rows of each breakdown of the overview that are not folded."""
_STYLES = ("style.css", "overview.css", "calls.css", "lanes.css")
_SCRIPT = "built/report.js"
"""Built from `viewer/src` by `make viewer`."""


class LinkedPage(NamedTuple):
    """What the page of the viewer refers to, instead of holding it."""

    style: str
    script: str
    prefix: str
    """The address below which the other pages are."""
    signs_out: bool
    """Whether the reader can sign out."""
    is_active: bool
    """Whether trials are still added, so that what is counted would soon be out of date."""
    store_option: str | None
    """What commands need to name the store; None if the reader has no command line for it."""


def fit_to_budget(
    details: Sequence[TaskDetail], budget: int = MAX_PAGE_DATA, *, replayed: bool = False
) -> list[dict[str, Any]]:
    """Return every trial as a row; add bodies, then events, in order, while they fit.

    Bodies may take half of the budget: the events of a failure are more useful than the body of yet another pass.
    """
    shown = [build_row(detail) for detail in details]
    bodies = 0
    for place, detail in zip(shown, details, strict=True):
        data = render_json(build_body(detail, replayed=replayed))
        if bodies + len(data) <= budget // 2:
            bodies += len(data)
            place["body"] = embed_json(data)
    room = budget - bodies
    for place, detail in zip(shown, details, strict=True):
        if "body" in place:
            lines = _select_lines(detail, room, budget // 4)
            room -= sum(map(len, lines))
            place["log"] = [embed_json(line) for line in lines]
    return shown


def _select_lines(detail: TaskDetail, room: int, share: int) -> list[bytes]:
    """Return a whole log if it fits; a part of one that is too long for any page; otherwise nothing."""
    lines = [(event["seq"], render_json(event)) for event in sort_events(detail.events)]
    size = sum(len(line) for _, line in lines)
    if size > room:
        lines = _select_cited_lines(lines, share, list_cited_events(detail)) if share <= min(size, room) else []
    return [line for _, line in lines]


def _select_cited_lines(lines: list[tuple[int, bytes]], share: int, needed: set[int]) -> list[tuple[int, bytes]]:
    """Return the lines that the evidence cites, and as many others from the beginning as fit."""
    numbers = set()
    for seq, line in sorted(lines, key=lambda numbered: numbered[0] not in needed):
        share -= len(line)
        if share < 0:
            break
        numbers.add(seq)
    return [numbered for numbered in lines if numbered[0] in numbers]


@dataclass(frozen=True)
class RunSummary:
    """A run as its page shows it: its trials, the most urgent first, what was judged, and the overview."""

    run: BenchmarkRun
    counts: Counts
    details: Sequence[TaskDetail]
    judged: JudgingSummary
    seals: SealCheck | None
    overview: Overview
    label: str = ""
    """What people call the run."""

    @classmethod
    def of(
        cls,
        run: BenchmarkRun,
        counts: Counts,
        details: Iterable[TaskDetail],
        judged: JudgingSummary | None,
        seals: SealCheck | None,
    ) -> "RunSummary":
        """Sort the trials and count them. Changed trials come first; a changed run has no overview."""
        changes = seals.changed_trials() if seals is not None else {}
        marked = (replace(detail, changed=changes.get(detail.task_run.outcome()[:3], "")) for detail in details)
        urgent_first = sorted(marked, key=lambda detail: (not detail.changed, urgency(detail.task_run)))
        judged = judged or JudgingSummary.of(run)
        for detail in urgent_first:
            judged.add(detail.task_run)
        is_changed = seals is not None and seals.is_changed
        overview = Overview() if is_changed else Overview([detail.task_run for detail in urgent_first])
        return cls(run, counts, urgent_first, judged, seals, overview)

    @property
    def task_runs(self) -> list[TaskRun]:
        return [detail.task_run for detail in self.details]

    def describe(self) -> dict[str, Any]:
        """Return what the page's script needs to know of the run besides its trials."""
        return {"run": self.run.id, "command": get_command_prefix(), "outcomes": list_outcomes()}

    def add_facets(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add to the rows of the trials in which rows of the overview each trial is counted."""
        if self.seals is None or not self.seals.is_changed:
            for row, detail in zip(rows, self.details, strict=True):
                row.update(self.overview.list_facets(detail.task_run))


def list_outcomes() -> dict[str, tuple[str, str]]:
    """Return the word and the meaning of each outcome of a report, the most urgent first."""
    return {"changed": CHANGED_OUTCOME, **OUTCOMES}


def render_html(
    run: BenchmarkRun,
    counts: Counts,
    details: Iterable[TaskDetail],
    judged: JudgingSummary | None = None,
    seals: SealCheck | None = None,
    *,
    label: str = "",
) -> str:
    """Render the page. The same run gives the same bytes: nothing depends on the current time."""
    summary = replace(RunSummary.of(run, counts, details, judged, seals), label=label)
    trials = fit_to_budget(summary.details, replayed=run.is_replayed)
    summary.add_facets(trials)
    site = build_site_pages(summary.details, trials)
    data = summary.describe() | {"trials": trials, **build_page_images(summary.details, trials)} | site
    return _render(
        summary,
        data,
        style="\n".join(map(read_part, _STYLES)),
        script=read_part(_SCRIPT),
        frame_styles=list(site["site_styles"].values()),
    )


def render_run_page(summary: RunSummary, data: dict[str, str], linked: LinkedPage) -> str:
    """Render the page of a run for the viewer: the same header and overview, without the trials.

    `data` has the addresses from which the script reads them.
    """
    return _render(summary, data, linked=linked)


def _render(
    summary: RunSummary,
    data: dict[str, Any],
    style: str = "",
    script: str = "",
    frame_styles: Sequence[str] = (),
    linked: LinkedPage | None = None,
) -> str:
    run, counts, task_runs = summary.run, summary.counts, summary.task_runs
    repeated = compute_repeats(group_rates(task_runs).values()) if run.trials > 1 else None
    return render_page(
        "page.html",
        {"instant": _format_time},
        style=style,
        script=script,
        frame_styles=frame_styles,
        linked=linked,
        title=strip_backticks(f"{run.name}: {run.solver}"),
        data=render_json(data).decode(),
        run=run,
        label=summary.label,
        counts=counts,
        details=summary.details,
        judged=summary.judged,
        seals=summary.seals,
        outcomes=list_outcomes(),
        rate=wilson_interval(counts.passed, counts.graded),
        bar=_bar(counts),
        bar_width=max(sum(count_outcomes(counts).values()), 1),
        tally=_list_tally(count_outcomes(counts)),
        axes=describe_axes(average_axes([rate.axes for rate in group_rates(task_runs).values()])),
        curves=list_curves(repeated) if repeated is not None else (),
        breakdowns=summary.overview.list_breakdowns(),
        notes=_notes(run, counts),
        templates=TemplateRates(task_runs).rates(),
        again=rerun_command(run),
        show=f"{get_command_prefix()} show {run.id}{linked.store_option}"
        if linked is not None and linked.store_option is not None
        else "",
        isolation=describe_isolation(run),
        grading=f"by the rules of version {run.grading}; this program has {GRADING_VERSION}"
        if run.grading != GRADING_VERSION
        else "",
        published=describe_published(run),
        published_notes=describe_notes(run),
        plugins=", ".join(map(" ".join, run.plugins.items())),
        describe_ending=describe_ending,
        no_rate=NO_RATE_TEXT,
        not_in_verdict=NOT_IN_VERDICT,
        max_rows=MAX_ROWS,
        max_rated=MAX_RATED,
        max_unfolded=MAX_UNFOLDED,
    )


def _list_tally(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Return the counts of verdicts, and of other outcomes that occurred."""
    return [(name, number) for name, number in _sort_for_reading(counts) if number or name in GRADED]


def _sort_for_reading(counts: dict[str, int]) -> list[tuple[str, int]]:
    """Sort counts for readers: pass first, outcomes without a verdict last."""
    return [(name, counts[name]) for name in (*GRADED, *reversed([name for name in counts if name not in GRADED]))]


def _bar(counts: Counts) -> list[tuple[str, int, int]]:
    """Return the segments of the bar with their position and width, in trials."""
    segments, x = [], 0
    for name, number in reversed(count_outcomes(counts).items()):
        if number:
            segments.append((name, x, number))
            x += number
    return segments


def _notes(run: BenchmarkRun, counts: Counts) -> str:
    left_out = [
        f"{n:,} {OUTCOMES[name][0].lower()}"
        for name, n in _sort_for_reading(count_outcomes(counts))
        if n and name not in GRADED
    ]
    timed_out = counts.statuses.get("timed_out", 0)
    sure_early = run.until_sure is not None and run.status == "completed"
    notes = [
        f"Not in the rate: {', '.join(left_out)}." if left_out else "",
        f"{timed_out:,} failed {_trials(timed_out)} ran out of time." if timed_out else "",
        f"The agent crashed in {counts.agent_errors:,} {_trials(counts.agent_errors)}." if counts.agent_errors else "",
        f"{counts.done:,} of {run.total:,} trials are done." if counts.done < run.total and not sure_early else "",
        "Each task was repeated until its rate was clearly above or below "
        f"{percent(run.until_sure or 0)}, at most {run.trials:,} times."
        if sure_early
        else "",
        "The run was cancelled." if run.status == "cancelled" else "",
    ]
    return " ".join(filter(None, notes))


def _trials(number: int) -> str:
    return "trial" if number == 1 else "trials"


def _format_time(text: str) -> str:
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text
