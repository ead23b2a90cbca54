"""Logs of calls that an earlier version stored, with an event for each change of a far end, are still read.

`python -m tests.simulators.voice.test_earlier_logs FOLDER` stores such a run with the version that is checked out.
"""

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import History, Message
from clerkship.model.run import TaskRun
from clerkship.service.rescore import rescore
from clerkship.service.task_view import show_task
from tests.service.forks import fork
from tests.workbench import CATALOG, Workbench, written

EARLIER_STORE = Path(__file__).with_name("earlier_calls.db.gz")
LINE = "+15550100150"
SUITE = """
    environment:
      name: office
      now: 2026-03-02T09:00:00-05:00
      simulators:
        phone:
          kind: voice
          config:
            lines:
              - number: "+15550100150"
                name: Payer
                tree:
                  name: payer
                  start: menu
                  nodes:
                    menu:
                      type: menu
                      prompt: For claims, press 1. For all other questions, press 2.
                      choices:
                        - {key: "1", speech: [claims], next: number}
                        - {key: "2", speech: [other questions], next: end}
                    number:
                      type: collect
                      prompt: Please say or enter the number of the claim.
                      variable: claim
                      format: digits
                      min_length: 4
                      max_length: 6
                      end_key: "#"
                      next: wait
                    wait: {type: queue, wait: 40s, next: agent}
                    agent: {type: transfer, representative: rita}
                    end: {type: end, prompt: Goodbye.}
                representatives:
                  rita:
                    name: rita
                    greeting: This is Rita. How can I help you?
                    answers:
                      - {asks: [status of the claim], says: The claim was paid on Monday., is_public: true}
    task:
      name: Claim by phone
      scenario:
        starts: person
        person:
          name: Ana
          channel: phone
          address: "+15550100001"
          lines: [Has my claim been paid?, Its number is 47114., Thank you. Goodbye.]
      criteria:
        - {label: the whole way, assertion: {voice_path: {nodes: [menu, number, wait, agent], number: "+15550100150"}}}
        - label: passed on
          assertion: {voice_transcript: {speaker: agent, number: "+15550100001", contains: paid on Monday}}
"""


class Receptionist:
    """Calls the payer in the first turn, and asks a representative in the second."""

    def on_history(self, history: History) -> None:
        """It keeps nothing between turns."""

    def on_turn(self, message: Message, sandboxes: Any) -> str:
        phone = sandboxes["phone"]
        if message.turn == 1:
            call = phone.dial(LINE)
            phone.hear(call)
            phone.press(call, "1")
            phone.hear(call, 1)
            return "What is the number of the claim?"
        calls = phone.calls(status="connected", direction="outbound")
        return self.ask(phone, calls[0]) if calls else "Goodbye."

    def ask(self, phone: Any, call: dict[str, Any]) -> str:
        phone.hear(call)
        phone.say(call, "4 7 1 1 4")
        phone.wait(call, 60)
        phone.hear(call)
        phone.say(call, "What is the status of the claim?")
        words: str = phone.listen(call)
        phone.hang_up(call)
        return f"They say: {words}"


class Impatient(Receptionist):
    """Hangs up before the representative answers."""

    def ask(self, phone: Any, call: dict[str, Any]) -> str:
        phone.hang_up(call)
        return "They do not answer."


@pytest.fixture
def earlier(tmp_path: Path) -> Workbench:
    """A store in which an earlier version has stored a run."""
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress(EARLIER_STORE.read_bytes()))
    return Workbench(tmp_path)


def find_trial(bench: Workbench) -> TaskRun:
    """Return the trial of the latest run."""
    [trial] = bench.store.task_runs(bench.store.run("latest").id)
    return trial


def test_earlier_log_opens_and_has_an_event_for_each_change_of_a_far_end(earlier: Workbench) -> None:
    view = show_task(earlier.store, "latest", "Claim by phone")
    kinds = earlier.kinds(find_trial(earlier))
    assert view.intact
    assert kinds.count("voice.session.changed") == 18


def test_rescore_of_an_earlier_log_keeps_the_verdict(earlier: Workbench) -> None:
    before = find_trial(earlier)
    result = rescore(earlier.store, "latest", CATALOG)
    [after] = earlier.store.task_runs(result.run.id)
    assert written(after) == written(before)
    assert after.verdict == before.verdict == "pass"


@pytest.mark.parametrize(("agent", "verdict"), [(Receptionist, "pass"), (Impatient, "partial")])
@pytest.mark.parametrize("turn", [1, 2])
def test_fork_of_an_earlier_log_goes_on_in_the_middle_of_its_call(
    earlier: Workbench, agent: type[Receptionist], verdict: str, turn: int
) -> None:
    assert fork(earlier, agent, task="Claim by phone", turn=turn).verdict == verdict


def test_new_run_is_graded_as_the_earlier_one(earlier: Workbench) -> None:
    before = find_trial(earlier)
    earlier.write("claim.yml", SUITE)
    after = earlier.run_one(Receptionist)
    assert after.verdict == before.verdict == "pass"


def store_run(folder: Path) -> None:
    """Store a run of the suite, compressed."""
    bench = Workbench(folder)
    bench.write("claim.yml", SUITE)
    trial = bench.run_one(Receptionist)
    assert trial.verdict == "pass"
    bench.store.close()
    EARLIER_STORE.write_bytes(gzip.compress((folder / "store.db").read_bytes(), mtime=0))


if __name__ == "__main__":
    store_run(Path(sys.argv[1]))
