"""A rewind builds the run again, without anything that happened since."""

from datetime import timedelta
from typing import Any

import pytest

from clerkship.actors.contract import ContractBreach, PersonAction, PersonUnavailable, Say
from clerkship.events.event import Event
from clerkship.kit.clock import Clock
from clerkship.playground.playground import Playground, SavedLog
from clerkship.sandbox.faults.request_faults import ErrorFault
from clerkship.sandbox.steps.contract import ClockAdvance
from clerkship.simulators.files.steps import DropFile
from tests.playground.two_chats import ModelPerson, open_playground


def add_people(playground: Playground) -> None:
    out_of_role = ContractBreach("language", "speaks French", "Bonjour")
    playground.people.add_person(ModelPerson([PersonAction("one", more=lambda: PersonAction("two"))]), "chat")
    playground.people.add_person(ModelPerson([PersonAction(out_of_role=out_of_role)]), "phone")
    for sandbox in ("chat", "phone"):
        playground.people.open(sandbox)
    playground.people.listening = True


def run_state(playground: Playground) -> dict[str, Any]:
    """Return everything that a rewind replaces, as data."""
    people, log = playground.people, playground.log
    return {
        "log": (log.lines, log.head, log.blobs, log.size, log.request_bodies, log.overflowed, log.ordered()),
        "states": {name: component.state.dump() for name, component in playground.components.items()},
        "people": (
            people.participants,
            people.leave_reasons,
            people.listening,
            people.uses_model,
            people.model_time.seconds,
        ),
        "failed people": (people.model_failed, people.contract_breach),
        "faults": playground.faults.active,
        "steps": playground.steps.errors,
        "clock": (playground.now, playground.clock.next_due()),
        "ids": playground.ids.mark(),
        "rng": playground.rng.stream("test").random(),
        "sidecar": (playground.sidecar.handed, playground.sidecar.requests, playground.sidecar.requests_dropped),
    }


def run_on(playground: Playground) -> None:
    """Change everything that a run may change."""
    playground.inject(ErrorFault(sandbox="drop", times=1))
    playground.steps.run(DropFile.model_validate({"sandbox": "nowhere", "path": "a.txt", "text": "x"}))
    playground.steps.run(DropFile.model_validate({"path": "a.txt", "text": "x"}))
    playground.steps.schedule(timedelta(hours=1), ClockAdvance.model_validate({"by": "1h"}))
    playground.people.deliver("chat", [Say("Hello")])
    playground.people.deliver("chat", [Say("Go on")])
    playground.people.deliver("phone", [Say("Hello")])
    with pytest.raises(PersonUnavailable):
        playground.people.deliver("chat", [Say("And?")])
    playground.rng.stream("test").random()
    playground.sidecar.handed.append(3)
    playground.sidecar.add_request(1, "drop", "read_file", 200, 1.0)


def test_rewound_playground_equals_a_new_one_with_the_same_events() -> None:
    played, fresh = open_playground(), open_playground()
    add_people(played)
    before = SavedLog(list(played.log.events), list(played.log.lines), dict(played.log.blobs))
    run_on(played)
    assert played.people.model_failed
    assert played.people.contract_breach is not None
    played.rewind(before)
    fresh.rewind(before)
    assert run_state(played) == run_state(fresh)


def test_rewind_to_an_empty_log_equals_a_new_playground() -> None:
    played = open_playground()
    add_people(played)
    run_on(played)
    played.rewind(SavedLog())
    assert run_state(played) == run_state(open_playground())


def test_rewind_keeps_credentials_addresses_and_failures() -> None:
    playground = open_playground()
    seen: list[Event] = []
    playground.subscribe(seen.append)
    token, facts = playground.sandboxes["drop"].token, playground.sidecar.facts
    playground.broken = "drop: KeyError: x"
    playground.rewind(SavedLog())
    playground.steps.run(DropFile.model_validate({"path": "a.txt", "text": "x"}))
    assert playground.sandboxes["drop"].token == token
    assert playground.sidecar.facts is facts
    assert playground.broken == "drop: KeyError: x"
    assert seen == playground.log.events


@pytest.mark.parametrize("time", ["stepped", "paced"])
def test_rewound_clock_is_at_the_last_event_with_nothing_scheduled(time: str) -> None:
    playground = open_playground(time)
    playground.steps.run(DropFile.model_validate({"path": "a.txt", "text": "x"}))
    events, lines = list(playground.log.events), list(playground.log.lines)
    playground.clock.schedule(playground.now, lambda: pytest.fail("it was scheduled before the rewind"))
    playground.rewind(SavedLog(events, lines))
    clock: Clock = playground.clock
    clock.tick()
    assert timedelta(0) <= clock.now - events[-1].at <= timedelta(seconds=1)
    assert clock.next_due() is None
