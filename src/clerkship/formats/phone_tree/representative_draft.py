"""The result of a step of a scripted representative while it is worked out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clerkship.formats.phone_tree.prompts import find_names, render_prompt
from clerkship.formats.phone_tree.representative_script import RepresentativeAnswer, RepresentativeScript
from clerkship.formats.phone_tree.session import (
    Action,
    HangUp,
    RepresentativeSession,
    Speak,
    StepContext,
    StepResult,
    StopSpeaking,
    TransferCall,
)
from clerkship.formats.phone_tree.speech_time import measure_speech
from clerkship.formats.phone_tree.timer import add_seconds, get_seconds_left


@dataclass(slots=True)
class RepresentativeDraft:
    """The session and the actions so far."""

    script: RepresentativeScript
    line_values: Mapping[str, str]
    session: RepresentativeSession
    context: StepContext
    actions: list[Action] = field(default_factory=list)

    def to_result(self) -> StepResult:
        """Return the result of the step."""
        seconds = get_seconds_left(self.session.due, self.context.now)
        return StepResult(self.session, tuple(self.actions), seconds)

    def stop_speaking(self) -> None:
        """Stop, because the caller speaks, and wait until they have finished."""
        if self.session.phase == "speaking":
            self.actions.append(StopSpeaking())
        self.change(phase="listening", due=None)

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
        patience = max(self.script.patience.total_seconds(), 1.0)
        self.change(phase="listening", due=add_seconds(self.context.now, patience))

    def change(self, **changes: Any) -> None:
        """Change fields of the session."""
        self.session = self.session.model_copy(update=changes)

    def list_values(self) -> dict[str, str]:
        """Return all values: of the line, of hooks, and of the caller."""
        return {**self.line_values, **self.session.values, **self.session.stated}

    def render(self, text: str) -> str:
        """Return a prompt with its values."""
        return render_prompt(text, self.list_values())

    def speak(self, *texts: str, is_ending: bool = False, is_repeatable: bool = True) -> None:
        """Say texts; then listen, or end the call."""
        text = " ".join(text for text in texts if text)
        self.change(is_ending=is_ending, said=text if is_repeatable else self.session.said)
        seconds = measure_speech(text)
        if seconds == 0:
            self.finish_speaking()
            return
        self.actions.append(Speak(text))
        self.change(phase="speaking", due=add_seconds(self.context.now, seconds))

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
