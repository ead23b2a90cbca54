"""A scripted representative: verifies who calls, looks things up and answers by a script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from clerkship.formats.phone_tree.grammar import is_no, is_yes, list_stems, match_choice
from clerkship.formats.phone_tree.nodes import Choice
from clerkship.formats.phone_tree.prompts import find_names, measure_speech
from clerkship.formats.phone_tree.representative_script import RepresentativeAnswer, RepresentativeScript
from clerkship.formats.phone_tree.session import (
    CollectValue,
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
    TimerFired,
    TransferCall,
    VerifyIdentity,
)
from clerkship.formats.phone_tree.spoken_entry import parse_entry
from clerkship.formats.phone_tree.stated_values import MIN_CODE_LENGTH, find_format, find_values
from clerkship.formats.phone_tree.step_draft import StepDraft

MIN_COMMON_PART = 0.5
"""Part of the words of a phrase that a question must contain."""
MAX_SILENCES = 2
"""How often in a row the representative asks whether the caller is still there, before the call ends."""
KEPT_AFTER_FAILURE = ("npi", "caller_name", "phone")
"""Values about the caller, not the member: they are asked for again only after a second failure."""
FAILED_OUTCOMES = frozenset({"not_found", "several", "invalid", "failed"})
"""Outcomes of a hook with which a verification has failed."""
ACRONYMS = frozenset({"id", "npi", "mrn", "dob"})
NOT_UNDERSTOOD = "I'm sorry, I didn't get that."
THANK_YOU = "Thank you."
ANYTHING_ELSE = "You're welcome. Is there anything else I can help you with?"
READ_BACK_CORRECT = "That's correct. Is there anything else?"
WHAT_ELSE = "What can I help you with?"
TAKE_YOUR_TIME = "Sure, take your time."
_REMARKS: Mapping[str, Sequence[str]] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
"""What callers say that is no question."""


@dataclass(slots=True)
class RepresentativeDraft(StepDraft[RepresentativeSession]):
    """The result of a step of a representative: what it says and does, from what the caller said and hooks returned."""

    script: RepresentativeScript = field(kw_only=True)

    def get_values(self) -> dict[str, str]:
        """Return all values: of the line, of hooks, and of the caller."""
        return {**self.values, **self.session.values, **self.session.stated}

    def finish_speaking(self) -> None:
        """Wait for the caller, or end or transfer the call."""
        if self.session.transfers_to:
            self.actions.append(TransferCall(self.session.transfers_to, None))
            self.change(phase="ended", due=None)
            return
        if self.session.is_ending:
            self.actions.append(HangUp("the representative ended the call"))
            self.change(phase="ended", due=None)
            return
        self.change(phase="listening")
        self.set_timer(self.script.patience_seconds)

    def speak(self, *texts: str, is_ending: bool = False, is_repeatable: bool = True) -> None:
        """Say texts; then listen, or end the call."""
        text = " ".join(text for text in texts if text)
        self.change(is_ending=is_ending, said=text if is_repeatable else self.session.said)
        seconds = measure_speech(text)
        if seconds == 0:
            self.finish_speaking()
            return
        self.actions.append(Speak(text))
        self.change(phase="speaking")
        self.set_timer(seconds)

    def say_goodbye(self, before: str = "") -> None:
        """Say goodbye, after which the call ends."""
        self.speak(before, self.render(self.script.goodbye), is_ending=True)

    def find_topic(self) -> RepresentativeAnswer | None:
        """Return the answer that the caller waits for."""
        return self.script.answers[int(self.session.topic)] if self.session.topic else None

    def needs_verification(self) -> bool:
        """Return whether the caller must be verified before the representative goes on."""
        answer = self.find_topic()
        is_public = answer is not None and answer.is_public
        return bool(self.script.verify) and not self.session.is_verified and not is_public

    def find_missing(self) -> str | None:
        """Return the name of the first value for the verification that the caller has not stated."""
        return next((name for name in self.script.verify if name not in self.session.stated), None)

    def list_topic_names(self) -> tuple[str, ...]:
        """Return the names of the values that the caller may state for the present answer."""
        answer = self.find_topic()
        return (*self.list_argument_names(), *(answer.optional if answer is not None else ()))

    def list_argument_names(self) -> tuple[str, ...]:
        """Return the names of the values that the arguments of the present answer use."""
        answer = self.find_topic()
        arguments = answer.arguments.values() if answer is not None else ()
        return tuple(name for text in arguments for name in find_names(text))

    def greet(self) -> None:
        """Greet the caller, and ask for the first value unless the greeting is a question itself."""
        greeting = self.render(self.script.greeting)
        if greeting.rstrip().endswith("?") or not self._ask_for_missing(greeting):
            self.speak(greeting)

    def break_silence(self) -> None:
        """Ask whether the caller is still there; end the call if that was asked before without an answer."""
        self.change(silences=self.session.silences + 1)
        if self.session.silences > MAX_SILENCES:
            self.say_goodbye()
        else:
            self.speak(self.render(self.script.silence), is_repeatable=False)

    def react(self, text: str) -> None:
        """React to what the caller said."""
        self.change(silences=0)
        is_asked, remark = bool(self.session.asked_for), find_remark(text)
        if not is_asked and "?" not in text and remark == "end":
            self.say_goodbye()
            return
        if not is_asked and self._is_read_back(text):
            self.speak(READ_BACK_CORRECT, is_repeatable=False)
            return
        answer = find_answer(self.script.answers, text, exact=is_asked or remark == "thanks")
        has_values = self._take_values(text, answer)
        if answer is not None:
            self.change(topic=str(answer), asked_for="")
            has_values = self._take_values(text, answer) or has_values  # those that only this answer needs
        if self.session.topic and (answer is not None or has_values):
            self._go_on_with_topic()
        elif has_values:
            self._verify()
        else:
            self._react_to_remark(text)

    def use_result(self, outcome: str, values: Mapping[str, str]) -> None:
        """Go on with the result of a hook: that of the verification, or that of an answer."""
        stated = self.session.stated
        remaining = {name: value for name, value in stated.items() if name in self.script.verify or name not in values}
        self.change(values={**self.session.values, **values}, stated=remaining)
        answer = self.find_topic()
        if not self.needs_verification():
            self._give(answer, outcome)
        elif outcome in FAILED_OUTCOMES:
            self._refuse()
        else:
            self._accept()

    def _is_read_back(self, text: str) -> bool:
        """Return whether the caller repeats a number that the representative has read out just now."""
        code = parse_entry("letters_and_digits", text)
        last_words = _join_letters(self.session.said)
        spoken = {value for value in map(_join_letters, self.session.values.values()) if value in last_words}
        return code is not None and len(code) >= MIN_CODE_LENGTH and code in spoken

    def _ask_for_missing(self, before: str = "") -> bool:
        """Ask for the first missing value; return whether there is one."""
        name = self.find_missing()
        if name is None:
            return False
        self.change(asked_for=name)
        self.speak(before, self.render(self.script.verify[name]))
        return True

    def _take_values(self, text: str, answer: int | None) -> bool:
        """Store the values that a text states; return whether there are new ones."""
        asked_for = self.session.asked_for
        if answer is not None and find_format(asked_for) is None:
            asked_for = ""  # the text is a question, not the answer to one
        names = dict.fromkeys((*self.script.verify, *self.list_topic_names()))
        stated_now = find_values(names, text, asked_for, by_form=not self.session.is_verified)
        stated = self.session.stated
        values = {name: value for name, value in stated_now.items() if stated.get(name) != value}
        if not values:
            return False
        if self.session.is_verified and values.keys() & self.script.verify.keys():
            stated = {name: value for name, value in stated.items() if name in KEPT_AFTER_FAILURE}
            self.change(is_verified=False, values={})
        self.actions += [CollectValue(self.script.name, name, value) for name, value in values.items()]
        self.change(stated={**stated, **values}, asked_for="")
        return True

    def _go_on_with_topic(self) -> None:
        """Verify the caller if the answer needs it, ask for what its hook needs, and answer."""
        answer = self.find_topic()
        if answer is None or self.needs_verification():
            self._verify()
            return
        known = self.get_values()
        missing = next((name for name in self.list_argument_names() if not known.get(name)), None)
        if missing is not None:
            self.change(asked_for=missing)
            self.speak(_build_question(missing))
        elif answer.hook is not None:
            self._run_hook(answer.hook, {name: self.render(text) for name, text in answer.arguments.items()})
        else:
            self._give(answer, "")

    def _verify(self) -> None:
        """Ask for the next missing value, or check all of them."""
        if self.session.is_verified or self._ask_for_missing():
            return
        if self.script.verify_hook is None:
            self._accept()
        else:
            self._run_hook(self.script.verify_hook, {})

    def _run_hook(self, hook: str, arguments: Mapping[str, str]) -> None:
        """Run a hook with the values of the line, those that the caller stated, and arguments.

        What earlier hooks returned serves required arguments only: the reference of the last answer must not narrow
        the next search.
        """
        given = {**self.values, **self.session.stated, **arguments}
        self.actions.append(RunHook(self.script.name, hook, given, dict(self.session.values)))
        self.change(phase="waiting", due=None)

    def _accept(self) -> None:
        """Accept the caller, and answer the question that they asked before."""
        known = {**self.session.stated, **self.session.values}
        stated = next((self.session.stated[name] for name in self.script.verify), "")
        person = known.get("member_id") or known.get("patient") or stated
        self.actions.append(VerifyIdentity(person))
        self.change(is_verified=True)
        if self.session.topic:
            self._go_on_with_topic()
        else:
            self.speak(self.render(self.script.verified))

    def _refuse(self) -> None:
        """Say that the values do not match, and ask again, or end the call after too many attempts."""
        attempts = self.session.attempts + 1
        refusal = self.render(self.script.not_verified)
        stated = self.session.stated
        remaining = {name: value for name, value in stated.items() if name in KEPT_AFTER_FAILURE and attempts == 1}
        self.change(attempts=attempts, stated=remaining)
        if attempts >= self.script.max_verifications:
            self.say_goodbye(refusal)
        elif not self._ask_for_missing(refusal):
            self.change(stated={})
            self._ask_for_missing(refusal)

    def _give(self, answer: RepresentativeAnswer | None, outcome: str) -> None:
        """Give an answer, that for the outcome of its hook."""
        says = answer.says if answer is not None else None
        text = says.get(outcome) if isinstance(says, dict) else says
        spoken = self.render(text if text is not None else self.script.fallback)
        used = set(self.list_topic_names()) - self.script.verify.keys()
        stated = {name: value for name, value in self.session.stated.items() if name not in used}
        self.change(topic="", stated=stated)
        transfers_to = answer.transfers_to if answer is not None else None
        self.change(transfers_to=transfers_to or "")
        self.speak(spoken, is_ending=answer is not None and (answer.ends_call or transfers_to is not None))

    def _react_to_remark(self, text: str) -> None:
        """React to words that are neither a question of the script nor a value."""
        remark, asked_for = find_remark(text), self.session.asked_for
        if remark == "end" or (is_no(text) and not asked_for):
            self.say_goodbye()
        elif remark == "repeat":
            self.speak(self.session.said)
        elif remark == "wait":
            self.speak(TAKE_YOUR_TIME, is_repeatable=False)
        elif asked_for:
            self._ask_again(asked_for, text)
        elif remark == "thanks":
            self.speak(ANYTHING_ELSE, is_repeatable=False)
        elif not self.needs_verification() or not self._ask_for_missing():
            self.speak(WHAT_ELSE if is_yes(text) else self.render(self.script.fallback), is_repeatable=False)

    def _ask_again(self, name: str, text: str) -> None:
        """Ask for a value again. A caller who stated a value that is known already was understood."""
        question = self.script.verify.get(name, _build_question(name))
        is_known = find_values(self.script.verify, text).items() & self.session.stated.items()
        self.speak(THANK_YOU if is_known else NOT_UNDERSTOOD, self.render(question))


def find_answer(answers: Sequence[RepresentativeAnswer], text: str, *, exact: bool = False) -> int | None:
    """Return the index of the answer whose phrase has the most words in common with a question.

    None if no phrase has half of its words in it, or if two answers share parts of it equally. With `exact`, all words
    of a phrase must be there.
    """
    words = list_stems(text)
    scores: dict[int, tuple[int, float]] = {}
    for index, answer in enumerate(answers):
        for phrase in answer.asks:
            wanted = list_stems(phrase)
            common = len(wanted & words)
            part = common / len(wanted) if wanted else 0.0
            if common and part >= (1.0 if exact else MIN_COMMON_PART):
                scores[index] = max(scores.get(index, (0, 0.0)), (common, part))
    best = max(scores.values(), default=(0, 0.0))
    indexes = [index for index, score in scores.items() if score == best]
    return indexes[0] if len(indexes) == 1 or (indexes and best[1] == 1.0) else None


def find_remark(text: str) -> str | None:
    """Return what kind of remark a text is: `end`, `repeat`, `wait` or `thanks`; None if it is another text."""
    for kind, phrases in _REMARKS.items():
        if match_choice((Choice(speech=tuple(phrases), next=kind),), text) is not None:
            return kind
    return None


def _join_letters(text: str) -> str:
    """Return the letters and digits of a text, in upper case."""
    return "".join(filter(str.isalnum, text)).upper()


def _build_question(name: str) -> str:
    """Return the question for a value that the script has no question for: `What is the claim number, please?`"""
    words = [word.upper() if word in ACRONYMS else word for word in name.split("_")]
    return f"What is the {' '.join(words)}, please?"


class RepresentativeMachine:
    """A representative who follows a script. It keeps nothing of a call: that is in the session.

    `values` are those of the line. `collected` are those that the phone tree collected before it transferred the call.
    """

    def __init__(
        self, script: RepresentativeScript, values: Mapping[str, str], collected: Mapping[str, str] | None = None
    ) -> None:
        self._script = script
        self._values = dict(values)
        self._collected = dict(collected or {})

    def start(self, context: StepContext) -> StepResult:
        """Greet the caller, and ask for the first value unless the greeting is a question itself."""
        collected = self._collected
        passed_on = {name: collected[name] for name in self._script.passed_on if collected.get(name)}
        session = RepresentativeSession(representative=self._script.name, phase="speaking", stated=passed_on)
        draft = RepresentativeDraft(session, context, self._values, script=self._script)
        draft.greet()
        return draft.to_result()

    def get_listen_seconds(self, session: RepresentativeSession) -> float | None:
        """Return how long they wait for the caller, unless the call ends or is transferred."""
        return None if session.is_ending else self._script.patience_seconds

    def step(self, session: RepresentativeSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what the representative does next. Keys that the caller presses change nothing."""
        draft = RepresentativeDraft(session, context, self._values, script=self._script)
        is_conversation = session.phase in ("speaking", "listening") and not session.is_ending
        match stimulus:
            case TimerFired() if session.phase == "speaking":
                draft.finish_speaking()
            case TimerFired() if session.phase == "listening":
                draft.break_silence()
            case SpeechStarted() if is_conversation:
                draft.stop_speaking()
            case SpeechEnded(text) if is_conversation:
                draft.stop_speaking()
                draft.react(text)
            case HookReturned(outcome, values) if session.phase == "waiting":
                draft.use_result(outcome, values)
            case _:
                pass
        return draft.to_result()
