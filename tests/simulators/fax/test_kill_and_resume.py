"""A run with faxes under way that is killed loses none of them, and sends none twice."""

import signal
from pathlib import Path

from clerkship.events.event import parse_line
from clerkship.model.run import TaskRun
from clerkship.store.sqlite import SqliteStore
from tests.engine.killed_runs import ProcessControl, compare
from tests.simulators.fax.killed_agent import BUSY, FREE
from tests.waiting import wait_until

KILLS = 3
TRIALS = 3
AGENT = "tests.simulators.fax.killed_agent:FaxSender"
SUITE = f"""
environment:
  name: clinic
  simulators:
    line:
      kind: fax
      config:
        contacts:
          - {{name: Lab, number: "{FREE}"}}
          - {{name: Health plan, number: "{BUSY}", outcomes: [busy, ok]}}
tasks:
""" + "".join(
    f"""
  - name: Fax {n}
    task_item: {{name: Fax {n}}}
    criteria:
      - {{label: sent once, assertion: {{fax_sent: {{to: "{FREE}", count: 1}}}}}}
      - {{label: retried and not sent twice, assertion: {{fax_sent: {{to: "{BUSY}", count: 1}}}}}}
"""
    for n in range(2)
)


def test_faxes_under_way_in_a_killed_run_are_neither_lost_nor_sent_twice(tmp_path: Path) -> None:
    undisturbed = ProcessControl(tmp_path / "a", SUITE, AGENT, TRIALS)
    disturbed = ProcessControl(tmp_path / "b", SUITE, AGENT, TRIALS)
    with undisturbed, disturbed:
        undisturbed.start("run")
        assert undisturbed.ended() == 0
        hold, command = disturbed.ledger.with_name("Fax 0"), "run"
        hold.touch()
        for _ in range(KILLS):
            kill_with_faxes_under_way(disturbed, command)
            with SqliteStore(disturbed.path) as store:
                command = f"resume {store.run('latest').id}"
        hold.unlink()
        disturbed.start(command)
        assert disturbed.ended() == 0
        finished = compare(undisturbed, disturbed)
        assert [(trial.status, trial.verdict) for trial in finished] == [("completed", "pass")] * 2 * TRIALS
        assert len(disturbed.attempts()) > len(finished)  # the trials that were killed are listed
        assert list_deliveries(disturbed, finished) == [[FREE, BUSY]] * 2 * TRIALS


def kill_with_faxes_under_way(clinic: ProcessControl, command: str) -> None:
    """Start or resume a run, and kill it when faxes of some trials are under way, and those of others delivered."""
    before = clinic.called()["under way Fax 0"]
    child = clinic.start(command)
    wait_until(lambda: clinic.called()["under way Fax 0"] > before and clinic.called()["delivered Fax 1"] > 0)
    clinic.kill_now(child)
    assert clinic.ended() == -signal.SIGKILL


def list_deliveries(clinic: ProcessControl, trials: list[TaskRun]) -> list[list[str]]:
    """Return the numbers to which faxes were delivered in each trial, in order."""
    deliveries = []
    with SqliteStore(clinic.path) as store:
        for trial in trials:
            events = [parse_line(line) for line in store.log(trial)]
            queued = [event["payload"]["header"] for event in events if event["kind"] == "fax.queued"]
            changes = [event["payload"] for event in events if event["kind"] == "fax.status_changed"]
            numbers = {header["id"]: header["to"] for header in queued}
            deliveries.append([numbers[change["id"]] for change in changes if change["status"] == "delivered"])
    return deliveries
