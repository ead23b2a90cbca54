"""A small simulator as a plug-in author might write it: tickets from a dataset, closed by the agent."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

from clerkship.events.event import Event, Payload
from clerkship.model.dataset import Dataset
from clerkship.model.frozen import Frozen
from clerkship.sandbox.component import NoConfig
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal, Request
from clerkship.sandbox.route import Route
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.spec import Spec


class TicketClosed(Payload):
    """A ticket was closed."""

    kind: ClassVar[str] = "tickets.ticket.closed"
    id: str
    note: dict[str, Any] = {}


class TicketsState(State[NoConfig]):
    """Tickets by id."""

    def close(self, action: ActionContext, id: str) -> None:
        """Close a ticket."""
        if id not in self.records:
            raise Refusal(404, "no_such_ticket", f"there is no ticket {id[:40]}")
        action.emit(TicketClosed(id=id, note={"by": {"name": action.actor}}))

    def apply(self, event: Event) -> None:
        """Store the changed copy of a ticket."""
        if isinstance(event.payload, TicketClosed):
            self.change(event.payload)

    def change(self, closed: TicketClosed) -> None:
        """Replace the record."""
        self.records[closed.id] = {**self.records[closed.id], "status": "closed"}

    def dump(self) -> Any:
        """Return all tickets."""
        return deepcopy(dict(self.records))


class ChangesRecordInPlace(TicketsState):
    """Changes a record of the dataset instead of storing another."""

    def change(self, closed: TicketClosed) -> None:
        """Change the record."""
        self.records[closed.id]["status"] = "closed"


class ChangesNestedRecordInPlace(TicketsState):
    """Copies a record, but changes what is nested in it."""

    def change(self, closed: TicketClosed) -> None:
        """Change a nested list."""
        record = {**self.records[closed.id]}
        record["log"].append("closed")
        self.records[closed.id] = record


class ChangesBase(TicketsState):
    """Bypasses the overlay and changes the dataset that all playgrounds share."""

    def change(self, closed: TicketClosed) -> None:
        """Replace the record in the base."""
        base = self.records.base  # type: ignore[attr-defined]
        base[closed.id] = {**base[closed.id], "status": "closed"}


class ChangesPayload(TicketsState):
    """Changes an event that is in the log."""

    def change(self, closed: TicketClosed) -> None:
        """Change a nested value of the payload."""
        closed.note["by"]["name"] = "nobody"


class TicketId(Frozen):
    """A ticket."""

    id: str


@operation()
def list_tickets(context: OperationContext[TicketsState], _: NoInput) -> list[Any]:
    """List all tickets."""
    return list(context.state.records.values())


@operation()
def close_ticket(context: OperationContext[TicketsState], ticket: TicketId) -> Any:
    """Close a ticket."""
    context.state.close(context.action, ticket.id)
    return context.state.records[ticket.id]


class Tickets(Handle):
    """List and close tickets."""

    def tickets(self) -> list[dict[str, Any]]:
        """List all tickets."""
        results: list[dict[str, Any]] = self._json("GET", "/tickets")
        return results

    def close_ticket(self, id: str) -> None:
        """Close a ticket."""
        self._json("POST", f"/tickets/{id}/close")


def by_id(datasets: Sequence[Dataset]) -> Mapping[str, Any]:
    """Return the records by their ids, as they are in the datasets."""
    return {str(record["id"]): record for dataset in datasets for record in dataset.records}


RECORDS: tuple[dict[str, Any], ...] = (
    {"id": "1", "status": "open", "log": ["opened"]},
    {"id": "2", "status": "open", "log": ["opened"]},
)
DATASET = Dataset(name="tickets", type="records", records=RECORDS)
ROUTES = (
    Route("GET", "/tickets", list_tickets),
    Route("POST", "/tickets/{id}/close", close_ticket),
)
EXERCISE = (Request("GET", "/tickets"), Request("POST", "/tickets/1/close"), Request("POST", "/tickets/9/close"))


def tickets(**changes: Any) -> Spec:
    """Return the SPEC, with some fields changed."""
    fields = {
        "kind": "tickets",
        "summary": "Tickets.",
        "state": TicketsState,
        "events": (TicketClosed,),
        "operations": (list_tickets, close_ticket),
        "routes": ROUTES,
        "handle": Tickets,
        "exercise": EXERCISE,
        "dataset": "records",
        "prepare": by_id,
        "exercise_datasets": (DATASET,),
    }
    return Spec(**{**fields, **changes})
