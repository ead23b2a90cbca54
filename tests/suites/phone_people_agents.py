"""Other solutions of the tasks of `suites/phone` about calls of patients and relatives, and messages for them."""

from tests.suites import phone_callers_agents, phone_voicemail_agents
from tests.suites.suite_checks import Mistake, Solve

RIGHT: dict[str, tuple[str, Solve]] = {**phone_voicemail_agents.RIGHT, **phone_callers_agents.RIGHT}
"""How it is done -> the task and the solution."""
WRONG: list[Mistake] = [*phone_voicemail_agents.WRONG, *phone_callers_agents.WRONG]
