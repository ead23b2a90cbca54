"""Opening hours of lines are in the time zone of the environment."""

from collections.abc import Mapping
from typing import Any

import pytest

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.voice.handle import Voice
from tests.workbench import Workbench

OFFICE = """
    environment:
      name: office
      now: NOW
      simulators:
        phone:
          kind: voice
          config:
            lines:
              - number: '+15550100201'
                name: Office
                tree:
                  name: office
                  start: hours
                  nodes:
                    hours:
                      type: hours
                      hours: [{days: [mon], opens: '08:00', closes: '18:00'}]
                      opened: opened
                      closed: closed
                    opened: {type: end, prompt: We are open.}
                    closed: {type: end, prompt: We are closed.}
    task:
      name: Call
      task_item: {}
      criteria:
        - {label: acted, assertion: {agent_acted: {}}}
"""


class Caller:
    def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> str:
        phone = sandboxes.get_as(Voice)
        return phone.listen(phone.dial("+15550100201"))


@pytest.mark.parametrize(
    ("now", "heard"),
    [
        ("2026-03-02T17:30:00-05:00", "We are open."),  # 22:30 in UTC
        ("2026-03-02T06:30:00-05:00", "We are closed."),
        ("2026-03-01T23:30:00-05:00", "We are closed."),  # Monday in UTC, Sunday here
        ("2026-03-02T17:30:00Z", "We are open."),
    ],
)
def test_an_office_is_open_by_the_time_of_the_environment(bench: Workbench, now: str, heard: str) -> None:
    bench.write("a.yml", OFFICE.replace("NOW", now))
    task_run = bench.run_one(Caller)
    assert task_run.error == ""
    [answer] = [event["payload"]["answer"] for event in bench.events(task_run) if event["kind"] == "agent.answered"]
    assert answer == heard
