"""The conformance suite for domains: a valid one passes, and each check finds its violation."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from clerkship.checks.conformance import CHECKS, DOMAIN_CHECKS, check_domain
from clerkship.checks.conformance import domain_checks as checks
from clerkship.checks.conformance.checks import Check, a_replay_rebuilds_the_state
from clerkship.checks.conformance.domain_checks import DomainCheck
from clerkship.checks.conformance.rig import NotConforming
from clerkship.events.event import Payload
from clerkship.sandbox.component import DomainCall, DomainSpec
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.registry import DOMAINS, DomainEntry
from clerkship.simulators.spec import Spec
from tests.sandbox.domains import appointment_book
from tests.sandbox.domains.appointment_book import Booking, BookState, SlotOpened
from tests.sandbox.domains.booking_simulators import DESK, KIOSK


@pytest.mark.parametrize("check", DOMAIN_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "spec", [*(entry.spec for entry in DOMAINS), appointment_book.SPEC], ids=lambda spec: spec.kind
)
def test_a_domain_conforms(spec: DomainSpec, check: DomainCheck) -> None:
    check(spec)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", [DESK, KIOSK], ids=lambda spec: spec.kind)
def test_a_simulator_that_calls_a_domain_conforms(spec: Spec, check: Check) -> None:
    check(spec)


class Noted(Payload):
    """An event that the spec of the book does not declare."""

    kind: ClassVar[str] = "clinic.book.noted"
    text: str


SHARED: dict[str, str] = {}
COUNTED: list[int] = []


class FaultyBook(BookState):
    """A book that stores data outside its events."""

    def change_unseen(self, action: ActionContext) -> None:
        self.records["12:00"] = "p1"

    def share(self, action: ActionContext) -> None:
        SHARED["12:00"] = "p1"

    def count(self, action: ActionContext) -> None:
        COUNTED.append(1)
        action.emit(SlotOpened(slot=str(len(COUNTED))))

    def refuse_late(self, action: ActionContext) -> None:
        action.emit(SlotOpened(slot="12:00"))
        raise Refusal(409, "too_late", "it is too late")

    def change_base(self, action: ActionContext) -> None:
        self.records.base["09:00"] = "p1"  # type: ignore[attr-defined]

    def dump(self) -> Any:
        return {**self.records, **SHARED}


WRONG: list[tuple[DomainCheck, DomainCall, str]] = [
    (checks.a_replay_rebuilds_the_domain, lambda state, action: state.change_unseen(action), "gave another state"),
    (checks.domains_share_nothing, lambda state, action: state.share(action), "because of calls in another playground"),
    (checks.same_calls_give_the_same_log, lambda state, action: state.count(action), "gave two different logs"),
    (
        checks.a_refused_call_changes_nothing,
        lambda state, action: state.refuse_late(action),
        r"refused \(too_late\)",
    ),
    (checks.the_domain_dataset_does_not_change, lambda state, action: state.change_base(action), "changed the dataset"),
    (
        checks.every_domain_event_validates,
        lambda state, action: action.emit(Noted(text="x")),
        r"clinic\.book\.noted, which",
    ),
]


@pytest.mark.parametrize(("check", "call", "reason"), WRONG, ids=[check.__name__ for check, _, _ in WRONG])
def test_the_suite_finds_a_domain_that_does_not_conform(check: DomainCheck, call: DomainCall, reason: str) -> None:
    SHARED.clear()
    wrong = replace(appointment_book.SPEC, state=FaultyBook, exercise=(call, *appointment_book.SPEC.exercise))
    with pytest.raises(NotConforming, match=reason):
        check_domain(wrong, [check])


def test_the_suite_finds_an_exercise_that_leaves_out_an_event() -> None:
    with pytest.raises(NotConforming, match=r"never leads to clinic\.book\.slot\.taken"):
        check_domain(replace(appointment_book.SPEC, exercise=appointment_book.SPEC.exercise[:1]))


def test_a_call_of_a_domain_returns_a_typed_result() -> None:
    def check_result(state: BookState, action: ActionContext) -> None:
        booking: Booking = state.take(action, "09:00", "p1")
        assert booking.slot == "09:00"
        assert booking.reference.startswith("BK_")

    check_domain(replace(appointment_book.SPEC, exercise=(*appointment_book.SPEC.exercise[:1], check_result)))


class CountsOutsideTheLog(BookState):
    """A book that numbers slots with a counter that is in no event."""

    opened = 0

    def number(self, action: ActionContext) -> None:
        self.opened += 1
        action.emit(SlotOpened(slot=f"slot-{self.opened}"))


def test_the_suite_finds_a_counter_outside_the_log() -> None:
    calls: tuple[DomainCall, ...] = (lambda state, action: state.number(action),) * 3
    spec = replace(appointment_book.SPEC, state=CountsOutsideTheLog, exercise=(*calls, *appointment_book.SPEC.exercise))
    with pytest.raises(NotConforming, match="a fork after call 1 of its exercise ended with another log"):
        check_domain(spec)


class ReorderingBook(BookState):
    """A book whose keys have another order after a rebuild."""

    is_live = False

    def wake(self, action: ActionContext) -> None:
        self.is_live = True

    def dump(self) -> Any:
        slots = sorted(self.records.items(), reverse=self.is_live)
        return dict(slots)


def test_the_suite_compares_the_order_of_keys_of_a_domain() -> None:
    spec = replace(
        appointment_book.SPEC,
        state=ReorderingBook,
        exercise=(lambda state, action: state.wake(action), *appointment_book.SPEC.exercise),
    )
    with pytest.raises(NotConforming, match="a replay of the log gave another state"):
        check_domain(spec, [checks.a_replay_rebuilds_the_domain])


def test_a_simulator_is_checked_together_with_its_domains() -> None:
    unseen = replace(appointment_book.SPEC, state=SilentlyChangingBook)
    with pytest.raises(NotConforming, match="a replay of the log gave another state"):
        a_replay_rebuilds_the_state(replace(DESK, domains=(unseen,)))


class SilentlyChangingBook(BookState):
    """A book that changes itself without an event whenever a slot is taken."""

    def take(self, action: ActionContext, slot: str, patient: str) -> Booking:
        booking = super().take(action, slot, patient)
        self.records["unseen"] = patient
        return booking


@pytest.mark.parametrize("entry", DOMAINS, ids=lambda entry: entry.kind)
def test_the_names_in_the_registry_of_domains_are_those_of_the_spec(entry: DomainEntry) -> None:
    assert entry == DomainEntry.from_spec(entry.spec)
