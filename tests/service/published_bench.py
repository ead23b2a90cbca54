"""A workbench whose suite can be published, and whose versions can be run by name from another folder."""

from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.publishing import Published, PublishRequest, publish
from clerkship.service.running import RunResult, execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench, get_dataset_cache

SUITE = """
    environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
    dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
    benchmark: {name: Forms, slug: forms, version: 1, environment: desk, tasks: ["*"]}
    tasks:
      - name: Copy
        tags: [copying]
        task_item: {from: form.txt, to: out.txt}
        solution: copy.py
        criteria:
          - {label: there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: Ada}}}}
      - name: Say done
        solution: say.py
        task_item: {say: done}
        criteria: [{label: answered, gate: true, assertion: {answer_matches: done}}]
"""
COPY = """
def on_task(task_item, sandboxes):
    sandboxes["drop"].write("out.txt", sandboxes["drop"].read("form.txt"))
"""
SAY = "def on_task(task_item, sandboxes):\n    return 'done'\n"


def work(task_item: dict[str, Any], sandboxes: Any) -> str:
    """Do both tasks."""
    if "to" in task_item:
        sandboxes["drop"].write(task_item["to"], sandboxes["drop"].read(task_item["from"]))
    return "done"


class PublishedBench:
    """A folder `author` with a suite, and a folder `user` in which only archives are."""

    def __init__(self, bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.store = bench, bench.store
        self.monkeypatch = monkeypatch
        self.user = bench.folder.parent / "user"
        self.archives = self.user / ".clerkship" / "published"
        self.user.mkdir()
        monkeypatch.chdir(self.user)
        self.write(SUITE)
        bench.write("copy.py", COPY)
        bench.write("say.py", SAY)

    def write(self, text: str) -> None:
        """Write the file of the suite."""
        self.bench.write("forms.yml", text)

    def publish(self, name: str = "forms@1", **options: Any) -> list[Published]:
        """Publish the suite where the user finds it."""
        return publish(PublishRequest(path=self.bench.folder, name=name, **options), Settings(), CATALOG)

    def run(self, path: str | Path = "forms@1", agent: Any = work, **options: Any) -> RunResult:
        """Run a version or a path."""
        solver = agent if isinstance(agent, str) else PythonSolver("agent", agent)
        settings = Settings(timeout=20, cache=get_dataset_cache())
        plan = plan_run(RunRequest(path=Path(path), agent=solver, **options), settings, CATALOG)
        return execute(plan, self.store, CATALOG)

    def verdicts(self, result: RunResult) -> dict[str, str | None]:
        """Return the verdict of each task."""
        return {each.task: each.verdict for each in self.task_runs(result)}

    def task_runs(self, result: RunResult) -> list[TaskRun]:
        """Return the trials of a run."""
        return self.store.task_runs(result.run.id)
