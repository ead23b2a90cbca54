"""Two simulators of different kinds that use the same book: a desk with a JSON API, and a kiosk that prints tickets."""

from typing import Any, ClassVar

from clerkship.events.event import Event, Payload
from clerkship.model.frozen import Frozen
from clerkship.sandbox.component import NoConfig
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.sandbox.request import Request
from clerkship.sandbox.route import Route
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.spec import Spec
from tests.sandbox.domains import appointment_book
from tests.sandbox.domains.appointment_book import Booking, BookState


class BookingAsked(Payload):
    """The desk got a request for a slot."""

    kind: ClassVar[str] = "clinic.desk.booking.asked"
    slot: str


class TicketPrinted(Payload):
    """The kiosk printed a ticket."""

    kind: ClassVar[str] = "clinic.kiosk.ticket.printed"
    reference: str


class DeskState(State[NoConfig]):
    """The slots that were requested."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: list[str] = []

    def book(self, action: ActionContext, slot: str, patient: str) -> Booking:
        """Record the request, then take the slot in the book."""
        action.emit(BookingAsked(slot=slot))
        book_state, book_act = action.domain(BookState)
        return book_state.take(book_act, slot, patient)

    def apply(self, event: Event) -> None:
        """Keep the slot."""
        if isinstance(event.payload, BookingAsked):
            self.asked.append(event.payload.slot)

    def dump(self) -> Any:
        """All of it."""
        return list(self.asked)


class KioskState(State[NoConfig]):
    """Tickets that were printed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.tickets: list[str] = []

    def book(self, action: ActionContext, slot: str) -> str:
        """Take the slot in the book, then print the ticket."""
        book_state, book_act = action.domain(BookState, "book")
        booking = book_state.take(book_act, slot, "walk-in")
        action.emit(TicketPrinted(reference=booking.reference))
        return booking.reference

    def apply(self, event: Event) -> None:
        """Keep the ticket."""
        if isinstance(event.payload, TicketPrinted):
            self.tickets.append(event.payload.reference)

    def dump(self) -> Any:
        """All of it."""
        return list(self.tickets)


class NewBooking(Frozen):
    """The body of a request to the desk."""

    slot: str
    patient: str


class SlotName(Frozen):
    """A slot."""

    slot: str


@operation()
def book_slot(context: OperationContext[DeskState], booking: NewBooking) -> Booking:
    """Book a slot for a patient."""
    return context.state.book(context.action, booking.slot, booking.patient)


@operation()
def take_slot(context: OperationContext[KioskState], which: SlotName) -> str:
    """Take a slot as a walk-in; the reply is the ticket."""
    return context.state.book(context.action, which.slot)


class DeskHandle(Handle):
    """Book slots for patients."""

    def book(self, slot: str, patient: str) -> Any:
        """Book a slot; returns it with its reference."""
        return self._json("POST", "/bookings", {"slot": slot, "patient": patient})


DESK = Spec(
    kind="clinic.desk",
    summary="A booking desk.",
    state=DeskState,
    events=(BookingAsked,),
    operations=(book_slot,),
    routes=(Route("POST", "/bookings", book_slot, status=201),),
    handle=DeskHandle,
    exercise=(Request("POST", "/bookings", body=b'{"slot": "09:00", "patient": "p1"}'),),
    domains=(appointment_book.SPEC,),
)
KIOSK = Spec(
    kind="clinic.kiosk",
    summary="A kiosk for walk-ins.",
    state=KioskState,
    events=(TicketPrinted,),
    operations=(take_slot,),
    routes=(Route("PUT", "/slots/{slot}", take_slot, status=201),),
    handle=Handle,
    exercise=(Request("PUT", "/slots/09:00"), Request("PUT", "/slots/23:00")),
    domains=(appointment_book.SPEC,),
)
