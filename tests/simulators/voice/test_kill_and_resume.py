"""A run that is killed in the middle of calls is resumed with the same calls."""

import json
from pathlib import Path

from tests.engine.killed_runs import killed_run
from tests.simulators.voice.killed_caller import LINE, MAILBOX_LINE
from tests.simulators.voice.office_phone import MAILBOXES, TREE

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
    with killed_run(tmp_path, SUITE, AGENT, KILLS, TRIALS) as killed:
        assert len(killed.trials) == 2 * TRIALS
