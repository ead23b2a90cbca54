"""The overview of a report: causes, criteria, tags and flaky tasks, each count equal to what its filter shows."""

import re
from dataclasses import replace
from typing import Any

import pytest

from clerkship.model.run import CriterionRun, FieldCheck, TaskRun
from clerkship.model.seals import SealChange, SealCheck
from clerkship.model.usage import Usage
from clerkship.report.html import MAX_RATED, MAX_UNFOLDED, render_html
from clerkship.report.markdown import render_markdown
from clerkship.report.overview import Cause, Overview, classify_error, describe_cause
from clerkship.report.trial_card import MAX_TAGS
from tests.report import made_up
from tests.report.test_html import data_of, page_of

NO_VERDICT: dict[str, Any] = {"verdict": None, "score": None, "axes": {}}


def failed(task: str, *labels: str, **changes: Any) -> TaskRun:
    """Return a failed trial with these failed criteria."""
    criteria = tuple(made_up.criterion(label) for label in labels)
    return made_up.task_run(task, verdict="fail", score=0.0, **{"criteria": criteria} | changes)


def errored(task: str, error: str, **changes: Any) -> TaskRun:
    """Return a trial that the platform could not finish."""
    return made_up.task_run(task, status="errored", ending="errored", error=error, **NO_VERDICT | changes)


def rows_of(overview: Overview, name: str) -> list[tuple[str, int, int]]:
    """Return text, count and total of each row of one breakdown."""
    return [
        (row.text, row.count, row.total)
        for breakdown in overview.list_breakdowns()
        if breakdown.name == name
        for row in breakdown.rows
    ]


def overview_of(page: str) -> str:
    """Return the part of a page that is the overview; empty if it has none."""
    return page.partition('<section class="overview"')[2].partition("</section>")[0]


CAUSES = {
    "it passes": None,
    "it is partial": Cause("partial", "Some criteria failed, but no gate"),
    "it fails": Cause("fail", "A gate failed"),
    "it times out": Cause("fail", "The time limit passed"),
    "it is ungraded": None,
    "it is inconclusive": Cause("inconclusive", "A criterion could not be judged: ModelDown"),
    "it errs": Cause("errored", "The platform or the task failed: StepFailed"),
    "its person errs": Cause("invalid_person", "The person did not keep to their role"),
    "it is cancelled": None,
    "its agent crashes": Cause("fail", "The agent crashed: KeyError"),
}


@pytest.mark.parametrize("detail", made_up.every_outcome(), ids=lambda detail: detail.task_run.task)
def test_cause_says_who_is_at_fault_and_what_happened(detail: Any) -> None:
    assert describe_cause(detail.task_run) == CAUSES[detail.task_run.task]


def test_cause_of_failed_criteria_names_an_early_end_and_an_idle_agent() -> None:
    silent = failed("t", "Books it", ending="agent_silent")
    idle = made_up.criterion("The agent acted", assertion="agent_acted", weight=0.0)
    nothing = failed("t", criteria=(idle, made_up.criterion()))
    none_passed = failed("t", criteria=(made_up.criterion(gate=False),))
    late = failed("t", "Books it", ending="turn_timed_out")
    recorded = errored("t", "not recorded: the agent asked something else\n- a\n+ b")
    causes = [describe_cause(run) for run in (silent, nothing, none_passed, late, recorded)]
    assert [cause.text for cause in causes if cause] == [
        "A gate failed; the agent did not reply",
        "The agent did nothing",
        "No criterion passed",
        "The agent took too long for one reply",
        "The trial differs from the recording",
    ]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("KeyError: 'mrn'\n  in on_turn", "KeyError"),
        ("httpx.ConnectError: refused", "ConnectError"),
        ("StepFailed:", "StepFailed"),
        ("port 8123 of 10.0.0.7 was in use", "port … of … was in use"),
        ("no file: a.txt", "no file: a.txt"),
        ("x" * 90, "x" * 80 + "…"),
        ("", "no reason was given"),
    ],
)
def test_errors_that_differ_only_in_numbers_have_the_same_kind(error: str, kind: str) -> None:
    assert classify_error(error) == kind


def test_failures_are_counted_by_cause_criterion_and_tag_with_the_most_first() -> None:
    overview = Overview(
        [
            failed("a", "Says when", "Books it", tags=("desk", "phone")),
            failed("b", "Books it", tags=("desk",)),
            errored("c", "OSError: no space", tags=("desk",), criteria=(made_up.criterion("Books it"),)),
            made_up.task_run("d", tags=("fax",)),
        ]
    )
    assert rows_of(overview, "cause") == [
        ("A gate failed", 2, 3),
        ("The platform or the task failed: OSError", 1, 3),
    ]
    assert rows_of(overview, "criterion") == [("Books it", 2, 3), ("Says when", 1, 1)]
    assert rows_of(overview, "tag") == [("desk", 3, 3), ("phone", 1, 1)]
    assert rows_of(overview, "flaky") == []
    assert overview.failed == 3


def test_criterion_that_failed_in_a_passed_trial_is_counted() -> None:
    run = made_up.task_run("t", criteria=(made_up.criterion(passed=True), made_up.criterion("No names", gate=False)))
    overview = Overview([run, run])
    assert rows_of(overview, "criterion") == [("No names", 2, 2)]
    assert rows_of(overview, "cause") == []


def test_task_is_flaky_if_some_graded_trials_passed_and_some_failed() -> None:
    verdicts = {
        "coin": ["pass", "fail", "pass"],
        "half": ["pass", "partial"],
        "good": ["pass"] * 2,
        "bad": ["fail"] * 2,
    }
    trials = [
        made_up.task_run(task, trial=number, verdict=verdict)
        for task, given in verdicts.items()
        for number, verdict in enumerate(given, start=1)
    ]
    broken = errored("good", "OSError", trial=3)
    assert rows_of(Overview([*trials, broken]), "flaky") == [("half", 1, 2), ("coin", 2, 3)]


def test_each_count_equals_the_trials_that_name_its_row() -> None:
    trials = [detail.task_run for detail in made_up.every_outcome()]
    trials += [failed("it passes", "Says when", "Books it", trial=2, tags=("made-up", "other"))]
    overview = Overview(trials)
    facets = [overview.list_facets(trial) for trial in trials]
    for breakdown in overview.list_breakdowns():
        for row in breakdown.rows:
            named = sum(row.number in found.get(breakdown.name, []) for found in facets)
            assert named == (row.total if breakdown.name == "flaky" else row.count)


def test_tags_beyond_those_in_the_page_are_not_counted() -> None:
    overview = Overview([failed("t", "x", tags=tuple(f"tag {n}" for n in range(MAX_TAGS + 5)))])
    assert len(rows_of(overview, "tag")) == MAX_TAGS


def test_page_begins_with_the_overview_and_its_trials_name_their_rows() -> None:
    details = made_up.every_outcome()
    page = page_of(details)
    overview = overview_of(page)
    assert page.index('<section class="summary"') < page.index('<section class="overview"') < page.index("<main")
    assert re.findall(r"<h2>(.*?) <small>", overview) == ["By cause", "By criterion", "By interface", "By tag"]
    assert "<b>7</b> of 10</span>" in overview
    row = re.search(r'data-number="(\d+)"><span class="row"><svg.*?The agent crashed: KeyError', overview, re.DOTALL)
    assert row is not None
    trials = {trial["task"]: trial for trial in data_of(page)["trials"]}
    assert "cause" not in trials["it passes"]
    assert trials["its agent crashes"]["cause"] != trials["it fails"]["cause"]


def test_long_breakdown_is_folded_and_limited() -> None:
    overview = overview_of(page_of([made_up.detail(failed("t", *(f"Rule {n:03}" for n in range(MAX_RATED + 3))))]))
    unfolded, _, folded = overview.partition("<details>")
    assert unfolded.count("Rule ") == MAX_UNFOLDED
    assert f"<summary>{MAX_RATED + 3 - MAX_UNFOLDED} more</summary>" in overview
    assert folded.count("Rule ") == MAX_RATED - MAX_UNFOLDED
    assert "3 are left out." in folded


def test_overview_shows_flaky_tasks_also_without_a_script() -> None:
    trials = [made_up.task_run("coin `a`", trial=n, verdict="pass" if n % 2 else "fail") for n in (1, 2, 3)]
    overview = overview_of(page_of([made_up.detail(trial) for trial in trials]))
    assert "Flaky tasks" in overview
    assert '<span class="row-text">coin <code>a</code></span><span class="row-count"><b>2</b> of 3</span>' in overview


def test_run_without_failures_has_no_overview() -> None:
    assert overview_of(page_of([made_up.detail(made_up.task_run("t"))])) == ""


def test_changed_run_has_no_overview() -> None:
    details = made_up.every_outcome()
    seals = SealCheck(run=made_up.RUN.id, changes=(SealChange(task="it fails", trial=1, parts=("its record",)),))
    page = render_html(made_up.RUN, made_up.counts(details), details, seals=seals)
    assert overview_of(page) == ""
    assert not any("cause" in trial for trial in data_of(page)["trials"])


def test_hostile_strings_in_the_overview_are_escaped() -> None:
    overview = overview_of(page_of(made_up.hostile()))
    assert "&lt;script&gt;" in overview
    assert "<script" not in overview
    assert "<img" not in overview


def test_rows_of_trials_have_duration_and_cost_if_they_are_known() -> None:
    asked = made_up.task_run("asked", models={"judge": Usage(calls=2, cost=0.25), "person": Usage(calls=1, cost=0.5)})
    unpriced = made_up.task_run("unpriced", models={"judge": Usage(calls=2, cost=None)})
    silent = replace(made_up.detail(made_up.task_run("silent")), sidecar={})
    page = page_of([made_up.detail(asked), made_up.detail(unpriced), silent])
    measures = {trial["task"]: (trial.get("seconds"), trial.get("cost")) for trial in data_of(page)["trials"]}
    assert measures == {"asked": (0.013, 0.75), "unpriced": (0.013, None), "silent": (None, None)}


def test_markdown_has_the_overview_of_several_failures() -> None:
    trials = [failed("a", "Says when", tags=("desk",)), failed("b", "Says when", tags=("desk",))]
    page = render_markdown(made_up.RUN, made_up.counts(trials), lambda: trials)
    assert "### What did not pass\n" in page
    assert "| by cause | <code>A gate failed</code> | 2 |\n" in page
    assert "| by criterion | <code>Says when</code> | 2 of 2 |\n" in page
    assert "| by tag | <code>desk</code> | 2 of 2 |\n" in page
    assert "What did not pass" not in render_markdown(made_up.RUN, made_up.counts(trials[:1]), lambda: trials[:1])


def test_failures_are_counted_by_axis_and_by_interface() -> None:
    def criterion(label: str, assertion: str, **changes: Any) -> CriterionRun:
        return made_up.criterion(label, assertion=assertion, **changes)

    step = FieldCheck(path="`fhir.resource.created` on ehr", expected="1 event", actual="none", passed=False)
    overview = Overview(
        [
            made_up.task_run(
                "one",
                verdict="fail",
                criteria=(
                    criterion("Sent", "fax_sent", axis="safety"),
                    criterion("In order", "sequencing", evidence=(step,), axis="safety"),
                    criterion("Kept", "fax_text", passed=True, axis="privacy"),
                ),
            ),
            made_up.task_run("two", criteria=(criterion("Sent", "fax_sent", passed=True, axis="safety"),)),
        ]
    )
    assert rows_of(overview, "axis") == [("safety", 1, 2)]
    assert rows_of(overview, "interface") == [("fax", 1, 2), ("fhir", 1, 1)]
