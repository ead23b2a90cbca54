"""An appointment book as a domain: slots that a desk and a kiosk fill."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.dataset import Dataset
from clerkship.model.frozen import Frozen, Whole
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.sandbox.component import DomainSpec
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.sandbox.steps.contract import Step, StepHost


class BookConfig(Frozen):
    """How many slots one patient may hold."""

    most: Annotated[Whole, Field(ge=1)] = 2


class SlotOpened(Payload):
    """A slot was added."""

    kind: ClassVar[str] = "clinic.book.slot.opened"
    slot: str


class SlotTaken(Payload):
    """A slot was given to a patient."""

    kind: ClassVar[str] = "clinic.book.slot.taken"
    slot: str
    patient: str
    reference: str


class Booking(Frozen):
    """The result of `take`."""

    slot: str
    reference: str


class BookState(State[BookConfig]):
    """Slots, each with the patient who holds it, or None."""

    def open(self, action: ActionContext, slot: str) -> None:
        """Add a slot."""
        if slot in self.records:
            raise Refusal(409, "slot_exists", f"{slot} is open already")
        action.emit(SlotOpened(slot=slot))

    def take(self, action: ActionContext, slot: str, patient: str) -> Booking:
        """Give a slot to a patient."""
        holder = self.records.get(slot)
        if holder is None:
            raise Refusal(404, "no_such_slot", f"there is no slot {slot}")
        if holder:
            raise Refusal(409, "slot_taken", f"{slot} is taken")
        held = sum(other == patient for other in self.records.values())
        if held >= self.config.most:
            raise Refusal(409, "too_many", f"{patient} holds {held} slots")
        reference = action.ids.new("BK")
        action.emit(SlotTaken(slot=slot, patient=patient, reference=reference))
        return Booking(slot=slot, reference=reference)

    def apply(self, event: Event) -> None:
        """Open or fill a slot."""
        if isinstance(event.payload, SlotOpened):
            self.records[event.payload.slot] = ""
        elif isinstance(event.payload, SlotTaken):
            self.records[event.payload.slot] = event.payload.patient

    def dump(self) -> Any:
        """Every slot with its holder."""
        return dict(self.records)


class OpenSlot(Step):
    """Add a slot to the book."""

    name: ClassVar[str] = "clinic.book.open_slot"
    simulator: ClassVar[str | None] = "clinic.book"
    slot: str
    sandbox: str | None = None

    def run(self, host: StepHost) -> None:
        """Do it."""
        book, action = host.state(BookState, self.sandbox)
        book.open(action, self.slot)


class SlotIsHeld(Assertion):
    """A slot of the book is held by a patient at the end."""

    name: ClassVar[str] = "clinic.book_slot_held"
    simulator: ClassVar[str | None] = "clinic.book"
    slot: str
    patient: str
    sandbox: str | None = None

    def check(self, evidence: Evidence) -> Check:
        """Read the final state of the book."""
        holder = evidence.state(BookState, self.sandbox).records.get(self.slot)
        return Check.of(holder == self.patient, f"{self.slot} is held by {holder or 'nobody'}")


def follow_file(book: BookState, action: ActionContext, event: Event) -> None:
    """Open the slot that a file in a drop names."""
    book.open(action, cast(Any, event.payload).path)


def slots_of(datasets: Sequence[Dataset]) -> Mapping[str, str]:
    """Return the slots that records name, with their holders."""
    return {str(one["slot"]): str(one.get("patient", "")) for dataset in datasets for one in dataset.records}


REACTIONS = {"files.file.written": follow_file}
"""The reactions of a book to a file drop, as a pair of kinds registers them."""
SPEC = DomainSpec(
    kind="clinic.book",
    summary="An appointment book.",
    state=BookState,
    events=(SlotOpened, SlotTaken),
    config=BookConfig,
    dataset="records",
    prepare=slots_of,
    steps=(OpenSlot,),
    assertions=(SlotIsHeld,),
    exercise=(
        lambda book, action: book.open(action, "10:00"),
        lambda book, action: book.take(action, "10:00", "p1"),
        lambda book, action: book.take(action, "10:00", "p2"),
        lambda book, action: book.take(action, "09:00", "p2"),
    ),
    exercise_datasets=(
        Dataset(name="slots", type="records", records=({"slot": "09:00"}, {"slot": "09:30", "patient": "p9"})),
    ),
)
