"""Ours, as the peers are measured: load first, then time the run alone, every case kept with its log."""

import sqlite3
from pathlib import Path

from work import REPLIES, Stopwatch, Taken, measure

from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

CONVERSATION = """
task:
  name: Three turns
  scenario:
    starts: person
    person:
      opening: Hello, can you help me?
      script:
        - {when: how, say: My parcel is late.}
        - {when: number, say: It is 4711.}
      end: {when: tomorrow, say: Thank you.}
  criteria:
    - label: In order
      assertion:
        sequencing:
          - {event: chat.message.sent, actor: person, where: {text: {contains: late}}}
          - {event: chat.message.sent, actor: agent, where: {text: {contains: number}}}
          - {event: chat.message.sent, actor: agent, where: {text: {contains: tomorrow}}}
"""


def answer(message: Message) -> str:
    """The agent in conversation."""
    return REPLIES[message.text]


def double(task_item: dict[str, int]) -> int:
    """The agent given work."""
    return task_item["n"] * 2


def single(cases: int) -> str:
    """As many tasks, each with an input of its own and one criterion."""
    lines = (
        f"  - {{name: Case {n}, task_item: {{n: {n}}}, "
        f"criteria: [{{label: right, assertion: {{answer_matches: {n * 2}}}}}]}}"
        for n in range(cases)
    )
    return "tasks:\n" + "\n".join(lines) + "\n"


def kept(file: Path) -> int:
    """Runs in the store, counted by another connection: what a crash now would leave."""
    with sqlite3.connect(file) as database:
        return int(database.execute("SELECT count(*) FROM task_runs").fetchone()[0])


def run(shape: str, cases: int, folder: Path) -> Taken:
    """Load, then run and keep; for the shape `load` the loading is what counts."""
    talk = shape == "conversation"
    suite = folder / "suite"
    suite.mkdir()
    (suite / "tasks.yml").write_text(CONVERSATION if talk else single(cases))
    catalog = RegisteredCatalog()
    agent = PythonSolver("answer", answer) if talk else PythonSolver("double", double)
    request = RunRequest(path=suite, agent=agent, trials=cases if talk else 1)
    watch = Stopwatch()
    plan = plan_run(request, Settings(), catalog)
    if shape == "load":
        return watch.taken(persisted=False)
    store = SqliteStore(folder / "ours.db")
    watch = Stopwatch()
    result = execute(plan, store, catalog)
    taken = watch.taken(persisted=True)
    assert result.counts.passed == cases, result.counts
    assert kept(folder / "ours.db") == cases
    return taken


if __name__ == "__main__":
    measure(run)
