"""Environment variables in tasks: expanded where an author wrote them, and nowhere else."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.service.running import execute
from clerkship.service.second_looks import plan_rerun
from clerkship.settings import Settings
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
  scenario:
    - files.drop: {path: a.txt, template: note.txt}
    - files.drop: {path: b.txt, text: "{{ same.name }}"}
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """A clinic whose records and files have text that looks like a variable."""
    monkeypatch.setenv("MY_API_KEY", KEY)
    monkeypatch.delenv("NOT_SET", raising=False)
    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE)
    bench.write("note.txt", "${MY_API_KEY} of {{ patient.name }} and ${NOT_SET}")
    return bench


def test_only_the_authors_text_is_expanded_also_when_the_run_is_repeated(bench: Workbench) -> None:
    seen: list[Any] = []

    async def agent(task_item: Any, sandboxes: Any) -> None:
        files = {path: sandboxes["drop"].read(path).decode() for path in ("a.txt", "b.txt")}
        seen.append({**task_item, **files})

    name = "${MY_API_KEY}"
    task_run = bench.run_one(agent)
    assert task_run.task == f"A [{name}]"
    assert task_run.status == "completed", task_run.error
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
