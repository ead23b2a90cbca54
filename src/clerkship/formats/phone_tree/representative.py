"""A scripted representative: verifies who calls, looks things up and answers by a script."""

from collections.abc import Mapping

from clerkship.formats.phone_tree.representative_draft import RepresentativeDraft
from clerkship.formats.phone_tree.representative_reply import RepresentativeReply
from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.session import (
    HookReturned,
    RepresentativeSession,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    TimerFired,
)


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
        draft = RepresentativeDraft(self._script, self._values, session, context)
        RepresentativeReply(draft).greet()
        return draft.to_result()

    def step(self, session: RepresentativeSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what the representative does next. Keys that the caller presses change nothing."""
        draft = RepresentativeDraft(self._script, self._values, session, context)
        reply = RepresentativeReply(draft)
        is_conversation = session.phase in ("speaking", "listening") and not session.is_ending
        match stimulus:
            case TimerFired() if session.phase == "speaking":
                draft.finish_speaking()
            case TimerFired() if session.phase == "listening":
                reply.break_silence()
            case SpeechStarted() if is_conversation:
                draft.stop_speaking()
            case SpeechEnded(text) if is_conversation:
                draft.stop_speaking()
                reply.react(text)
            case HookReturned(outcome, values) if session.phase == "waiting":
                reply.use_result(outcome, values)
            case _:
                pass
        return draft.to_result()
