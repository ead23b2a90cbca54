"""Count the calls of Python and C functions that one trial, request, message or criterion takes.

    python -m benchmarks.calls [--write]

Counts are the same on every machine and under any load, so `tests/test_budgets.py` holds them to the numbers of
`tests/budgets.toml`. Each count is the difference between many rounds and few, so set-up does not count. `--write`
stores the counts of every function beside the budgets, so that a later failure can name those that grew.

See docs/decisions/0028-budgets.md.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, ClassVar
from unittest.mock import patch

import yaml

from benchmarks import fax, fhir, messages, overhead, voice_office, x12_sandbox
from benchmarks.feeds_mllp import message as oru
from benchmarks.fhir_work import chart, works
from clerkship.actors.python import PythonSolver
from clerkship.assertions.evaluation import evaluate
from clerkship.cli import demo
from clerkship.engine.batch import TrialBatch
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.trial import Trial
from clerkship.engine.worker import finish_trial
from clerkship.events.agent import MemorySet, SlotSet
from clerkship.events.evidence import Evidence
from clerkship.model.call import AssertionCall
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.request import Request
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.publishing import PublishRequest, publish
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators import hl7
from clerkship.simulators.fax.handle import Fax
from clerkship.simulators.fhir.handle import Fhir
from clerkship.simulators.files.handle import Files
from clerkship.simulators.messages.handle import Messages
from clerkship.simulators.voice.handle import Voice
from clerkship.simulators.x12.handle import X12
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.datasets import TaskSelection
from clerkship.suite_files.published.reading import load_archive
from scripts.reference.examples import load_examples
from tests.simulators.portal.api.test_api import build_mri
from tests.simulators.portal.portal_site import PortalSite, fill_in_steps
from tests.test_reference_examples import DATASETS, ENVIRONMENT, TABLES, TABLES_DATASET, write_table_files

ROOT = Path(__file__).parent.parent
BUDGETS = ROOT / "tests" / "budgets.toml"
FUNCTIONS = ROOT / "tests" / "budgets_functions.json"
FIXED = {"PYTHONHASHSEED": "0"}
"""Sets have another order in each process, and with it a search through them another length."""
EVENTS = 1_000
MAX_NAMED = 12
LEAST_SHARE = 0.002
"""Of all calls of a case: functions with fewer are not stored."""
DEMO = replace(demo.CAREFUL, only=frozenset({demo.TASK}))
CHART_TASK = (str(ROOT / "suites" / "chart"), "--task", "Work out a patient's age")
IMPORTS = """
import sys
from clerkship.__main__ import main
sys.argv = ["clerkship", *sys.argv[1:]]
try:
    main()
finally:
    print("\\n".join(sys.modules), file=open("modules.txt", "w"))
"""
WAITING = ("base_events.py:", "events.py:", "selectors.py:", "threading.py:")
"""Where an event loop wakes up and threads wait for each other: how often they do depends on the load."""
LOST_TIME = "engine/spec.py:Watchdog._lost"
"""What an overloaded machine calls besides."""
Calls = Counter[str]
Round = Callable[[], object]


class CallCounter:
    """Counts calls by function while it is active, in this thread and all that were started after `install`."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str]] = Counter()
        self._codes: dict[int, CodeType] = {}
        self._active = False

    def install(self) -> None:
        """Watch all later threads."""
        threading.setprofile(self._watch)

    def remove(self) -> None:
        """Watch no more threads."""
        threading.setprofile(None)

    @contextmanager
    def count(self) -> Iterator[Calls]:
        """Count what is called inside. The result is filled at the end."""
        calls: Calls = Counter()
        self._counts, self._active = Counter(), True
        sys.setprofile(self._watch)
        try:
            yield calls
        finally:
            sys.setprofile(None)
            self._active = False
        for (code, called), number in self._counts.items():
            calls[_name_function(self._codes[code]) + called] += number

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self._active or event not in ("call", "c_call"):
            return
        code = frame.f_code
        number = id(code)
        if number not in self._codes:
            self._codes[number] = code  # which keeps it, so that no other code gets this number
        self._counts[number, f" > {argument.__qualname__}" if event == "c_call" else ""] += 1


def _name_function(code: CodeType) -> str:
    _, found, own = code.co_filename.rpartition("/clerkship/")
    return f"{own if found else Path(code.co_filename).name}:{code.co_qualname}"


COUNTER = CallCounter()


def count_round(play: Round, rounds: int = 10) -> Calls:
    """Return the calls of one round, after a first one that imports and fills caches."""
    play()
    few, many = _count(play, 1), _count(play, 1 + rounds)
    return Counter({name: (number - few[name]) / rounds for name, number in many.items() if number != few[name]})


def _count(play: Round, rounds: int) -> Calls:
    with COUNTER.count() as calls:
        for _ in range(rounds):
            play()
    return calls


@contextmanager
def run_inline(watch: Callable[[], AbstractContextManager[object]] = nullcontext) -> Iterator[None]:
    """Have batches run each trial in the thread of the caller, without watching time limits, and save it by itself.

    `watch` is entered for each trial.
    """

    def run(batch: TrialBatch) -> None:
        async def play_all() -> None:
            for job in batch.jobs:
                with watch():
                    batch.context.begin(job.key())
                    trial = Trial(job, batch.context)
                    batch.save([finish_trial(trial, await trial.play())])

        asyncio.run(play_all())

    with patch.object(TrialBatch, "run", run):
        yield


def count_trials(task: str) -> Calls:
    """Return the calls of one trial of a task: played, graded, saved and sealed."""

    def run(trials: int) -> Calls:
        with tempfile.TemporaryDirectory() as folder:
            return _count(lambda: overhead.ours(trials, Path(folder)), 1)

    text, overhead.TASK = overhead.TASK, task
    try:
        with run_inline():
            run(2)
            few, many = run(10), run(50)
    finally:
        overhead.TASK = text
    own = {name: number - few[name] for name, number in many.items() if not name.startswith(LOST_TIME)}
    return Counter({name: number / 40 for name, number in own.items() if number >= 40})


SINGLE_CASE = """
task:
  name: One turn
  scenario:
    starts: person
    person: {opening: "Hello, can you help me?", end: {when: how, say: Thank you.}}
  criteria:
    - label: It asks
      assertion: {event_occurred: {event: chat.message.sent, actor: agent, where: {text: {contains: how}}}}
"""


def count_fhir() -> dict[str, Calls]:
    """Return the calls of requests to a chart, in process."""
    site, found = fhir.Site(chart(1_000)), {}
    for name, work in works(1_000).items():
        if "transaction" not in name:
            handle, request = site.handle(site.fork()), fhir.request_of(work)
            found[f"FHIR {name}"] = count_round(lambda: handle.send_as_is(request))  # noqa: B023  (called at once)
    site.listener.close()
    return found


def count_mllp() -> Calls:
    """Return the calls of one message over MLLP, with its acknowledgement, without those of the event loop."""
    gateway = Gateway()
    lines, numbers = ListenerPool(gateway), count()
    environment = Environment(name="bench", simulators={"lab": Simulator(kind="hl7")})
    playground = Playground(environment, {"lab": PreparedSimulator(hl7.SPEC, hl7.SPEC.config())}, "seed")
    info = open_sandboxes(gateway, playground, lambda: "", lines)["lab"].listeners["mllp"]
    with socket.create_connection(("127.0.0.1", int(info["port"])), timeout=20) as line:

        def send() -> None:
            line.sendall(oru(str(info["facility"]), f"C{next(numbers)}"))
            answer = b""
            while not answer.endswith(b"\x1c\r"):
                answer += line.recv(65_536)
            assert b"|AA|" in answer, answer

        calls = count_round(send, 20)
    lines.close()
    return Counter({name: number for name, number in calls.items() if not name.startswith(WAITING)})


def count_phone_turn() -> Calls:
    """Return the calls of one prompt that is heard, and one key pressed."""
    office = voice_office.open_site()
    phone = office.open()[1].get_as(Voice)
    call = phone.dial(voice_office.MENU)["id"]

    def turn() -> None:
        phone.hear(call)
        phone.press(call, "*")  # the prompt is repeated

    calls = count_round(turn)
    office.listener.close()
    return calls


def count_text_message() -> Calls:
    """Return the calls of one text message, with its delivery."""
    office = messages.open_site(10)
    playground, sandboxes = office.open()
    desk = sandboxes.get_as(Messages)

    def send() -> None:
        desk.send("sms", messages.number_of(1), messages.TEXT)
        playground.advance(timedelta(minutes=1))

    calls = count_round(send)
    office.listener.close()
    return calls


def count_fax() -> Calls:
    """Return the calls of one fax of a page of text that is sent."""
    office = fax.open_site()
    line = office.open()[1].get_as(Fax)
    calls = count_round(lambda: line.send(fax.NUMBER, text=fax.LETTER))
    office.listener.close()
    return calls


def count_inquiry() -> Calls:
    """Return the calls of one X12 eligibility inquiry, with its answer."""
    site, numbers = x12_sandbox.Site(), count(1)
    clearing = site.open()[1].get_as(X12)
    calls = count_round(lambda: clearing.exchange(x12_sandbox.build_interchange("270, one set", next(numbers))))
    site.listener.close()
    return calls


def count_portal() -> dict[str, Calls]:
    """Return the calls of a page of a payer portal, and of a whole request that is submitted and withdrawn by API."""
    with PortalSite() as site:
        browser = site.sign_in()
        path = fill_in_steps(browser).path
        browser.post(f"{path}/withdraw", {"confirm": "yes"})
        handle, data = site.portal, build_mri(site)

        def submit() -> None:
            reference = handle.api("POST", "/requests", data)["request"]["reference"]
            handle.api("POST", f"/requests/{reference}/withdraw")

        return {
            "portal page": count_round(lambda: handle.send_as_is(Request("GET", path))),
            "portal submission by API": count_round(submit),
        }


def count_four_channels() -> Calls:
    """Return the calls of one trial over chart, telephone, payer portal and fax, played, graded and saved."""
    catalog, counted = RegisteredCatalog(), list[Calls]()

    @contextmanager
    def count_second() -> Iterator[None]:
        """Count the calls of the second trial: the first one imports and fills caches."""
        counted.append(Counter())
        if len(counted) == 1:
            yield
        else:
            with COUNTER.count() as counted[-1]:
                yield

    with tempfile.TemporaryDirectory() as folder, run_inline(count_second):
        plan = plan_run(replace(DEMO, trials=2), Settings(timeout=60), catalog)
        execute(plan, SqliteStore(Path(folder) / "store.db"), catalog)
    _, calls = counted
    return Counter({name: number for name, number in calls.items() if not name.startswith((LOST_TIME, *WAITING))})


def count_archive() -> Calls:
    """Return the calls of opening an archive of twenty tasks, and loading one of them."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            text = SINGLE_CASE.replace("One turn", f"Turn {number}")
            (Path(folder) / f"{number}.yml").write_text(text, encoding="utf-8")
        request = PublishRequest(path=Path(folder), name="bench-calls@1", to=Path(folder))
        path = publish(request, Settings(), RegisteredCatalog())[0].path
        selection = TaskSelection(names=("Turn 7",), is_exclusive=True)
        return count_round(lambda: load_archive(path, selection))


class Capture(Assertion):
    """Keeps the evidence of a trial, to check criteria on it."""

    name: ClassVar[str] = "capture"
    evidence: ClassVar[list[Evidence]] = []

    def check(self, evidence: Evidence) -> Check:
        self.evidence.append(evidence)
        return Check.of(True, "kept")


def work_on_everything(task_item: Any, sandboxes: Sandboxes) -> int:
    """Use every sandbox of the examples again and again, until the log has a thousand events."""
    desk, line, phone = sandboxes.get_as(Messages), sandboxes.get_as(Fax), sandboxes.get_as(Voice)
    chart, drop, clearing = sandboxes.get_as(Fhir), sandboxes.get_as(Files), sandboxes.get_as(X12)
    for number in range(EVENTS // 7):
        desk.send("sms", "+15555550300", f"Your appointment is at {number}.")
        chart.create({"resourceType": "Observation", "status": "final", "code": {"text": f"Test {number}"}})
        drop.write(f"outbox/{number}.txt", "Done.")
        sandboxes.report(SlotSet(name="city", value=f"town {number}"))
        if number % 10 == 0:
            line.send("+15555550300", text=f"Letter {number}")
            phone.hang_up(phone.dial("+15555550300"))
            clearing.send(x12_sandbox.build_interchange("270, one set", number + 1))
        sandboxes.wait("1m")
    return 42


def count_criteria() -> dict[str, Calls]:
    """Return the calls of the example of every assertion that asks no model, on a log of a thousand events."""
    catalog = RegisteredCatalog()
    catalog.assertions.add(Capture.name, Capture)
    task = {
        "name": "Everything",
        "environment": "example",
        "entities": [{"id": "patient", "dataset": "chart", "where": {"id": "p1"}}],
        "criteria": [{"label": "all", "assertion": Capture.name}],
    }
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **ENVIRONMENT,
            "datasets": [*ENVIRONMENT["datasets"], *TABLES["datasets"]],
            "simulators": {**ENVIRONMENT["simulators"], **TABLES["simulators"]},
        }
        content = {"environment": environment, "datasets": [*DATASETS, TABLES_DATASET], "task": task}
        write_table_files(Path(folder))
        (Path(folder) / "task.yml").write_text(yaml.safe_dump(content))
        agent = PythonSolver("everything", work_on_everything)
        plan = plan_run(RunRequest(path=Path(folder) / "task.yml", agent=agent), Settings(timeout=60), catalog)
        execute(plan, SqliteStore(Path(folder) / "store.db"), catalog)
    evidence = Capture.evidence[-1]  # the first ones are of checks when the file is loaded
    assert len(evidence.events) >= EVENTS, len(evidence.events)
    last, memory = evidence.events[-1], MemorySet(name="city", value="town")
    noted = last._replace(seq=last.seq + 1, source="agent", kind=memory.kind, actor="agent", payload=memory)
    remembers = replace(evidence, events=(*evidence.events, noted))
    found = {}

    def build(call: AssertionCall) -> Assertion:
        return catalog.assertions.get(call.name).model_validate(call.args).resolve(build)

    for name, example in load_examples("assertions").items():
        assertion = build(AssertionCall.model_validate(example["example"]))
        if not assertion.asks_model:
            log = remembers if name == "memory_was_not_set" else evidence  # it needs an agent that reports memories
            outcome = evaluate(assertion, log)
            assert outcome.status == "judged", (name, outcome.check.detail)
            found[f"criterion {name}"] = count_round(lambda: evaluate(assertion, replace(log)), 1)  # noqa: B023
    return found


def count_modules() -> dict[str, Calls]:
    """Return how many modules of ours commands import."""
    with tempfile.TemporaryDirectory() as folder:
        chat = Path(folder) / "task.yml"
        chat.write_text(overhead.TASK)
        run = ("run", "--store", f"{folder}/store.db", "--agent")
        return {
            "modules of list": import_modules(folder, "list", "--store", f"{folder}/none.db"),
            "modules of run, a chat": import_modules(folder, *run, "nop", str(chat)),
            "modules of run, a chart": import_modules(folder, *run, "oracle", *CHART_TASK),
        }


def import_modules(folder: str, *arguments: str) -> Calls:
    """Run a command in a process of its own, and return the modules of ours that it imports with a filled cache."""
    command, environment = [sys.executable, "-c", IMPORTS, *arguments], os.environ | {"CLERKSHIP_CACHE": folder}
    for _ in range(2):
        subprocess.run(command, cwd=folder, check=False, timeout=60, capture_output=True, env=environment)
    modules = (Path(folder) / "modules.txt").read_text().split()
    return Counter(name for name in modules if name.partition(".")[0] == "clerkship")


def count_all() -> dict[str, Calls]:
    """Return the calls of every case, by its name. Counts on threads, so call it in a process of its own."""
    COUNTER.install()
    try:
        return {
            "three-turn trial": count_trials(overhead.TASK),
            "single-case trial": count_trials(SINGLE_CASE),
            **count_fhir(),
            "MLLP message": count_mllp(),
            "phone turn": count_phone_turn(),
            "text message": count_text_message(),
            "X12 inquiry": count_inquiry(),
            "fax sent": count_fax(),
            **count_portal(),
            "four-channel trial": count_four_channels(),
            "task of an archive": count_archive(),
            **count_criteria(),
            **count_modules(),
        }
    finally:
        COUNTER.remove()


def load_budgets() -> dict[str, int]:
    """Return the budget of each case."""
    return {name: number for part in tomllib.loads(BUDGETS.read_text()).values() for name, number in part.items()}


def write_functions(counted: dict[str, Calls]) -> None:
    """Store how often each function is called, without the many that hardly matter."""
    rows = []
    for name, calls in counted.items():
        least = calls.total() * LEAST_SHARE
        often = {function: number for function, number in sorted(calls.items()) if number >= least}
        rows.append(f"{json.dumps(name)}: {json.dumps(often)}")
    FUNCTIONS.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def describe_growth(name: str, calls: Calls) -> str:
    """Return the functions that are called more often than when the budget was set, those that grew most first."""
    before, least = json.loads(FUNCTIONS.read_text()).get(name, {}), calls.total() * LEAST_SHARE
    grown = {function: number - before.get(function, 0) for function, number in calls.items() if number >= least}
    worst = sorted((-more, function) for function, more in grown.items() if more > 0)[:MAX_NAMED]
    return ", ".join(f"{function} +{-more:g}" for more, function in worst) or "many, each a little"


def render_table(counted: dict[str, Calls], budgets: dict[str, int]) -> str:
    """Return the counts beside the budgets."""
    lines = [f"{'':40}{'now':>10}{'budget':>10}"]
    for name, calls in counted.items():
        lines.append(f"{name:40}{calls.total():>10.0f}{budgets.get(name, 0):>10}")
    return "\n".join(lines)


def main() -> None:
    """Count everything, in a process whose hashes are the same each time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the counts of every function beside the budgets")
    parser.add_argument("--json", action="store_true", help="print the counts of every function as JSON")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.calls", *sys.argv[1:]], os.environ | FIXED)
    counted = count_all()
    if options.write:
        write_functions(counted)
    print(json.dumps(counted) if options.json else render_table(counted, load_budgets()))


if __name__ == "__main__":
    main()
