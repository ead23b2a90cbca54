"""`bot_uttered`: the agent said this in some conversation."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.utterances import BotUttered
from tests.assertions.log_builder import LogBuilder

BUTTONS = ({"title": "Yes", "payload": "/yes"}, {"title": "No", "payload": "/no"})


@pytest.fixture
def log_builder() -> LogBuilder:
    """Two turns in one conversation, one line in another."""
    log_builder = LogBuilder()
    log_builder.add_message("Hello, date of birth?", actor="person")
    log_builder.add_message("Good morning.", utter_name="utter_greet")
    log_builder.add_message("I have to move it.", actor="person")
    log_builder.add_message("Shall I?", utter_name="utter_ask", buttons=BUTTONS)
    log_builder.add_message("Text me.", source="sms")
    return log_builder


@pytest.mark.parametrize(
    ("args", "seq"),
    [
        ({"utter_name": "utter_ask"}, 4),
        ({"text_matches": "(?i)^good"}, 2),
        ({"buttons": list(BUTTONS)}, 4),
        ({"utter_name": "utter_ask", "text_matches": "Shall", "buttons": list(BUTTONS)}, 4),
        ({"text_matches": ".", "sandbox": "sms"}, 5),
    ],
)
def test_passes_if_one_utterance_has_all_properties(log_builder: LogBuilder, args: dict[str, Any], seq: int) -> None:
    found = BotUttered.model_validate(args).check(log_builder.evidence())
    assert found.passed
    assert {row.seq for row in found.evidence} == {seq}


@pytest.mark.parametrize(
    "args",
    [
        {"text_matches": "date of birth"},
        {"utter_name": "utter_greet", "text_matches": "Shall"},
        {"buttons": [BUTTONS[0]]},
        {"buttons": [BUTTONS[1], BUTTONS[0]]},
        {"text_matches": "Good", "sandbox": "sms"},
        {"utter_name": "utter"},
    ],
)
def test_fails_for_other_speaker_partial_match_or_other_sandbox(log_builder: LogBuilder, args: dict[str, Any]) -> None:
    assert not BotUttered.model_validate(args).check(log_builder.evidence()).passed


def test_failure_shows_nearest_utterance(log_builder: LogBuilder) -> None:
    args = {"utter_name": "utter_ask", "text_matches": "May I"}
    found = BotUttered.model_validate(args).check(log_builder.evidence())
    assert found.detail == "the agent never said it; nearest: 'Shall I?' in turn 2 (#4)"
    assert [(row.path, row.expected, row.actual, row.passed) for row in found.evidence] == [
        ("utter_name", "utter_ask", "utter_ask", True),
        ("text", {"matches": "May I"}, "Shall I?", False),
    ]


def test_silent_agent_fails_with_all_expectations() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Anyone?", actor="person")
    args = {"buttons": list(BUTTONS), "text_matches": "x"}
    found = BotUttered.model_validate(args).check(log_builder.evidence())
    assert found.detail == "the agent said nothing at all"
    assert {row.path: row.expected for row in found.evidence} == {
        "text": {"matches": "x"},
        "buttons": list(BUTTONS),
    }


@pytest.mark.parametrize("args", [{}, {"sandbox": "chat"}, {"text_matches": "["}, {"buttons": []}, {"text": "x"}])
def test_empty_properties_are_rejected(args: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BotUttered.model_validate(args)


def test_button_with_invalid_title_fails_without_error(log_builder: LogBuilder) -> None:
    log_builder.add_message("x", buttons=({"title": ["a"]},))
    wanted = BotUttered.model_validate({"text_matches": "never said", "buttons": list(BUTTONS)})
    assert not wanted.check(log_builder.evidence()).passed
