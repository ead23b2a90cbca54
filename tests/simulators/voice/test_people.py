"""Simulated people on the phone: they call agents that take turns, and answer agents that dial."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from clerkship.actors.contract import History, Message, Start
from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import render_transcript
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.task import Task
from clerkship.playground.playground import replay
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.voice.events import FarEndSpoke, SpeechCut
from clerkship.simulators.voice.handle import Voice
from tests.service.forks import fork
from tests.simulators.voice.office_phone import OfficePhone
from tests.workbench import Workbench

ANA, BEN = "+15550100001", "+15550100002"
OFFICE = """
    environment:
      name: office
      simulators:
        phone:
          kind: voice
          config:
            lines: LINES
            mailboxes:
              - {name: main, number: '+15550100100', greeting: Please leave a message.}
              - {name: ana, is_own: false, greeting: This is Ana. Leave a message.}
    task:
      name: Talk by phone
      scenario:
        starts: STARTS
        people: PEOPLE
      criteria:
        - {label: acted, assertion: {agent_acted: {}}}
"""
CALLS = (
    f"{{name: Ana, channel: phone, address: '{ANA}', lines: [Can I move my visit?, To Friday please., Thanks. Bye.]}}"
)
ANSWERS = (
    f"{{name: Ana, channel: phone, address: '{ANA}', opening: This is Ana., "
    "script: [{when: Friday, say: Friday is fine.}], fallback: Pardon?, end: {when: goodbye, say: Bye.}}"
)


def office(*people: str, starts: str = "person", lines: str = "[]") -> str:
    written = f"[{', '.join(people)}]"
    return OFFICE.replace("PEOPLE", written).replace("STARTS", starts).replace("LINES", lines)


class Clerk:
    """Names the conversation and the turn in each reply."""

    def on_history(self, history: History) -> None:
        """It keeps nothing between turns."""

    def on_turn(self, message: Message) -> str:
        return f"This is turn {message.turn} of {message.conversation}"


class Dialler:
    """Calls Ana, asks about Friday, and says goodbye."""

    def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
        phone = sandboxes.get_as(Voice)
        call = phone.dial(ANA)
        heard = [phone.listen(call)]
        for words in ("Can you come on Friday?", "Good, goodbye."):
            phone.say(call, words)
            heard.append(phone.listen(call))
        return heard


def payloads(bench: Workbench, task_run: TaskRun, kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in bench.events(task_run) if event["kind"] == f"voice.{kind}"]


def kinds(bench: Workbench, task_run: TaskRun) -> list[str]:
    events = [event["kind"] for event in bench.events(task_run)]
    return [kind.removeprefix("voice.") for kind in events if kind.startswith("voice.")]


def spoken(bench: Workbench, task_run: TaskRun) -> list[str]:
    """Return the words of both sides in order."""
    return [event["payload"]["text"] for event in bench.events(task_run) if event["kind"].endswith(".spoke")]


def speech_spans(bench: Workbench, task_run: TaskRun) -> list[tuple[datetime, datetime]]:
    """Return start and end of all that was said, in order."""
    spans = list[tuple[datetime, datetime]]()
    for event in bench.events(task_run):
        if event["kind"].endswith(".spoke"):
            start = datetime.fromisoformat(event["at"]) + timedelta(seconds=event["payload"]["starts_in"])
            spans.append((start, start + timedelta(seconds=event["payload"]["seconds"])))
    return spans


def answer_of(bench: Workbench, task_run: TaskRun) -> Any:
    assert task_run.error == ""
    return next(event["payload"]["answer"] for event in bench.events(task_run) if event["kind"] == "agent.answered")


def test_a_person_calls_an_agent_that_takes_turns(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS))
    task_run = bench.run_one(Clerk)
    assert (task_run.error, task_run.ending) == ("", "person_done")
    where = f"phone/phone:{ANA}"
    assert spoken(bench, task_run) == [
        "Can I move my visit?",
        f"This is turn 1 of {where}",
        "To Friday please.",
        f"This is turn 2 of {where}",
        "Thanks. Bye.",
        f"This is turn 3 of {where}",
    ]
    assert kinds(bench, task_run)[:4] == ["conversation.started", "call.started", "call.answered", "far_end.spoke"]
    assert kinds(bench, task_run)[-2:] == ["conversation.ended", "call.ended"]
    ended = payloads(bench, task_run, "call.ended")[0]
    assert (ended["by"], ended["outcome"]) == ("person", "completed")


def test_an_agent_dials_a_person_who_answers_each_thing(bench: Workbench) -> None:
    bench.write("a.yml", office(ANSWERS, starts="agent"))
    task_run = bench.run_one(Dialler)
    assert answer_of(bench, task_run) == ["This is Ana.", "Friday is fine.", "Bye."]
    assert payloads(bench, task_run, "call.ended")[0]["by"] == "person"


def test_two_sides_that_take_turns_do_not_speak_at_once(bench: Workbench) -> None:
    interrupting = CALLS.replace("To Friday please.", "{interrupt: Or can I?}, To Friday please.")
    bench.write("a.yml", office(interrupting))
    task_run = bench.run_one(Clerk)
    assert task_run.ending == "person_done"
    spans = speech_spans(bench, task_run)
    assert len(spans) == 8
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_a_person_answers_after_the_agent_has_finished(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS))
    (_, _), (_, agent_end), (answer, _), *_ = speech_spans(bench, bench.run_one(Clerk))
    assert answer - agent_end == timedelta(seconds=0.5)


def test_answers_after_delays_the_answer_of_a_person(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS.replace("lines", "answers_after: 4s, lines")))
    (_, _), (_, agent_end), (answer, _), *_ = speech_spans(bench, bench.run_one(Clerk))
    assert answer - agent_end == timedelta(seconds=4.5)


def test_same_seed_gives_the_same_log(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS, CALLS.replace("Ana", "Ben").replace(ANA, BEN)))
    first = bench.run_one(Clerk)
    assert bench.run_one(Clerk).head == first.head


def test_several_people_are_in_calls_at_once(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS, CALLS.replace("Ana", "Ben").replace(ANA, BEN)))
    task_run = bench.run_one(Clerk)
    assert task_run.ending == "person_done"
    replies = sorted(text for text in spoken(bench, task_run) if text.startswith("This is"))
    assert replies == [f"This is turn {turn} of phone/phone:{number}" for turn in (1, 2, 3) for number in (ANA, BEN)]
    assert len(payloads(bench, task_run, "call.ended")) == 2


@pytest.mark.parametrize("turn", [1, 2, 3, 4, 5, 6])
def test_a_fork_continues_the_calls(bench: Workbench, turn: int) -> None:
    bench.write("a.yml", office(CALLS, CALLS.replace("Ana", "Ben").replace(ANA, BEN)))
    task_run = bench.run_one(Clerk)
    forked = fork(bench, Clerk, task="Talk", turn=turn)
    assert spoken(bench, forked) == spoken(bench, task_run)
    assert (forked.ending, kinds(bench, forked)) == (task_run.ending, kinds(bench, task_run))


def test_an_agent_greets_when_it_takes_the_call(bench: Workbench) -> None:
    class Greeter(Clerk):
        def on_start(self, start: Start) -> str:
            return "Lakeside Clinic."

    bench.write("a.yml", office(CALLS))
    task_run = bench.run_one(Greeter)
    assert (task_run.error, spoken(bench, task_run)[:2]) == ("", ["Lakeside Clinic.", "Can I move my visit?"])
    spans = speech_spans(bench, task_run)
    assert spans[0][1] <= spans[1][0]


def test_a_played_person_calls(bench: Workbench) -> None:
    played = f"{{name: Ana, channel: phone, address: '{ANA}', simulation_context: You want to move your visit.}}"
    path = bench.folder.parent / "person.json"
    answers = [
        {"about": "person", "contains": "The conversation starts", "answer": {"message": "Move my visit."}},
        {"about": "person", "contains": "turn 1", "answer": {"message": "Thanks, bye.", "done": True}},
    ]
    path.write_text(json.dumps(answers))
    bench.write("a.yml", office(played))
    task_run = bench.run_one(Clerk, person=f"scripted:{path}")
    assert (task_run.error, task_run.ending) == ("", "person_done")
    assert spoken(bench, task_run)[::2] == ["Move my visit.", "Thanks, bye."]


def test_a_representative_is_played_at_the_number_of_a_transfer(bench: Workbench) -> None:
    tree = (
        f"{{name: payer, start: pass_on, nodes: {{pass_on: {{type: transfer, prompt: One moment., number: '{ANA}'}}}}}}"
    )
    line = f"[{{number: '+15550100300', name: Payer, tree: {tree}}}]"
    played = f"{{name: Rita, channel: phone, address: '{ANA}', simulation_context: You answer at a payer.}}"
    path = bench.folder.parent / "person.json"
    answer = {"message": "It is approved, reference 4711.", "done": True}
    path.write_text(json.dumps([{"about": "person", "contains": "authorization", "answer": answer}]))

    class Asker:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            call = phone.dial("+15550100300")
            heard = [phone.listen(call)]
            phone.say(call, "What is the status of my authorization?")
            heard.append(phone.listen(call))
            phone.say(call, "Thank you.")
            heard.append(phone.hear(call)["status"])
            return heard

    bench.write("a.yml", office(played.replace("You answer", "You know 4711. You answer"), starts="agent", lines=line))
    task_run = bench.run_one(Asker, person=f"scripted:{path}")
    assert answer_of(bench, task_run) == ["One moment. Hello?", "It is approved, reference 4711.", "ended"]
    assert payloads(bench, task_run, "call.transferred")[0]["far_end"] == ANA
    assert payloads(bench, task_run, "call.ended")[0]["by"] == "person"


def test_a_number_is_busy_or_goes_to_voicemail_before_its_person_answers(bench: Workbench) -> None:
    line = f"[{{number: '{ANA}', name: Ana, mailbox: ana, outcomes: [busy, no_answer, answer]}}]"
    bench.write("a.yml", office(ANSWERS, starts="agent", lines=line))

    class Caller:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            first = phone.hear(phone.dial(ANA))
            second = phone.dial(ANA)
            greeting = phone.listen(second)
            phone.say(second, "Please call the clinic on Friday.")
            phone.hang_up(second)
            phone.wait(third := phone.dial(ANA), 20)
            phone.hang_up(third)
            return [first["status"], greeting]

    task_run = bench.run_one(Caller)
    assert answer_of(bench, task_run) == ["ended", "This is Ana. Leave a message."]
    assert [ended["outcome"] for ended in payloads(bench, task_run, "call.ended")] == ["busy", "completed", "completed"]
    left = payloads(bench, task_run, "voicemail.left")
    assert [(each["mailbox"], each["text"]) for each in left] == [("ana", "Please call the clinic on Friday.")]
    assert "Friday is fine." not in spoken(bench, task_run), "the person does not hear what is said to the mailbox"
    assert "This is Ana." in spoken(bench, task_run)


def test_a_person_who_has_left_does_not_answer_again(bench: Workbench) -> None:
    bench.write("a.yml", office(ANSWERS, starts="agent"))

    class Again(Dialler):
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            heard = super().on_task(task_item, sandboxes)
            phone = sandboxes.get_as(Voice)
            return [*heard, phone.hear(phone.dial(ANA), 120)["status"]]

    task_run = bench.run_one(Again)
    assert answer_of(bench, task_run)[-1] == "ended"
    assert payloads(bench, task_run, "call.ended")[-1]["outcome"] == "no_answer"


def test_a_person_in_a_call_is_busy_for_another_call(bench: Workbench) -> None:
    bench.write("a.yml", office(ANSWERS, starts="agent"))

    class Twice:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            phone.listen(phone.dial(ANA))
            heard = phone.hear(phone.dial(ANA))
            return [part.get("sound", "") for part in heard["heard"]]

    assert answer_of(bench, bench.run_one(Twice)) == ["busy tone"]


def test_a_person_hears_words_together_that_follow_at_once(bench: Workbench) -> None:
    bench.write("a.yml", office(ANSWERS, starts="agent"))

    class Talker:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            call = phone.dial(ANA)
            phone.listen(call)
            phone.say(call, "I call about your visit.")
            phone.say(call, "Can you come on Friday?")
            return [phone.listen(call)]

    assert answer_of(bench, bench.run_one(Talker)) == ["Friday is fine."]


def test_a_person_stops_when_the_agent_interrupts(bench: Workbench) -> None:
    long = ANSWERS.replace("This is Ana.", "This is Ana Rivera and I cannot hear you very well today")
    bench.write("a.yml", office(long, starts="agent"))

    class Interrupter:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            call = phone.dial(ANA)
            phone.hear(call, 7)
            phone.say(call, "Can you come on Friday?")
            return [phone.listen(call)]

    task_run = bench.run_one(Interrupter)
    assert answer_of(bench, task_run)[0].endswith(" Friday is fine.")
    [cut] = payloads(bench, task_run, "speech.cut")
    assert cut["heard"].startswith("This is Ana Rivera")
    assert not cut["heard"].endswith("today")


def test_a_person_does_not_call_back_because_the_agent_hung_up(bench: Workbench) -> None:
    bench.write("a.yml", office(ANSWERS, starts="agent"))

    class Hasty:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            call = phone.dial(ANA)
            phone.listen(call)
            phone.say(call, "Friday at nine.")
            phone.hang_up(call)
            sandboxes.wait("5m")
            return [call["id"] for call in phone.calls()]

    assert answer_of(bench, bench.run_one(Hasty)) == ["call-1"]


def test_a_person_calls_a_task_agent_because_of_an_event(bench: Workbench) -> None:
    watcher = (
        f"{{name: Ana, channel: phone, address: '{ANA}', script: ["
        "{when: {event: voice.voicemail.changed}, say: You listened to my message.}, {when: sorry, say: Never mind.}]}"
    )
    steps = "steps: [{voice.voicemail: {mailbox: main, from: '+15550100009', text: Call me.}}]"
    bench.write("a.yml", office(watcher, starts="agent").replace("starts: agent", f"starts: agent\n        {steps}"))

    class Receptionist:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            phone.read_voicemail(phone.voicemails()[0]["id"])
            [call] = phone.calls(status="ringing")
            phone.answer(call)
            phone.say(call, "Lakeside Clinic, hello.")
            heard = [phone.listen(call)]
            phone.say(call, "I am sorry.")
            return [*heard, phone.listen(call)]

    task_run = bench.run_one(Receptionist)
    assert answer_of(bench, task_run) == ["You listened to my message.", "Never mind."]


def test_a_person_who_calls_after_a_silence_lets_time_pass_for_others(bench: Workbench) -> None:
    watcher = (
        f"{{name: Ana, channel: phone, address: '{ANA}', script: ["
        "{when: {event: voice.voicemail.changed}, go_silent: 10m, say: You listened to my message.}]}"
    )
    steps = "steps: [{voice.voicemail: {mailbox: main, from: '+15550100009', text: Call me.}}]"
    bench.write("a.yml", office(watcher, starts="agent").replace("starts: agent", f"starts: agent\n        {steps}"))

    class Receptionist:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[Any]:
            phone, before = sandboxes.get_as(Voice), sandboxes.now
            phone.read_voicemail(phone.voicemails()[0]["id"])
            passed = sandboxes.now - before
            sandboxes.wait("9m")
            early = phone.calls(status="ringing")
            sandboxes.wait("70s")
            [call] = phone.calls(status="ringing")
            phone.answer(call)
            phone.say(call, "Lakeside Clinic, hello.")
            return [passed < timedelta(minutes=1), early, phone.listen(call)]

    task_run = bench.run_one(Receptionist)
    assert answer_of(bench, task_run) == [True, [], "You listened to my message."]
    assert bench.run_one(Receptionist).head == task_run.head


def test_a_transcript_shows_what_was_heard_of_interrupted_words() -> None:
    cut = SpeechCut(call="call-1", number=1, after_seconds=1.0, heard="This is")
    spoke = FarEndSpoke(
        call="call-1", number=1, far_end=ANA, speaker="person", text="This is Ana.", turn=1, seconds=1.5
    )
    at = datetime(2026, 1, 5, tzinfo=UTC)
    events = [Event(n, at, "phone", payload.kind, "person", None, payload) for n, payload in enumerate((spoke, cut))]
    evidence = Evidence(Task(name="a call"), events, {}, "agent_done")
    assert render_transcript(evidence) == '[T1.1] user: "This is" (interrupted)'


def call_step(step: str) -> str:
    """Return a task in which Ana, who answers the agent, calls it at the start."""
    written = office(ANSWERS, starts="agent")
    return written.replace("starts: agent", f"starts: agent\n        steps: [{{voice.call: {step}}}]")


def test_a_person_calls_a_task_agent_by_a_step(bench: Workbench) -> None:
    bench.write("a.yml", call_step("{person: Ana}"))

    class Receptionist:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            [call] = phone.calls(status="ringing")
            phone.answer(call)
            phone.say(call, "Lakeside Clinic, is Friday all right?")
            heard = [phone.listen(call)]
            phone.say(call, "Is Friday all right?")
            heard.append(phone.listen(call))
            phone.say(call, "Then goodbye.")
            return [*heard, phone.listen(call), phone.show_call(call)["status"]]

    task_run = bench.run_one(Receptionist)
    assert answer_of(bench, task_run) == ["This is Ana.", "Friday is fine.", "Bye.", "ended"]
    assert bench.run_one(Receptionist).head == task_run.head


def test_a_person_whose_call_is_not_answered_leaves_a_message(bench: Workbench) -> None:
    bench.write("a.yml", call_step("{person: Ana, voicemail: Please call me.}"))

    class Absent:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            sandboxes.wait("2m")
            phone = sandboxes.get_as(Voice)
            [left] = phone.voicemails(unread="true")
            return [phone.read_voicemail(left["id"])["text"], phone.listen(phone.dial(ANA))]

    assert answer_of(bench, bench.run_one(Absent)) == ["Please call me.", "This is Ana."]


def test_a_played_person_who_calls_lets_the_agent_speak_first(bench: Workbench) -> None:
    played = f"{{name: Ana, channel: phone, address: '{ANA}', simulation_context: You call about a bill.}}"
    written = call_step("{person: Ana}").replace(f"[{ANSWERS}]", f"[{played}]")
    path = bench.folder.parent / "person.json"
    answer = {"about": "person", "contains": "Lakeside", "answer": {"message": "I call about my bill."}}
    path.write_text(json.dumps([answer]))
    bench.write("a.yml", written)

    class Receptionist:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            [call] = phone.calls(status="ringing")
            phone.answer(call)
            if not task_item.get("silent"):
                phone.say(call, "Lakeside Clinic.")
            return [phone.listen(call)]

    assert answer_of(bench, bench.run_one(Receptionist, person=f"scripted:{path}")) == ["I call about my bill."]
    bench.write("a.yml", written.replace("name: Talk by phone", "name: Talk by phone\n      task_item: {silent: true}"))
    assert answer_of(bench, bench.run_one(Receptionist, person=f"scripted:{path}")) == ["Hello? Are you there?"]


@pytest.mark.parametrize(("reply", "code"), [("...", "bad_text"), ("a" * 6000, "too_long"), ("a\x07b", "bad_text")])
def test_a_reply_that_cannot_be_said_is_logged_and_not_heard(bench: Workbench, reply: str, code: str) -> None:
    bench.write("a.yml", office(CALLS))

    class Mumbler:
        def on_turn(self, message: Message) -> str:
            return reply if message.turn == 1 else "Yes."

    task_run = bench.run_one(Mumbler)
    assert task_run.error == ""
    assert [refused["code"] for refused in payloads(bench, task_run, "speech.refused")] == [code]


def test_an_agent_that_takes_turns_may_hang_up(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS))

    class Rude:
        def on_turn(self, message: Message, sandboxes: Sandboxes) -> str:
            phone = sandboxes.get_as(Voice)
            phone.hang_up(phone.calls(status="connected")[-1])
            return "You cannot hear this."

    task_run = bench.run_one(Rude)
    assert task_run.error == ""
    assert "You cannot hear this." not in spoken(bench, task_run)
    assert payloads(bench, task_run, "call.ended")[0]["by"] == "agent"


def test_criteria_order_the_words_and_the_calls(bench: Workbench) -> None:
    sequence = (
        "- {label: in order, assertion: {sequencing: {steps: [{event: voice.call.answered}, "
        "{event: voice.far_end.spoke, where: {text: {contains: Friday}}}, {event: voice.call.ended, "
        "where: {by: person}}]}}}"
    )
    criteria = "- {label: acted, assertion: {agent_acted: {}}}"
    bench.write("a.yml", office(CALLS).replace(criteria, sequence))
    task_run = bench.run_one(Clerk)
    assert (task_run.error, task_run.verdict) == ("", "pass")


def test_a_person_on_the_phone_needs_a_telephone(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS).replace("phone:\n          kind: voice", "phone:\n          kind: messages"))
    with pytest.raises(InputError) as raised:
        bench.run_one(Clerk)
    assert "has no sandbox of kind voice; add `voice: {kind: voice}` under `simulators`" in str(raised.value)


def test_a_person_who_calls_for_the_last_time_says_it_and_hangs_up(bench: Workbench) -> None:
    watcher = (
        f"{{name: Ana, channel: phone, address: '{ANA}', "
        "end: {when: {event: voice.voicemail.changed}, say: I need nothing more.}}"
    )
    steps = "steps: [{voice.voicemail: {mailbox: main, from: '+15550100009', text: Call me.}}]"
    bench.write("a.yml", office(watcher, starts="agent").replace("starts: agent", f"starts: agent\n        {steps}"))

    class Receptionist:
        def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
            phone = sandboxes.get_as(Voice)
            phone.read_voicemail(phone.voicemails()[0]["id"])
            [call] = phone.calls(status="ringing")
            phone.answer(call)
            heard = [phone.listen(call)]
            phone.say(call, "Goodbye.")
            return [*heard, phone.hear(call)["status"]]

    assert answer_of(bench, bench.run_one(Receptionist)) == ["I need nothing more.", "ended"]


def test_people_and_their_calls_follow_from_the_log() -> None:
    person = ScenarioPerson.model_validate(
        {
            "channel": "phone",
            "address": ANA,
            "opening": "This is Ana.",
            "script": [{"when": "Friday", "say": "Friday is fine."}],
            "end": {"when": "goodbye", "say": "Bye."},
        }
    )
    with OfficePhone() as phone:
        playground = phone.rig.playground
        playground.people.add_person(ScriptedPerson(person), f"{phone.rig.name}/phone:{ANA}")
        playground.people.listening = True
        prepared = {name: sandbox.prepared for name, sandbox in playground.sandboxes.items()}
        call = phone.dial(ANA)
        for words in ("", "Is Friday all right?", "Then goodbye."):
            if words:
                phone.act(call, "say", text=words)
            for seconds in (0.4, 2, 20):
                phone.wait(seconds)
                copy = replay(prepared, playground.log.events)[phone.rig.name]
                assert (copy.dump(), copy.next_due()) == (phone.state.dump(), phone.state.next_due())
        assert [turn.text for turn in phone.find(call).turns if turn.speaker == "person"] == [
            "This is Ana.",
            "Friday is fine.",
            "Bye.",
        ]
        assert phone.find(call).ended_by == "person"


def test_a_person_calls_an_agent_on_a_clock_that_follows_the_wall_clock(bench: Workbench) -> None:
    bench.write("a.yml", office(CALLS).replace("name: office", "name: office\n      time: paced"))
    task_run = bench.run_one(Clerk)
    assert (task_run.error, task_run.ending, len(spoken(bench, task_run))) == ("", "person_done", 6)
    assert kinds(bench, task_run)[-1] == "call.ended"


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_person_who_calls_the_agent_finds_no_second_call_from_it(is_answered: bool) -> None:
    """Both ring each other at the same time: the call of the agent finds the person busy."""
    person = ScenarioPerson.model_validate({"name": "Ana", "channel": "phone", "address": ANA, "lines": ["Hello?"]})
    with OfficePhone() as phone:
        playground = phone.rig.playground
        playground.people.add_person(ScriptedPerson(person), f"{phone.rig.name}/phone:{ANA}")
        outbound = phone.dial(ANA)
        action = playground.context_for(phone.rig.name, "person")
        phone.state.conversation("phone", ANA).say(action, "Can I move my visit?")
        [inbound] = phone.get("/")["ringing"]
        if is_answered:
            phone.act(inbound, "answer")
        later = phone.dial(ANA)
        phone.wait(15)
        assert [phone.find(call).outcome for call in (outbound, later)] == ["busy", "busy"]
        assert phone.find(inbound).status == ("connected" if is_answered else "ringing")
