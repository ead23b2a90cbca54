"""A recorder of messages: a greeting, a beep and a recording."""

from datetime import datetime
from typing import NamedTuple, TypeVar

from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.session import (
    Beep,
    DigitsPressed,
    HangUp,
    IvrSession,
    RecorderSession,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    TimerFired,
    add_seconds,
    speak,
    stay,
)

MAX_SILENCE_SECONDS = 10.0
"""A recording ends when the caller says nothing for so long."""
END_KEY = "#"
END_REASON = "end of the recording"

RecordedSession = TypeVar("RecordedSession", IvrSession, RecorderSession)


def start_recording(session: RecordedSession, max_seconds: float, now: datetime) -> RecordedSession:
    """Return the session at the beep."""
    end = add_seconds(now, max_seconds)
    due = min(add_seconds(now, MAX_SILENCE_SECONDS), end)
    return session.model_copy(update={"phase": "recording", "due": due, "recording_end": end})


def step_recording(session: RecordedSession, stimulus: Stimulus, now: datetime) -> RecordedSession:
    """Return the session of a recording after a stimulus; its phase is `ended` if the recording is over."""
    match stimulus:
        case TimerFired():
            return _end(session)
        case DigitsPressed(digits) if END_KEY in digits:
            return _end(session)
        case SpeechStarted():
            return session.model_copy(update={"due": session.recording_end})
        case SpeechEnded():
            due = add_seconds(now, MAX_SILENCE_SECONDS)
            return session.model_copy(update={"due": min(due, session.recording_end or due)})
        case _:
            return session


def _end(session: RecordedSession) -> RecordedSession:
    return session.model_copy(update={"phase": "ended", "due": None})


class RecorderMachine(NamedTuple):
    """A mailbox that answers a call: it says the greeting, beeps and records."""

    mailbox: str
    greeting: str
    max_seconds: float = 180.0

    def start(self, context: StepContext) -> StepResult:
        """Answer a call with the greeting."""
        session = RecorderSession(
            mailbox=self.mailbox, phase="speaking", greeting=self.greeting, max_seconds=self.max_seconds
        )
        if measure_speech(self.greeting) == 0:
            return self._beep(session, context)
        return speak(session, self.greeting, context)

    def step(self, session: RecorderSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what it does next. What the caller says or presses during the greeting is lost."""
        if session.phase == "speaking" and isinstance(stimulus, TimerFired):
            return self._beep(session, context)
        if session.phase != "recording":
            return stay(session, context)
        session = step_recording(session, stimulus, context.now)
        return stay(session, context)._replace(actions=(HangUp(END_REASON),) if session.phase == "ended" else ())

    def get_listen_seconds(self, session: RecorderSession) -> None:
        """Return None: it beeps after the greeting."""

    def _beep(self, session: RecorderSession, context: StepContext) -> StepResult:
        session = start_recording(session, self.max_seconds, context.now)
        return stay(session, context)._replace(actions=(Beep(self.mailbox),))
