"""`bot_did_not_utter`: the agent did not say this in any conversation."""

from clerkship.assertions.utterances import BotDidNotUtter
from tests.assertions.log_builder import LogBuilder


def test_message_of_person_does_not_count() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Is it with Okafor?", actor="person")
    log_builder.add_message("I cannot say.")
    found = BotDidNotUtter.model_validate({"text_matches": "Okafor"}).check(log_builder.evidence())
    assert (found.passed, found.detail) == (True, "none of the agent's 1 utterances is like it")


def test_first_matching_utterance_fails_and_is_shown() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Hello?", actor="person")
    log_builder.add_message("Good morning.")
    log_builder.add_message("With Dr. Okafor.", source="sms")
    log_builder.add_message("Okafor again.")
    found = BotDidNotUtter.model_validate({"text_matches": "Okafor"}).check(log_builder.evidence())
    assert (found.passed, found.score, found.detail) == (False, 0.0, "the agent said it in turn 1 (#3)")
    [row] = found.evidence
    assert row.expected == {"not": {"matches": "Okafor"}}
    assert (row.actual, row.passed, row.seq) == ("With Dr. Okafor.", False, 3)


def test_all_properties_must_be_in_one_utterance() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Sorry.", utter_name="utter_sorry")
    log_builder.add_message("Okafor.", utter_name="utter_doctor")
    args = {"text_matches": "Okafor", "utter_name": "utter_sorry"}
    assert BotDidNotUtter.model_validate(args).check(log_builder.evidence()).passed


def test_other_sandbox_does_not_count() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Okafor.", source="sms")
    args = {"text_matches": "Okafor", "sandbox": "chat"}
    assert BotDidNotUtter.model_validate(args).check(log_builder.evidence()).passed


def test_silent_agent_passes() -> None:
    assert BotDidNotUtter.model_validate({"utter_name": "utter_x"}).check(LogBuilder().evidence()).passed


def test_forbidden_button_beside_another_fails() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Which?", buttons=({"title": "A", "payload": "/a"}, {"title": "B"}))
    forbidden = {"buttons": [{"title": "A", "payload": "/a"}]}
    assert not BotDidNotUtter.model_validate(forbidden).check(log_builder.evidence()).passed
    both = {"buttons": [{"title": "B"}, {"title": "C"}]}
    assert BotDidNotUtter.model_validate(both).check(log_builder.evidence()).passed
