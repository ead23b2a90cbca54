"""A person who calls and is interrupted says again why they call."""

from collections.abc import Mapping
from typing import Any

import pytest

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.voice.handle import Voice
from tests.simulators.voice.test_people import ANA, answer_of, office, payloads
from tests.workbench import Workbench

OPENING = "You listened to my message about the results of the blood test last week, so please tell me what they are."
WATCHER = (
    f"{{name: Ana, channel: phone, address: '{ANA}', script: ["
    f"{{when: {{event: voice.voicemail.changed}}, say: '{OPENING}'}}, {{when: sorry, say: Never mind.}}], "
    "fallback: Pardon?}"
)
STEPS = "steps: [{voice.voicemail: {mailbox: main, from: '+15550100009', text: Call me.}}]"


class Interrupter:
    """Takes the call, and speaks after the caller has spoken for some seconds, a number of times."""

    after, times = 0.1, 1

    def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
        phone = sandboxes.get_as(Voice)
        phone.read_voicemail(phone.voicemails()[0]["id"])
        [call] = phone.calls(status="ringing")
        phone.answer(call)
        phone.say(call, "Lakeside Clinic.")
        phone.hear(call, 1.0)
        for _ in range(self.times):
            phone.wait(call, self.after)
            phone.say(call, "One moment.")
            phone.wait(call, 1.5)
        heard = phone.listen(call)
        phone.say(call, "I am sorry.")
        return [heard, phone.listen(call)]


class LateInterrupter(Interrupter):
    after = 2.5


class PersistentInterrupter(Interrupter):
    times = 2


def run(bench: Workbench, agent: type) -> tuple[list[str], list[dict[str, Any]]]:
    """Return what the caller said, and the cuts."""
    written = office(WATCHER, starts="agent").replace("starts: agent", f"starts: agent\n        {STEPS}")
    bench.write("a.yml", written)
    task_run = bench.run_one(agent)
    assert answer_of(bench, task_run)[-1].endswith("Never mind.")
    spoken = payloads(bench, task_run, "far_end.spoke")
    return [each["text"] for each in spoken], payloads(bench, task_run, "speech.cut")


def test_a_caller_who_is_interrupted_early_says_it_again(bench: Workbench) -> None:
    spoken, [cut] = run(bench, Interrupter)
    assert 0 < len(cut["heard"]) < len(OPENING) / 2
    assert spoken == [OPENING, OPENING, "Never mind."]


def test_a_caller_who_has_said_most_of_it_answers_instead(bench: Workbench) -> None:
    spoken, [cut] = run(bench, LateInterrupter)
    assert len(cut["heard"]) > len(OPENING) / 2
    assert spoken == [OPENING, "Pardon?", "Never mind."]


def test_a_caller_says_it_again_only_once(bench: Workbench) -> None:
    spoken, cuts = run(bench, PersistentInterrupter)
    assert len(cuts) >= 2
    assert spoken.count(OPENING) == 2
    assert spoken[-1] == "Never mind."


@pytest.mark.parametrize("agent", [Interrupter, LateInterrupter, PersistentInterrupter])
def test_an_interrupted_call_has_the_same_log_each_time(bench: Workbench, agent: type) -> None:
    run(bench, agent)
    assert bench.run_one(agent).head == bench.run_one(agent).head
