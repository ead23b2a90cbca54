"""A preloaded process that runs the command line on demand, each time in a child process that can be killed.

python -m tests.engine.killable_process STORE SUITE AGENT TRIALS

It reads lines from standard input: `run`, or `resume RUN`. For each line it forks a child with eight workers, prints
the child's pid, and later how the child ended. Forking a process with everything imported takes milliseconds,
starting a new one half a second, so that fifty kills fit into a test.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from clerkship.actors.python import PythonSolver
from clerkship.by_name import load
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

WORKERS = 8


class Clerk:
    """Answers people and files forms, with pauses in which it can be killed. Writes a line to a file for each start."""

    def __init__(self) -> None:
        self.ledger = Path(os.environ["LEDGER"])

    def _enter(self, name: object) -> None:
        with self.ledger.open("a") as ledger:
            ledger.write(f"{name}\n")

    def on_task(self, task_item: dict[str, Any], sandboxes: Any) -> str:
        self._enter(task_item["name"])
        sandboxes["drop"].write("first.txt", b"a" * 5000)  # large enough to be kept as a body of its own
        time.sleep(0.002)
        sandboxes["drop"].write("second.txt", task_item["name"].encode())
        return "done"

    def on_turn(self, message: Any) -> str:
        if message.turn == 1:
            self._enter(message.task_item["name"])
        time.sleep(0.001)
        return f"I heard: {message.text}"


def work(command: list[str], store: SqliteStore, suite: Path, agent: type, trials: int) -> None:
    catalog, solver = RegisteredCatalog(), PythonSolver("clerk", agent)
    if command[0] == "run":
        request = RunRequest(path=suite, agent=solver, trials=trials, concurrency=WORKERS)
        execute(plan_run(request, Settings(), catalog), store, catalog)
    else:
        resumed = plan_resume(store, command[1], catalog, Settings(concurrency=WORKERS), agent=solver)
        resume(resumed, store, catalog)


def main() -> None:
    """Serve until standard input ends."""
    store, suite, agent, trials = Path(sys.argv[1]), Path(sys.argv[2]), load(sys.argv[3]), int(sys.argv[4])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(line.split(), SqliteStore(store), suite, agent, trials)
                code = 0
            finally:
                os._exit(code)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
