"""What a fork restores: people, steps, faults, bodies, ids and time."""

from datetime import datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from clerkship.actors.contract import AgentReply, History, Message, PastPersonTurn, Say
from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.kit.rng import Ids
from clerkship.llm.contract import ModelAnswer, Question
from clerkship.llm.scripted import ScriptedModel
from clerkship.model.scenario import ScenarioPerson
from clerkship.service.task_view import show_task
from tests.service.forks import fork
from tests.workbench import Workbench

DESK = """
    environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
    task:
      name: Keep notes
      scenario:
        starts: person
        steps: {steps}
        person: {person}
      criteria: [{label: said, assertion: {bot_uttered: {text_matches: "."}}}]
"""


def desk(person: str, steps: str = "[]") -> str:
    return DESK.replace("{steps}", steps).replace("{person}", person)


class Echo:
    """Replies with the number of the turn, and writes a file on request."""

    def on_history(self, history: History) -> None:
        """It needs to know nothing."""

    def on_turn(self, message: Message, sandboxes: Any) -> Say:
        if message.text == "write":
            sandboxes["drop"].write("a.txt", "x" * 10_000)
        return Say(f"turn {message.turn}", buttons=({"title": f"Yes {message.turn}"},))


def check_forks(bench: Workbench, agent: type = Echo) -> list[str]:
    """Fork at every turn with the same agent, check that each fork equals the original, and return the person's
    messages.
    """
    first = bench.run_one(agent)
    messages = [e["payload"]["text"] for e in bench.events(first) if e["actor"] == "person" and "text" in e["payload"]]
    handed = show_task(bench.store, first.run, "notes").sidecar["handed"]
    for turn in range(1, len(handed) + 1):
        forked = fork(bench, agent, run=first.run, turn=turn)
        events = [event for event in bench.events(forked) if event["kind"] != "run.forked"]
        received = [(event["at"], event["kind"], event["actor"], event["payload"]) for event in events]
        assert received == [(e["at"], e["kind"], e["actor"], e["payload"]) for e in bench.events(first)], turn
    return messages


@pytest.mark.parametrize(
    ("person", "steps", "said"),
    [
        ("{lines: [a, b, c]}", "[]", ["a", "b", "c"]),
        (
            "{opening: a, script: [{when: turn, say: [b, c], times: 2}, {when: turn 3, say: d}], "
            "fallback: e, end: {after: 5}}",
            "[]",
            ["a", "b", "c", "d", "e"],
        ),
        (
            "{lines: [write, b, c], script: [{when: {event: files.file.written}, say: seen}]}",
            "[]",
            ["write", "seen", "b", "c"],
        ),
        ("{lines: [a, b, c]}", "[{at: +2s, chat.say: {text: by the way}}]", ["a", "by the way", "b", "c"]),
        (
            "{lines: [a, b, c], script: [{when: {event: files.file.written}, say: seen}]}",
            "[{at: +2s, files.drop: {path: p.txt, text: x}}, {at: +2s, clock.advance: {by: 1m}}]",
            ["a", "seen", "b", "c"],
        ),
        (
            "{lines: [a, b, c]}",
            "[fault.drop: {operation: on_turn, times: 1, skip: 1}, "
            "fault.latency: {operation: on_turn, by: 5s, times: 2}]",
            ["a", "b", "b", "c"],
        ),
        ("{lines: [a, {press: Yes 1}, {press: Yes 2}, d]}", "[]", ["a", "Yes 1", "Yes 2", "d"]),
        ("{lines: [a, {interrupt: b}, {interrupt: c}, d, {go_silent: 5m}, e]}", "[]", ["a", "b", "c", "d", "e"]),
        (
            "{opening: a, script: [{when: turn 1, say: b, interrupt: c, times: 1}, {when: turn 3, say: d}], "
            "end: {when: turn 4}}",
            "[]",
            ["a", "b", "c", "d"],
        ),
        ("{lines: [write, b, c]}", "[{at: +4s, fault.drop: {operation: on_turn, times: 1}}]", ["write", "b", "b", "c"]),
    ],
)
def test_fork_at_every_turn_continues_like_the_original(
    bench: Workbench, person: str, steps: str, said: list[str]
) -> None:
    bench.write("a.yml", desk(person, steps))
    assert check_forks(bench) == said


PLAYED = """
    answers:
      - {about: person, contains: turn 3, answer: {message: improvised four, done: false}}
      - {about: person, contains: turn 1, answer: {message: improvised two, done: false}}
      - {about: person, answer: {message: improvised one, done: false}}
"""


def test_model_is_not_asked_for_messages_before_the_fork(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[Question[Any]] = []
    ask = ScriptedModel.ask

    def counted(self: ScriptedModel, question: Question[Any]) -> ModelAnswer[Any]:
        questions.append(question)
        return ask(self, question)

    monkeypatch.setattr(ScriptedModel, "ask", counted)
    script = tmp_path / "person.yml"
    script.write_text(dedent(PLAYED))
    person = (
        "{simulation_context: You chat., lines: [{improvise: hello}, {improvise: more}, written, {improvise: end}]}"
    )
    bench.write("a.yml", desk(person))
    first = bench.run_one(Echo, person=f"scripted:{script}")
    assert len(questions) == 3
    messages = [e["payload"]["text"] for e in bench.events(first) if e["actor"] == "person" and "text" in e["payload"]]
    assert messages == ["improvised one", "improvised two", "written", "improvised four"]
    for turn, left in ((1, 2), (2, 1), (3, 1), (4, 0)):
        questions.clear()
        forked = fork(bench, Echo, run=first.run, turn=turn)
        heard = [
            e["payload"]["text"] for e in bench.events(forked) if e["actor"] == "person" and "text" in e["payload"]
        ]
        assert heard == messages
        assert len(questions) == left


def test_script_of_a_person_continues_at_the_fork_point() -> None:
    script = ScenarioPerson.model_validate(
        {"opening": "a", "script": [{"when": "go", "say": "b", "times": 1}, {"when": "pick", "press": "Yes"}]}
        | {"lines": ["c", "d"], "end": {"after": 5}}
    )
    yes = ({"title": "Yes", "payload": "/yes"},)
    past = [
        PastPersonTurn(None, AgentReply("Welcome, go!")),  # a greeting is not heard
        PastPersonTurn("a", AgentReply("go")),
        PastPersonTurn("b", AgentReply("go")),
        PastPersonTurn("c", None),  # the answer was lost
        PastPersonTurn("c", AgentReply("pick", yes)),
        PastPersonTurn("/yes", None),
    ]
    person = ScriptedPerson(script)
    person.recall(past)
    assert person.hear(AgentReply("go")).text == "d"
    assert person.hear(AgentReply("go")).leaves  # after five of their own lines


def test_message_of_a_step_does_not_use_up_a_line_of_the_person() -> None:
    person = ScriptedPerson(ScenarioPerson.model_validate({"lines": ["a", "b", "c"]}))
    person.recall(
        [
            PastPersonTurn("a", AgentReply("yes")),
            PastPersonTurn("somebody else's", AgentReply("yes")),
            PastPersonTurn("b", None),
        ]
    )
    assert person.hear(AgentReply("yes")).text == "c"


def test_ids_continue_after_the_fork_point() -> None:
    first = Ids("seed")
    values = [first.new("file") for _ in range(3)] + [first.new("page_scan")]
    other = Ids("seed")
    other.skip_used(
        [f'{{"id": "{values[0]}", "of": "{values[3]}"}}', f"and {values[2]}.", "file_0123456789ab is nobody's"]
    )
    assert (other.new("file"), other.new("page_scan")) == (first.new("file"), first.new("page_scan"))


def test_paced_clock_continues_at_the_fork_point(bench: Workbench) -> None:
    bench.write("a.yml", desk("{lines: [a, write, c]}", "[{at: +1h, files.drop: {path: p.txt, text: x}}]"))
    text = (bench.folder / "a.yml").read_text().replace("name: desk,", "name: desk, time: paced,")
    bench.write("a.yml", text)

    class Waits(Echo):
        def on_turn(self, message: Message, sandboxes: Any) -> Say:
            sandboxes.wait("40m")
            return super().on_turn(message, sandboxes)

    first = bench.run_one(Waits)
    forked = fork(bench, Waits, run=first.run, turn=2)
    dropped = [event for event in bench.events(forked) if event["payload"].get("path") == "p.txt"]
    assert len(dropped) == 1
    assert bench.kinds(forked).count("scenario.step.ran") == 1
    at = [datetime.fromisoformat(event["at"]) for event in bench.events(forked)]
    assert timedelta(hours=2) <= at[-1] - at[0] < timedelta(hours=2, minutes=1)


def test_history_of_the_agent_has_its_lost_replies(bench: Workbench) -> None:
    bench.write("a.yml", desk("{lines: [a, b]}", "[fault.drop: {operation: on_turn, times: 1}]"))
    histories: list[History] = []

    class Told(Echo):
        def on_history(self, history: History) -> None:
            histories.append(history)

    first = bench.run_one(Told)
    fork(bench, Told, run=first.run, turn=3)
    [history] = histories
    assert [(turn.text, [part.text for part in turn.answer if isinstance(part, Say)]) for turn in history.turns] == [
        ("a", ["turn 1"]),  # lost, and so they said it again
        ("a", ["turn 2"]),
    ]
