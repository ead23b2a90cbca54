"""Scripted representatives: greeting, verification, answers, silence and the end of a call."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clerkship.formats.phone_tree.representative import (
    ANYTHING_ELSE,
    NOT_UNDERSTOOD,
    READ_BACK_CORRECT,
    TAKE_YOUR_TIME,
    THANK_YOU,
    RepresentativeMachine,
)
from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.session import (
    Action,
    CollectValue,
    DigitsPressed,
    HangUp,
    HookReturned,
    RepresentativeSession,
    RunHook,
    Speak,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    StopSpeaking,
    TimerFired,
    TransferCall,
    VerifyIdentity,
)
from clerkship.kit.rng import Rng

NOW = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
SCRIPT: dict[str, Any] = {
    "name": "dana",
    "greeting": "Provider services, this is Dana.",
    "verify": {"npi": "Your NPI?", "member_id": "The member ID?", "birth_date": "The date of birth?"},
    "verify_hook": "payer.find_member",
    "verified": "Thank you. How can I help?",
    "not_verified": "That does not match.",
    "answers": [
        {
            "asks": ["status of an authorization", "prior auth status"],
            "hook": "payer.find_authorization",
            "says": {
                "approved": "Approved, reference {reference|digits}, until {valid_until|date}.",
                "denied": "Denied.",
            },
        },
        {"asks": ["claim status"], "hook": "payer.find_claim", "arguments": {"claim_number": "{claim_number}"},
         "says": {"paid": "Paid {amount|money}."}},
        {"asks": ["fax number", "where to send documents"], "says": "It is {fax}.", "is_public": True},
        {"asks": ["file a complaint"], "says": "Please write to us.", "is_public": True, "ends_call": True},
    ],
    "fallback": "I can't help with that.",
    "silence": "Are you there?",
    "goodbye": "Goodbye.",
}  # fmt: skip
NPI, MEMBER, BORN = "1234567893", "CM232420990", "1985-03-02"
Hooks = Callable[[str, Mapping[str, str]], HookReturned]


def answer_hooks(hook: str, arguments: Mapping[str, str]) -> HookReturned:
    """Return what a payer would say: one member, one authorization, one claim."""
    if hook == "payer.find_member":
        is_known = arguments["member_id"] == MEMBER and arguments["birth_date"] == BORN
        return HookReturned("found", {"member_name": "Ana Lee"}) if is_known else HookReturned("not_found", {})
    if hook == "payer.find_authorization":
        return HookReturned("approved", {"reference": "A412", "valid_until": "2026-06-30"})
    return HookReturned("paid", {"amount": "1240.5"})


class RepresentativeCall:
    """A call with a representative, with its own clock."""

    def __init__(
        self,
        changes: Mapping[str, Any] | None = None,
        hooks: Hooks = answer_hooks,
        collected: Mapping[str, str] | None = None,
    ) -> None:
        script = RepresentativeScript.model_validate({**SCRIPT, **(changes or {})})
        self.machine = RepresentativeMachine(script, {"fax": "555-0199", "payer_id": "P1"}, collected)
        self.now = NOW
        self.hooks = hooks
        self.actions: list[Action] = []
        self.result = self._take(self.machine.start(self._context()))

    def say(self, text: str) -> str:
        """Say something and return what the representative says to it."""
        self.give(SpeechStarted())
        self.give(SpeechEnded(text))
        return self.heard

    def listen(self) -> str:
        """Let the time pass until the representative has spoken, or waited long enough."""
        assert self.result.timer_seconds is not None
        self.now += timedelta(seconds=self.result.timer_seconds)
        self.give(TimerFired())
        return self.heard

    def give(self, stimulus: Stimulus) -> list[Action]:
        """Let something happen, and return what the representative does."""
        self.actions = []
        self.result = self._take(self._step(self.result, stimulus))
        return self.actions

    @property
    def heard(self) -> str:
        return " ".join(action.text for action in self.actions if isinstance(action, Speak))

    def _context(self) -> StepContext:
        return StepContext(self.now, Rng("1"))

    def _take(self, result: StepResult) -> StepResult:
        self.actions += result.actions
        if result.actions and isinstance(result.actions[-1], RunHook):
            hook = result.actions[-1]
            returned = self.hooks(hook.hook, hook.arguments)
            return self._take(self._step(result, returned))
        return result

    def _step(self, before: StepResult, stimulus: Stimulus) -> StepResult:
        assert isinstance(before.session, RepresentativeSession)
        return self.machine.step(before.session, stimulus, self._context())


def verified_call() -> RepresentativeCall:
    """Return a call in which the caller is verified."""
    call = RepresentativeCall()
    assert call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985") == "Thank you. How can I help?"
    return call


def test_greeting_is_followed_by_the_first_question() -> None:
    assert RepresentativeCall().heard == "Provider services, this is Dana. Your NPI?"


def test_greeting_that_is_a_question_waits_for_the_caller() -> None:
    call = RepresentativeCall({"greeting": "This is Dana, how can I help?"})
    assert call.heard == "This is Dana, how can I help?"
    assert call.say("I have a question about a patient") == "Your NPI?"


def test_values_are_asked_for_one_by_one() -> None:
    call = RepresentativeCall()
    assert call.say("one two three four five six seven eight nine three") == "The member ID?"
    assert call.say("Charlie Mike two three two four two zero double nine zero") == "The date of birth?"
    assert call.say("March second, nineteen eighty-five") == "Thank you. How can I help?"
    assert VerifyIdentity(MEMBER) in call.actions


def test_several_values_may_be_stated_in_one_sentence_in_any_order() -> None:
    call = RepresentativeCall()
    assert call.say(f"It's member ID {MEMBER}, born March 2 1985") == "Your NPI?"
    assert call.say(NPI) == "Thank you. How can I help?"
    stated = [action for action in call.actions if isinstance(action, CollectValue)]
    assert stated == [CollectValue("dana", "npi", NPI)]


@pytest.mark.parametrize(
    "text",
    [
        f"{MEMBER}, March 2 1985, NPI {NPI}",
        f"dob 3/2/1985, id number CM 232 420 990, npi {NPI}",
        f"The patient was born on the 2nd of March 1985. Subscriber ID is {MEMBER}. Our NPI is 123 456 7893.",
        f"1234567893, {MEMBER}, 03/02/1985",
    ],
)
def test_values_are_recognized_by_label_or_form(text: str) -> None:
    call = RepresentativeCall()
    assert call.say(text) == "Thank you. How can I help?"


@pytest.mark.parametrize("text", ["March 2 1985", "one moment", "a second", "it starts with C", "3/2/1985"])
def test_date_or_remark_is_not_taken_as_a_member_id(text: str) -> None:
    call = RepresentativeCall({"verify": {"member_id": "The member ID?"}, "verify_hook": None})
    call.say(text)
    assert not any(isinstance(action, VerifyIdentity | CollectValue) for action in call.actions)


PASSED_ON = {"passed_on": ["npi"]}


def test_value_that_the_phone_tree_passed_on_is_not_asked_for() -> None:
    call = RepresentativeCall(PASSED_ON, collected={"npi": NPI, "member_id": "CM999999999"})
    assert call.heard == "Provider services, this is Dana. The member ID?"
    call.say(MEMBER)
    assert call.say("March 2 1985") == "Thank you. How can I help?"
    [hook] = [action for action in call.actions if isinstance(action, RunHook)]
    assert (hook.arguments["npi"], hook.arguments["member_id"]) == (NPI, MEMBER)


@pytest.mark.parametrize("collected", [None, {}, {"npi": ""}, {"member_id": MEMBER}])
def test_value_that_was_not_collected_is_asked_for(collected: dict[str, str] | None) -> None:
    assert RepresentativeCall(PASSED_ON, collected=collected).heard.endswith("Your NPI?")
    assert RepresentativeCall(collected={"npi": NPI}).heard.endswith("Your NPI?")


def test_caller_may_state_a_value_that_was_passed_on() -> None:
    call = RepresentativeCall(PASSED_ON, collected={"npi": NPI})
    assert call.say(f"Our NPI is {NPI}.") == f"{THANK_YOU} The member ID?"
    assert call.say("I do not have it here") == f"{NOT_UNDERSTOOD} The member ID?"
    assert call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985") == "Thank you. How can I help?"


def test_value_that_was_passed_on_is_asked_for_after_a_second_failure() -> None:
    call = RepresentativeCall(PASSED_ON, collected={"npi": NPI})
    assert call.say("member ID CM999999999, born March 2 1985") == "That does not match. The member ID?"
    assert call.say("member ID CM888888888, born March 2 1985") == "That does not match. Your NPI?"


def test_one_value_is_corrected_after_a_mismatch_and_the_others_are_kept() -> None:
    call = RepresentativeCall()
    assert call.say(f"NPI {NPI}, member ID {MEMBER}, born March 3 1985") == "That does not match. The member ID?"
    assert call.say("Sorry, the date of birth is March 2 1985") == "Thank you. How can I help?"


def test_value_that_is_confirmed_after_a_mismatch_is_kept_and_the_next_one_is_asked_for() -> None:
    call = RepresentativeCall()
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 3 1985")
    assert call.say(f"It is {MEMBER}") == "The date of birth?"
    assert call.say("March 2 1985") == "Thank you. How can I help?"


def test_only_values_of_the_verification_are_passed_on() -> None:
    with pytest.raises(ValueError, match="passed_on: `phone` is not a value of `verify`"):
        RepresentativeCall({"passed_on": ["phone"]})


def test_entry_that_is_not_understood_is_asked_for_again() -> None:
    call = RepresentativeCall()
    assert call.say("It is 12345") == f"{NOT_UNDERSTOOD} Your NPI?"


def test_wrong_birth_date_is_asked_for_again_without_the_npi() -> None:
    call = RepresentativeCall()
    refusal = call.say(f"NPI {NPI}, member ID {MEMBER}, born March 3 1985")
    assert refusal == "That does not match. The member ID?"
    assert call.say(f"{MEMBER}, and the birth date is March 2 1985") == "Thank you. How can I help?"


def test_call_ends_after_too_many_failed_verifications() -> None:
    call = RepresentativeCall({"max_verifications": 2})
    wrong = f"NPI {NPI}, member ID CM999999999, born March 2 1985"
    assert call.say(wrong) == "That does not match. The member ID?"
    assert call.say("member ID CM888888888, born March 2 1985") == "That does not match. Goodbye."
    call.listen()
    assert isinstance(call.actions[-1], HangUp)
    assert call.result.session is not None
    assert call.result.session.phase == "ended"


def test_all_values_are_asked_for_again_after_a_second_failure() -> None:
    call = RepresentativeCall()
    call.say(f"NPI {NPI}, member ID CM999999999, born March 2 1985")
    assert call.say("member ID CM888888888, born March 2 1985") == "That does not match. Your NPI?"


def test_answer_of_a_hook_reads_a_reference_digit_by_digit() -> None:
    call = verified_call()
    assert call.say("I'm calling about the status of an authorization") == (
        "Approved, reference A, 4, 1, 2, until June 30, 2026."
    )
    hook = next(action for action in call.actions if isinstance(action, RunHook))
    assert hook.hook == "payer.find_authorization"
    assert hook.arguments == {
        "fax": "555-0199", "payer_id": "P1", "npi": NPI, "member_id": MEMBER, "birth_date": BORN,
    }  # fmt: skip


def test_hook_of_an_answer_gets_what_the_verification_returned() -> None:
    call = verified_call()
    call.say("I'm calling about the status of an authorization")
    hook = next(action for action in call.actions if isinstance(action, RunHook))
    assert hook.results == {"member_name": "Ana Lee"}


def test_question_asked_first_is_answered_after_the_verification() -> None:
    call = RepresentativeCall()
    assert call.say("I need the prior auth status please") == "Your NPI?"
    assert call.say(NPI) == "The member ID?"
    assert call.say(f"{MEMBER}, born 3/2/1985").startswith("Approved")


def test_public_answer_is_given_without_verification() -> None:
    call = RepresentativeCall()
    assert call.say("What is your fax number?") == "It is 555-0199."
    assert not any(isinstance(action, VerifyIdentity) for action in call.actions)
    assert call.say("And the prior auth status?") == "Your NPI?"


BY_NUMBER = {"answers": [{**SCRIPT["answers"][0], "optional": ["reference"]}]}


def find_asked(call: RepresentativeCall) -> str | None:
    """Return the reference with which an authorization was looked up."""
    hooks = [each for each in call.actions if isinstance(each, RunHook) and each.hook == "payer.find_authorization"]
    assert len(hooks) == 1
    return hooks[0].arguments.get("reference")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("What is the status of authorization number A 4 1 2 7?", "A4127"),
        ("Prior auth status, please, the reference number is A4127.", "A4127"),
        ("What is the status of an authorization?", None),
        ("Do you have the status of the authorization and its reference number?", None),
    ],
)
def test_number_that_the_caller_states_is_looked_up_and_not_asked_for(text: str, reference: str | None) -> None:
    call = RepresentativeCall(BY_NUMBER)
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    assert call.say(text) == "Approved, reference A, 4, 1, 2, until June 30, 2026."
    assert find_asked(call) == reference


def test_number_of_one_question_is_not_used_for_the_next() -> None:
    call = RepresentativeCall(BY_NUMBER)
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    call.say("What is the status of authorization number A 4 1 2 7?")
    call.say("What is the status of an authorization?")
    assert find_asked(call) is None


def test_number_that_is_stated_before_the_verification_is_looked_up_after_it() -> None:
    call = RepresentativeCall(BY_NUMBER)
    call.say("What is the status of authorization number A 4 1 2 7?")
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    assert find_asked(call) == "A4127"


def test_value_that_an_answer_needs_is_asked_for() -> None:
    call = verified_call()
    assert call.say("What's the claim status?") == "What is the claim number, please?"
    assert call.say("hmm") == f"{NOT_UNDERSTOOD} What is the claim number, please?"
    assert call.say("it is 5 5 1 2 3") == "Paid $1,240.50."
    assert call.say("claim status for claim number 99887") == "Paid $1,240.50."


def test_value_that_was_not_asked_for_is_kept_and_the_question_is_asked_again() -> None:
    answer = {
        **SCRIPT["answers"][1],
        "arguments": {"service_date": "{service_date}"},
    }
    call = RepresentativeCall({"answers": [answer]})
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    assert call.say("What's the claim status?") == "What is the service date, please?"
    assert call.say("the claim number is C001301") == f"{THANK_YOU} What is the service date, please?"
    assert call.say("January 5, 2026") == "Paid $1,240.50."
    [hook] = [each for each in call.actions if isinstance(each, RunHook)]
    assert (hook.arguments["claim_number"], hook.arguments["service_date"]) == ("C001301", "2026-01-05")


def test_question_in_between_is_answered_and_the_first_one_goes_on() -> None:
    call = verified_call()
    call.say("What's the claim status?")
    assert call.say("What is your fax number?") == "It is 555-0199. What is the claim number, please?"
    assert call.say("it is 5 5 1 2 3") == "Paid $1,240.50."


def test_answer_of_one_search_is_not_said_about_the_next() -> None:
    answers = [{"asks": ["authorization"], "hook": "payer.find_authorization", "optional": ["reference"],
                "says": {"approved": "Approved: {reference}.", "not_found": "No{reference}."}}]  # fmt: skip

    def find(hook: str, given: Mapping[str, str]) -> HookReturned:
        if hook == "payer.find_authorization" and given.get("reference"):
            return HookReturned("not_found", {})
        return answer_hooks(hook, given)

    call = RepresentativeCall({"answers": answers}, find)
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    assert call.say("Is there an authorization?") == "Approved: A412."
    assert call.say("And authorization number B999?") == "NoB999."


def test_question_about_another_person_needs_another_verification() -> None:
    call = verified_call()
    assert call.say("Is the prior auth of our patient Ana Lee approved? I need the status.").startswith("Approved")
    assert call.say("And the prior auth status of our patient Ben Cole?") == "The member ID?"
    assert isinstance(call.result.session, RepresentativeSession)
    assert not call.result.session.is_verified
    assert "member_name" not in call.result.session.slots


def test_caller_who_asks_for_somebody_else_is_told_that_it_is_not_possible() -> None:
    call = RepresentativeCall({"no_transfer": "I can't transfer you."})
    assert call.say("please transfer me to billing") == "I can't transfer you. Your NPI?"


def test_acronym_in_a_question_is_in_capitals() -> None:
    answer = {
        "asks": ["open a case"],
        "hook": "office.open_case",
        "arguments": {"subject": "{tax_id}"},
        "says": "Done.",
    }
    call = RepresentativeCall({"verify": {}, "answers": [answer]})
    assert call.say("please open a case") == "What is the tax ID, please?"
    assert call.say("12-3456789") == "Done."


def test_outcome_without_a_text_gets_the_fallback() -> None:
    hooks: Hooks = lambda hook, given: (  # noqa: E731
        answer_hooks(hook, given) if hook == "payer.find_member" else HookReturned("lost", {})
    )
    call = RepresentativeCall(hooks=hooks)
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    assert call.say("authorization status") == "I can't help with that."


def test_question_outside_the_script_gets_the_fallback() -> None:
    assert verified_call().say("Do you sell bicycles?") == "I can't help with that."


def test_question_that_fits_two_answers_in_part_gets_the_fallback() -> None:
    assert verified_call().say("the status?") == "I can't help with that."


def test_another_member_is_verified_again() -> None:
    call = verified_call()
    assert call.say("I have another patient, member ID CM777777777") == "The date of birth?"
    assert call.say("March 2 1985") == "That does not match. The member ID?"


def test_date_in_a_question_does_not_undo_the_verification() -> None:
    call = verified_call()
    assert call.say("Is the authorization status still good on May 5, 2026?").startswith("Approved")


def test_silence_is_broken_twice_and_then_the_call_ends() -> None:
    call = RepresentativeCall()
    call.listen()
    for _ in range(2):
        assert call.listen() == "Are you there?"
        assert call.listen() == ""
    assert call.listen() == "Goodbye."
    call.listen()
    assert isinstance(call.actions[-1], HangUp)


def test_speech_starts_the_count_of_silences_again() -> None:
    call = RepresentativeCall()
    call.listen()
    assert call.listen() == "Are you there?"
    call.say(NPI)
    call.listen()
    assert isinstance(call.result.session, RepresentativeSession)
    assert call.result.session.silences == 0
    assert call.listen() == "Are you there?"


def test_thanks_and_goodbye_end_the_call() -> None:
    call = verified_call()
    assert call.say("Thank you, goodbye") == "Goodbye."
    assert call.give(SpeechStarted()) == []
    assert call.result.timer_seconds is not None
    call.listen()
    assert isinstance(call.actions[-1], HangUp)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Thank you for the prior auth reference. Goodbye.", "Goodbye."),
        ("Thanks for the authorization", ANYTHING_ELSE),
        ("Thank you so much for your help. Have a great day!", "Goodbye."),
        ("That's all I needed, thanks", "Goodbye."),
        ("So that is A 4 1 2, correct?", READ_BACK_CORRECT),
        ("A412", READ_BACK_CORRECT),
        ("Thanks, and the claim status?", "What is the claim number, please?"),
    ],
)
def test_reply_to_an_answer_does_not_ask_the_question_again(text: str, answer: str) -> None:
    call = verified_call()
    call.say("authorization status")
    assert call.say(text) == answer


def test_thanks_alone_gets_an_offer_and_no_ends_the_call() -> None:
    call = verified_call()
    assert call.say("Thank you very much") == ANYTHING_ELSE
    assert call.say("No, that's all") == "Goodbye."


def test_answer_is_repeated_when_asked() -> None:
    call = verified_call()
    answer = call.say("authorization status")
    assert call.say("One moment, please") == TAKE_YOUR_TIME
    assert call.say("Could you repeat that?") == answer
    assert call.say("Can you spell that reference for me again?") == answer


def test_value_that_was_not_read_out_is_not_confirmed() -> None:
    def find(hook: str, arguments: Mapping[str, str]) -> HookReturned:
        returned = answer_hooks(hook, arguments)
        return returned._replace(values={**returned.values, "group": "GRP7788"})

    call = RepresentativeCall(hooks=find)
    call.say(f"NPI {NPI}, member ID {MEMBER}, born March 2 1985")
    call.say("authorization status")
    assert call.say("So that is G R P 7 7 8 8, correct?") != READ_BACK_CORRECT


def test_failed_verifications_are_counted_over_the_whole_call() -> None:
    """A caller cannot guess the birth date of one member between verifications of another."""
    call = RepresentativeCall({"max_verifications": 3})
    right, wrong = f"member ID {MEMBER}, born March 2 1985", "member ID CM777777777, born May 5 1950"
    call.say(f"NPI {NPI}, {right}")
    for _ in range(2):
        assert call.say(wrong).startswith("That does not match.")
        assert call.say(f"NPI {NPI}, {right}") == "Thank you. How can I help?"
    assert call.say(wrong) == "That does not match. Goodbye."


def test_answer_that_ends_the_call_is_said_first() -> None:
    call = RepresentativeCall()
    assert call.say("I want to file a complaint") == "Please write to us."
    call.listen()
    assert isinstance(call.actions[-1], HangUp)


def test_caller_interrupts_the_representative() -> None:
    call = RepresentativeCall()
    assert call.give(SpeechStarted()) == [StopSpeaking()]
    assert call.result.timer_seconds is None
    assert call.give(SpeechEnded(NPI))[-1] == Speak("The member ID?")


def test_keys_change_nothing_and_do_not_restart_the_timer() -> None:
    call = RepresentativeCall()
    session, seconds = call.result.session, call.result.timer_seconds
    call.now += timedelta(seconds=1)
    assert call.give(DigitsPressed("123")) == []
    assert call.result.session == session
    assert seconds is not None
    assert call.result.timer_seconds == pytest.approx(seconds - 1)


def test_script_without_verification_answers_at_once() -> None:
    call = RepresentativeCall({"verify": {}})
    assert call.heard == "Provider services, this is Dana."
    assert call.say("prior auth status").startswith("Approved")


def test_free_text_is_taken_as_it_is_said() -> None:
    call = RepresentativeCall({"verify": {"caller_role": "Who is calling?"}, "verify_hook": None})
    assert call.say("What is your fax number?") == "It is 555-0199."
    call.say("authorization status")
    call.say("This is Anna  from Valley Clinic")
    assert CollectValue("dana", "caller_role", "This is Anna from Valley Clinic") in call.actions


@pytest.mark.parametrize(
    "text",
    ["Ana Lee", "The patient's name is Ana Lee.", "It's Ana Lee, born March 2 1985", "I'm calling about Ana Lee and"],
)
def test_name_of_a_person_is_taken_without_other_words(text: str) -> None:
    call = RepresentativeCall({"verify": {"name": "Name?"}, "verify_hook": None})
    call.say(text)
    assert CollectValue("dana", "name", "Ana Lee") in call.actions


@pytest.mark.parametrize("text", ["goodbye, thanks", "please transfer me to billing", "Can I get an operator?"])
def test_farewell_or_request_is_not_taken_as_a_name(text: str) -> None:
    call = RepresentativeCall({"verify": {"name": "Name?"}, "verify_hook": None})
    call.say(text)
    assert not any(isinstance(action, CollectValue | VerifyIdentity) for action in call.actions)


def test_values_that_come_with_the_question_are_not_asked_for_again() -> None:
    refill = {"asks": ["refill"], "says": "It is ready."}
    changes = {"greeting": "How can I help?", "verify": {"name": "Name?", "birth_date": "Born?"}, "answers": [refill]}
    call = RepresentativeCall({**changes, "verify_hook": None})
    assert call.say("I need a refill for Ana Rivera, born March 15 1965") == "It is ready."


@pytest.mark.parametrize("text", ["His date of birth is March 2 1985", "Great, can you cancel it?", "Can you look?"])
def test_words_that_are_no_name_are_not_taken_as_one(text: str) -> None:
    call = RepresentativeCall({"verify": {"name": "Name?", "birth_date": "Born?"}, "verify_hook": None})
    assert call.say(text).endswith("Name?")


def test_name_of_a_patient_is_recognized_before_it_is_asked_for() -> None:
    call = RepresentativeCall({"greeting": "How can I help?", "verify": {"name": "Name?"}, "verify_hook": None})
    assert call.say("Hi, this is Kim Roe with a question about our patient Ana Lee").endswith("How can I help?")
    assert CollectValue("dana", "name", "Ana Lee") in call.actions


@pytest.mark.slow
def test_100_000_characters_of_speech_are_answered() -> None:
    call = verified_call()
    assert call.say("march 1 " * 12_500) == "I can't help with that."
    assert call.say("x " * 50_000) == "I can't help with that."


def test_same_call_gives_the_same_session() -> None:
    assert verified_call().result == verified_call().result


def test_answer_may_transfer_the_call_after_it_was_said() -> None:
    answer = {"asks": ["supervisor"], "says": "I will connect you.", "is_public": True, "transfers_to": "supervisor"}
    call = RepresentativeCall({"answers": [answer]})
    assert call.say("May I speak with your supervisor?") == "I will connect you."
    assert call.say("Hello?") == ""  # nothing that is said now changes it
    call.listen()
    assert call.actions[-1] == TransferCall("supervisor", None)


def test_answer_ends_or_transfers_the_call_and_not_both() -> None:
    answer = {"asks": ["supervisor"], "says": "Yes.", "transfers_to": "supervisor", "ends_call": True}
    with pytest.raises(ValueError, match="expected only one of `ends_call` and `transfers_to`"):
        RepresentativeCall({"answers": [answer]})
