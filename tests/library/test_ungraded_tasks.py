"""Tasks that nothing grades: a warning, for their runs get no verdict."""

from tests.library.shelf import Shelf


def test_a_task_without_criteria_is_warned_about(folder: Shelf) -> None:
    folder.write("task.yml", "task: {name: No criteria, task_item: {instruction: look}}")
    [warning] = folder.load().warnings
    assert (warning.message, warning.line) == ("no `criteria`: its runs are ungraded", 1)


def test_a_scenario_without_goals_is_warned_about(folder: Shelf) -> None:
    folder.write(
        "scenario.yml", "scenario: {name: Talk, simulation_context: You talk., setup: {person: {lines: [Hi]}}}"
    )
    [warning] = folder.load().warnings
    assert warning.message == "no `assertions` or `criteria` or `expected_tools`: its runs are ungraded"
