"""The pauses of simulated people on the phone follow from the log: a fork continues them."""

from datetime import datetime
from pathlib import Path

import pytest

from clerkship.model.run import TaskRun
from tests.engine.killed_runs import killed_run
from tests.service.forks import fork
from tests.simulators.voice.test_people import ANA, BEN, Clerk, kinds, office, spoken
from tests.workbench import Workbench

TALKS = f"{{name: Ben, channel: phone, address: '{BEN}', lines: [One., Two., Three., Four., Five., Six.]}}"
"""A person who goes on speaking while the other one is silent."""

PAUSE_KINDS = ("voice.person.paused", "voice.person.resumed")
KILLED_SUITE = """
environment: {name: clinic, simulators: {phone: {kind: voice}}}
tasks:
""" + "".join(
    f"""
  - name: Call {n}
    task_item: {{name: Call {n}}}
    scenario:
      starts: agent
      people:
        - name: Ana
          channel: phone
          address: '{ANA}'
          opening: This is Ana.
          script: [{{when: referral, go_silent: 5m, say: I found it.}}]
    criteria:
      - label: waited for her
        assertion: {{event_occurred: {{event: voice.far_end.spoke, where: {{text: I found it.}}}}}}
"""
    for n in range(2)
)


def ana(script: str) -> str:
    return f"{{name: Ana, channel: phone, address: '{ANA}', {script}}}"


def continuation(bench: Workbench, task_run: TaskRun) -> list[tuple[object, ...]]:
    """Return the events of the phone with their times and causes, without the event that a fork adds."""
    events = [event for event in bench.events(task_run) if event["kind"] != "run.forked"]
    kinds_by_seq = {event["seq"]: event["kind"] for event in bench.events(task_run)}
    return [
        (event["at"], event["kind"], event["actor"], kinds_by_seq.get(event["cause"]), event["payload"])
        for event in events
    ]


SILENCES = [
    pytest.param("lines: [Hello., {go_silent: 20s}, I am back., Bye.]", id="line"),
    pytest.param("lines: [{go_silent: 20s}, I call late., Bye.]", id="opening"),
    pytest.param("lines: [Hello., {go_silent: 12s}, {go_silent: 9s}, I am back., Bye.]", id="two in a row"),
    pytest.param(
        "opening: Hello., script: [{when: turn 1, go_silent: 15s, say: I was away.}], fallback: Pardon?, "
        "end: {after: 3, say: Bye.}",
        id="rule",
    ),
    pytest.param(
        "opening: Hello., script: [{when: {event: voice.agent.spoke, where: {text: {matches: turn 2}}}, times: 1, "
        "go_silent: 15s, say: I saw that.}], lines: [First., Second., Third.]",
        id="event",
    ),
]


@pytest.mark.parametrize("script", SILENCES)
def test_a_fork_during_a_pause_continues_like_the_original(bench: Workbench, script: str) -> None:
    bench.write("a.yml", office(ana(script), TALKS))
    first = bench.run_one(Clerk)
    assert first.error == ""
    assert "person.paused" in kinds(bench, first)
    assert kinds(bench, first).count("person.paused") == kinds(bench, first).count("person.resumed")
    turns = [event for event in bench.events(first) if event["kind"] == "voice.agent.spoke"]
    seqs = {kind: [e["seq"] for e in bench.events(first) if e["kind"] == kind] for kind in PAUSE_KINDS}
    inside = 0
    for turn in range(1, len(turns) + 1):
        at = turns[turn - 1]["seq"]
        inside += any(start < at < end for start, end in zip(*seqs.values(), strict=True))
        forked = fork(bench, Clerk, run=first.run, task="Talk", turn=turn)
        assert spoken(bench, forked) == spoken(bench, first), turn
        assert continuation(bench, forked) == continuation(bench, first), turn
    assert inside > 0  # the agent was called while the person was silent


def test_a_person_who_leaves_during_a_pause_says_nothing_after_it(bench: Workbench) -> None:
    script = (
        "opening: Hello., script: [{when: turn 1, go_silent: 10m, say: I was away.}], "
        "end: {when: {event: voice.agent.spoke, where: {text: {matches: turn 3}}}, say: Bye.}"
    )
    bench.write("a.yml", office(ana(script), TALKS))
    task_run = bench.run_one(Clerk)
    assert task_run.error == ""
    said = spoken(bench, task_run)
    assert ("Bye." in said, "I was away." in said) == (True, False)
    assert kinds(bench, task_run).count("person.paused") == 1
    assert "person.resumed" not in kinds(bench, task_run)


def test_a_pause_and_its_end_are_in_the_log_with_their_causes(bench: Workbench) -> None:
    bench.write("a.yml", office(ana("lines: [Hello., {go_silent: 20s}, I am back.]")))
    task_run = bench.run_one(Clerk)
    events = bench.events(task_run)
    [paused], [resumed] = ([event for event in events if event["kind"] == kind] for kind in PAUSE_KINDS)
    assert paused["payload"] == {"pause": 1, "number": ANA, "seconds": 20.0}
    back = next(event for event in events if event["payload"].get("text") == "I am back.")
    assert (resumed["cause"], back["cause"]) == (paused["seq"], resumed["seq"])
    waited = datetime.fromisoformat(resumed["at"]) - datetime.fromisoformat(paused["at"])
    assert waited.total_seconds() == 20.0


@pytest.mark.slow
def test_a_run_that_is_killed_during_a_pause_gives_the_same_words(tmp_path: Path) -> None:
    with killed_run(tmp_path, KILLED_SUITE, "tests.simulators.voice.killed_caller:PausedCall", 2, 1) as killed:
        assert len(killed.trials) == 2
