"""Opening hours of lines are in the time zone of the environment."""

from collections.abc import Mapping
from typing import Any

import pytest

from clerkship.model.errors import InputError
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


class WaitsAndCalls:
    """Calls now, and at the same UTC time a week later."""

    def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> list[str]:
        phone = sandboxes.get_as(Voice)
        first = phone.listen(phone.dial("+15550100201"))
        sandboxes.wait("7d")
        return [first, phone.listen(phone.dial("+15550100201"))]


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


@pytest.mark.parametrize(
    ("now", "zone", "heard"),
    [
        # Clocks in New York went forward on Sunday, March 8, 2026: 22:30 in UTC is 17:30 before, and 18:30 after.
        ("2026-03-02T22:30:00Z", "America/New_York", ["We are open.", "We are closed."]),
        ("2026-03-02T17:30:00-05:00", "America/New_York", ["We are open.", "We are closed."]),
        ("2026-03-02T12:30:00Z", "America/New_York", ["We are closed.", "We are open."]),
        ("2026-10-26T22:30:00Z", "America/New_York", ["We are closed.", "We are open."]),
        ("2026-03-02T22:30:00Z", "America/Phoenix", ["We are open.", "We are open."]),
        ("2026-03-02T22:30:00Z", "-300", ["We are open.", "We are open."]),
    ],
)
def test_opening_hours_in_a_named_zone_follow_daylight_saving_time(
    bench: Workbench, now: str, zone: str, heard: list[str]
) -> None:
    bench.write("a.yml", OFFICE.replace("NOW", now).replace("config:", f"config:\n            zone: {zone}"))
    task_run = bench.run_one(WaitsAndCalls)
    assert task_run.error == ""
    [answer] = [event["payload"]["answer"] for event in bench.events(task_run) if event["kind"] == "agent.answered"]
    assert answer == heard


@pytest.mark.parametrize("zone", ["America/Newyork", "../etc/passwd", "''", "EST5EDT6", "900", "true", "1.5"])
def test_an_unknown_zone_is_refused_before_the_run(bench: Workbench, zone: str) -> None:
    zoned = OFFICE.replace("config:", f"config:\n            zone: {zone}")
    bench.write("a.yml", zoned.replace("NOW", "2026-03-02T17:30:00Z"))
    with pytest.raises(InputError, match="zone"):
        bench.run_one(Caller)
