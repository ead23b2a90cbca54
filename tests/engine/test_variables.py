"""Environment variables in tasks are expanded where an author wrote them, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.service.forks import fork
from tests.workbench import CATALOG, Workbench

KEY = "sk-live-0123456789"
SUITE = """\
environment: {name: clinic, simulators: {drop: {kind: files}}}
dataset:
  name: patients
  type: records
  records:
    - {id: "${MY_API_KEY}", name: "${MY_API_KEY}", also: "$${MY_API_KEY} {{ now }}", brace: "{MY_API_KEY}",
       tags: ["${MY_API_KEY}", {"${MY_API_KEY}": "${NOT_SET}"}]}
task:
  name: A
  for_each: {id: patient, dataset: patients}
  entities: [{id: same, dataset: patients, where: {name: "{{ patient.name }}"}}]
  task_item:
    key: "${MY_API_KEY}"
    literal: "$${MY_API_KEY}"
    name: "{{ patient.name }}"
    middle: "${MY_API_KEY}/{{ patient.name }}/{{ patient.also }}"
    split: "${{ patient.brace }}"
    tags: "{{ patient.tags }}"
    braces: '{{ "{{ patient.name }}" }}'
  criteria: [{label: "$${A} ${MY_API_KEY} {{ patient.name }}", assertion: {file_present: a.txt}}]
  scenario:
    - files.drop: {path: a.txt, template: note.txt}
    - files.drop: {path: b.txt, text: "{{ same.name }}"}
"""


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    monkeypatch.setenv("MY_API_KEY", KEY)
    workbench = Workbench(tmp_path)
    yield workbench
    workbench.store.close()


@pytest.fixture
def bench(empty: Workbench, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.delenv("NOT_SET", raising=False)
    empty.write("suite.yml", SUITE)
    empty.write("note.txt", "${MY_API_KEY} of {{ patient.name }} and ${NOT_SET}")
    return empty


def test_only_the_authors_text_is_expanded_also_when_the_run_is_repeated(bench: Workbench) -> None:
    seen: list[Any] = []

    async def agent(task_item: Any, sandboxes: Any) -> None:
        files = {path: sandboxes["drop"].read(path).decode() for path in ("a.txt", "b.txt")}
        seen.append({**task_item, **files})

    name = "${MY_API_KEY}"
    task_run = bench.run_one(agent)
    assert task_run.task == f"A [{name}]"
    assert task_run.status == "completed", task_run.error
    assert task_run.criteria[0].label == "${A} ${MY_API_KEY} ${MY_API_KEY}"
    assert seen == [
        {
            "key": KEY,
            "literal": name,
            "name": name,
            "middle": f"{KEY}/{name}/${name} {{{{ now }}}}",
            "split": name,
            "tags": [name, {name: "${NOT_SET}"}],
            "braces": "{{ patient.name }}",
            "a.txt": f"{name} of {name} and ${{NOT_SET}}",
            "b.txt": name,
        }
    ]

    again = plan_rerun(bench.store, "latest", CATALOG, Settings(timeout=20), PythonSolver("agent", agent))
    execute(again, bench.store, CATALOG)
    assert seen[1] == seen[0]


TALK = """\
scenario:
  name: Talk
  simulation_context: You have ${MY_API_KEY}.
  setup:
    initial_slots: {key: "${MY_API_KEY}", literal: "$${MY_API_KEY}"}
    person: {lines: ["Use ${MY_API_KEY}, not $${MY_API_KEY}", "And ${MY_API_KEY}"]}
  goals:
    assertions:
      - bot_uttered: {text_matches: "got And ${MY_API_KEY}"}
      - slot_was_set: [{name: key, value: "${MY_API_KEY}"}, {name: literal, value: "$${MY_API_KEY}"}]
"""


class Echo:
    """Repeats each message."""

    def on_turn(self, message: Message) -> str:
        return f"got {message.text}"


def texts(bench: Workbench, actor: str) -> list[str]:
    [task_run] = bench.store.task_runs(bench.store.run("latest").id)
    events = [event for event in bench.events(task_run) if event["actor"] == actor]
    return [event["payload"]["text"] for event in events if "text" in event["payload"]]


def test_log_has_the_name_of_a_variable_instead_of_its_value(empty: Workbench) -> None:
    bench = empty
    bench.write("talk.yml", TALK)
    task_run = bench.run_one(Echo)
    assert task_run.verdict == "pass", task_run.criteria
    assert texts(bench, "person") == ["Use ${MY_API_KEY}, not $${MY_API_KEY}", "And ${MY_API_KEY}"]
    assert texts(bench, "agent") == [f"got Use {KEY}, not ${{MY_API_KEY}}", f"got And {KEY}"]
    lines = [line for line in bench.store.log(task_run) if KEY.encode() in line]
    assert {orjson.loads(line)["actor"] for line in lines} == {"agent"}
    again = rescore(bench.store, "latest", CATALOG)
    assert [ran.verdict for ran in bench.store.task_runs(again.run.id)] == ["pass"]


def test_fork_uses_the_values_and_logs_the_names(empty: Workbench) -> None:
    bench = empty
    bench.write("talk.yml", TALK)
    bench.run(Echo)
    before = texts(bench, "person")
    forked = fork(bench, Echo, task="Talk", turn=2, warm_up=True)
    assert forked.verdict == "pass", (forked.criteria, forked.error)
    assert texts(bench, "person") == before
    assert texts(bench, "agent")[-1] == f"got And {KEY}"


def test_a_task_item_and_a_file_of_the_author_are_in_the_log_by_name(
    empty: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = empty
    bench.write(
        "t.yml",
        """\
        environment: {name: clinic, simulators: {drop: {kind: files}}}
        task:
          name: A
          task_item: {key: "${MY_API_KEY}"}
          scenario: [{files.drop: {path: a.txt, text: "LONG ${MY_API_KEY} $${MY_API_KEY}"}}]
          criteria:
            - {label: kept, assertion: {file_present: {path: a.txt, text: {contains: "${MY_API_KEY}"}}}}
            - {label: says, assertion: {answer_matches: "${MY_API_KEY}"}}
        """.replace("LONG", "x" * 9000),
    )
    task_run = bench.run_one(lambda task_item: task_item["key"])
    assert task_run.verdict == "pass", (task_run.criteria, task_run.error)
    stored = b"".join(line for line in bench.store.log(task_run) if b'"agent.answered"' not in line)
    for event in bench.events(task_run):
        stored += b"".join(bench.store.blob(body["sha256"]) for body in event.get("blobs", {}).values())
    assert KEY.encode() not in stored
    again = rescore(bench.store, "latest", CATALOG)
    assert [ran.verdict for ran in bench.store.task_runs(again.run.id)] == ["pass"]
    monkeypatch.delenv("MY_API_KEY")
    with pytest.raises(InputError, match="MY_API_KEY is not set"):
        rescore(bench.store, "latest", CATALOG)
