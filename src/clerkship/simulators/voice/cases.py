"""The cases that lines and representatives opened."""

from typing import ClassVar

from clerkship.events.event import Event, Payload
from clerkship.simulators.voice.events import CaseOpened


class CaseTable:
    """The cases by the member whom they are about, oldest first. Cases about no member are not kept."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (CaseOpened,)

    def __init__(self) -> None:
        self.by_member: dict[str, list[str]] = {}
        """Member id -> numbers of cases."""

    def apply(self, event: Event) -> None:
        """Add a case that was opened. Other events change nothing."""
        if isinstance(event.payload, CaseOpened) and event.payload.member_id:
            self.by_member.setdefault(event.payload.member_id, []).append(event.payload.reference)

    def find_newest(self, member_id: str) -> str | None:
        """Return the number of the newest case of a member; None if there is none."""
        numbers = self.by_member.get(member_id)
        return numbers[-1] if numbers else None
