"""A domain in a playground is applied, rebuilt and forked like a sandbox."""

from typing import ClassVar, cast

import pytest

from clerkship.events.event import Event
from clerkship.events.lifecycle import StepFailed
from clerkship.events.states import NoSuchState
from clerkship.model.environment import Environment
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import Playground, PlaygroundOptions, SavedLog, replay
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.reactions.registry import BoundReaction
from clerkship.sandbox.state import ActionContext
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators import files
from tests.sandbox.domains import appointment_book
from tests.sandbox.domains.appointment_book import BookConfig, BookState, SlotOpened
from tests.sandbox.domains.booking_simulators import DESK, DeskState

PREPARED_SIMULATORS = {
    "desk": PreparedSimulator(DESK, DESK.config()),
    "drop": PreparedSimulator(files.SPEC, files.SPEC.config()),
}
BOOK = PreparedComponent(
    appointment_book.SPEC, BookConfig(), appointment_book.SPEC.prepare(appointment_book.SPEC.exercise_datasets)
)


def open_playground(**domains: PreparedComponent) -> Playground:
    return Playground(Environment(name="clinic"), PREPARED_SIMULATORS, "seed", PlaygroundOptions(domains=domains))


def book_at_desk(playground: Playground) -> None:
    desk, _ = playground.state(DeskState, None)
    desk.book(playground.context_for("desk", "agent"), "09:00", "p1")


def test_a_log_rebuilds_the_domain() -> None:
    playground = open_playground(book=BOOK)
    book_at_desk(playground)
    rebuilt = replay({**PREPARED_SIMULATORS, "book": BOOK}, playground.log.events)
    assert rebuilt["book"].dump() == playground.components["book"].state.dump() == {"09:00": "p1", "09:30": "p9"}


def test_rewind_restores_the_domain() -> None:
    playground = open_playground(book=BOOK)
    book_at_desk(playground)
    taken = list(playground.log.events)
    playground.rewind(SavedLog(taken[:1], playground.log.lines[:1]))
    assert playground.components["book"].state.dump() == {"09:00": "", "09:30": "p9"}
    playground.rewind(SavedLog(taken, []))
    assert playground.components["book"].state.dump()["09:00"] == "p1"


def test_playgrounds_share_the_base_of_a_domain_and_nothing_else() -> None:
    first, other = open_playground(book=BOOK), open_playground(book=BOOK)
    book_at_desk(first)
    assert other.components["book"].state.dump() == {"09:00": "", "09:30": "p9"}
    assert BOOK.base == {"09:00": "", "09:30": "p9"}


def test_domain_is_chosen_by_name_if_there_are_two_of_its_kind() -> None:
    playground = open_playground(book=BOOK, annex=BOOK)
    action = playground.context_for("desk", "agent")
    with pytest.raises(NoSuchState, match=r"name the sandbox: there are 2 of this kind \(book, annex\)"):
        action.domain(BookState)
    state, context = action.domain(BookState, "annex")
    state.take(context, "09:00", "p1")
    assert playground.log.events[-1].source == "annex"
    assert playground.components["book"].state.dump()["09:00"] == ""


def test_missing_domain_is_the_authors_error() -> None:
    with pytest.raises(NoSuchState, match="no domain with a BookState"):
        open_playground().context_for("desk", "agent").domain(BookState)
    with pytest.raises(NoSuchState, match="no sandbox or domain with a DeskState"):
        open_playground(book=BOOK).context_for("desk", "agent").domain(DeskState)


def test_a_playground_without_domains_keeps_one_table_of_components() -> None:
    playground = open_playground()
    assert playground.components is playground.sandboxes


class AskAtDesk(Step):
    """Book a slot at the desk."""

    name: ClassVar[str] = "clinic.desk.ask"
    slot: str

    def run(self, host: StepHost) -> None:
        """Do it."""
        desk, action = host.state(DeskState, None)
        desk.book(action, self.slot, "p2")


@pytest.mark.parametrize(("slot", "by_agent"), [("09:00", True), ("09:30", False)])
def test_failed_step_on_a_domain_is_retried_without_the_agents_changes(slot: str, by_agent: bool) -> None:
    playground = open_playground(book=BOOK)
    book_at_desk(playground)
    playground.steps.run(AskAtDesk(slot=slot))
    [failed] = [event.payload for event in playground.log.events if isinstance(event.payload, StepFailed)]
    assert (failed.reason, failed.by_agent) == (f"{slot} is taken", by_agent)


def test_a_sandbox_reacts_to_a_domain_and_calls_it_as_the_reaction() -> None:
    def ask_for_new_slot(desk: DeskState, action: ActionContext, event: Event) -> None:
        book_state, book_act = action.domain(BookState)
        book_state.take(book_act, cast(SlotOpened, event.payload).slot, "p1")

    desk, environment = PreparedSimulator(DESK, DESK.config()), Environment(name="clinic")
    bound = {("book", SlotOpened.kind): [BoundReaction("desk", ask_for_new_slot)]}
    playground = Playground(
        environment, {"desk": desk}, "seed", PlaygroundOptions(reactions=bound, domains={"book": BOOK})
    )
    book_state, action = playground.state(BookState, None)
    book_state.open(action, "10:00")
    opened, taken = playground.log.events
    assert (opened.source, opened.actor, opened.cause) == ("book", "scenario", None)
    assert (taken.source, taken.actor, taken.cause) == ("book", "reaction", opened.seq)
