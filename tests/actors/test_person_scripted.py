"""The scripted person: rules in order, uses, fallback, end."""

from datetime import UTC, datetime
from typing import Any

from clerkship.actors.contract import AgentReply, PersonAction
from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.events.event import Event
from clerkship.model.scenario import ScenarioPerson
from clerkship.simulators.files.events import FileWritten


def person(**script: Any) -> ScriptedPerson:
    """A person with this script."""
    return ScriptedPerson(ScenarioPerson.model_validate(script))


def test_the_first_rule_that_fits_speaks() -> None:
    someone = person(script=[{"when": "name", "say": "Ada"}, {"when": "n", "say": "later rule"}], fallback="What?")
    assert someone.hear(AgentReply("your name?")) == PersonAction("Ada")
    assert someone.hear(AgentReply("and now?")) == PersonAction("later rule")
    assert someone.hear(AgentReply("hm")) == PersonAction("What?")


def test_a_rule_may_be_used_up_and_say_another_line_each_time() -> None:
    someone = person(script=[{"when": "name", "say": ["Ada", "Ada Marsh"], "times": 3}], fallback="I told you.")
    assert [someone.hear(AgentReply("name?")).text for _ in range(4)] == [
        "Ada",
        "Ada Marsh",
        "Ada Marsh",
        "I told you.",
    ]


def test_without_a_fallback_they_leave() -> None:
    assert person().hear(AgentReply("anything")) == PersonAction(None, leaves=True, reason="nothing_left")


def test_the_end_rule_comes_before_all_others() -> None:
    someone = person(script=[{"when": "bye", "say": "no"}], end={"when": "bye", "say": "Goodbye."})
    assert someone.hear(AgentReply("bye now")) == PersonAction("Goodbye.", leaves=True, reason="person_done")


def test_they_leave_after_so_many_lines_having_heard_the_answer_to_the_last() -> None:
    someone = person(opening="Hi", fallback="Hm", end={"after": 2, "say": "Bye"})
    assert someone.open() == PersonAction("Hi")
    assert someone.hear(AgentReply("one")) == PersonAction("Hm")
    assert someone.hear(AgentReply("two")) == PersonAction("Bye", leaves=True, reason="person_done")


def test_they_can_say_nothing_and_wait() -> None:
    assert person(script=[{"when": "moment", "say": None}]).hear(AgentReply("one moment")) == PersonAction()


def test_an_event_can_make_them_speak_or_leave() -> None:
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


def test_a_text_that_makes_a_pattern_too_slow_does_not_fit_the_rule() -> None:
    someone = person(script=[{"when": "(order.*){3}[x-z]", "say": "x"}], fallback="Pardon?")
    assert someone.hear(AgentReply("order" * 19_800)).text == "Pardon?"
