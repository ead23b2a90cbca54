"""Restore the state of a person by replaying their earlier conversation."""

from collections import deque
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial

from clerkship.actors.contract import AgentReply, PastPersonTurn, PersonAction, PersonStep, SimulatedPerson
from clerkship.events.event import Event, PauseEnded, Utterance


class RecordedImproviser:
    """Returns what the person said in the earlier conversation, in place of the model."""

    def __init__(self) -> None:
        self.said = ""
        self.messages: Sequence[Event] = ()

    def improvise(self, hint: str = "", progress: object = None) -> PersonAction:
        """Return what the person said then."""
        return PersonAction(self.said)


class ScriptReplay:
    """Repeats all actions of a person in order. Lines that a scenario step said for them do not change them.

    Whether they spoke because of a reply or because of an event is inferred from what they said.
    """

    def __init__(self, person: SimulatedPerson) -> None:
        self._person, self.voice = person, RecordedImproviser()
        self._heard: AgentReply | None = None
        self._unread: AgentReply | None = None
        """What the agent said before the end of a pause, which the person answers later."""
        self._seen: deque[Event] = deque()
        self._more: PersonStep | None = None
        self._after_pause: dict[int, PersonStep] = {}
        self._has_begun = False

    def run(self, past: Sequence[PastPersonTurn]) -> Mapping[int, PersonStep]:
        """Replay a conversation; return what follows each pause whose end did not lead to an action yet."""
        before: PastPersonTurn | None = None
        for turn in past:
            if turn.said is not None or turn.paused is not None:
                self.voice.said = turn.said or ""
                self._repeat(turn, before)
                self._has_begun = True
            before = turn
        return self._after_pause

    def _repeat(self, turn: PastPersonTurn, before: PastPersonTurn | None) -> None:
        """Repeat what the person said, or how they began a pause."""
        ended = turn.cause.payload if turn.cause is not None else None
        resumed = self._after_pause.pop(ended.pause, None) if isinstance(ended, PauseEnded) else None
        if resumed is not None:
            self._take_in(before)
            self._unread, self._heard = self._heard, None
            self._try(resumed, turn.paused)
        elif turn.paused is not None:
            self._take_in(before)
            self._pause(turn, turn.paused)
        else:
            is_opening = not self._has_begun and self._try(self._person.open)
            if before is not None and not is_opening:
                self._continue(before)

    def _pause(self, turn: PastPersonTurn, pause: int) -> None:
        """Repeat how the person began a pause: after an event, after a reply, at the beginning, or in a silence."""
        while self._seen:
            event = self._seen.popleft()
            if turn.cause is not None and event.seq == turn.cause.seq:
                if self._try(partial(self._person.notice, event), pause):
                    return
            else:
                self._try(partial(self._person.notice, event), silently=True)
        if turn.cause is None:
            self._try(self._person.wait if self._has_begun else self._person.open, pause)
        elif self._heard is not None:
            heard, self._heard = self._heard, None
            self._try(partial(self._person.hear, heard), pause)

    def _take_in(self, before: PastPersonTurn | None) -> None:
        """Add what the person heard and noticed since their last action."""
        if before is None:
            return
        self._person.join([e for e in before.noticed if e.actor == "agent" and isinstance(e.payload, Utterance)])
        self._heard = _join(self._unread, before.heard) or self._heard
        self._unread = None
        self._seen.extend(before.noticed if self._person.watches else ())

    def _continue(self, before: PastPersonTurn) -> None:
        more, self._more = self._more, None
        if more is not None and self._try(more):
            return
        self._take_in(before)
        if self._notices():
            return
        heard, self._heard = self._heard, None
        self._try(self._person.wait if heard is None else lambda: self._person.hear(heard))

    def _notices(self) -> bool:
        """Return whether an event made the person say the line; later events are kept."""
        while self._seen:
            event = self._seen.popleft()
            if self._try(lambda event=event: self._person.notice(event), silently=True):  # type: ignore[misc]
                return True
        return False

    def _try(self, act: PersonStep, pause: int | None = None, *, silently: bool = False) -> bool:
        """Return whether a step produces the recorded line, or the pause with a number.

        If not, undo it, unless it may happen silently.
        """
        state = vars(self._person)
        before = {name: copy(value) if isinstance(value, list | dict) else value for name, value in state.items()}
        speech = act()
        if pause is not None and speech is not None and speech.after is not None and speech.more is not None:
            self._after_pause[pause] = speech.more
            return True
        while speech is not None and not speech.text and speech.more is not None:
            speech = speech.more()  # they were silent for a while first
        if pause is None and speech is not None and speech.text == self.voice.said:
            self._more = speech.more
            return True
        if not silently or (speech is not None and speech.text):
            state.update(before)
        return False


def _join(first: AgentReply | None, second: AgentReply | None) -> AgentReply | None:
    """Join what was heard before and after."""
    if first is None or second is None:
        return first or second
    text = "\n".join(text for text in (first.text, second.text) if text)
    return AgentReply(text, (*first.buttons, *second.buttons), (*first.custom, *second.custom))
