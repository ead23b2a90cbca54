"""Restore the state of a person by replaying their earlier conversation."""

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy

from clerkship.actors.contract import AgentReply, PastPersonTurn, PersonAction, SimulatedPerson
from clerkship.events.event import Event, Utterance

PersonStep = Callable[[], PersonAction | None]


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

    def __init__(self, person: SimulatedPerson, voice: RecordedImproviser) -> None:
        self._person, self._voice = person, voice
        self._heard: AgentReply | None = None
        self._seen: deque[Event] = deque()
        self._more: PersonStep | None = None

    def run(self, past: Sequence[PastPersonTurn]) -> None:
        """Replay a conversation."""
        before: PastPersonTurn | None = None
        for turn in past:
            if turn.said is not None:
                self._voice.said = turn.said
                is_opening = (before is None or before.said is None) and self._try(self._person.open)
                if before is not None and not is_opening:
                    self._continue(before)
            before = turn

    def _continue(self, before: PastPersonTurn) -> None:
        more, self._more = self._more, None
        if more is not None and self._try(more):
            return
        self._person.join([e for e in before.noticed if e.actor == "agent" and isinstance(e.payload, Utterance)])
        self._heard = before.heard or self._heard
        self._seen.extend(before.noticed if self._person.watches else ())
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

    def _try(self, act: PersonStep, *, silently: bool = False) -> bool:
        """Return whether a step produces the recorded line. If not, undo it, unless it may happen silently."""
        state = vars(self._person)
        before = {name: copy(value) if isinstance(value, list | dict) else value for name, value in state.items()}
        speech = act()
        while speech is not None and not speech.text and speech.more is not None:
            speech = speech.more()  # they were silent for a while first
        if speech is not None and speech.text == self._voice.said:
            self._more = speech.more
            return True
        if not silently or (speech is not None and speech.text):
            state.update(before)
        return False
