"""Several people in one playground, each in the conversation of a sandbox."""

from typing import cast

from clerkship.actors.contract import PersonAction, Say
from clerkship.playground.playground import Playground
from clerkship.sandbox.state import Conversation
from tests.playground.two_chats import ModelPerson, open_playground


def add_people(playground: Playground, **people: ModelPerson) -> None:
    for sandbox, person in people.items():
        playground.people.add_person(person, sandbox)
        playground.people.open(sandbox)
    playground.people.listening = True


def test_each_person_has_their_own_queued_replies() -> None:
    playground = open_playground()
    chatting = ModelPerson([PersonAction("one", more=lambda: PersonAction("two")), PersonAction("three")])
    calling = ModelPerson([PersonAction("Fine"), PersonAction("Bye", leaves=True, reason="done")])
    add_people(playground, chat=chatting, phone=calling)
    people = playground.people
    people.deliver("chat", [Say("Hello")])
    people.deliver("chat", [Say("to one")])
    people.deliver("phone", [Say("How are you?")])
    people.deliver("phone", [Say("Anything else?")])
    assert calling.heard == ["How are you?", "Anything else?"]
    assert people.leave_reasons == {"phone": "done"}
    people.deliver("chat", [Say("to two")])
    assert chatting.heard == ["Hello", "to one\nto two"]


def test_a_person_hears_what_is_said_while_a_turn_of_another_conversation_is_recorded() -> None:
    playground = open_playground()
    chatting, calling = ModelPerson([PersonAction("one")]), ModelPerson([PersonAction("Yes")])
    add_people(playground, chat=chatting, phone=calling)
    phone = cast(Conversation, playground.sandboxes["phone"].state)

    def ask() -> None:
        phone.say(playground.context_for("phone", "agent"), "Are you there?")

    playground.clock.schedule(playground.now, ask)
    playground.people.deliver("chat", [Say("Hello")])
    assert calling.heard == ["Are you there?"]
    assert chatting.heard == ["Hello"]
