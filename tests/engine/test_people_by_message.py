"""People who write by text message, e-mail or patient portal message, several of them on one sandbox."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from clerkship.actors.contract import History, Message
from clerkship.model.run import TaskRun
from clerkship.sandbox.handle import Sandboxes
from clerkship.service.task_view import show_task
from clerkship.simulators.messages.handle import Messages
from tests.service.forks import fork
from tests.workbench import Workbench

INBOX = """
    environment:
      name: desk
      simulators:
        chat: {kind: chat}
        inbox:
          kind: messages
          config:
            contacts:
              - {name: Ada, phone: '+15550100001', email: ada@home.example, portal: Patient/ada}
              - {name: Ben, phone: '+15550100002'}
    task:
      name: Write to people
      scenario:
        starts: STARTS
        people: PEOPLE
      criteria:
        - {label: replied, assertion: {agent_acted: {}}}
"""
ADA = "{name: Ada, channel: sms, address: '+15550100001', lines: [Can I move my visit?, To Friday., Thanks.]}"
BEN = "{name: Ben, channel: sms, address: (555) 010-0002, lines: [When is my visit?, Thanks.]}"
CLEO = "{name: Cleo, channel: email, address: Cleo@home.example, subject: A question, lines: [Are you open?, Thanks.]}"
DORA = "{name: Dora, channel: portal, address: Patient/dora, subject: Refill, lines: [I need a refill., Thanks.]}"
EVE = "{name: Eve, sandbox: chat, lines: [Hello., Bye.]}"


def inbox(*people: str, starts: str = "person") -> str:
    return INBOX.replace("PEOPLE", f"[{', '.join(people)}]").replace("STARTS", starts)


class Clerk:
    """Names the conversation and the turn in each reply."""

    def on_history(self, history: History) -> None:
        """It keeps nothing between turns."""

    def on_turn(self, message: Message) -> str:
        return f"{message.conversation} {message.turn} {message.subject}"


class Texter:
    """Replies through the sandbox, and returns nothing."""

    def on_turn(self, message: Message, sandboxes: Sandboxes) -> None:
        assert message.channel
        assert message.address
        sandboxes.get_as(Messages).send(message.channel, message.address, f"Noted {message.turn}.")


def said(bench: Workbench, task_run: TaskRun) -> list[tuple[str, str]]:
    """Return sender and text of all messages."""
    events = [event["payload"] for event in bench.events(task_run) if "text" in event["payload"]]
    return [(payload["header"]["sender"] if "header" in payload else "chat", payload["text"]) for payload in events]


def kinds(bench: Workbench, task_run: TaskRun) -> list[str]:
    return [event["kind"] for event in bench.events(task_run)]


@pytest.mark.parametrize(
    ("person", "key"),
    [
        (BEN, "inbox/sms:+15550100002 1 None"),
        (CLEO, "inbox/email:cleo@home.example 1 A question"),
        (DORA, "inbox/portal:Patient/dora 1 Refill"),
    ],
)
def test_a_person_writes_on_a_channel_and_hears_the_reply(bench: Workbench, person: str, key: str) -> None:
    bench.write("a.yml", inbox(person))
    task_run = bench.run_one(Clerk)
    texts = [text for _, text in said(bench, task_run)]
    assert (len(texts), texts[1], task_run.ending) == (4, key, "person_done")
    messages = [event["payload"]["header"] for event in bench.events(task_run) if "text" in event["payload"]]
    assert len({header["thread"] for header in messages}) == 1
    assert messages[1]["in_reply_to"] == messages[0]["id"]


def test_several_people_on_one_sandbox_hear_only_their_own_replies(bench: Workbench) -> None:
    bench.write("a.yml", inbox(ADA, BEN, CLEO, EVE))
    task_run = bench.run_one(Clerk)
    assert task_run.ending == "person_done"
    replies = sorted(text for _, text in said(bench, task_run) if text.endswith(("None", "question")))
    assert replies == [
        "chat 1 None",
        "chat 2 None",
        "inbox/email:cleo@home.example 1 A question",
        "inbox/email:cleo@home.example 2 Re: A question",
        "inbox/sms:+15550100001 1 None",
        "inbox/sms:+15550100001 2 None",
        "inbox/sms:+15550100001 3 None",
        "inbox/sms:+15550100002 1 None",
        "inbox/sms:+15550100002 2 None",
    ]


def test_same_seed_gives_the_same_log(bench: Workbench) -> None:
    bench.write("a.yml", inbox(ADA, BEN, CLEO, DORA))
    first = bench.run_one(Clerk)
    assert bench.run_one(Clerk).head == first.head


def test_a_reply_through_the_sandbox_counts_as_a_reply(bench: Workbench) -> None:
    bench.write("a.yml", inbox(BEN))
    task_run = bench.run_one(Texter)
    assert [text for _, text in said(bench, task_run)] == ["When is my visit?", "Noted 1.", "Thanks.", "Noted 2."]
    assert task_run.ending == "person_done"


def test_a_person_answers_an_agent_that_starts_and_waits(bench: Workbench) -> None:
    person = (
        "{name: Ben, channel: sms, address: '+15550100002', answers_after: 1h, script: [{when: Friday, say: Yes.}]}"
    )
    bench.write("a.yml", inbox(person, starts="agent"))

    class Reminder:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[int]:
            inbox = sandboxes.get_as(Messages)
            inbox.send("sms", "+15550100002", "Friday at 9?")
            before = len(inbox.inbox())
            sandboxes.wait("1h")
            return [before, len(inbox.inbox())]

    task_run = bench.run_one(Reminder)
    assert task_run.error == ""
    answered = next(event for event in bench.events(task_run) if event["kind"] == "agent.answered")
    assert answered["payload"]["answer"] == [0, 1]


def test_the_agent_is_not_heard_after_stop(bench: Workbench) -> None:
    person = "{name: Ben, channel: sms, address: '+15550100002', lines: [STOP, I still read this.]}"
    bench.write("a.yml", inbox(person))
    task_run = bench.run_one(Clerk)
    assert "messages.message.refused" in kinds(bench, task_run)
    assert "I still read this." not in [text for _, text in said(bench, task_run)]
    assert task_run.ending == "nothing_left"


def test_a_fork_continues_all_conversations(bench: Workbench) -> None:
    bench.write("a.yml", inbox(ADA, BEN, CLEO))
    task_run = bench.run_one(Clerk)
    forked = fork(bench, Clerk, task="Write", turn=4)
    assert [text for _, text in said(bench, forked)] == [text for _, text in said(bench, task_run)]


@pytest.mark.parametrize("turn", [1, 2, 3, 5, 6])
def test_a_fork_at_any_turn_keeps_the_delay_of_a_person(bench: Workbench, turn: int) -> None:
    late = ADA.replace("lines", "answers_after: 2h, lines")
    bench.write("a.yml", inbox(late, CLEO, DORA))
    task_run = bench.run_one(Clerk)
    forked = fork(bench, Clerk, task="Write", turn=turn)
    assert said(bench, forked) == said(bench, task_run)
    assert forked.ending == task_run.ending == "person_done"


def test_a_played_person_writes_by_message(bench: Workbench) -> None:
    played = "{name: Ada, channel: sms, address: '+15550100001', simulation_context: You want to move your visit.}"
    path = bench.folder.parent / "person.json"
    answers = [
        {"about": "person", "contains": "The conversation starts", "answer": {"message": "Move my visit."}},
        {"about": "person", "contains": "sms:", "answer": {"message": "Thanks, bye.", "done": True}},
    ]
    path.write_text(json.dumps(answers))
    bench.write("a.yml", inbox(played, BEN))
    task_run = bench.run_one(Clerk, person=f"scripted:{path}")
    texts = [text for sender, text in said(bench, task_run) if sender == "+15550100001"]
    assert (texts, task_run.ending) == (["Move my visit.", "Thanks, bye."], "person_done")


def test_max_turns_counts_the_turns_of_all_people(bench: Workbench) -> None:
    bench.write("a.yml", inbox(ADA, BEN).replace("starts:", "max_turns: 3\n        starts:"))
    task_run = bench.run_one(Clerk)
    assert task_run.ending == "turn_limit"
    assert sum("inbox/" in text for _, text in said(bench, task_run)) == 3


def test_an_answer_comes_after_the_delay_of_the_person(bench: Workbench) -> None:
    bench.write("a.yml", inbox(BEN.replace("lines", "answers_after: 90m, lines")))
    task_run = bench.run_one(Clerk)
    events = [event for event in bench.events(task_run) if "text" in event["payload"]]
    times = [datetime.fromisoformat(event["at"]) for event in events]
    assert times[2] - times[1] >= timedelta(minutes=90)
    assert task_run.ending == "person_done"


def test_show_names_channel_and_address(bench: Workbench) -> None:
    bench.write("a.yml", inbox(BEN, EVE))
    bench.run_one(Clerk)
    view = show_task(bench.store, "latest", "Write")
    assert ("person on inbox (sms +15550100002)", "When is my visit?") in view.utterances


@pytest.mark.parametrize(
    ("person", "problem"),
    [
        ("{channel: sms, lines: [a]}", "a person on sms needs an `address`: a phone number such as +15550100123"),
        ("{channel: sms, address: nowhere, lines: [a]}", "`address` is not a phone number"),
        ("{channel: email, address: a@b.example, lines: [a]}", "needs a `subject`"),
        ("{sandbox: chat, address: a@b.example, lines: [a]}", "`address` needs a `channel`"),
        (
            "{sandbox: chat, channel: sms, address: '+15550100001', lines: [a]}",
            "`chat` is not a sandbox of kind messages",
        ),
        (f"{BEN}, {BEN}", "two people are at the address (555) 010-0002 on sms"),
    ],
)
def test_mistakes_are_reported_with_their_place(bench: Workbench, person: str, problem: str) -> None:
    bench.write("a.yml", inbox(person))
    with pytest.raises(Exception, match=r"a\.yml:") as error:
        bench.run_one(Clerk)
    assert problem in str(error.value)
