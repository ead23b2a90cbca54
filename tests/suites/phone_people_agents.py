"""Other solutions of the tasks of `suites/phone` about calls of patients and relatives, and messages for them."""

from tests.suites.suite_checks import Mistake, Solve

RIGHT: dict[str, tuple[str, Solve]] = {}
"""How it is done -> the task and the solution."""
WRONG: list[Mistake] = []
