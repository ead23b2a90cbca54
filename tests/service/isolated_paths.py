"""Run one suite by many notations of its path, at each isolation level.

`python -m tests.service.isolated_paths FOLDER` writes a list of what went wrong as JSON, so that another user can run
it.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from textwrap import dedent

from clerkship.actors.isolation import bubblewrap
from clerkship.actors.isolation.contract import Level, offered
from clerkship.actors.isolation.protected import installation
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from tests.workbench import CATALOG

TASK = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task:
      name: Look
      task_item: {instruction: Look.}
      scenario:
        steps:
          - files.drop: {sandbox: drop, path: letter.txt, template: texts/letter of today.txt}
      criteria:
        - {label: answers, assertion: {answer_matches: done}}
"""
AGENT = """
    import os, sys

    def attempt(path):
        try:
            with open(path) as file:
                return file.read()
        except OSError:
            return None

    def on_task(task_item, sandboxes):
        read = [path for path in {hidden!r} if attempt(path) is not None]
        return f"read {{read}}" if read else "done"
"""
PROGRAM = """
    import json, sys
    sys.stdin.readline()
    print(json.dumps({"answer": on_task(None, None)}))
"""
PLACES = {  # the suite as a user writes it, by the working folder
    "home": ["my suite", "agent files/../my suite", "links/to suite"],
    "home/agent files": ["../my suite", "../links/to suite/tasks.yml"],
    "home/my suite": ["."],
    "links": ["my suite/tasks.yml"],  # a link to `home`
}


def write(folder: Path) -> None:
    """Write a suite whose steps read files, an agent, and links."""
    home = folder / "home"
    suite, agent = home / "my suite", home / "agent files"
    for place in (suite / "texts", agent, home / "links"):
        place.mkdir(parents=True)
    (suite / "tasks.yml").write_text(dedent(TASK), encoding="utf-8")
    (suite / "texts" / "letter of today.txt").write_text("a letter", encoding="utf-8")
    hidden = [str(suite / name) for name in ("tasks.yml", "texts/letter of today.txt")]
    source = dedent(AGENT.format(hidden=hidden))
    (agent / "looker.py").write_text(source, encoding="utf-8")
    (agent / "program.py").write_text(source + dedent(PROGRAM), encoding="utf-8")
    (home / "links" / "to suite").symlink_to("../my suite")
    (folder / "links").symlink_to(home)


@contextmanager
def only_level(level: Level) -> Iterator[None]:
    """Make this machine offer one isolation level."""
    folders, path = bubblewrap.SYSTEM_FOLDERS, os.environ["PATH"]
    if level == "landlock":
        bubblewrap.SYSTEM_FOLDERS, os.environ["PATH"] = (), "/nowhere"
    for cached in (offered, bubblewrap.program_file, installation):
        cached.cache_clear()
    try:
        yield
    finally:
        bubblewrap.SYSTEM_FOLDERS, os.environ["PATH"] = folders, path


def find_problems(folder: Path) -> list[str]:
    """Run everything, and return what did not pass."""
    write(folder)
    agent = folder / "home" / "agent files"
    sys.path.insert(0, str(agent))
    command = f"command:{shlex.quote(sys.executable)} -I -S {shlex.quote(str(agent / 'program.py'))}"
    problems = []
    levels: list[Level] = [level for level in offered() if level != "none"]
    for level in levels:
        with only_level(level):
            for place, paths in PLACES.items():
                for path in paths:
                    problems += _run(folder, place, path, command, level)
            problems += _run(folder, "home", "my suite", "python:looker:on_task", level)
    return problems


def _run(folder: Path, place: str, path: str, agent: str, level: Level) -> list[str]:
    with chdir(folder / place), SqliteStore(folder / "store.db") as store:
        request = RunRequest(path=Path(path), agent=agent, agent_process=agent.startswith("python"))
        plan = plan_run(request, Settings(cache=None, store=folder / "store.db"), CATALOG)
        run = execute(plan, store, CATALOG).run
        [task_run] = store.task_runs(run.id)
    if (task_run.verdict, run.isolation) == ("pass", level):
        return []
    reason = task_run.error or task_run.agent_error or task_run.answer
    return [f"{agent.partition(':')[0]} in {place}, {path}: {run.isolation} instead of {level}, {reason}"]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(find_problems(Path(sys.argv[1]).resolve())))
