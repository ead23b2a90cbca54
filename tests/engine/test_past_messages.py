"""`chat.past`: a task that continues a conversation from before the trial."""

import json
from typing import Any

import pytest

from clerkship.actors.contract import History, Message, Say
from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Sandboxes
from tests.service.forks import fork
from tests.workbench import Workbench

PAST = "{person: Is Dune in?}, {agent: Yes.}, {agent: Shall I keep it?}"
TASK = """
environment: {name: desk, simulators: {chat: {kind: chat}}}
task:
  name: Go on
  environment: desk
  scenario:
    starts: person
    steps: [{chat.past: {messages: [PAST]}}]
    person: PERSON
  criteria:
    - {label: said, assertion: {bot_uttered: {text_matches: keep}}}
"""


class Clerk:
    """Remembers what it was told, and answers with the number of the turn."""

    told: list[History]

    def __init__(self) -> None:
        type(self).told = []

    def on_history(self, history: History) -> None:
        """Take over a conversation."""
        self.told.append(history)

    def on_turn(self, message: Message, sandboxes: Sandboxes) -> str:
        """Answer a message."""
        return f"Answer {message.turn} to {message.text}"


def run(bench: Workbench, past: str = PAST, person: str = "{lines: [Please., Thanks.]}", agent: Any = Clerk) -> Any:
    bench.write("task.yml", TASK.replace("PAST", past).replace("PERSON", person))
    return bench.run_one(agent)


def list_messages(bench: Workbench, task_run: Any) -> list[tuple[str, str]]:
    events = [
        event for event in bench.events(task_run) if event["kind"].startswith("chat.") and "text" in event["payload"]
    ]
    return [(event["actor"], event["payload"]["text"]) for event in events]


def test_agent_gets_the_past_as_history_and_answers_only_what_follows(bench: Workbench) -> None:
    task_run = run(bench)
    [history] = Clerk.told
    [turn] = history.turns
    assert (turn.turn, turn.text, turn.answer) == (1, "Is Dune in?", (Say("Yes."), Say("Shall I keep it?")))
    assert list_messages(bench, task_run) == [
        ("scenario", "Is Dune in?"),
        ("scenario", "Yes."),
        ("scenario", "Shall I keep it?"),
        ("person", "Please."),
        ("agent", "Answer 2 to Please."),
        ("person", "Thanks."),
        ("agent", "Answer 3 to Thanks."),
    ]
    assert task_run.verdict == "fail"  # what was said before the trial is not the agent's


def test_last_message_of_the_person_is_the_first_that_the_agent_answers(bench: Workbench) -> None:
    task_run = run(bench, PAST + ", {person: Please do.}")
    said = [text for actor, text in list_messages(bench, task_run) if actor != "scenario"]
    assert said == [
        "Please do.",
        "Answer 2 to Please do.",
        "Please.",
        "Answer 3 to Please.",
        "Thanks.",
        "Answer 4 to Thanks.",
    ]


def test_greeting_before_the_first_message_is_turn_0(bench: Workbench) -> None:
    run(bench, "{agent: Hello.}, {person: Is Dune in?}, {agent: Yes.}")
    [history] = Clerk.told
    assert [(turn.turn, turn.text) for turn in history.turns] == [(0, None), (1, "Is Dune in?")]


def test_agent_without_on_history_is_an_error_before_it_works(bench: Workbench) -> None:
    task_run = run(bench, agent=lambda message: "Yes.")
    assert task_run.status == "errored"
    assert "no on_history" in task_run.error


@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.parametrize("end", ["", ", {person: Please do.}"])
def test_fork_of_a_continued_conversation_has_the_past_too(bench: Workbench, turn: int, end: str) -> None:
    first = run(bench, PAST + end)
    forked = fork(bench, Clerk, run=first.run, task="Go on", turn=turn)
    assert list_messages(bench, forked) == list_messages(bench, first)
    history = Clerk.told[-1]
    assert [each.turn for each in history.turns] == list(range(1, turn + 1))


@pytest.mark.parametrize(
    ("past", "message"),
    [
        ("{person: a, agent: b}", "expected one of `person` and `agent`"),
        ("{}", "expected one of `person` and `agent`"),
        ("{person: a}", "nothing was said by an agent"),
        ("", "messages"),
    ],
)
def test_mistakes_in_the_past_are_input_errors(bench: Workbench, past: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(bench, past)


def test_past_messages_are_listed_by_the_chat(bench: Workbench) -> None:
    seen: list[Any] = []

    class Reader(Clerk):
        def on_turn(self, message: Message, sandboxes: Sandboxes) -> str:
            seen.extend(json.loads(sandboxes["chat"].request("GET", "/messages").body)["messages"])
            return "Yes."

    run(bench, person="{lines: [Please.]}", agent=Reader)
    assert [each["from"] for each in seen] == ["person", "agent", "agent", "person"]
