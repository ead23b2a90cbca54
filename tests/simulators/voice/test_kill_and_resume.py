"""A run that is killed in the middle of calls is resumed with the same calls."""

import json
import signal
from pathlib import Path

from clerkship.store.sqlite import SqliteStore
from tests.engine.killed_runs import ProcessControl, compare
from tests.simulators.voice.killed_caller import LINE, MAILBOX_LINE
from tests.simulators.voice.office_phone import MAILBOXES, TREE
from tests.waiting import wait_until

KILLS = 2
TRIALS = 2
AGENT = "tests.simulators.voice.killed_caller:TwoCalls"
LINES = [
    {"number": LINE, "name": "Office", "tree": TREE},
    {"number": MAILBOX_LINE, "name": "Answerphone", "mailbox": "night"},
]
SUITE = f"""
environment:
  name: clinic
  simulators:
    phone:
      kind: voice
      config: {json.dumps({"lines": LINES, "mailboxes": MAILBOXES})}
tasks:
""" + "".join(
    f"""
  - name: Call {n}
    task_item: {{name: Call {n}}}
    criteria:
      - {{label: waited to the end, assertion: {{voice_path: {{nodes: [queue, claims], number: "{LINE}"}}}}}}
      - {{label: left once, assertion: {{voicemail_left: {{mailbox: night, contains: call us back, count: 1}}}}}}
"""
    for n in range(2)
)


def test_a_run_that_is_killed_in_the_middle_of_calls_gives_the_same_calls(tmp_path: Path) -> None:
    undisturbed = ProcessControl(tmp_path / "a", SUITE, AGENT, TRIALS)
    disturbed = ProcessControl(tmp_path / "b", SUITE, AGENT, TRIALS)
    with undisturbed, disturbed:
        undisturbed.start("run")
        assert undisturbed.ended() == 0
        hold, command = disturbed.ledger.with_name("Call 0"), "run"
        hold.touch()
        for _ in range(KILLS):
            kill_in_the_middle_of_calls(disturbed, command)
            with SqliteStore(disturbed.path) as store:
                command = f"resume {store.run('latest').id}"
        hold.unlink()
        disturbed.start(command)
        assert disturbed.ended() == 0
        finished = compare(undisturbed, disturbed)
        assert [(trial.status, trial.verdict) for trial in finished] == [("completed", "pass")] * 2 * TRIALS
        assert len(disturbed.attempts()) > len(finished)  # the trials that were killed are listed


def kill_in_the_middle_of_calls(clinic: ProcessControl, command: str) -> None:
    """Start or resume a run, and kill it when the calls of some trials are under way, and those of others over."""
    before = clinic.called()["under way Call 0"]
    child = clinic.start(command)
    wait_until(lambda: clinic.called()["under way Call 0"] > before and clinic.called()["over Call 1"] > 0)
    clinic.kill_now(child)
    assert clinic.ended() == -signal.SIGKILL
