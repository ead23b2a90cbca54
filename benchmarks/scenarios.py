"""Scenario files: conversations end to end, the twelve assertions over a long history, and a thousand files read.

    python -m benchmarks.scenarios [--picture docs/scenarios.svg]

Each is measured at several sizes, so that one sees how it grows, and beside something bare that does the same
work: a loop that knows the conversation beforehand, hand-written searches, a YAML reader that only reads.
"""

import argparse
import gc
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import yaml

from benchmarks.overhead import best_of
from benchmarks.picture import Curve, draw
from benchmarks.table import print_table, seconds, times
from clerkship.actors.contract import Message, ReplyPart, Say
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.agent import (
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowStarted,
    SlotSet,
)
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.log import open_log
from clerkship.llm.scripted import Script, ScriptedAnswer, ScriptedModel
from clerkship.model.task import Task
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators.chat.events import ChatMessageSent
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.load import load_library

CATALOG = RegisteredCatalog()
FIVE = """
      - flow_started: {flow_ids: [check_order_status], operator: any}
      - action_executed: action_check_order_status
      - slot_was_set: [{name: order_id, value: ORD-9981}]
      - bot_uttered: {utter_name: utter_order_delayed}
      - sequencing:
          - flow_started: check_order_status
          - slot_was_set: order_id
          - flow_completed: check_order_status
"""


def scenario(name: str, turns: int) -> str:
    """Return a scenario file with a person of so many lines, and five assertions."""
    lines = "\n".join(f"        - Line {number} of a customer who waits" for number in range(turns))
    return f"""scenario:
  name: {name}
  simulation_context: You are an impatient customer who wants to know where an order is.
  setup:
    initial_slots: {{authenticated: true, account_id: "12345"}}
    person:
      lines:
{lines}
  goals:
    assertions:{FIVE}"""


def answer(message: Message) -> Sequence[ReplyPart]:
    """An agent with a flow: three events and one message in each turn."""
    return [
        FlowStarted(flow_id="check_order_status"),
        ActionExecuted(name="action_check_order_status"),
        SlotSet(name="order_id", value="ORD-9981"),
        Say("It is late by two days.", utter_name="utter_order_delayed"),
        FlowCompleted(flow_id="check_order_status"),
    ]


def conversations(count: int, turns: int) -> float:
    """Return the seconds of so many conversations of so many turns, planned, run, graded and stored."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "eval").mkdir()
        (folder / "eval" / "order.yml").write_text(scenario("Order", turns))
        store = SqliteStore(folder / "store.db")
        request = RunRequest(path=folder / "eval", agent=PythonSolver("bot", answer), trials=count, concurrency=8)
        gc.collect()
        began = time.perf_counter()
        result = execute(plan_run(request, Settings(), CATALOG), store, CATALOG)
        taken = time.perf_counter() - began
        store.close()
        assert result.counts.passed == count, result.counts
        return taken


def bare(count: int, turns: int) -> float:
    """Do the same calls and write as many lines of JSON, without person, hash chain, store and verdict."""
    began = time.perf_counter()
    for _ in range(count):
        lines = []
        for turn in range(1, turns + 1):
            lines.append(orjson.dumps({"turn": turn, "text": f"Line {turn}"}))
            for part in answer(Message(f"Line {turn}", turn, "chat")):
                lines.append(orjson.dumps(part.__dict__ if isinstance(part, Payload) else part.fields()))
    return time.perf_counter() - began


TWELVE: list[dict[str, Any]] = [
    {"flow_started": {"flow_ids": ["last_flow"], "operator": "any"}},
    {"flow_completed": {"flow_id": "last_flow", "flow_step_id": "end"}},
    {"flow_cancelled": {"flow_id": "last_flow"}},
    {"action_executed": "last_action"},
    {"slot_was_set": [{"name": "last_slot", "value": "x"}]},
    {"slot_was_not_set": [{"name": "no_slot"}]},
    {"bot_uttered": {"text_matches": "the very last"}},
    {"bot_did_not_utter": {"utter_name": "utter_dont_know"}},
    {"pattern_clarification_contains": {"flow_ids": ["last_flow"], "operator": "any"}},
    {"generative_response_is_relevant": {"utter_source": "utter_last"}},
    {"generative_response_is_grounded": {"utter_source": "utter_last", "ground_truth": "It is so."}},
    {
        "sequencing": [
            {"flow_started": "last_flow"},
            {"action_executed": "last_action"},
            {"slot_was_set": "last_slot"},
            {"flow_completed": "last_flow"},
        ]
    },
]


YES = Script(
    answers=(
        ScriptedAnswer(about="relevance", answer={"score": 1.0, "reasoning": "yes"}),
        ScriptedAnswer(
            about="groundedness",
            answer={"statements": [{"statement": "It is so.", "score": 1, "justification": "yes"}]},
        ),
    )
)
"""A model that answers at once: what is measured is our part."""


def history(count: int) -> list[Event]:
    """Return a log of so many events of the kinds that the assertions use; the matching ones are at the end."""
    log, writer = open_log()
    at = datetime(2026, 3, 2, tzinfo=UTC)
    turn = 0

    def add(source: str, payload: Payload, actor: str) -> None:
        nonlocal at
        at += timedelta(seconds=1)
        writer.append(source, payload, actor=actor, at=at)

    def a_turn(name: str, words: str) -> None:
        nonlocal turn
        turn += 1
        add("chat", ChatMessageSent(text=f"Question {turn}", turn=turn), "person")
        add("agent", FlowStarted(flow_id=f"{name}_flow"), "agent")
        add("agent", ClarificationOffered(flow_ids=(f"{name}_flow",)), "agent")
        add("agent", ActionExecuted(name=f"{name}_action"), "agent")
        add("agent", SlotSet(name=f"{name}_slot", value="x"), "agent")
        add("agent", FlowCancelled(flow_id=f"{name}_flow"), "agent")
        add("agent", FlowCompleted(flow_id=f"{name}_flow", flow_step_id="end"), "agent")
        add("chat", ChatMessageSent(text=words, turn=turn, utter_name=f"utter_{name}"), "agent")

    while len(log.events) + 16 <= count:
        a_turn("some", "a reply among many others")
    a_turn("last", "the very last reply")
    return log.ordered()


def graded(events: list[Event]) -> float:
    """Return the seconds of all twelve assertions over one history."""
    checks = [CATALOG.assertion(name).model_validate(args) for written in TWELVE for name, args in written.items()]
    model = ScriptedModel("yes", YES)
    evidence = Evidence(task=Task(name="x"), events=events, states={}, ending="person_done", model=model)
    gc.collect()
    began = time.perf_counter()
    found = [check.check(evidence) for check in checks]
    taken = time.perf_counter() - began
    assert all(check.passed for check in found), [check.detail for check in found if not check.passed]
    return taken


def searched(events: list[Event]) -> float:
    """Run twelve hand-written searches that stop at the first match."""
    began = time.perf_counter()
    for field, wanted in [("flow_id", "last_flow")] * 4 + [("name", "last_action")] * 4 + [("text", "nobody")] * 4:
        any(event.payload.__dict__.get(field) == wanted for event in events)
    return time.perf_counter() - began


def files(count: int, folder: Path) -> Path:
    """Write so many scenario files."""
    place = folder / f"files-{count}" / "eval" / "scenarios"
    place.mkdir(parents=True)
    for number in range(count):
        (place / f"order_{number}.yml").write_text(scenario(f"Order {number}", 6))
    return place


def read(place: Path) -> float:
    """Return the seconds to parse and validate the files."""
    gc.collect()
    began = time.perf_counter()
    library = load_library(place, CATALOG)
    taken = time.perf_counter() - began
    assert library.tasks
    return taken


def only_read(place: Path) -> float:
    """Return the seconds to parse the files with PyYAML's C loader."""
    began = time.perf_counter()
    for path in sorted(place.iterdir()):
        yaml.load(path.read_bytes(), yaml.CSafeLoader)
    return time.perf_counter() - began


RUAMEL = """
import sys, time
from pathlib import Path
from ruamel.yaml import YAML
began = time.perf_counter()
for path in sorted(Path(sys.argv[1]).iterdir()):
    YAML(typ="safe", pure=True).load(path.read_text())
print(time.perf_counter() - began)
"""


def peer(place: Path) -> float | None:
    """Return the seconds to parse the files with ruamel.yaml, which the original system uses."""
    command = ["uv", "run", "-q", "--no-project", "--with", "ruamel.yaml", "python", "-c", RUAMEL, str(place)]
    try:
        return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    except (OSError, subprocess.SubprocessError):
        return None


class Growth:
    """Rows and a curve of something that is measured at several sizes, beside something bare that does the same."""

    def __init__(self, what: str, unit: str, bare: str) -> None:
        self.what, self.unit, self.bare = what, unit, bare
        self.points: dict[int, float] = {}

    def rows(
        self, sizes: Iterable[int], mine: Callable[[int], float], beside: Callable[[int], float], count: int = 1
    ) -> Iterator[tuple[str, ...]]:
        """Measure at each size; `count` says how many things of this size are measured together."""
        for size in sizes:
            ours, theirs = best_of(2, lambda: mine(size)), best_of(2, lambda: beside(size))  # noqa: B023  (called at once)
            self.points[size] = ours
            each = f"{ours / size / count * 1e6:,.1f} µs per {self.unit}"
            yield self.what.format(size), seconds(ours), each, f"{seconds(theirs)} ({self.bare})", times(ours / theirs)


def rows(folder: Path, growths: Sequence[Growth], *, quick: bool) -> Iterator[tuple[str, ...]]:
    """Measure everything, in small sizes if it has to be quick."""
    talk, twelve, parsed = growths
    count = 100 if quick else 500
    conversations(20, 2)
    turns = (2, 6) if quick else (2, 6, 12, 24)
    yield from talk.rows(turns, lambda size: conversations(count, size), lambda size: bare(count, size), count)
    histories = {size: history(size) for size in ((1_000, 10_000) if quick else (1_000, 10_000, 100_000))}
    yield from twelve.rows(histories, lambda size: graded(histories[size]), lambda size: searched(histories[size]))
    places = {size: files(size, folder) for size in ((100,) if quick else (250, 1_000, 2_000))}
    yield from parsed.rows(places, lambda size: read(places[size]), lambda size: only_read(places[size]))
    least = min(places)
    theirs, ours = peer(places[least]), parsed.points[least]
    if theirs is not None:
        each = f"{theirs / least * 1e6:,.1f} µs per file there"
        beside = f"{seconds(theirs)} (ruamel.yaml, reading alone)"
        yield f"{least:,} scenario files, beside ruamel.yaml", seconds(ours), each, beside, times(ours / theirs)


def main() -> None:
    """Print the table, and draw the curves if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--picture", type=Path, help="an SVG to draw the curves into")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    options = parser.parse_args()
    number = "100" if options.quick else "500"
    growths = (
        Growth(number + " conversations of {:,} turns, five assertions each", "turn", "the agent's calls alone"),
        Growth("all twelve assertions over {:,} events", "event", "twelve bare searches"),
        Growth("{:,} scenario files parsed and validated", "file", "PyYAML's C loader, reading alone"),
    )
    with tempfile.TemporaryDirectory() as folder:
        print_table(("what", "ours", "each", "beside it", "ratio"), rows(Path(folder), growths, quick=options.quick))
    if options.picture is not None:
        talk, twelve, parsed = (growth.points for growth in growths)
        curves = [
            Curve(f"{number} conversations", "turns each", "seconds", talk),
            Curve("Twelve assertions", "events", "milliseconds", {size: took * 1000 for size, took in twelve.items()}),
            Curve("Scenario files", "files", "seconds", parsed),
        ]
        options.picture.write_text(draw(curves))


if __name__ == "__main__":
    main()
