"""Two runs side by side: what is called better, worse, the same, flaky."""

from collections.abc import Iterable
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from clerkship.report.comparison import Comparison, compare
from clerkship.report.repeats import beside, rates, repeats
from tests.report import made_up

OUTCOMES: dict[str, dict[str, Any]] = {
    "p": {"verdict": "pass", "score": 1.0},
    "h": {"verdict": "partial", "score": 0.5},
    "f": {"verdict": "fail", "score": 0.0},
    "e": {"verdict": None, "score": None, "status": "errored", "ending": "errored"},
    "u": {"verdict": "ungraded", "score": None},
}


def trials(task: str, outcomes: str) -> list[TaskRun]:
    """One trial of a task for each letter."""
    return [made_up.task_run(task, trial=n, **OUTCOMES[letter]) for n, letter in enumerate(outcomes, 1)]


def compared(**tasks: tuple[str, str]) -> Comparison:
    """Tasks by name, with their outcomes before and after."""
    before = [trial for task, (old, _) in tasks.items() for trial in trials(task, old)]
    after = [trial for task, (_, new) in tasks.items() for trial in trials(task, new)]
    return compare(made_up.RUN, before, made_up.RUN, after)


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
def test_a_task_stands(before: str, after: str, standing: str) -> None:
    [row] = compared(t=(before, after)).rows
    assert row.standing == standing


def test_what_is_worse_comes_first_and_decides_the_exit_code() -> None:
    found = compared(a=("p", "p"), b=("f", "p"), c=("p", "f"))
    assert [row.standing for row in found.rows] == ["worse", "better", "same"]
    assert found.exit_code("task") == 1
    assert found.exit_code("overall") == 0
    assert compared(a=("p", "p")).exit_code() == 0


def test_all_together_can_be_worse_beyond_chance() -> None:
    found = compared(**{f"t{n}": ("p", "f" if n < 8 else "p") for n in range(20)})
    assert found.overall == "worse"
    assert found.chance == pytest.approx(2 / 2**8)
    assert found.difference is not None
    assert found.difference.rate == pytest.approx(-0.4)
    assert found.difference.high < 0
    assert found.exit_code("overall") == 1


def test_where_nothing_can_be_said_the_code_is_neither_good_nor_worse() -> None:
    assert compared(a=("p", "e")).exit_code() == 2
    assert compared(a=("p", "e"), b=("p", "p")).exit_code() == 2
    assert compared(a=("", "p"), b=("p", "")).exit_code() == 2
    assert compare(made_up.RUN, [], made_up.RUN, []).exit_code() == 2
    assert compared(a=("ppppp", "pppep")).exit_code() == 2
    broken_off = made_up.RUN.model_copy(update={"status": "active"})
    assert compare(made_up.RUN, trials("t", "p"), broken_off, trials("t", "p")).exit_code() == 2


def test_a_task_that_is_not_the_one_it_was_is_marked() -> None:
    changed = [trial.model_copy(update={"snapshot": "ef" * 32}) for trial in trials("t", "p")]
    [row] = compare(made_up.RUN, trials("t", "p"), made_up.RUN, changed).rows
    assert row.changed


def every(*groups: Iterable[TaskRun]) -> list[TaskRun]:
    """All of them in one list."""
    return [trial for group in groups for trial in group]


def test_repetition_tells_who_is_flaky_and_how_often_k_of_k_pass() -> None:
    found = rates(every(trials("solid", "pppp"), trials("coin", "pfpf"), trials("broken", "eeee")))
    told = repeats(found.values())
    assert told.flaky == ("coin",)
    assert told.pass_at == pytest.approx({1: 0.75, 2: (1 + 5 / 6) / 2, 4: 1.0})
    assert told.pass_hat == pytest.approx({1: 0.75, 2: (1 + 1 / 6) / 2, 4: 0.5})
    assert beside(found.values(), 0.3) == {"above": ["solid"], "below": [], "not sure": ["broken", "coin"]}
    assert repeats([]).pass_at == {}
