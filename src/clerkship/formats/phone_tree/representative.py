"""A scripted representative: a dialogue in a frame of what is asked, what is known and what may be said to whom."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from clerkship.formats.phone_tree.caller_line import (
    CallerLine,
    list_argument_names,
    list_value_names,
    read_line,
)
from clerkship.formats.phone_tree.frame import (
    doubt,
    find_new,
    is_other_person,
    list_returned,
    list_stated,
    trust,
    verify,
)
from clerkship.formats.phone_tree.grammar import is_no, is_yes
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.representative_script import RepresentativeAnswer, RepresentativeScript
from clerkship.formats.phone_tree.session import (
    CALLER,
    LINE,
    CollectValue,
    HangUp,
    HookReturned,
    RepresentativeSession,
    RunHook,
    Slot,
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
from clerkship.formats.phone_tree.stated_values import MIN_CODE_LENGTH, REQUEST_NAMES, find_values
from clerkship.formats.phone_tree.step_draft import StepDraft

MAX_SILENCES = 2
"""How often in a row the representative asks whether the caller is still there, before the call ends."""
KEPT_AFTER_FAILURE = ("npi", "caller_name", "phone")
"""Values about the caller, not the member: they are asked for again only after a second failure."""
FAILED_OUTCOMES = frozenset({"not_found", "several", "invalid", "failed"})
"""Outcomes of a hook with which a verification has failed."""
MAX_QUESTION = 500
"""Characters of a question that a hook gets."""
ACRONYMS = frozenset({"id", "npi", "mrn", "dob"})
NOT_UNDERSTOOD = "I'm sorry, I didn't get that."
THANK_YOU = "Thank you."
ANYTHING_ELSE = "You're welcome. Is there anything else I can help you with?"
READ_BACK_CORRECT = "That's correct. Is there anything else?"
WHAT_ELSE = "What can I help you with?"
TAKE_YOUR_TIME = "Sure, take your time."
_LAST_QUESTION = re.compile(r"(?:^|(?<=[.!?])\s+)[^.!?]*\?\s*$")


@dataclass(slots=True)
class RepresentativeDraft(StepDraft[RepresentativeSession]):
    """The result of a step of a representative: what it says and does, from what the caller said and hooks returned."""

    script: RepresentativeScript = field(kw_only=True)

    def get_values(self) -> dict[str, str]:
        """Return all values: of the line, of hooks, and of the caller."""
        return {**self.values, **{name: slot.value for name, slot in self.session.slots.items()}}

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

    def find_answer(self) -> RepresentativeAnswer | None:
        """Return the answer that the caller waits for."""
        return self.script.answers[int(self.session.intent)] if self.session.intent else None

    def needs_verification(self, answer: RepresentativeAnswer | None = None) -> bool:
        """Return whether the caller must be verified before the representative goes on, or gives an answer."""
        answer = answer or self.find_answer()
        is_public = answer is not None and answer.is_public
        return bool(self.script.verify) and not self.session.is_verified and not is_public

    def find_missing(self) -> str | None:
        """Return the name of the first value for the verification that is not known, or did not match."""
        slots = self.session.slots
        return next((name for name in self.script.verify if name not in slots or slots[name].state == "doubted"), None)

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
        is_asked, line = bool(self.session.asked_for), read_line(self.script, self.session, text)
        if not is_asked and "?" not in text and line.act == "end":
            self.say_goodbye()
            return
        if not is_asked and (line.intent is None or line.is_implied) and self._is_read_back(text):
            self.speak(READ_BACK_CORRECT, is_repeatable=False)
            return
        has_values = self._take_values(line)
        if line.intent is not None:
            self._take_intent(line.intent, text)
        elif self.session.intent and has_values:
            self._go_on()
        elif has_values and (self.needs_verification() or line.act is None):
            self._verify()
        else:
            self._react_to_act(line, text)

    def use_result(self, outcome: str, values: Mapping[str, str]) -> None:
        """Go on with the result of a hook: that of the verification, or that of an answer."""
        answer, is_verification = self.find_answer(), self.needs_verification()
        hook = self.script.verify_hook if is_verification else answer.hook if answer is not None else None
        returned = {
            name: Slot(value=value, source=hook or "", state="verified" if is_verification else "stated")
            for name, value in values.items()
            if name not in self.script.verify
        }
        self.change(slots={**self.session.slots, **returned})
        if not is_verification:
            self._give(answer, outcome)
        elif outcome in FAILED_OUTCOMES:
            self._refuse()
        else:
            self._accept(values)

    def _is_read_back(self, text: str) -> bool:
        """Return whether the caller repeats a number that the representative has read out just now."""
        code = parse_entry("letters_and_digits", text)
        last_words, returned = _join_letters(self.session.said), list_returned(self.session.slots)
        spoken = {value for value in map(_join_letters, returned.values()) if value in last_words}
        return code is not None and len(code) >= MIN_CODE_LENGTH and code in spoken

    def _ask_for_missing(self, before: str = "") -> bool:
        """Ask for the first missing value; return whether there is one."""
        name = self.find_missing()
        if name is None:
            return False
        self.change(asked_for=name)
        self.speak(before, self._build_question(name))
        return True

    def _take_values(self, line: CallerLine) -> bool:
        """Store the values that a line states; return whether there are new ones, or another person is meant."""
        slots, verified_names = self.session.slots, self.script.verify.keys()
        values = find_new(slots, line.values)
        is_other = bool(values.keys() & verified_names) or is_other_person(slots, line.person)
        if self.session.is_verified and is_other:
            slots = {name: slot for name, slot in slots.items() if name in KEPT_AFTER_FAILURE}
            self.change(is_verified=False, slots=slots, asked_for="")
        elif not values:
            return False
        elif any(slots[name].value != value for name, value in values.items() if name in slots.keys() & verified_names):
            slots = trust(slots)
        self.actions += [CollectValue(self.script.name, name, value) for name, value in values.items()]
        stated = {name: Slot(value=value, source=CALLER) for name, value in values.items()}
        is_answered = self.session.asked_for in values or not values.keys() <= set(REQUEST_NAMES)
        self.change(slots={**slots, **stated}, asked_for="" if is_answered else self.session.asked_for)
        return True

    def _take_intent(self, intent: int, text: str) -> None:
        """Go on with what is asked. A question in between is answered, and then the first one goes on."""
        answer, before = self.script.answers[intent], self.session.intent
        pending = self.session.asked_for if before not in ("", str(intent)) else ""
        if pending and answer.hook is None and not self.needs_verification(answer):
            self._give(answer, "", then=self._build_question(pending))
            return
        asked_for = self.session.asked_for if before == str(intent) else ""
        self.change(intent=str(intent), question=text[:MAX_QUESTION], asked_for=asked_for)
        self._go_on()

    def _go_on(self) -> None:
        """Verify the caller if the answer needs it, ask for what its hook needs, and answer."""
        answer = self.find_answer()
        if answer is None or self.needs_verification():
            self._verify()
            return
        known = self.get_values()
        missing = next((name for name in list_argument_names(answer) if not known.get(name)), None)
        if missing is not None:
            before = THANK_YOU if missing == self.session.asked_for else ""  # they stated something else
            self.change(asked_for=missing)
            self.speak(before, self._build_question(missing))
        elif answer.hook is not None:
            self._run_hook(answer.hook, {name: self.render(text) for name, text in answer.arguments.items()})
        else:
            self._give(answer, "")

    def _verify(self) -> None:
        """Ask for the next missing value, or check all of them."""
        if self.session.is_verified:
            self.speak(THANK_YOU, WHAT_ELSE)
        elif self._ask_for_missing():
            return
        elif self.script.verify_hook is None:
            self._accept({})
        else:
            self._run_hook(self.script.verify_hook, {})

    def _run_hook(self, hook: str, arguments: Mapping[str, str]) -> None:
        """Run a hook with the values of the line, those that the caller stated, and arguments.

        What earlier hooks returned serves required arguments only: the reference of the last answer must not narrow
        the next search. What this hook returned before is forgotten, so that it is not said about another request.
        """
        slots = {name: slot for name, slot in self.session.slots.items() if slot.source != hook}
        self.change(slots=slots, phase="waiting", due=None)
        answer = self.find_answer()
        question = {"question": self.session.question} if answer and "question" in answer.optional else {}
        given = {**self.values, **list_stated(slots), **question, **arguments}
        self.actions.append(RunHook(self.script.name, hook, given, list_returned(slots)))

    def _accept(self, values: Mapping[str, str]) -> None:
        """Accept the caller, and answer the question that they asked before."""
        known = {**list_stated(self.session.slots), **values}
        stated = next((known[name] for name in self.script.verify), "")
        person = known.get("member_id") or known.get("patient") or stated
        self.actions.append(VerifyIdentity(person))
        self.change(is_verified=True, slots=verify(self.session.slots, self.script.verify))
        if self.session.intent:
            self._go_on()
        else:
            self.speak(self.render(self.script.verified))

    def _refuse(self) -> None:
        """Say that the values do not match, and ask again, or end the call after too many attempts.

        The values stay, and are in doubt: the caller may correct one of them, or state all again.
        """
        attempts = self.session.attempts + 1
        refusal = self.render(self.script.not_verified)
        names = [name for name in self.script.verify if name not in KEPT_AFTER_FAILURE or attempts > 1]
        self.change(attempts=attempts, slots=doubt(self.session.slots, names or self.script.verify))
        if attempts >= self.script.max_verifications:
            self.say_goodbye(refusal)
        else:
            self._ask_for_missing(refusal)

    def _give(self, answer: RepresentativeAnswer | None, outcome: str, then: str = "") -> None:
        """Give an answer, that for the outcome of its hook; `then` is the question to which the caller is to return."""
        says = answer.says if answer is not None else None
        text = says.get(outcome) if isinstance(says, dict) else says
        spoken = self.render(text if text is not None else self.script.fallback)
        if then:
            self.speak(_without_last_question(spoken), then)
            return
        used = {*REQUEST_NAMES, *(list_value_names(answer) if answer is not None else ())} - self.script.verify.keys()
        slots = self.session.slots.items()
        rest = {name: slot for name, slot in slots if name not in used or slot.source not in (CALLER, LINE)}
        transfers_to = answer.transfers_to if answer is not None else None
        self.change(intent="", question="", asked_for="", slots=rest, transfers_to=transfers_to or "")
        self.speak(spoken, is_ending=answer is not None and (answer.ends_call or transfers_to is not None))

    def _react_to_act(self, line: CallerLine, text: str) -> None:
        """React to words that are neither a question of the script nor a value."""
        act, asked_for = line.act, self.session.asked_for
        if act == "end" or (is_no(text) and not asked_for):
            self.say_goodbye()
        elif act == "person":
            question = self._build_question(asked_for) if asked_for else ""
            self.speak(self.render(self.script.no_transfer), question, is_repeatable=False)
        elif act == "repeat":
            self.speak(self.session.said)
        elif act == "wait":
            self.speak(TAKE_YOUR_TIME, is_repeatable=False)
        elif asked_for:
            self._ask_again(asked_for, text)
        elif act == "thanks":
            self.speak(ANYTHING_ELSE, is_repeatable=False)
        elif not self.needs_verification() or not self._ask_for_missing():
            self.speak(WHAT_ELSE if is_yes(text) else self.render(self.script.fallback), is_repeatable=False)

    def _ask_again(self, name: str, text: str) -> None:
        """Ask for a value again. A caller who stated a value that is known already was understood."""
        stated = find_values(self.script.verify, text, by_form=[*self.script.verify])
        is_known = stated.items() & list_stated(self.session.slots).items()
        self.speak(THANK_YOU if is_known else NOT_UNDERSTOOD, self._build_question(name))

    def _build_question(self, name: str) -> str:
        """Return the question for a value: that of the script, or `What is the claim number, please?`"""
        if name in self.script.verify:
            return self.render(self.script.verify[name])
        words = [word.upper() if word in ACRONYMS else word for word in name.split("_")]
        return f"What is the {' '.join(words)}, please?"


def _join_letters(text: str) -> str:
    """Return the letters and digits of a text, in upper case."""
    return "".join(filter(str.isalnum, text)).upper()


def _without_last_question(text: str) -> str:
    """Return an answer without the question at its end, such as `Is there anything else?`"""
    return _LAST_QUESTION.sub("", text)


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
        known = {
            name: Slot(value=collected[name], source=LINE) for name in self._script.passed_on if collected.get(name)
        }
        session = RepresentativeSession(representative=self._script.name, phase="speaking", slots=known)
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
