"""The result of a step of a far end while it is worked out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from clerkship.formats.phone_tree.prompts import measure_speech, render_prompt
from clerkship.formats.phone_tree.session import (
    Action,
    HangUp,
    IvrSession,
    RepresentativeSession,
    Speak,
    StepContext,
    StepResult,
    StopSpeaking,
    add_seconds,
    get_seconds_left,
)
from clerkship.model.frozen import copy_unchecked

MAX_TYPED_AHEAD = 100
"""Digits that a line keeps for later nodes; further ones are lost."""
MIN_TIMER_SECONDS = 1.0
"""A line listens, or plays music, at least so long."""
_KEYS = frozenset("0123456789*#")
SessionT = TypeVar("SessionT", IvrSession, RepresentativeSession)


@dataclass(slots=True)
class StepDraft(Generic[SessionT]):
    """The session and the actions so far."""

    session: SessionT
    context: StepContext
    values: Mapping[str, str]
    """Values of the line, and of its tree."""
    actions: list[Action] = field(default_factory=list)
    _own: SessionT | None = None
    """The copy of the session that only this draft has."""

    def change(self, **changes: Any) -> None:
        """Change fields of the session. The draft makes one copy of it, not one for each change."""
        if self._own is not None and self.session is self._own:
            self._own.__dict__.update(changes)
        else:
            self.session = self._own = copy_unchecked(self.session, changes)

    def get_values(self) -> dict[str, str]:
        """Return all values: of the line, and of this call."""
        return dict(self.values)

    def render(self, text: str) -> str:
        """Return a prompt with its values."""
        return render_prompt(text, self.get_values()) if "{" in text else text

    def stop_speaking(self) -> None:
        """Stop what is said, if something is, because the caller speaks or presses keys."""
        if self.session.phase == "speaking":
            self.actions.append(StopSpeaking())
        self.change(phase="listening", due=None)

    def set_timer(self, seconds: float | None) -> None:
        """Set after how many seconds the far end is called again; None for no timer."""
        self.change(due=None if seconds is None else add_seconds(self.context.now, seconds))

    def to_result(self) -> StepResult:
        return StepResult(self.session, tuple(self.actions), get_seconds_left(self.session.due, self.context.now))


@dataclass(slots=True)
class IvrDraft(StepDraft[IvrSession]):
    """The result of a step of a phone tree."""

    operator: str | None = None
    """The node for callers who ask for a person, wherever they are."""
    speech: str = ""
    """What the caller said during the prompts before this node; the next input node may use it."""

    def get_values(self) -> dict[str, str]:
        """Return all values: of the line, and of this call."""
        return {**self.values, **self.session.values}

    def speak(self, *texts: str) -> bool:
        """Say texts one after the other. Return False, and do nothing, if none of them has words."""
        spoken = [text for text in texts if measure_speech(text) > 0]
        if not spoken:
            return False
        self.actions.append(Speak(spoken[0]))
        due = add_seconds(self.context.now, measure_speech(spoken[0]))
        self.change(phase="speaking", prompts=tuple(spoken[1:]), due=due)
        return True

    def stop_speaking(self) -> None:
        """Stop the prompt that plays, if one does, and those after it."""
        StepDraft.stop_speaking(self)
        self.change(prompts=())

    def listen(self, seconds: float | None) -> None:
        """Wait for the caller, at most some seconds; None while the caller speaks."""
        self.change(phase="listening", prompts=())
        self.set_timer(None if seconds is None else max(seconds, MIN_TIMER_SECONDS))

    def keep_digits(self, digits: str) -> None:
        """Append keys that the caller pressed to those that are not used yet."""
        keys = digits if _KEYS.issuperset(digits) else "".join(key for key in digits if key in _KEYS)
        self.change(digits=(self.session.digits + keys)[:MAX_TYPED_AHEAD])

    def hang_up(self, reason: str) -> None:
        """End the call."""
        self.actions.append(HangUp(reason))
        self.end()

    def end(self) -> None:
        """Leave the call, which ended or was transferred."""
        self.change(phase="ended", prompts=(), digits="", due=None)
