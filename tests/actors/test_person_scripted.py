"""Scripted people: rules in order, limits of uses, fallback, end."""

from datetime import UTC, datetime
from typing import Any

from clerkship.actors.contract import AgentReply, PersonAction
from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.events.event import Event
from clerkship.model.scenario import ScenarioPerson
from clerkship.simulators.files.events import FileWritten


def person(**script: Any) -> ScriptedPerson:
    """Return a person with a script."""
    return ScriptedPerson(ScenarioPerson.model_validate(script))


def test_first_matching_rule_is_used() -> None:
    someone = person(script=[{"when": "name", "say": "Ada"}, {"when": "n", "say": "later rule"}], fallback="What?")
    assert someone.hear(AgentReply("your name?")) == PersonAction("Ada")
    assert someone.hear(AgentReply("and now?")) == PersonAction("later rule")
    assert someone.hear(AgentReply("hm")) == PersonAction("What?")


def test_rule_has_a_limit_of_uses_and_a_line_for_each() -> None:
    someone = person(script=[{"when": "name", "say": ["Ada", "Ada Marsh"], "times": 3}], fallback="I told you.")
    assert [someone.hear(AgentReply("name?")).text for _ in range(4)] == [
        "Ada",
        "Ada Marsh",
        "Ada Marsh",
        "I told you.",
    ]


def test_person_without_a_fallback_leaves() -> None:
    assert person().hear(AgentReply("anything")) == PersonAction(None, leaves=True, reason="nothing_left")


def test_end_rule_has_precedence() -> None:
    someone = person(script=[{"when": "bye", "say": "no"}], end={"when": "bye", "say": "Goodbye."})
    assert someone.hear(AgentReply("bye now")) == PersonAction("Goodbye.", leaves=True, reason="person_done")


def test_person_leaves_after_the_reply_to_the_last_allowed_line() -> None:
    someone = person(opening="Hi", fallback="Hm", end={"after": 2, "say": "Bye"})
    assert someone.open() == PersonAction("Hi")
    assert someone.hear(AgentReply("one")) == PersonAction("Hm")
    assert someone.hear(AgentReply("two")) == PersonAction("Bye", leaves=True, reason="person_done")


def test_rule_may_say_nothing() -> None:
    assert person(script=[{"when": "moment", "say": None}]).hear(AgentReply("one moment")) == PersonAction()


def test_event_rule_makes_the_person_speak_or_leave() -> None:
    def written(path: str) -> Event:
        payload = FileWritten(path=path, size=0, data=b"")
        return Event(1, datetime(2026, 3, 2, tzinfo=UTC), "drop", payload.kind, "agent", None, payload)

    someone = person(
        script=[{"when": {"event": "files.file.written", "where": {"path": "a"}}, "say": "I see.", "times": 1}],
        end={"when": {"event": "files.*", "where": {"path": "z"}}},
    )
    assert someone.watches
    assert someone.notice(written("a")) == PersonAction("I see.")
    assert someone.notice(written("a")) is None
    assert someone.notice(written("z")) == PersonAction(None, leaves=True, reason="person_done")


def test_text_too_slow_to_match_does_not_match_the_rule() -> None:
    someone = person(script=[{"when": "(order.*){3}[x-z]", "say": "x"}], fallback="Pardon?")
    assert someone.hear(AgentReply("order" * 19_800)).text == "Pardon?"
