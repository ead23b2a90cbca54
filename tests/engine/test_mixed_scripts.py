"""Scripts with interruptions, buttons, pauses and messages that a model finds."""

from typing import Any

import pytest

from clerkship.actors.contract import Message, Say
from clerkship.model.errors import InputError
from clerkship.model.snapshot import Snapshot
from tests.engine.test_played_people import list_messages, script
from tests.workbench import Workbench

Answers = dict[str, Any]


def talk(bench: Workbench, person: str, more: str = "") -> None:
    bench.write(
        "talk.yml",
        f"""
        scenario:
          name: Talk
          simulation_context: You want your order ORD-9981.
          setup:
            person: {person}
            {more}
        """,
    )


def echo(message: Message) -> str:
    return f"You said {message.text}"


def test_interruption_is_sent_before_the_reply_and_both_replies_are_heard(bench: Workbench) -> None:
    talk(bench, "{lines: [One, {interrupt: Two}, Three], script: [{when: '(?s)One.*Two', say: Both heard}]}")
    task_run = bench.run_one(echo)
    assert list_messages(bench, task_run) == [
        ("person", "One"),
        ("person", "Two"),
        ("agent", "You said One"),
        ("agent", "You said Two"),
        ("person", "Both heard"),
        ("agent", "You said Both heard"),
        ("person", "Three"),
        ("agent", "You said Three"),
    ]
    assert task_run.ending == "person_done"


def test_rules_and_openings_can_be_interrupted(bench: Workbench) -> None:
    rule = "{when: Hey, say: Four, interrupt: Five, times: 1}"
    talk(bench, f"{{opening: Hi, lines: [{{interrupt: Hey}}], script: [{rule}]}}")
    assert [text for _, text in list_messages(bench, bench.run_one(echo))] == [
        *("Hi", "Hey", "You said Hi", "You said Hey"),
        *("Four", "Five", "You said Four", "You said Five"),
    ]


@pytest.mark.parametrize("silent_to", ["One", "Two"])
def test_person_stays_when_only_one_of_two_messages_is_unanswered(bench: Workbench, silent_to: str) -> None:
    talk(bench, "{lines: [One, {interrupt: Two}, Three]}")
    task_run = bench.run_one(lambda message: "Yes" if message.text != silent_to else None)
    assert [text for _, text in list_messages(bench, task_run)] == ["One", "Two", "Yes", "Three", "Yes"]


def test_person_continues_after_a_pause_and_scheduled_steps_run_meanwhile(bench: Workbench) -> None:
    talk(bench, "{lines: [One, {go_silent: 2m}, Two]}", "steps: [{at: +1m, chat.say: {text: Still there?}}]")
    task_run = bench.run_one(echo)
    sent = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    texts = [event["payload"]["text"] for event in sent]
    assert texts[:4] == ["One", "You said One", "Still there?", "Two"]
    assert sent[3]["at"] > sent[1]["at"].replace("14:00", "14:02")


def test_person_who_pauses_at_the_end_leaves(bench: Workbench) -> None:
    talk(bench, "{lines: [One, {go_silent: 2m}]}")
    task_run = bench.run_one(echo)
    assert (task_run.ending, len(list_messages(bench, task_run))) == ("person_done", 2)


def test_rule_can_pause_before_its_message(bench: Workbench) -> None:
    talk(bench, "{opening: One, script: [{when: One, go_silent: 90s, say: Two, times: 1}, {when: Two, go_silent: 1h}]}")
    task_run = bench.run_one(echo)
    assert [text for _, text in list_messages(bench, task_run)] == ["One", "You said One", "Two", "You said Two"]
    assert task_run.ending == "person_done"


def test_line_can_press_a_button(bench: Workbench) -> None:
    talk(bench, "{lines: [One, {press: ^Tr, metadata: {device: phone}}, {press: Nothing}, Two]}")
    button = {"title": "Track", "payload": "/track"}
    task_run = bench.run_one(lambda message: Say("Which?", buttons=(button,)))
    sent = [e["payload"] for e in bench.events(task_run) if e["kind"] == "chat.message.sent" and e["actor"] == "person"]
    assert [(payload["text"], payload["metadata"]) for payload in sent] == [
        ("One", None),
        ("/track", {"device": "phone", "pressed": "Track"}),
    ]
    [ended] = [event["payload"] for event in bench.events(task_run) if event["kind"] == "chat.session.ended"]
    assert ended["detail"] == "line 3 presses a button, but no button matches 'Nothing'; buttons: Track"
    assert task_run.ending == "nothing_left"


def test_script_mixes_written_and_improvised_messages(bench: Workbench) -> None:
    talk(bench, "{lines: [Hello, {improvise: ask for your order}, {improvise: true}, Last]}")
    answers: list[Answers] = [
        {"matches": "(?s)You said Hello.*In this turn: ask for your order", "answer": {"message": "Where is it?"}},
        {"contains": "You said Where is it?", "answer": {"message": "I see. Bye.", "done": True}},
    ]
    task_run = bench.run_one(echo, person=script(bench, *answers))
    spoken = [text for who, text in list_messages(bench, task_run) if who == "person"]
    assert spoken == ["Hello", "Where is it?", "I see. Bye.", "Last"]  # an author's lines are all said


def test_an_opening_an_interruption_and_a_fallback_can_be_left_to_the_model(bench: Workbench) -> None:
    talk(
        bench,
        "{opening: {improvise: greet}, lines: [{interrupt: {improvise: say what you want}}], "
        "script: [{when: name, say: Noah}, {when: anything, improvise: say no}], fallback: {improvise: be brief}}",
    )
    answers: list[Answers] = [
        {"contains": "In this turn: greet", "answer": {"message": "Hello there."}},
        {"contains": "In this turn: say what you want", "answer": {"message": "I want my order."}},
        {"contains": "In this turn: say no", "answer": {"message": "No, bye.", "done": True}},
        {"contains": "In this turn: be brief", "answer": {"message": "Well?"}},
    ]
    replies = iter(["Hm.", "Your name?", "Hm.", "anything else?", "Bye"])
    task_run = bench.run_one(lambda message: next(replies), person=script(bench, *answers))
    assert [text for who, text in list_messages(bench, task_run) if who == "person"] == [
        *("Hello there.", "I want my order.", "Noah", "Well?", "No, bye."),
    ]
    assert task_run.ending == "person_done"


@pytest.mark.parametrize(
    ("person", "told"),
    [
        ("{lines: [{interrupt: Hey}]}", "`interrupt` must follow a message"),
        ("{lines: [One, {go_silent: 1m}, {interrupt: Hey}]}", "`interrupt` must follow a message"),
        ("{lines: [{say: a, press: b}]}", "expected one of `say`, `improvise`, `press`, `interrupt` and `go_silent`"),
        ("{lines: [{improvise: }]}", "expected one of `say`, `improvise`"),
        ("{lines: [{go_silent: soon}]}", "expected a duration such as 30m"),
        (
            "{opening: a, script: [{when: a, interrupt: b}]}",
            "expected one of `say`, `press`, `improvise` and `go_silent`",
        ),
        ("{opening: a, script: [{when: a, say: null, interrupt: b}]}", "`interrupt` needs a message to interrupt"),
        (
            "{opening: a, script: [{when: a, improvise: x, say: y}]}",
            "expected one of `say`, `press`, `improvise` and `go_silent`",
        ),
        ("{opening: a, never_says: ['(']}", "not a regular expression"),
    ],
)
def test_invalid_script_is_reported_with_its_position(bench: Workbench, person: str, told: str) -> None:
    talk(bench, person)
    with pytest.raises(InputError) as refused:
        bench.run(echo)
    [problem] = refused.value.problems
    assert told in problem.message
    assert problem.line == 6


def test_improvising_person_needs_a_description(bench: Workbench) -> None:
    bench.write("t.yml", "task: {name: T, scenario: {starts: person, person: {opening: {improvise: true}}}}")
    with pytest.raises(InputError, match="give the person a `simulation_context`"):
        bench.run(echo)


def test_mixed_script_round_trips_through_a_snapshot(bench: Workbench) -> None:
    talk(bench, "{opening: Hi, lines: [{improvise: true}], script: [{when: a, press: b}, {when: c, go_silent: 1m}]}")
    first = bench.run_one(echo, person=script(bench, {"answer": {"message": "Bye.", "done": True}}))
    again = bench.run_one(echo, person=script(bench, {"answer": {"message": "Bye.", "done": True}}))
    stored = Snapshot.model_validate_json(bench.store.blob(first.snapshot))
    assert first.snapshot == again.snapshot == stored.hash
    assert stored.task.scenario is not None
    assert stored.task.scenario.person is not None
    assert [rule.improvises for rule in stored.task.scenario.person.script] == [False, False]
