"""A person whose script differs by trial."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.cli.task_output import print_task
from clerkship.model.run import TaskRun
from clerkship.model.scenario import Scenario, ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.report.detail import parse_detail
from clerkship.report.trial_card import build_body
from clerkship.service.task_view import EventFilter, show_task
from tests.workbench import Workbench

SUITE = """\
task:
  name: Refill
  scenario:
    starts: person
    person:
      opening: Hi, I need a refill.
      script: [{when: name, say: Noah Berg}]
      fallback: Thanks.
      end: {after: 2}
      by_trial:
        - {}
        - opening: My spray is empty.
        - {opening: "Refill, please.", script: [{when: name, say: Berg}]}
  criteria:
    - {label: Asked for the name, assertion: {bot_uttered: {text_matches: name}}}
"""


def ask_name(message: Any, sandboxes: Any) -> str:
    return "What is the name?"


def person_messages(bench: Workbench, task_run: TaskRun) -> list[str]:
    events = bench.events(task_run)
    return [e["payload"]["text"] for e in events if e["kind"] == "chat.message.sent" and e["actor"] == "person"]


def test_trials_cycle_through_the_variants(bench: Workbench) -> None:
    bench.write("suite.yml", SUITE)
    task_runs = bench.run(ask_name, trials=4, concurrency=2)
    assert [person_messages(bench, one) for one in sorted(task_runs, key=lambda one: one.trial)] == [
        ["Hi, I need a refill.", "Noah Berg"],
        ["My spray is empty.", "Noah Berg"],
        ["Refill, please.", "Berg"],
        ["Hi, I need a refill.", "Noah Berg"],
    ]


def test_report_and_terminal_show_the_variant_of_a_trial(bench: Workbench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.write("suite.yml", SUITE)
    second = next(one for one in bench.run(ask_name, trials=2) if one.trial == 2)
    detail = parse_detail(second, bench.store.log(second), b"", bench.store.blob)
    brief = build_body(detail)["brief"]
    assert (brief["people"][0]["variant"], brief["opening"]) == ("variant 2 of 3", "My spray is empty.")
    print_task(show_task(bench.store, second.run, "Refill", 2, EventFilter()), events=False, criteria=False, json=False)
    assert "person: variant 2 of 3" in capsys.readouterr().out


def test_variants_are_in_the_snapshot(bench: Workbench) -> None:
    bench.write("suite.yml", SUITE)
    [task_run] = bench.run(ask_name)
    detail = parse_detail(task_run, bench.store.log(task_run), b"", bench.store.blob)
    assert detail.snapshot is not None
    person = detail.snapshot.task.scenario.person  # type: ignore[union-attr]
    assert person is not None
    assert len(person.by_trial) == 3
    dumped = detail.snapshot.model_dump(mode="json")
    dumped["task"]["scenario"]["person"]["by_trial"] = []
    without = Snapshot.model_validate(dumped).task_hash
    del dumped["task"]["scenario"]["person"]["by_trial"]
    assert Snapshot.model_validate(dumped).task_hash == without != detail.snapshot.task_hash


def test_a_variant_that_improvises_needs_a_model_in_its_trials_only() -> None:
    person = ScenarioPerson.model_validate(
        {"simulation_context": "A father.", "opening": "Hi", "by_trial": [{}, {"fallback": {"improvise": True}}]}
    )
    assert person.needs_model
    assert [person.for_trial(trial).needs_model for trial in (1, 2, 3)] == [False, True, False]
    assert person.for_trial(2).by_trial == ()


def test_a_variant_without_a_first_line_is_refused_where_the_person_starts() -> None:
    with pytest.raises(ValidationError, match="`starts: person` needs a person with an `opening`"):
        Scenario.model_validate({"starts": "person", "person": {"by_trial": [{"opening": "Hi"}, {"fallback": "Hm"}]}})
    with pytest.raises(ValidationError, match="Extra inputs"):
        ScenarioPerson.model_validate({"by_trial": [{"persona": "hurried"}]})
