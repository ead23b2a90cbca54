"""Who is connected over MLLP, and what is held of theirs: nobody keeps the others out, and memory has an end."""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Protocol

from clerkship.kit.descriptors import share

MOST_TURNED = 64
"""Of those who find no place, so many at a time are told so before they are let go."""


@dataclass(frozen=True)
class Limits:
    """What connections may take. Seconds are the wall's."""

    idle: float = 120.0
    """A connection without a word, or that does not take its answers."""
    frame: float = 60.0
    """From a frame's first byte to its last."""
    first: float = 5.0
    """To the end of the first message, once half the places are taken."""
    connections: int = 2000
    """All together; fewer, where the system has not so many files to give."""
    of_one: int = 500
    """Of one sandbox."""
    held: int = 200_000_000
    """Bytes of frames that have not come to their end, or are not answered."""
    held_of_one: int = 50_000_000


class Guest(Protocol):
    """A connection."""

    @property
    def idle(self) -> bool:
        """Whether nothing has begun on it that has not come to its end."""
        ...

    def drop(self) -> None:
        """Close it at once."""
        ...


class Guests:
    """All of one line, whichever port they came in by. Used in the line's loop alone."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.most = min(limits.connections, share())
        self._silent: OrderedDict[Guest, None] = OrderedDict()
        """Those who have said nothing yet for anybody who is here, the oldest first."""
        self._known: dict[str, OrderedDict[Guest, None]] = {}
        """The others by sandbox, those first who have said nothing for longest."""
        self._owner: dict[Guest, str] = {}
        self._holding: dict[Guest, tuple[str, int]] = {}
        self._held: Counter[str] = Counter()
        self.held = 0
        self._turned: set[Guest] = set()

    def __len__(self) -> int:
        """How many are here."""
        return len(self._silent) + len(self._owner)

    def is_late(self, guest: Guest, age: float) -> bool:
        """Whether somebody had time enough to say a first word, now that places are few."""
        return age > self.limits.first and guest in self._silent and len(self) * 2 > self.most

    def enter(self, guest: Guest) -> bool:
        """Somebody comes. Where all places are taken, who has been silent for longest goes; false if nobody can."""
        if len(self) >= self.most and not self._make_room():
            return False
        self._silent[guest] = None
        return True

    def turn_away(self, guest: Guest) -> bool:
        """Somebody is not let in; whether there is time to tell them why."""
        if len(self._turned) < MOST_TURNED:
            self._turned.add(guest)
        return guest in self._turned

    def speak(self, guest: Guest, address: str) -> bool:
        """Somebody has a message for this sandbox, and is its guest from here on; false if it has too many."""
        if self._owner.get(guest) == address:
            self._known[address].move_to_end(guest)
            return True
        others = self._known.get(address)
        if others is not None and len(others) >= self.limits.of_one and not self._drop_idle(others):
            return False
        self._forget(guest)
        self._known.setdefault(address, OrderedDict())[guest] = None
        self._owner[guest] = address
        return True

    def leave(self, guest: Guest) -> None:
        """Somebody has gone."""
        self._forget(guest)
        self._turned.discard(guest)
        self.hold(guest, "", 0)

    def hold(self, guest: Guest, address: str, size: int) -> bool:
        """So many bytes are held now for somebody who writes to this sandbox; false if that is too much."""
        before, less = self._holding.pop(guest, ("", 0))
        self._held[before] -= less
        if not self._held[before]:
            del self._held[before]
        self.held += size - less
        if not size:
            return True
        self._holding[guest] = address, size
        self._held[address] += size
        return self.held <= self.limits.held and (not address or self._held[address] <= self.limits.held_of_one)

    def _forget(self, guest: Guest) -> None:
        self._silent.pop(guest, None)
        address = self._owner.pop(guest, None)
        if address is not None:
            others = self._known[address]
            others.pop(guest, None)
            if not others:
                del self._known[address]

    def _make_room(self) -> bool:
        oldest = next(iter(self._silent), None)
        if oldest is None:  # then one of those of whom there are most
            return bool(self._known) and self._drop_idle(max(self._known.values(), key=len))
        self._drop(oldest)
        return True

    def _drop_idle(self, guests: OrderedDict[Guest, None]) -> bool:
        found = next((guest for guest in guests if guest.idle), None)
        if found is not None:
            self._drop(found)
        return found is not None

    def _drop(self, guest: Guest) -> None:
        self._forget(guest)
        guest.drop()
