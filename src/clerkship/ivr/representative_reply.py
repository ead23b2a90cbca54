"""What a scripted representative does in one step of a call."""

from collections.abc import Mapping
from typing import Any

from clerkship.ivr.answer_match import find_answer, find_remark
from clerkship.ivr.grammar import is_no, is_yes
from clerkship.ivr.prompts import find_names, render_prompt
from clerkship.ivr.representative_script import RepresentativeScript, ScriptedAnswer
from clerkship.ivr.session import (
    Action,
    CollectValue,
    HangUp,
    RepresentativeSession,
    RunHook,
    Speak,
    StepContext,
    StepResult,
    StopSpeaking,
    VerifyIdentity,
)
from clerkship.ivr.speech_time import measure_speech
from clerkship.ivr.stated_values import find_format, find_values
from clerkship.ivr.timer import add_seconds, get_seconds_left

MAX_SILENCES = 2
"""How often in a row the representative asks whether the caller is still there, before the call ends."""
KEPT_AFTER_FAILURE = ("npi", "caller_name", "phone")
"""Values about the caller, not the member: they are asked for again only after a second failure."""
FAILED_OUTCOMES = frozenset({"not_found", "several", "invalid", "failed"})
"""Outcomes of a hook with which a verification has failed."""
NOT_UNDERSTOOD = "I'm sorry, I didn't get that."
ANYTHING_ELSE = "You're welcome. Is there anything else I can help you with?"
WHAT_ELSE = "What can I help you with?"
TAKE_YOUR_TIME = "Sure, take your time."


class RepresentativeReply:
    """The session and the actions of one step, while they are worked out."""

    def __init__(
        self,
        script: RepresentativeScript,
        values: Mapping[str, str],
        session: RepresentativeSession,
        context: StepContext,
    ) -> None:
        self._script = script
        self._line_values = values
        self._session = session
        self._context = context
        self._actions: list[Action] = []

    def to_result(self) -> StepResult:
        """Return the result of the step."""
        seconds = get_seconds_left(self._session.due, self._context.now)
        return StepResult(self._session, tuple(self._actions), seconds)

    def greet(self) -> None:
        """Greet the caller, and ask for the first value unless the greeting is a question itself."""
        greeting = self._render(self._script.greeting)
        if greeting.rstrip().endswith("?") or not self._ask_for_missing(greeting):
            self._speak(greeting)

    def stop_speaking(self) -> None:
        """Stop, because the caller speaks, and wait until they have finished."""
        if self._session.phase == "speaking":
            self._actions.append(StopSpeaking())
        self._change(phase="listening", due=None)

    def finish_speaking(self) -> None:
        """Wait for the caller, or end the call."""
        if self._session.is_ending:
            self._actions.append(HangUp("the representative ended the call"))
            self._change(phase="ended", due=None)
            return
        patience = max(self._script.patience.total_seconds(), 1.0)
        self._change(phase="listening", due=add_seconds(self._context.now, patience))

    def break_silence(self) -> None:
        """Ask whether the caller is still there; end the call if that was asked before without an answer."""
        self._change(silences=self._session.silences + 1)
        if self._session.silences > MAX_SILENCES:
            self._say_goodbye()
        else:
            self._speak(self._render(self._script.silence), is_repeatable=False)

    def react(self, text: str) -> None:
        """React to what the caller said."""
        self._change(silences=0)
        is_asked = bool(self._session.asked_for)
        answer = find_answer(self._script.answers, text, exact=is_asked)
        has_values = self._take_values(text, answer)
        if answer is not None:
            self._change(topic=str(answer), asked_for="")
            has_values = self._take_values(text, answer) or has_values  # those that only this answer needs
        if self._session.topic and (answer is not None or has_values):
            self._go_on_with_topic()
        elif has_values:
            self._verify()
        else:
            self._react_to_remark(text)

    def use_result(self, outcome: str, values: Mapping[str, str]) -> None:
        """Go on with the result of a hook: that of the verification, or that of an answer."""
        self._change(values={**self._session.values, **values})
        answer = self._find_topic()
        if not self._needs_verification():
            self._give(answer, outcome)
        elif outcome in FAILED_OUTCOMES:
            self._refuse()
        else:
            self._accept()

    def _change(self, **changes: Any) -> None:
        self._session = self._session.model_copy(update=changes)

    def _list_values(self) -> dict[str, str]:
        return {**self._line_values, **self._session.values, **self._session.stated}

    def _render(self, text: str) -> str:
        return render_prompt(text, self._list_values())

    def _speak(self, *texts: str, is_ending: bool = False, is_repeatable: bool = True) -> None:
        """Say texts; then listen, or end the call."""
        text = " ".join(text for text in texts if text)
        self._change(is_ending=is_ending, said=text if is_repeatable else self._session.said)
        seconds = measure_speech(text)
        if seconds == 0:
            self.finish_speaking()
            return
        self._actions.append(Speak(text))
        self._change(phase="speaking", due=add_seconds(self._context.now, seconds))

    def _say_goodbye(self, before: str = "") -> None:
        self._speak(before, self._render(self._script.goodbye), is_ending=True)

    def _find_topic(self) -> ScriptedAnswer | None:
        return self._script.answers[int(self._session.topic)] if self._session.topic else None

    def _needs_verification(self) -> bool:
        answer = self._find_topic()
        is_public = answer is not None and answer.is_public
        return bool(self._script.verify) and not self._session.is_verified and not is_public

    def _find_missing(self) -> str | None:
        """Return the name of the first value for the verification that the caller has not stated."""
        return next((name for name in self._script.verify if name not in self._session.stated), None)

    def _ask_for_missing(self, before: str = "") -> bool:
        """Ask for the first missing value; return whether there is one."""
        name = self._find_missing()
        if name is None:
            return False
        self._change(asked_for=name)
        self._speak(before, self._render(self._script.verify[name]))
        return True

    def _take_values(self, text: str, answer: int | None) -> bool:
        """Store the values that a text states; return whether there are new ones."""
        asked_for = self._session.asked_for
        if answer is not None and find_format(asked_for) is None:
            asked_for = ""  # the text is a question, not the answer to one
        names = dict.fromkeys((*self._script.verify, *self._list_argument_names()))
        found = find_values(names, text, asked_for, by_form=not self._session.is_verified)
        stated = self._session.stated
        values = {name: value for name, value in found.items() if stated.get(name) != value}
        if not values:
            return False
        if self._session.is_verified and values.keys() & self._script.verify.keys():
            stated = {name: value for name, value in stated.items() if name in KEPT_AFTER_FAILURE}
            self._change(is_verified=False, attempts=0)
        self._actions += [CollectValue(self._script.name, name, value) for name, value in values.items()]
        self._change(stated={**stated, **values}, asked_for="")
        return True

    def _list_argument_names(self) -> tuple[str, ...]:
        """Return the names of the values that the arguments of the present answer use."""
        answer = self._find_topic()
        arguments = answer.arguments.values() if answer is not None else ()
        return tuple(name for text in arguments for name in find_names(text))

    def _go_on_with_topic(self) -> None:
        """Verify the caller if the answer needs it, ask for what its hook needs, and answer."""
        answer = self._find_topic()
        if answer is None or self._needs_verification():
            self._verify()
            return
        known = self._list_values()
        missing = next((name for name in self._list_argument_names() if not known.get(name)), None)
        if missing is not None:
            self._change(asked_for=missing)
            self._speak(f"What is the {missing.replace('_', ' ')}, please?")
        elif answer.hook is not None:
            self._run_hook(answer.hook, {name: self._render(text) for name, text in answer.arguments.items()})
        else:
            self._give(answer, "")

    def _verify(self) -> None:
        """Ask for the next missing value, or check all of them."""
        if self._session.is_verified or self._ask_for_missing():
            return
        if self._script.verify_hook is None:
            self._accept()
        else:
            self._run_hook(self._script.verify_hook, {})

    def _run_hook(self, hook: str, arguments: Mapping[str, str]) -> None:
        """Run a hook with the values of the line, those that the caller stated, and arguments."""
        given = {**self._line_values, **self._session.stated, **arguments}
        self._actions.append(RunHook(self._script.name, hook, given))
        self._change(phase="waiting", due=None)

    def _accept(self) -> None:
        """Accept the caller, and answer the question that they asked before."""
        known = {**self._session.stated, **self._session.values}
        stated = next((self._session.stated[name] for name in self._script.verify), "")
        person = known.get("member_id") or known.get("patient") or stated
        self._actions.append(VerifyIdentity(person))
        self._change(is_verified=True, attempts=0)
        if self._session.topic:
            self._go_on_with_topic()
        else:
            self._speak(self._render(self._script.verified))

    def _refuse(self) -> None:
        """Say that the values do not match, and ask again, or end the call after too many attempts."""
        attempts = self._session.attempts + 1
        refusal = self._render(self._script.not_verified)
        stated = self._session.stated
        kept = {name: value for name, value in stated.items() if name in KEPT_AFTER_FAILURE and attempts == 1}
        self._change(attempts=attempts, stated=kept)
        if attempts >= self._script.max_verifications:
            self._say_goodbye(refusal)
        elif not self._ask_for_missing(refusal):
            self._change(stated={})
            self._ask_for_missing(refusal)

    def _give(self, answer: ScriptedAnswer | None, outcome: str) -> None:
        """Give an answer, that for the outcome of its hook."""
        says = answer.says if answer is not None else None
        text = says.get(outcome) if isinstance(says, dict) else says
        spoken = self._render(text if text is not None else self._script.fallback)
        used = set(self._list_argument_names()) - self._script.verify.keys()
        stated = {name: value for name, value in self._session.stated.items() if name not in used}
        self._change(topic="", stated=stated)
        self._speak(spoken, is_ending=answer is not None and answer.ends_call)

    def _react_to_remark(self, text: str) -> None:
        """React to words that are neither a question of the script nor a value."""
        remark, asked_for = find_remark(text), self._session.asked_for
        if remark == "end" or (is_no(text) and not asked_for):
            self._say_goodbye()
        elif remark == "repeat":
            self._speak(self._session.said)
        elif remark == "wait":
            self._speak(TAKE_YOUR_TIME, is_repeatable=False)
        elif asked_for:
            self._ask_again(asked_for)
        elif remark == "thanks":
            self._speak(ANYTHING_ELSE, is_repeatable=False)
        elif not self._needs_verification() or not self._ask_for_missing():
            self._speak(WHAT_ELSE if is_yes(text) else self._render(self._script.fallback), is_repeatable=False)

    def _ask_again(self, name: str) -> None:
        question = self._script.verify.get(name, f"What is the {name.replace('_', ' ')}, please?")
        self._speak(NOT_UNDERSTOOD, self._render(question))
