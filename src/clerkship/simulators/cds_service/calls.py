"""The calls of CDS services: what was sent, the cards, and the feedback on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from clerkship.events.event import Event, Payload
from clerkship.formats.cds_hooks.patient import find_patients, list_resources
from clerkship.simulators.cds_service.events import FeedbackReceived, ServiceAnswered, ServiceCalled


@dataclass(slots=True)
class LoggedCall:
    """A call of a service, with its cards and the last feedback on each."""

    event: Event
    called: ServiceCalled
    cards: tuple[dict[str, Any], ...] = ()
    is_answered: bool = False
    feedback: dict[str, Event] = field(default_factory=dict)
    """The last feedback on each card, by the uuid of the card."""

    @property
    def resources(self) -> list[Mapping[str, Any]]:
        """The resources of the context, such as draft orders."""
        return [resource for value in self.called.context.values() for resource in list_resources(value)]

    @property
    def patients(self) -> list[str]:
        """The ids of the patients whom the context and its resources, and those of the prefetch, belong to."""
        own = self.called.context.get("patientId")
        fetched = [resource for value in self.called.prefetch.values() for resource in list_resources(value)]
        ids = [id for resource in (*self.resources, *fetched) for id in sorted(find_patients(resource))]
        return list(dict.fromkeys([*([own] if isinstance(own, str) else []), *ids]))

    def __str__(self) -> str:
        patient = self.called.context.get("patientId")
        return f"{self.called.service} for patient {str(patient)[:64]} (#{self.event.seq})"


class ServiceCallTable:
    """All calls in order, and how each event changes them."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (ServiceCalled, ServiceAnswered, FeedbackReceived)

    def __init__(self) -> None:
        self.in_order: list[LoggedCall] = []
        self._by_instance: dict[tuple[str, str], LoggedCall] = {}
        """The last call by service and hook instance: another hook has another instance."""
        self._by_card: dict[tuple[str, str], LoggedCall] = {}
        """The last call by service and uuid of a card, which a repeated call may return again."""

    def find(self, service: str, instance: str) -> LoggedCall | None:
        """Return the last call of a service for a hook."""
        return self._by_instance.get((service, instance))

    def find_card(self, service: str, uuid: str) -> Mapping[str, Any] | None:
        call = self._by_card.get((service, uuid))
        return None if call is None else next(card for card in call.cards if str(card.get("uuid")) == uuid)

    def apply(self, event: Event) -> None:
        """Change a call by one of `applied_events`."""
        match event.payload:
            case ServiceCalled() as called:
                call = self._by_instance[called.service, called.instance] = LoggedCall(event, called)
                self.in_order.append(call)
            case ServiceAnswered(service=service, instance=instance, cards=cards):
                call = self._by_instance[service, instance]
                call.cards, call.is_answered = cards, True
                self._by_card.update(((service, str(card.get("uuid"))), call) for card in cards)
            case FeedbackReceived(service=service, card=card):
                self._by_card[service, card].feedback[card] = event
