"""Set up the scenario of a task before an agent starts, in a run and in `clerkship up`."""

from collections.abc import Mapping

from clerkship.actors.contract import SimulatedPerson
from clerkship.engine.build import BuiltTask
from clerkship.events.agent import SlotSet
from clerkship.events.lifecycle import RunStarted
from clerkship.playground.playground import Playground


def set_up(playground: Playground, built: BuiltTask, people: Mapping[str, SimulatedPerson]) -> None:
    """Add the people, run the steps, and schedule the steps with a later time."""
    task, environment = built.snapshot.task, built.snapshot.environment
    playground.emit("run", RunStarted(task=task.name, environment=environment.name, seed=playground.seed), "run")
    for key, person in people.items():
        playground.people.add_person(person, key)
    for at, step in built.steps:
        if at is not None:
            playground.steps.schedule(at, step)
        elif not playground.steps.errors:
            playground.steps.run(step)


def open_conversations(playground: Playground, built: BuiltTask) -> None:
    """Set the slots, and have each person who begins send their first message.

    From then on, people are notified of events.
    """
    with playground.lock:
        for name, value in built.scenario.initial_slots.items():
            playground.emit("agent", SlotSet(name=name, value=value), "scenario")
        for key in playground.people.participants:
            playground.people.open(key)
        playground.people.listening = True
