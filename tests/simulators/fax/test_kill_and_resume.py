"""A run with faxes under way that is killed loses none of them, and sends none twice."""

from pathlib import Path

import pytest

from clerkship.events.event import parse_line
from clerkship.store.sqlite import SqliteStore
from tests.engine.killed_runs import KilledRun, killed_run
from tests.simulators.fax.killed_agent import BUSY, FREE

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


@pytest.mark.slow
@pytest.mark.long
def test_faxes_under_way_in_a_killed_run_are_neither_lost_nor_sent_twice(tmp_path: Path) -> None:
    with killed_run(tmp_path, SUITE, AGENT, KILLS, TRIALS) as killed:
        assert list_deliveries(killed) == [[FREE, BUSY]] * 2 * TRIALS


def list_deliveries(killed: KilledRun) -> list[list[str]]:
    """Return the numbers to which faxes were delivered in each trial, in order."""
    deliveries = []
    with SqliteStore(killed.path) as store:
        for trial in killed.trials:
            events = [parse_line(line) for line in store.log(trial)]
            queued = [event["payload"]["header"] for event in events if event["kind"] == "fax.queued"]
            changes = [event["payload"] for event in events if event["kind"] == "fax.status_changed"]
            numbers = {header["id"]: header["to"] for header in queued}
            deliveries.append([numbers[change["id"]] for change in changes if change["status"] == "delivered"])
    return deliveries
