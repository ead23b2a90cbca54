"""The scene of a task: what is set up before an agent starts, in a run and in a playground that is up."""

from clerkship.actors.contract import SimulatedPerson
from clerkship.engine.build import BuiltTask
from clerkship.events.agent import SlotSet
from clerkship.events.lifecycle import RunStarted
from clerkship.playground.playground import Playground


def set_up(playground: Playground, built: BuiltTask, person: SimulatedPerson | None) -> None:
    """Add the person, run the steps, schedule those that come later."""
    task, environment = built.snapshot.task, built.snapshot.environment
    playground.emit("run", RunStarted(task=task.name, environment=environment.name, seed=playground.seed), "run")
    if person is not None and built.person_at is not None:
        playground.people.add_person(person, built.person_at)
    for at, step in built.steps:
        if at is not None:
            playground.steps.schedule(at, step)
        elif not playground.steps.errors:
            playground.steps.run(step)


def open_conversations(playground: Playground, built: BuiltTask, place: str) -> None:
    """Slots are set; the person who begins says their first line, and from then on hears."""
    with playground.lock:
        for name, value in built.scenario.initial_slots.items():
            playground.emit("agent", SlotSet(name=name, value=value), "scenario")
        playground.people.open(place)
        playground.people.listening = True
