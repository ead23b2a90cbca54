"""`bot_answered`: no message of a person is left without an answer."""

from collections.abc import Callable

import pytest

from clerkship.assertions.answered import BotAnswered
from clerkship.events.agent import ActionExecuted
from tests.assertions.log_builder import LogBuilder


def build_answered() -> LogBuilder:
    log = LogBuilder()
    log.add_message("Where is my tent?", actor="person")
    log.add_message("In Utrecht.")
    log.add_message("Thanks.", actor="person")
    return log


def build_silent() -> LogBuilder:
    log = LogBuilder()
    log.add_message("Where is my tent?", actor="person")
    log.add_event(ActionExecuted(name="action_track_parcel"))
    return log


def build_skipped() -> LogBuilder:
    log = build_answered()
    log.add_event(ActionExecuted(name="action_track_parcel"))
    log.add_message("Hello?", actor="person")
    log.add_message("Yes?")
    return log


@pytest.mark.parametrize(
    ("build", "passed", "detail"),
    [
        (build_answered, True, "the agent answered every message, with 1 of its own"),
        (build_silent, False, "the agent said nothing at all"),
        (build_skipped, False, "the agent did not answer every message (#3)"),
    ],
)
def test_every_message_but_the_last_needs_an_answer(build: Callable[[], LogBuilder], passed: bool, detail: str) -> None:
    check = BotAnswered().check(build().evidence())
    assert (check.passed, check.detail) == (passed, detail)
