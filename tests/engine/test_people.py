"""Several people at once, each in their own conversation, in an order that depends on the seed."""

import json
from typing import Any

import pytest

from clerkship.actors.contract import Agent, History, Message, Say, Start
from clerkship.actors.python import PythonSolver
from clerkship.model.run import TaskRun
from clerkship.service.task_view import show_task
from tests.actors.servers import Served
from tests.llm.endpoint import in_turn
from tests.llm.endpoint import said as played
from tests.service.forks import fork
from tests.workbench import Workbench

DESK = """
    environment:
      name: desk
      simulators: {chat: {kind: chat}, phone: {kind: chat}, drop: {kind: files}}
    task:
      name: Refill with an approval
      scenario:
        starts: person
        max_turns: 12
        steps: STEPS
        people:
          - {name: patient, sandbox: chat, PATIENT}
          - {name: payer, sandbox: phone, PAYER}
      criteria:
        - {label: approved, assertion: {bot_uttered: {text_matches: approval}}}
"""
PATIENT = "lines: [I need my inhaler., It is for Noah., 'Thanks, bye.']"
PAYER = "simulation_context: You work for a payer and call about the request for Noah Berg."
SPOKEN = [
    {"about": "person", "contains": "The conversation starts", "answer": {"message": "I call about Noah Berg."}},
    {"about": "person", "contains": "approval", "answer": {"message": "It is granted, goodbye.", "done": True}},
]


def desk(patient: str = PATIENT, payer: str = PAYER, steps: str = "[]") -> str:
    return DESK.replace("PATIENT", patient).replace("PAYER", payer).replace("STEPS", steps)


class Clerk:
    """Replies to each person with the number of their messages, and asks the payer for the approval."""

    def on_history(self, history: History) -> None:
        """It keeps nothing between turns."""

    def on_turn(self, message: Message) -> str:
        about = "Do we have the approval?" if message.sandbox == "phone" else "Noted."
        return f"{about} ({message.sandbox} {message.turn})"


def model(bench: Workbench, *answers: dict[str, Any]) -> str:
    path = bench.folder.parent / "person.json"
    path.write_text(json.dumps(answers or SPOKEN))
    return f"scripted:{path}"


def messages_in(bench: Workbench, task_run: TaskRun, sandbox: str | None = None) -> list[tuple[str, str, str]]:
    events = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    results = [(event["source"], event["actor"], event["payload"]["text"]) for event in events]
    return [each for each in results if sandbox in (None, each[0])]


def reply_order(bench: Workbench, task_run: TaskRun) -> list[str]:
    return [source for source, actor, _ in messages_in(bench, task_run) if actor == "agent"]


def test_each_person_has_a_conversation_of_their_own(bench: Workbench) -> None:
    bench.write("a.yml", desk())
    task_run = bench.run_one(Clerk, person=model(bench))
    assert messages_in(bench, task_run, "chat") == [
        ("chat", "person", "I need my inhaler."),
        ("chat", "agent", "Noted. (chat 1)"),
        ("chat", "person", "It is for Noah."),
        ("chat", "agent", "Noted. (chat 2)"),
        ("chat", "person", "Thanks, bye."),
        ("chat", "agent", "Noted. (chat 3)"),
    ]
    assert messages_in(bench, task_run, "phone") == [
        ("phone", "person", "I call about Noah Berg."),
        ("phone", "agent", "Do we have the approval? (phone 1)"),
        ("phone", "person", "It is granted, goodbye."),
        ("phone", "agent", "Do we have the approval? (phone 2)"),
    ]
    assert (task_run.status, task_run.ending, task_run.verdict) == ("completed", "person_done", "pass")


def test_the_same_seed_makes_the_same_bytes_and_decides_the_order(bench: Workbench) -> None:
    bench.write("a.yml", desk())
    orders = set()
    for seed in range(6):
        first, second = (bench.run_one(Clerk, person=model(bench), seed=seed) for _ in range(2))
        assert list(bench.store.log(first)) == list(bench.store.log(second))
        orders.add(tuple(reply_order(bench, first)))
    one, other = ["chat", "phone"], ["phone", "chat"]
    assert orders == {(*one, *one, "chat"), (*other, *other, "chat")}


def test_person_who_leaves_early_does_not_end_the_other_conversation(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="opening: Wrong number, end: {when: approval, say: Sorry.}"))
    task_run = bench.run_one(Clerk)
    assert [text for _, _, text in messages_in(bench, task_run, "phone")][-1] == "Sorry."
    assert len(messages_in(bench, task_run, "chat")) == 6
    assert task_run.ending == "person_done"


def test_ending_other_than_goodbye_is_the_ending_of_the_trial(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="opening: Hello"))  # no rule and no fallback: they hang up
    assert bench.run_one(Clerk).ending == "nothing_left"


def test_unanswered_person_leaves_and_the_other_continues(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="opening: Hello"))

    def chats_only(message: Message) -> str | None:
        return "Noted, the approval is here." if message.sandbox == "chat" else None

    task_run = bench.run_one(chats_only)
    ended = [event for event in bench.events(task_run) if event["kind"] == "chat.session.ended"]
    assert [(event["source"], event["payload"]["reason"]) for event in ended] == [
        ("phone", "agent_silent"),
        ("chat", "person_done"),
    ]
    assert (task_run.ending, len(messages_in(bench, task_run, "chat"))) == ("agent_silent", 6)


def test_the_trial_ends_as_silent_if_one_person_never_gets_a_reply(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="lines: [Hello, Is anybody there?, Goodbye]"))  # they go on without a reply

    class ChatsOnly:
        def on_turn(self, message: Message) -> str | None:
            return "Noted, the approval is here." if message.sandbox == "chat" else None

    first = bench.run_one(ChatsOnly)
    assert (first.ending, len(messages_in(bench, first, "phone"))) == ("agent_silent", 3)
    for turn in (2, 6):
        assert fork(bench, ChatsOnly, run=first.run, task="Refill", turn=turn).ending == "agent_silent"


def test_person_who_waits_for_the_agent_is_served_after_their_first_message(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="script: [{when: Noah, say: Granted.}], end: {when: Thank you}"))

    def calls(message: Message, sandboxes: Any) -> str:
        if message.sandbox == "chat" and message.turn == 1:
            assert [each["text"] for each in sandboxes["phone"].say("May Noah have it?")] == ["Granted."]
        return "Thank you for the approval." if message.sandbox == "phone" else "Noted."

    task_run = bench.run_one(calls)
    assert [text for _, _, text in messages_in(bench, task_run, "phone")] == [
        "May Noah have it?",
        "Granted.",
        "Thank you for the approval.",
    ]
    assert task_run.verdict == "pass"


def test_the_turn_limit_counts_the_turns_of_all_people(bench: Workbench) -> None:
    patient, payer = "opening: a, fallback: b", "opening: c, fallback: d"
    bench.write("a.yml", desk(patient, payer).replace("max_turns: 12", "max_turns: 5"))
    task_run = bench.run_one(Clerk)
    assert (task_run.ending, len(reply_order(bench, task_run))) == ("turn_limit", 5)


def test_agent_gets_the_start_of_each_conversation(bench: Workbench) -> None:
    bench.write("a.yml", desk())

    class Greets(Clerk):
        def on_start(self, start: Start) -> str:
            return f"Welcome to the {start.sandbox}."

    greeted = {"contains": "Welcome to the phone", "answer": {"message": "I call about Noah Berg."}}
    task_run = bench.run_one(Greets, person=model(bench, greeted, SPOKEN[1]))
    assert [messages_in(bench, task_run, name)[0] for name in ("chat", "phone")] == [
        ("chat", "agent", "Welcome to the chat."),
        ("phone", "agent", "Welcome to the phone."),
    ]


def test_fault_on_one_conversation_does_not_affect_the_other(bench: Workbench) -> None:
    payer = "lines: [Hello, Goodbye]"
    bench.write("a.yml", desk(payer=payer, steps="[fault.drop: {sandbox: phone, operation: on_turn, times: 1}]"))
    task_run = bench.run_one(Clerk)
    lines = [(source, text) for source, actor, text in messages_in(bench, task_run) if actor == "person"]
    assert [text for source, text in lines if source == "phone"] == ["Hello", "Hello", "Goodbye"]
    assert len([text for source, text in lines if source == "chat"]) == 3


def test_one_person_out_of_role_makes_the_trial_invalid(bench: Workbench) -> None:
    bench.write("a.yml", desk())
    task_run = bench.run_one(Clerk, person=model(bench, {"answer": {"message": "As an AI, I cannot call."}}))
    assert (task_run.status, task_run.verdict) == ("invalid_person", None)
    assert "the person on phone did not keep to their role" in task_run.error


def test_a_do_nothing_agent_does_not_pass(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="lines: [Hello]").replace("text_matches: approval", "text_matches: ''"))
    task_run = bench.run_one("nop")
    assert task_run.verdict == "fail"
    assert task_run.ending == "agent_silent"


@pytest.mark.parametrize(
    ("patient", "payer", "steps"),
    [
        (PATIENT, "lines: [Hello, Goodbye]", "[]"),
        ("lines: [a, {interrupt: b}, c]", "lines: [d, e, {interrupt: f}, g]", "[]"),
        (PATIENT, "opening: Hello, end: {when: approval}", "[]"),
        (PATIENT, "opening: Hello", "[fault.drop: {operation: on_turn, times: 2, skip: 1}]"),
        (PATIENT, "lines: [d, e]", "[{at: +3s, chat.say: {sandbox: phone, text: by the way}}]"),
    ],
)
def test_fork_at_every_turn_continues_like_the_original(bench: Workbench, patient: str, payer: str, steps: str) -> None:
    bench.write("a.yml", desk(patient, payer, steps))
    first = bench.run_one(Clerk, seed=3)
    handed = show_task(bench.store, first.run, "Refill").sidecar["handed"]
    assert len(handed) > 3
    for turn in range(1, len(handed) + 1):
        forked = fork(bench, Clerk, run=first.run, task="Refill", turn=turn)
        assert not forked.error
        events = [event for event in bench.events(forked) if event["kind"] != "run.forked"]
        received = [(event["at"], event["source"], event["kind"], event["payload"]) for event in events]
        assert received == [(e["at"], e["source"], e["kind"], e["payload"]) for e in bench.events(first)], turn
        assert forked.ending == first.ending


class Calls:
    """Calls the payer while it answers the patient."""

    def on_history(self, history: History) -> None:
        """It keeps nothing between turns."""

    def on_turn(self, message: Message, sandboxes: Any) -> str:
        if message.sandbox == "chat" and message.turn < 3:
            sandboxes["phone"].say("May Noah have it?")
        return "Noted."


def test_fork_restores_a_person_who_waits_for_the_agent(bench: Workbench) -> None:
    rules = "script: [{when: Noah, say: [Who is that?, Granted.], times: 2}], fallback: Hm., end: {after: 4}"
    bench.write("a.yml", desk(payer=rules))
    first = bench.run_one(Calls)
    handed = show_task(bench.store, first.run, "Refill").sidecar["handed"]
    for turn in range(1, len(handed) + 1):
        forked = fork(bench, Calls, run=first.run, task="Refill", turn=turn)
        assert messages_in(bench, forked) == messages_in(bench, first), turn
    assert [text for _, actor, text in messages_in(bench, first, "phone") if actor == "person"][:2] == [
        "Who is that?",
        "Hm.",
    ]


def test_fork_informs_the_agent_about_each_conversation(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="lines: [Hello, Goodbye]"))
    first = bench.run_one(Clerk)
    received: dict[str, list[tuple[str | None, list[str]]]] = {}

    class Told(Clerk):
        def on_history(self, history: History) -> None:
            says = [(turn.text, [part.text for part in turn.answer if isinstance(part, Say)]) for turn in history.turns]
            received[history.sandbox] = says

    fork(bench, Told, run=first.run, task="Refill", turn=4)
    assert received.keys() == {"chat", "phone"}
    assert received["phone"][0] == ("Hello", ["Do we have the approval? (phone 1)"])
    assert received["chat"][0] == ("I need my inhaler.", ["Noted. (chat 1)"])
    assert sum(map(len, received.values())) == 3


def test_warm_up_repeats_the_messages_in_their_original_order(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="lines: [Hello, Goodbye]"))
    first = bench.run_one(Clerk)
    messages: list[tuple[str, int]] = []

    class Forgets:
        def on_turn(self, message: Message) -> str:
            messages.append((message.sandbox, message.turn))
            return "Yes."

    fork(bench, Forgets, run=first.run, task="Refill", turn=4)
    order = [sandbox for sandbox, _ in messages]
    assert order == reply_order(bench, first)


class OneConversation:
    """A solver whose agents count the messages they get."""

    name = "counts"
    single_conversation = True

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        class Counts:
            def __init__(self) -> None:
                self.count = 0

            def on_turn(self, message: Message) -> str:
                self.count += 1
                return f"approval {self.count}"

        return PythonSolver("counts", Counts).open(solution, trial)


def test_agents_for_one_conversation_are_opened_once_per_conversation(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="lines: [Hello, Goodbye]"))
    task_run = bench.run_one(OneConversation())
    received = [
        [text for _, actor, text in messages_in(bench, task_run, name) if actor == "agent"]
        for name in ("chat", "phone")
    ]
    assert received == [["approval 1", "approval 2", "approval 3"], ["approval 1", "approval 2"]]


def test_replay_of_several_people_gives_the_same_bytes(bench: Workbench) -> None:
    alike = "simulation_context: You call about Noah."
    bench.write("a.yml", desk(patient=alike, payer=alike).replace("name: payer", "name: patient"))
    lines = ["I call about a boy.", "My son needs his inhaler.", "Thank you, goodbye.", "All right, bye."]
    answers = [played(json.dumps({"message": line, "done": "bye" in line})) for line in lines]
    with Served(in_turn(answers)) as served:
        person = f"openai:some-model@{served.url}/v1"
        recorded = bench.run_one(Clerk, person=person, tape="record", tapes_agent=True)
    replayed = bench.run_one("recorded", tape="replay")
    assert list(bench.store.log(replayed)) == list(bench.store.log(recorded))
    assert sorted(text for _, actor, text in messages_in(bench, recorded) if actor == "person") == sorted(lines)


def test_each_person_is_checked_in_their_own_conversation(bench: Workbench) -> None:
    alike = "simulation_context: You call about Noah., check: model"
    bench.write("a.yml", desk(patient=alike, payer=alike))
    person = model(
        bench,
        {"contains": "starts", "answer": {"message": "About Noah."}},
        SPOKEN[1],
        {"answer": {"message": "Bye.", "done": True}},
    )
    path = bench.folder.parent / "judge.json"
    quote = {"turn": 1, "quote": "Bye."}
    path.write_text(
        json.dumps(
            [
                {"contains": "on chat", "answer": {"reasoning": "two conversations", "lines": [quote], "kept": False}},
                {"about": "person_check", "contains": "granted", "answer": {"reasoning": "fine", "kept": True}},
                {"about": "person_check", "answer": {"reasoning": "short", "lines": [], "kept": True}},
            ]
        )
    )
    task_run = bench.run_one(Clerk, person=person, judge=f"scripted:{path}")
    checked = [event for event in bench.events(task_run) if event["kind"] == "person.checked"]
    assert {(event["source"], event["payload"]["reason"]) for event in checked} == {
        ("chat", "short"),
        ("phone", "fine"),
    }


def test_turns_of_assertions_belong_to_the_conversation_of_the_reply(bench: Workbench) -> None:
    bench.write("a.yml", desk(payer="lines: [Hello, Goodbye]"))
    task_run = bench.run_one(Clerk, seed=3)
    view = show_task(bench.store, task_run.run, "Refill")
    assert view.utterances[:2] == [("person on chat", "I need my inhaler."), ("person on phone", "Hello")]
