"""A person without a model, brought to where a conversation left them: they go through it again, by what was said."""

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy

from clerkship.actors.contract import Heard, Past, SimulatedPerson, Speech
from clerkship.events.event import Event


def relive(person: SimulatedPerson, past: Sequence[Past]) -> None:
    """Have them do all they did, in the order they did it; a line that was not theirs (a step said it) leaves them be.

    Whether they said something because of what they heard or of what they saw is told by what they said.
    """
    turns = [turn for turn in past if turn.said is not None]  # a greeting comes before they listen
    heard: Heard | None = None
    seen: deque[Event] = deque()
    for number, turn in enumerate(turns):
        if number == 0:
            _does(person, person.open, turn.said)
            continue
        before = turns[number - 1]
        heard = before.heard or heard
        seen.extend(before.noticed if person.watches else ())
        if not _noticed(person, seen, turn.said):
            _does(person, _upon(person, heard), turn.said)
            heard = None


def _upon(person: SimulatedPerson, heard: Heard | None) -> Callable[[], Speech | None]:
    return person.wait if heard is None else lambda: person.hear(heard)


def _noticed(person: SimulatedPerson, seen: deque[Event], said: str | None) -> bool:
    """Whether one of the events made them say it; those after it are for later."""
    while seen:
        event = seen.popleft()
        if _does(person, lambda event=event: person.notice(event), said, silently=True):  # type: ignore[misc]
            return True
    return False


def _does(
    person: SimulatedPerson, act: Callable[[], Speech | None], said: str | None, *, silently: bool = False
) -> bool:
    """Whether that is what made them say this; if not they have not done it, unless it can have been done silently."""
    before = {name: copy(value) if isinstance(value, list | dict) else value for name, value in vars(person).items()}
    speech = act()
    words = speech.text if speech is not None else None
    if words == said:
        return True
    if words is not None or not silently:
        vars(person).update(before)
    return False
