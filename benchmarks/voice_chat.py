"""A conversation with a representative whom a scripted model plays: by phone, and as a chat of the same length."""

import gc
import json
import tempfile
import time
from pathlib import Path

from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore

CATALOG = RegisteredCatalog()
TURNS = 6
ROUNDS = 3
TASK = """
environment:
  name: office
  simulators: SIMULATORS
task:
  name: Talk to a representative
  scenario:
    starts: person
    person: {name: Rita, CHANNEL simulation_context: You work at a payer. The reference number is 4711.}
  criteria:
    - {label: it acted, assertion: {agent_acted: {}}}
"""
CHANNELS = {
    "phone": ("{line: {kind: voice}}", "channel: phone, address: '+15550100142',"),
    "chat": ("{desk: {kind: chat}}", ""),
}


def answer(message: Message) -> str:
    """Reply with the number of the turn, which the scripted model looks for."""
    return f"Thank you. That was turn {message.turn}. What else is there about the authorization?"


def list_answers() -> list[dict[str, object]]:
    """Return what the representative says after each reply of the agent."""
    first: dict[str, object] = {
        "about": "person",
        "contains": "The conversation starts",
        "answer": {"message": "This is Rita."},
    }
    later: list[dict[str, object]] = [
        {
            "about": "person",
            "contains": f"turn {turn}.",
            "answer": {"message": f"Step {turn} of the review is done.", "done": turn == TURNS - 1},
        }
        for turn in range(TURNS - 1, 0, -1)
    ]
    return [*later, first]


def run_played(conversations: int) -> dict[str, float]:
    """Return the processor milliseconds of a conversation by phone and as a chat: the best of alternating rounds."""
    spent: dict[str, list[float]] = {channel: [] for channel in CHANNELS}
    with tempfile.TemporaryDirectory() as name:
        for number in range(min(ROUNDS, conversations)):
            for channel in CHANNELS:
                spent[channel].append(_time_run(Path(name) / f"{channel}-{number}", channel, conversations))
    return {channel: min(times) for channel, times in spent.items()}


def _time_run(folder: Path, channel: str, conversations: int) -> float:
    simulators, fields = CHANNELS[channel]
    (folder / "suite").mkdir(parents=True)
    task = TASK.replace("SIMULATORS", simulators).replace("CHANNEL", fields)
    (folder / "suite" / "talk.yml").write_text(task)
    script = folder / "person.json"
    script.write_text(json.dumps(list_answers()))
    request = RunRequest(
        path=folder / "suite",
        agent=PythonSolver("agent", answer),
        trials=conversations,
        concurrency=4,
        person=f"scripted:{script}",
    )
    store = SqliteStore(folder / "store.db")
    gc.collect()
    began = time.process_time()
    result = execute(plan_run(request, Settings(timeout=60), CATALOG), store, CATALOG)
    taken = time.process_time() - began
    runs = store.task_runs(result.run.id)
    assert result.counts.passed == conversations, (result.counts, runs[0].error)
    said = sum(b" of the review is done." in line and b'"actor":"person"' in line for line in store.log(runs[0]))
    assert said == TURNS - 1, said
    store.close()
    return taken / conversations * 1_000
