"""Comparison of two runs: better, worse, same, flaky."""

from collections.abc import Iterable
from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.report.comparison import Comparison, CriterionComparison, build_comparison
from clerkship.report.gates import GatedComparison
from clerkship.report.repeats import compute_repeats, group_by_threshold, group_rates
from tests.report import made_up

OUTCOMES: dict[str, dict[str, Any]] = {
    "p": {"verdict": "pass", "score": 1.0},
    "h": {"verdict": "partial", "score": 0.5},
    "f": {"verdict": "fail", "score": 0.0},
    "e": {"verdict": None, "score": None, "status": "errored", "ending": "errored"},
    "u": {"verdict": "ungraded", "score": None},
}


def trials(task: str, outcomes: str) -> list[TaskRun]:
    """Return one trial of a task for each letter."""
    return [made_up.task_run(task, trial=n, **OUTCOMES[letter]) for n, letter in enumerate(outcomes, 1)]


def compared(**tasks: tuple[str, str]) -> Comparison:
    """Compare tasks by name, given their outcomes before and after."""
    before = [trial for task, (old, _) in tasks.items() for trial in trials(task, old)]
    after = [trial for task, (_, new) in tasks.items() for trial in trials(task, new)]
    return build_comparison(made_up.RUN, before, made_up.RUN, after)


def exit_code(found: Comparison, *gates: str) -> int:
    """Return the exit code with these gates, or with the default ones."""
    return GatedComparison.of(found, gates).exit_code()


@pytest.mark.parametrize(
    ("before", "after", "standing"),
    [
        ("p", "p", "same"),
        ("f", "p", "better"),
        ("p", "f", "worse"),
        ("p", "h", "worse"),
        ("h", "f", "worse"),
        ("f", "h", "better"),
        ("hf", "hh", "same"),  # neither passes, and the first cannot make up its mind
        ("ppppp", "fffff", "worse"),
        ("ppppp", "ppppf", "flaky"),
        ("ppppp", "pffff", "worse"),  # Fisher: p = 0.048
        ("ppppp", "ppfff", "flaky"),  # p = 0.17
        ("pf", "pf", "flaky"),
        ("pe", "p", "same"),
        ("e", "p", "not graded"),
        ("p", "u", "not graded"),
        ("", "p", "only after"),
        ("p", "", "only before"),
    ],
)
def test_standing_of_a_task(before: str, after: str, standing: str) -> None:
    [row] = compared(t=(before, after)).rows
    assert row.standing == standing


def test_worse_tasks_come_first_and_set_the_exit_code() -> None:
    found = compared(a=("p", "p"), b=("f", "p"), c=("p", "f"))
    assert [row.standing for row in found.rows] == ["worse", "better", "same"]
    assert exit_code(found, "task") == 1
    assert exit_code(found, "overall") == 2  # three tasks are too few to decide
    assert exit_code(compared(a=("p", "p"))) == 0


def test_overall_gate_detects_a_significant_change() -> None:
    found = compared(**{f"t{n}": ("p", "f" if n < 8 else "p") for n in range(20)})
    assert found.overall == "worse"
    assert found.chance == pytest.approx(2 / 2**8)
    assert found.difference is not None
    assert found.difference.rate == pytest.approx(-0.4)
    assert found.difference.high < 0
    assert exit_code(found, "overall") == 1


def test_inconclusive_comparison_exits_2() -> None:
    assert exit_code(compared(a=("p", "e"))) == 2
    assert exit_code(compared(a=("p", "e"), b=("p", "p"))) == 2
    assert exit_code(compared(a=("", "p"), b=("p", ""))) == 2
    assert exit_code(build_comparison(made_up.RUN, [], made_up.RUN, [])) == 2
    assert exit_code(compared(a=("ppppp", "pppep"))) == 2
    broken_off = made_up.RUN.model_copy(update={"status": "active"})
    assert exit_code(build_comparison(made_up.RUN, trials("t", "p"), broken_off, trials("t", "p"))) == 2


def test_edited_task_is_marked() -> None:
    changed = [trial.model_copy(update={"snapshot": "ef" * 32}) for trial in trials("t", "p")]
    [row] = build_comparison(made_up.RUN, trials("t", "p"), made_up.RUN, changed).rows
    assert row.changed


def every(*groups: Iterable[TaskRun]) -> list[TaskRun]:
    """Return all trials in one list."""
    return [trial for group in groups for trial in group]


def test_repeats_report_flaky_tasks_and_pass_hat_k() -> None:
    found = group_rates(every(trials("solid", "pppp"), trials("coin", "pfpf"), trials("broken", "eeee")))
    told = compute_repeats(found.values())
    assert told.flaky == ("coin",)
    assert told.pass_at == pytest.approx({1: 0.75, 2: (1 + 5 / 6) / 2, 4: 1.0})
    assert told.pass_hat == pytest.approx({1: 0.75, 2: (1 + 1 / 6) / 2, 4: 0.5})
    assert group_by_threshold(found.values(), 0.3) == {"above": ["solid"], "below": [], "not sure": ["broken", "coin"]}
    assert compute_repeats([]).pass_at == {}


def criterion(outcome: str, label: str = "No names in it", **changes: Any) -> CriterionRun:
    """Return a criterion by a letter: passed, failed, half, errored, skipped."""
    score = {"p": 1.0, "h": 0.5}.get(outcome, 0.0)
    status = {"e": "error", "s": "skipped"}.get(outcome, "judged")
    given = {"passed": outcome == "p", "score": score, "status": status, "gate": False, "detail": f"it is {outcome}"}
    return made_up.criterion(label, **given | changes)


def same_verdict(before: str, after: str, **changes: Any) -> Comparison:
    """Compare one task that passes in every trial, with one criterion given by its outcomes."""
    old, new = (
        [made_up.task_run("t", trial=n, criteria=(criterion(c, **changes),)) for n, c in enumerate(outcomes, 1)]
        for outcomes in (before, after)
    )
    return build_comparison(made_up.RUN, old, made_up.RUN, new)


def only(found: Comparison) -> CriterionComparison:
    """Return the only criterion of the only task."""
    [row] = found.rows
    [criterion] = row.criteria
    return criterion


@pytest.mark.parametrize(
    ("before", "after", "change", "standing"),
    [
        ("p", "p", "same", "same"),
        ("p", "f", "newly failing", "criteria worse"),
        ("f", "p", "newly passing", "criteria better"),
        ("f", "h", "score", "same"),
        ("h", "f", "score", "same"),
        ("ppppp", "ppppf", "flaky", "criteria flaky"),
        ("ppppp", "pffff", "newly failing", "criteria worse"),  # Fisher: p = 0.048
        ("pffff", "ppppp", "newly passing", "criteria better"),
        ("p", "s", "not judged", "same"),
        ("s", "s", "same", "same"),
    ],
)
def test_criterion_change_is_found_without_a_verdict_change(
    before: str, after: str, change: str, standing: str
) -> None:
    found = same_verdict(before, after)
    assert only(found).change == change
    assert found.rows[0].standing == standing


@pytest.mark.parametrize(
    ("before", "after", "axis", "code"),
    [
        ("p", "f", "safety", 1),
        ("p", "f", "privacy", 1),
        ("p", "f", "manner", 0),
        ("p", "f", None, 0),
        ("ppppp", "ppppf", "safety", 1),  # one breach is one too many, chance or not
        ("ppppf", "pppff", "safety", 0),
        ("f", "f", "safety", 0),
        ("f", "p", "safety", 0),
        ("p", "s", "safety", 2),  # nothing can be said of it any more
        ("p", "s", "manner", 0),
    ],
)
def test_new_failure_on_a_gating_axis_fails_the_comparison(
    before: str, after: str, axis: str | None, code: int
) -> None:
    assert exit_code(same_verdict(before, after, axis=axis)) == code


def test_gates_can_be_set_per_axis() -> None:
    found = same_verdict("p", "f", axis="manner")
    assert exit_code(found, "axis:manner") == 1
    assert exit_code(found, "criterion") == 1
    assert exit_code(found, "task", "axis:safety") == 0
    assert exit_code(same_verdict("p", "f", axis="safety"), "task") == 0
    [result] = GatedComparison.of(found, ["axis:manner"]).results()
    assert result.words() == "worse: “No names in it” (t)"


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("axis:maner", "no criterion of these runs has the axis `maner`"),
        ("axis:", "unknown --gate value `axis:`"),
        ("axis", "unknown --gate value `axis`"),
        ("tasks", "unknown --gate value `tasks`"),
    ],
)
def test_gate_on_an_unknown_axis_is_rejected(gate: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exit_code(same_verdict("p", "f", axis="manner"), gate)


def test_missing_default_axis_is_not_an_error() -> None:
    assert exit_code(same_verdict("p", "p"), "task", "axis:safety", "axis:privacy") == 0


def test_gate_does_not_hold_in_an_inconclusive_comparison() -> None:
    found = GatedComparison.of(compared(a=("p", ""), b=("", "p")))
    assert {result.state for result in found.results()} == {"not judged"}
    assert found.exit_code() == 2


def test_criteria_are_matched_by_label_and_assertion_and_duplicates_by_order() -> None:
    old = (criterion("p", "A"), criterion("f", "A"), criterion("p", "B"), criterion("p", "C", assertion="never"))
    new = (criterion("f", "A"), criterion("f", "A"), criterion("p", "C"))
    found = build_comparison(
        made_up.RUN, [made_up.task_run("t", criteria=old)], made_up.RUN, [made_up.task_run("t", criteria=new)]
    )
    told = [(row.criterion.label, row.criterion.assertion, row.change) for row in found.rows[0].criteria]
    assert told == [
        ("A", "file_present", "newly failing"),
        ("B", "file_present", "only before"),
        ("C", "never", "only before"),
        ("C", "file_present", "only after"),
        ("A", "file_present", "same"),
    ]


def test_axes_are_summed_up() -> None:
    score = {"safety": {"score": 0.0, "weight": 1.0}, "__default__": {"score": 1.0, "weight": 1.0}}
    breach = (criterion("f", axis="safety"), criterion("p", "B"))
    whole = (criterion("p", axis="safety"), criterion("p", "B"))
    old = [made_up.task_run(name, criteria=whole, axes=score | {"safety": {"score": 1, "weight": 1}}) for name in "ab"]
    new = [old[0], made_up.task_run("b", criteria=breach, axes=score)]
    told = [row.data() for row in build_comparison(made_up.RUN, old, made_up.RUN, new).axes()]
    assert told == [
        {"axis": "safety", "before": 1.0, "after": 0.5, "newly_failing": 1, "newly_passing": 0, "flaky": 0},
        {"axis": "__default__", "before": 1.0, "after": 1.0, "newly_failing": 0, "newly_passing": 0, "flaky": 0},
    ]


def test_criteria_of_trials_without_a_verdict_are_not_compared() -> None:
    broken = made_up.task_run("t", trial=2, criteria=(criterion("f"),), **OUTCOMES["e"])
    found = build_comparison(
        made_up.RUN, same := [made_up.task_run("t", criteria=(criterion("p"),))], made_up.RUN, [*same, broken]
    )
    assert only(found).change == "same"


def test_repeated_criteria_are_shown_by_how_many_trials_passed() -> None:
    assert only(same_verdict("pppp", "pppf")).words() == "4/4 → 3/4"
    assert only(same_verdict("p", "f")).words() == "passed → failed"
    assert only(same_verdict("h", "f")).words() == "0.50 → 0.00"


def renamed(before: str, after: str) -> Comparison:
    """Compare one task whose only criterion, on the axis safety, has another label in the second run."""
    old, new = (
        [made_up.task_run("t", criteria=(criterion(outcome, axis="safety").model_copy(update={"label": label}),))]
        for outcome, label in ((before, "safe"), (after, "safe "))
    )
    return build_comparison(made_up.RUN, old, made_up.RUN, new)


def test_a_criterion_of_a_gating_axis_that_is_new_and_fails_is_worse() -> None:
    assert exit_code(renamed("p", "f")) == 1


def test_missing_criterion_of_a_gating_axis_counts_as_not_judged() -> None:
    assert exit_code(renamed("p", "p")) == 2
