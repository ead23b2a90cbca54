"""A simulated caller of the agent: says prepared lines, or leaves a message if the agent does not answer."""

from datetime import datetime

from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.session import (
    Action,
    Answered,
    Beep,
    CallerSession,
    HangUp,
    LeaveVoicemail,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    StopSpeaking,
    TimerFired,
    get_seconds_left,
    speak,
    stay,
    wait,
)

FIRST_WORDS_SECONDS = 2.0
"""How long a caller waits for the agent to speak first."""
PATIENCE_SECONDS = 15.0
"""How long a caller waits for an answer."""
ARE_YOU_THERE = "Hello? Are you there?"
MAX_ARE_YOU_THERE = 2
BEEP_SECONDS = 0.5


class CallerMachine:
    """The far end of a call to the agent, from its first ring on."""

    def start(self, context: StepContext) -> StepResult:
        """Return a caller who says nothing; callers begin with a session of their own."""
        return self.step(CallerSession(phase="waiting", lines=()), Answered(), context)

    def step(self, session: CallerSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what the caller does next."""
        match stimulus:
            case Answered() if session.phase == "waiting":
                return wait(session, "listening", FIRST_WORDS_SECONDS, context)
            case TimerFired():
                return self._go_on(session, context)
            case SpeechStarted() if session.phase in ("speaking", "listening"):
                stop: tuple[Action, ...] = (StopSpeaking(),) if session.phase == "speaking" else ()
                if repeats_opening(session, context.now):
                    again = {"lines": (session.said,), "has_repeated": True, "phase": "listening", "due": None}
                    return StepResult(session.model_copy(update=again), stop)
                is_done = session.is_person and not session.lines
                listening = session.model_copy(update={"phase": "listening", "due": None})
                return StepResult(None if is_done else listening, stop)
            case SpeechEnded() if session.phase == "listening":
                return self._say_next(session, context)
        return stay(session, context)

    def get_listen_seconds(self, session: CallerSession) -> float | None:
        """Return how long the caller waits for an answer, unless a person of the scenario goes on."""
        return None if session.is_person and not session.lines else PATIENCE_SECONDS

    def _go_on(self, session: CallerSession, context: StepContext) -> StepResult:
        if session.phase == "waiting":
            return self._reach_mailbox(session, context)
        if session.phase == "on_hold":
            seconds = BEEP_SECONDS + measure_speech(session.voicemail)
            return wait(session, "recording", seconds, context, Beep(session.mailbox))
        if session.phase == "recording":
            leave = LeaveVoicemail(session.mailbox, session.voicemail)
            return StepResult(_end(session), (leave, HangUp("left a message")))
        if session.phase == "speaking":
            if session.is_person and not session.lines:
                return StepResult(None)
            return wait(session, "listening", PATIENCE_SECONDS, context)
        return self._break_silence(session, context)

    def _reach_mailbox(self, session: CallerSession, context: StepContext) -> StepResult:
        """Listen to the greeting of the mailbox, or hang up if there is none, or nothing to leave."""
        if not session.mailbox or not session.voicemail:
            return StepResult(_end(session), (HangUp("the agent did not answer"),))
        return wait(session, "on_hold", session.greeting_seconds, context)

    def _say_next(self, session: CallerSession, context: StepContext) -> StepResult:
        if session.is_person and session.lines:
            text = " ".join(session.lines)
            return speak(session, text, context, lines=(), said=text, has_spoken=True)
        if session.lines:
            rest = session.lines[1:]
            return speak(session, session.lines[0], context, lines=rest, attempts=0, has_spoken=True)
        return StepResult(_end(session), (HangUp("the caller has said everything"),))

    def _break_silence(self, session: CallerSession, context: StepContext) -> StepResult:
        """Speak first, or ask whether the agent is there; hang up after that."""
        if session.lines and not session.has_spoken:
            return self._say_next(session, context)
        if session.attempts >= MAX_ARE_YOU_THERE and not session.is_person:
            return StepResult(_end(session), (HangUp("the agent said nothing"),))
        return speak(session, ARE_YOU_THERE, context, attempts=session.attempts + 1, said="", has_spoken=True)


def repeats_opening(session: CallerSession, now: datetime) -> bool:
    """Return whether a person who is interrupted now says again why they call.

    They do so once, if they have said less than half of it.
    """
    if session.phase != "speaking" or not session.is_person or not session.said or session.has_repeated:
        return False
    left = get_seconds_left(session.due, now)
    return left is not None and left > measure_speech(session.said) / 2


def _end(session: CallerSession) -> CallerSession:
    return session.model_copy(update={"phase": "ended", "due": None})
