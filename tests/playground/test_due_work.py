"""A state may have work for later: it is done when simulated time reaches it, also after a rewind."""

import threading
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest

from clerkship.events.event import Event, Payload
from clerkship.model.environment import Environment
from clerkship.playground.agent_clock import MAX_AHEAD
from clerkship.playground.component import PreparedComponent
from clerkship.playground.handlers import pass_time
from clerkship.playground.playground import EndlessWork, Playground, PlaygroundOptions, SavedLog
from clerkship.sandbox.component import DomainSpec, NoConfig
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, DueWork, State
from clerkship.sandbox.steps.contract import ClockAdvance


class ParcelSent(Payload):
    """A parcel is on its way."""

    kind: ClassVar[str] = "post.parcel.sent"
    name: str
    due: datetime


class ParcelDelivered(Payload):
    """A parcel arrived."""

    kind: ClassVar[str] = "post.parcel.delivered"
    name: str


class PostState(State[NoConfig]):
    """Parcels on their way, and parcels delivered."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.under_way: dict[str, DueWork] = {}
        self.delivered: list[str] = []

    def send(self, action: ActionContext, name: str, takes: timedelta) -> None:
        action.emit(ParcelSent(name=name, due=action.now + takes))

    def next_due(self) -> DueWork | None:
        return min(self.under_way.values(), default=None)

    def run_due(self, action: ActionContext) -> None:
        name = min(self.under_way, key=self.under_way.__getitem__)
        if name != "lost":
            action.emit(ParcelDelivered(name=name))

    def apply(self, event: Event) -> None:
        if isinstance(event.payload, ParcelSent):
            self.under_way[event.payload.name] = DueWork(event.payload.due, event.seq)
        elif isinstance(event.payload, ParcelDelivered):
            del self.under_way[event.payload.name]
            self.delivered.append(event.payload.name)

    def dump(self) -> Any:
        return [sorted(self.under_way), self.delivered]


POST = DomainSpec(
    kind="post",
    summary="Parcels.",
    state=PostState,
    events=(ParcelSent, ParcelDelivered),
    exercise=(lambda post, action: post.send(action, "a", timedelta(0)),),
)
HOUR = timedelta(hours=1)


def open_playground() -> Playground:
    prepared = PreparedComponent(POST, POST.config())
    return Playground(Environment(name="street"), {}, "seed", PlaygroundOptions(domains={"post": prepared}))


def post_of(playground: Playground) -> PostState:
    return playground.state(PostState, None)[0]


def send(playground: Playground, name: str, hours: int) -> None:
    post_of(playground).send(playground.context_for("post", "agent"), name, hours * HOUR)


def deliveries(playground: Playground) -> list[tuple[str, timedelta, str, int | None]]:
    return [
        (event.payload.name, event.at - playground.started_at, event.actor, event.cause)
        for event in playground.log.events
        if isinstance(event.payload, ParcelDelivered)
    ]


def test_work_is_done_in_order_each_at_its_own_time() -> None:
    playground = open_playground()
    send(playground, "late", 3)
    send(playground, "early", 1)
    playground.advance(4 * HOUR)
    assert deliveries(playground) == [("early", HOUR, "system", 2), ("late", 3 * HOUR, "system", 1)]


def test_work_is_not_done_before_its_time() -> None:
    playground = open_playground()
    send(playground, "a", 2)
    playground.advance(HOUR)
    assert deliveries(playground) == []
    assert playground.clock.next_due() == playground.started_at + 2 * HOUR


def test_work_that_is_due_at_the_same_time_is_all_done() -> None:
    playground = open_playground()
    for name in "abc":
        send(playground, name, 1)
    playground.advance(HOUR)
    assert [name for name, *_ in deliveries(playground)] == ["a", "b", "c"]


def test_rewound_playground_has_the_work_of_its_log() -> None:
    playground = open_playground()
    send(playground, "a", 1)
    send(playground, "b", 2)
    first = list(playground.log.events)[:1]
    playground.advance(3 * HOUR)
    playground.rewind(SavedLog(first, playground.log.lines[:1]))
    playground.advance(3 * HOUR)
    assert deliveries(playground) == [("a", HOUR, "system", 1)]


def test_work_of_an_event_of_the_agent_is_not_in_a_copy_without_the_agent() -> None:
    playground = open_playground()
    post_of(playground).send(playground.context_for("post", "scenario"), "own", HOUR)
    send(playground, "agent's", 1)
    playground.advance(2 * HOUR)
    copy = playground.build_copy([event for event in playground.log.events if event.actor == "scenario"])
    copy.advance(2 * HOUR)
    assert post_of(copy).delivered == ["own"]


def test_step_that_lets_time_pass_runs_due_work() -> None:
    playground = open_playground()
    send(playground, "a", 1)
    playground.steps.run(ClockAdvance.model_validate({"by": "90m"}))
    assert post_of(playground).delivered == ["a"]


def test_work_that_is_never_done_is_a_platform_error() -> None:
    playground = open_playground()
    send(playground, "lost", 1)
    with pytest.raises(EndlessWork, match="post: the work due at"):
        playground.advance(HOUR)


def test_time_passes_until_a_condition_is_true() -> None:
    playground = open_playground()
    send(playground, "a", 1)
    send(playground, "b", 2)
    pass_time(playground, 5 * HOUR, lambda: "a" in post_of(playground).delivered)
    assert playground.now - playground.started_at == HOUR
    assert post_of(playground).delivered == ["a"]


def test_time_passes_to_the_limit_if_the_condition_stays_false() -> None:
    playground = open_playground()
    send(playground, "a", 1)
    send(playground, "b", 3)
    pass_time(playground, 2 * HOUR, lambda: False)
    assert playground.now - playground.started_at == 2 * HOUR
    assert post_of(playground).delivered == ["a"]


def test_no_time_passes_if_the_condition_is_true_already() -> None:
    playground = open_playground()
    send(playground, "a", 1)
    pass_time(playground, 2 * HOUR, lambda: True)
    assert playground.now == playground.started_at


def test_time_beyond_the_limit_of_the_agent_is_refused() -> None:
    playground = open_playground()
    with pytest.raises(Refusal, match="days ahead"):
        pass_time(playground, MAX_AHEAD + HOUR, lambda: False)
    assert playground.now == playground.started_at


def test_paced_clock_is_waited_for_without_the_lock() -> None:
    prepared = PreparedComponent(POST, POST.config())
    environment = Environment(name="street", time="paced")
    playground = Playground(environment, {}, "seed", PlaygroundOptions(domains={"post": prepared}))
    arrived = threading.Event()

    def deliver() -> None:
        with playground.lock:
            arrived.set()

    with playground.lock:
        other = threading.Thread(target=deliver)
        other.start()
        pass_time(playground, HOUR, arrived.is_set)
        assert arrived.is_set()
    other.join(60)
    assert playground.now - playground.started_at < HOUR
