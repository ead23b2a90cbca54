"""Many people who answer at about the same time."""

from datetime import timedelta
from functools import partial

from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.model.environment import Environment, Simulator
from clerkship.model.scenario import ScenarioPerson
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators.messages import SPEC
from clerkship.simulators.messages.events import MessageArrived
from clerkship.simulators.messages.handle import Messages
from tests.call_count import count_lines, measure_alone

PEOPLE = 400
DELAY = timedelta(minutes=5)


def number_of(place: int) -> str:
    return f"+1555{place:07d}"


def open_playground(people: int) -> Playground:
    """Open a playground with people who each answer one text message after five minutes."""
    contacts = [{"name": f"Person {place}", "phone": number_of(place)} for place in range(people)]
    prepared = PreparedSimulator(SPEC, SPEC.config.model_validate({"contacts": contacts}), SPEC.prepare(()))
    environment = Environment(name="desk", simulators={"desk": Simulator(kind="messages")})
    playground = Playground(environment, {"desk": prepared}, "people")
    for place in range(people):
        fields = {"name": f"Person {place}", "channel": "sms", "address": number_of(place), "answers_after": DELAY}
        person = ScriptedPerson(ScenarioPerson.model_validate({**fields, "lines": [f"Answer {place}"]}))
        playground.people.add_person(person, f"desk/sms:{number_of(place)}")
    playground.people.listening = True
    return playground


def open_desk(playground: Playground) -> Messages:
    return open_sandboxes(Gateway(), playground, lambda: "http://desk.invalid").get_as(Messages)


def test_each_of_many_people_answers_in_order_and_at_their_time() -> None:
    playground = open_playground(PEOPLE)
    desk = open_desk(playground)
    for place in range(PEOPLE):
        desk.send("sms", number_of(place), "Will you come?")
    playground.advance(2 * DELAY)
    events = playground.log.events
    answers = [event for event in events if isinstance(event.payload, MessageArrived)]
    assert [event.payload.text for event in answers if isinstance(event.payload, MessageArrived)] == [
        f"Answer {place}" for place in range(PEOPLE)
    ]
    times = {event.seq: event.at for event in events}
    assert {event.at - times[event.cause] for event in answers if event.cause is not None} == {DELAY}


def count_lines_of_a_message() -> list[int]:
    """Count the lines that one message and its answer run, among five people and among two hundred."""
    counts = []
    for people in (5, 200):
        playground = open_playground(people)
        desk = open_desk(playground)
        desk.send("sms", number_of(0), "Will you come?")
        counts.append(count_lines(partial(send_and_wait, desk, playground)))
    return counts


def send_and_wait(desk: Messages, playground: Playground) -> None:
    desk.send("sms", number_of(1), "Will you come?")
    playground.advance(2 * DELAY)


def test_message_to_one_of_many_people_costs_as_much_as_to_one_of_a_few() -> None:
    among_few, among_many = measure_alone(count_lines_of_a_message)
    assert among_many < 1.5 * among_few
