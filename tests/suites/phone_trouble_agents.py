"""Other correct solutions, and wrong ones, of the tasks of `suites/phone` about calls that go wrong."""

from tests.suites.suite_checks import Mistake, Solve

RIGHT: dict[str, tuple[str, Solve]] = {}
"""How it is done -> the task and the solution."""
WRONG: list[Mistake] = []
