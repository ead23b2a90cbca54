"""Limit the items that an assertion looks at to those about the record of a criterion's `input_entity_id`.

What makes an item that of a record is in `clerkship.assertions.patients.subject`, imported when a criterion needs it.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from clerkship.by_name import load
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence

if TYPE_CHECKING:
    from clerkship.assertions.patients.subject import RecordSubject

T = TypeVar("T")


class ItemContent(NamedTuple):
    """What of an item may tell whom it is about."""

    texts: Iterable[str] = ()
    addresses: Iterable[str] = ()
    """Phone numbers, e-mail addresses and references such as `Patient/42` that it goes to or comes from."""
    data: Any = None
    """Maps and lists, such as the payload of an event."""
    is_spoken: bool = False
    """Whether the texts were said or keyed on a phone."""

    def concerns(self, subject: "RecordSubject", *, forbids: bool = False) -> bool:
        """Return whether it is about a record; with `forbids`, whether it may be."""
        return subject.concerns(self.texts, self.addresses, self.data, is_spoken=self.is_spoken, forbids=forbids)


def find_subject(evidence: Evidence) -> "RecordSubject | None":
    """Return the record that the current criterion is about; None if it is about none."""
    if evidence.subject is None:
        return None
    subject: RecordSubject = load("clerkship.assertions.patients.subject:find_subject")(evidence)
    return subject


def narrow(
    evidence: Evidence, items: Iterable[T], read: Callable[[T], ItemContent], *, forbids: bool = False
) -> Iterable[T]:
    """Return the items about the record of the criterion; all of them if it has none.

    `forbids` is for criteria that pass without such items: what may be about the record then counts as well.
    """
    subject = find_subject(evidence)
    if subject is None:
        return items
    return (item for item in items if read(item).concerns(subject, forbids=forbids))


def narrow_events(evidence: Evidence, events: Iterable[Event], *, forbids: bool = False) -> Iterable[Event]:
    """Return the events whose payload is about the record of the criterion; all of them if it has none."""
    return narrow(evidence, events, lambda event: ItemContent(data=event.payload), forbids=forbids)
