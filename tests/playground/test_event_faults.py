"""Faults that alter an event of a sandbox before it is emitted."""

from random import Random
from typing import ClassVar

import pytest

from clerkship.events.event import Payload
from clerkship.events.lifecycle import FaultInjected
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.faults.contract import EventFault
from clerkship.sandbox.steps.fault_step import build_fault_step
from clerkship.simulators import files


class CoinTossed(Payload):
    """A coin was tossed."""

    kind: ClassVar[str] = "files.coin.tossed"
    side: str
    hand: str = "left"


class Edge(EventFault):
    """The coin lands on its edge."""

    name: ClassVar[str] = "files.edge"
    simulator: ClassVar[str] = "files"
    event: ClassVar[type[Payload]] = CoinTossed

    def affects(self, event: CoinTossed) -> bool:
        return event.hand == "left"

    def alter(self, event: CoinTossed, rng: Random) -> CoinTossed:
        return event.model_copy(update={"side": f"edge {rng.randrange(1000)}"})


def open_playground(*faults: EventFault, seed: str = "seed") -> Playground:
    environment = Environment(name="desk", simulators={name: Simulator(kind="files") for name in ("drop", "other")})
    prepared = PreparedSimulator(files.SPEC, files.SPEC.config())
    playground = Playground(environment, {"drop": prepared, "other": prepared}, seed)
    for fault in faults:
        playground.inject(fault)
    return playground


def toss(playground: Playground, times: int = 1, sandbox: str = "drop", hand: str = "left") -> list[str]:
    action = playground.context_for(sandbox, "agent")
    return [action.apply_faults(CoinTossed(side="head", hand=hand)).side for _ in range(times)]


def list_injected(playground: Playground) -> list[FaultInjected]:
    return [event.payload for event in playground.log.events if isinstance(event.payload, FaultInjected)]


def test_event_is_unaltered_without_faults() -> None:
    playground = open_playground()
    assert toss(playground) == ["head"]
    assert list(playground.log.events) == []


def test_altered_event_is_logged_with_its_fields_before_and_after() -> None:
    playground = open_playground(Edge())
    [side] = toss(playground)
    assert side.startswith("edge")
    [injected] = list_injected(playground)
    assert injected == FaultInjected(
        fault="files.edge", operation=CoinTossed.kind, details={"side": {"before": "head", "after": side}}
    )
    assert playground.log.events[0].source == "drop"
    assert playground.log.events[0].actor == "scenario"


def test_skip_and_times_count_only_events_that_can_be_altered() -> None:
    playground = open_playground(Edge(skip=1, times=2))
    assert toss(playground, 3, hand="right") == ["head"] * 3
    sides = toss(playground, 5)
    assert [side.startswith("edge") for side in sides] == [False, True, True, False, False]


def test_fault_of_one_sandbox_does_not_affect_another() -> None:
    playground = open_playground(Edge(sandbox="other"))
    assert toss(playground) == ["head"]
    assert toss(playground, sandbox="other") != ["head"]


def test_same_seed_alters_events_in_the_same_way() -> None:
    first, again, other = (
        toss(open_playground(Edge(probability=0.5), seed=seed), 30) for seed in ("one", "one", "two")
    )
    assert first == again != other
    assert 5 < sum(side == "head" for side in first) < 25


def test_faults_alter_in_the_order_in_which_they_were_injected() -> None:
    playground = open_playground(Edge(), Edge())
    [side] = toss(playground)
    assert [each.details["side"]["after"] for each in list_injected(playground)][-1] == side
    assert len(list_injected(playground)) == 2


def test_step_of_an_event_fault_has_its_name_and_kind_of_simulator() -> None:
    step = build_fault_step(Edge)
    assert (step.name, step.simulator) == ("files.edge", "files")
    assert "operation" not in step.model_fields
    playground = open_playground()
    playground.steps.run(step.model_validate({"times": 1}))
    assert [side == "head" for side in toss(playground, 2)] == [False, True]


def test_request_is_not_affected_by_an_event_fault() -> None:
    playground = open_playground(Edge())
    assert list(playground.faults.matching("drop", "write")) == []


def test_fault_that_does_not_say_how_it_alters_an_event_is_an_error() -> None:
    class Incomplete(EventFault):
        name: ClassVar[str] = "files.incomplete"
        simulator: ClassVar[str] = "files"
        event: ClassVar[type[Payload]] = CoinTossed

    with pytest.raises(NotImplementedError):
        toss(open_playground(Incomplete()))
