"""A domain: state that two simulators share, in an environment, its log and its grading."""

import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.registry import NameTaken
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.reactions.contract import ReactionPair
from clerkship.sandbox.component import InvalidSpec
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.service.fork import plan_fork
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import ForkRequest, RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.running import RunResult, execute
from clerkship.service.schemas import build_schema
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.settings import Settings
from clerkship.simulators.registry import KINDS, load_domains, load_simulators
from clerkship.store.sqlite import SqliteStore
from tests.sandbox.domains import appointment_book
from tests.sandbox.domains.booking_simulators import DESK, KIOSK

CATALOG = RegisteredCatalog(
    load_simulators([*(kind.spec for kind in KINDS), DESK, KIOSK]), domains=load_domains([appointment_book.SPEC])
)
PAIR = ReactionPair(source="files", target="clinic.book", module="tests.sandbox.domains.appointment_book")
CATALOG.reaction_pairs.add(PAIR.name, PAIR)
ENVIRONMENT = """
dataset: {name: slots, type: records, records: [{slot: "09:00"}, {slot: "09:30", patient: p9}]}
environment:
  name: clinic
  datasets: [slots]
  simulators: {desk: {kind: clinic.desk}, kiosk: {kind: clinic.kiosk}, drop: {kind: files}}
  domains: {book: {kind: clinic.book, config: {most: 1}}}
  reactions: [drop.file.written -> book]
"""
TASK = """
task:
  name: Book it
  environment: clinic
  scenario:
    - clinic.book.open_slot: {sandbox: book, slot: "10:00"}
  criteria:
    - {label: held, assertion: {clinic.book_slot_held: {slot: "10:00", patient: p1}}}
    - {label: walk-in, assertion: {clinic.book_slot_held: {slot: "09:00", patient: walk-in, sandbox: book}}}
    - {label: before, assertion: {clinic.book_slot_held: {slot: "09:30", patient: p9}}}
    - label: order
      assertion:
        sequencing:
          - {event: clinic.desk.booking.asked}
          - {event: clinic.book.slot.taken, sandbox: book, actor: agent, where: {slot: "10:00"}}
          - {event: clinic.kiosk.ticket.printed}
    - {label: once each, assertion: {event_count: {event: clinic.book.slot.taken, expected: 2}}}
"""


class Clinic:
    """A folder with the environment above, and its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "suite"
        self.folder.mkdir()
        self.store = SqliteStore(folder / "store.db")
        self.result: RunResult | None = None

    def run(self, agent: Any, task: str = TASK, environment: str = ENVIRONMENT) -> TaskRun:
        (self.folder / "clinic.yml").write_text(environment, encoding="utf-8")
        (self.folder / "task.yml").write_text(task, encoding="utf-8")
        request = RunRequest(path=self.folder, agent=PythonSolver("agent", agent))
        self.result = execute(plan_run(request, Settings(timeout=20), CATALOG), self.store, CATALOG)
        [task_run] = self.store.task_runs(self.result.run.id)
        return task_run

    def log(self, task_run: TaskRun) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.store.log(task_run)]

    def problems(self, environment: str = ENVIRONMENT, task: str = TASK) -> list[str]:
        with pytest.raises(InputError) as caught:
            self.run(both, task, environment)
        return [str(problem).replace(f"{self.folder}/", "") for problem in caught.value.problems]


def both(task_item: Any, sandboxes: Any) -> str:
    sandboxes["desk"].book("10:00", "p1")
    sandboxes["kiosk"].request("PUT", "/slots/09:00")
    return "done"


@pytest.fixture
def clinic(tmp_path: Path) -> Any:
    clinic = Clinic(tmp_path)
    yield clinic
    clinic.store.close()


def test_two_simulators_of_different_kinds_change_one_domain(clinic: Clinic) -> None:
    task_run = clinic.run(both)
    assert task_run.verdict == "pass", task_run.criteria


def test_an_event_of_a_domain_has_the_callers_actor_and_its_last_event_as_cause(clinic: Clinic) -> None:
    log = clinic.log(clinic.run(both))
    requests = next(event for event in log if event["kind"] == "clinic.desk.booking.asked")
    by_desk, by_kiosk = [event for event in log if event["kind"] == "clinic.book.slot.taken"]
    assert (by_desk["source"], by_desk["actor"], by_desk["cause"]) == ("book", "agent", requests["seq"])
    assert (by_kiosk["source"], by_kiosk["actor"], by_kiosk["cause"]) == ("book", "agent", None)
    assert requests["request"]["path"] == "/bookings"
    opened = next(event for event in log if event["kind"] == "clinic.book.slot.opened")
    assert (opened["actor"], opened["cause"]) == ("scenario", None)


def test_refusal_of_a_domain_is_rendered_by_the_simulator(clinic: Clinic) -> None:
    def greedy(task_item: Any, sandboxes: Any) -> str:
        sandboxes["desk"].book("10:00", "p1")
        with pytest.raises(Refused, match=r"409: 10:00 is taken \(slot_taken\)"):
            sandboxes["desk"].book("10:00", "p2")
        with pytest.raises(Refused, match="p1 holds 1 slots"):
            sandboxes["desk"].book("09:00", "p1")
        sandboxes["kiosk"].request("PUT", "/slots/09:00")
        return "done"

    task_run = clinic.run(greedy)
    refused = [event["payload"]["code"] for event in clinic.log(task_run) if event["kind"] == "sandbox.refused"]
    assert refused == ["slot_taken", "too_many"]
    assert {criterion.label for criterion in task_run.criteria if criterion.passed} >= {"held", "walk-in"}


def test_agent_cannot_access_a_domain(clinic: Clinic) -> None:
    seen: list[object] = []

    def curious(task_item: Any, sandboxes: Sandboxes) -> str:
        desk = sandboxes["desk"]
        request = urllib.request.Request(desk.url.replace("/desk", "/book"))
        request.add_header("Authorization", f"Bearer {desk.token}")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(request)
        seen.extend(sandboxes)
        return "done"

    task_run = clinic.run(curious)
    assert sorted(map(str, seen)) == ["desk", "drop", "kiosk"]
    assert not [event for event in clinic.log(task_run) if event["source"] == "book" and event["actor"] == "agent"]


def test_run_with_a_domain_is_rescored_and_rerun_from_the_store(clinic: Clinic) -> None:
    task_run = clinic.run(both)
    (clinic.folder / "clinic.yml").unlink()
    assert clinic.result is not None
    assert rescore(clinic.store, clinic.result.run.id, CATALOG).exit_code() == 0
    again = plan_rerun(clinic.store, clinic.result.run.id, CATALOG, Settings(), PythonSolver("agent", both))
    assert execute(again, clinic.store, CATALOG).exit_code() == 0
    [repeated] = clinic.store.task_runs(again.run.id)
    assert (repeated.snapshot, repeated.head) == (task_run.snapshot, task_run.head)


CONVERSATION = """
task:
  name: Book by chat
  environment: clinic
  scenario:
    starts: person
    person: {lines: ["09:00", "10:00", bye], end: {when: goodbye}}
    steps: [{clinic.book.open_slot: {slot: "10:00"}}]
  criteria:
    - {label: first, assertion: {clinic.book_slot_held: {slot: "09:00", patient: p1}}}
    - {label: second, assertion: {clinic.book_slot_held: {slot: "10:00", patient: p2}}}
"""


class Booker:
    """Books the first slot that the person names."""

    books = (1,)

    def on_turn(self, message: Message, sandboxes: Any) -> str:
        if message.turn in self.books:
            sandboxes["desk"].book(message.text, f"p{message.turn}")
        return "goodbye" if message.turn == 3 else "booked"


class SecondBooker(Booker):
    """Books the second slot that the person names."""

    books = (2,)


def test_fork_restores_the_domain(clinic: Clinic) -> None:
    environment = ENVIRONMENT.replace("{desk:", "{chat: {kind: chat}, desk:")
    first = clinic.run(Booker, CONVERSATION, environment)
    assert first.verdict == "partial"
    request = ForkRequest(run=first.run, task="Book by chat", turn=2, agent=PythonSolver("agent", SecondBooker))
    plan = plan_fork(clinic.store, request, CATALOG, Settings(timeout=20))
    execute(plan, clinic.store, CATALOG)
    [forked] = clinic.store.task_runs(plan.run.id)
    assert forked.verdict == "pass", forked.criteria


def test_up_builds_domains_and_does_not_list_them(clinic: Clinic, tmp_path: Path) -> None:
    environment = ENVIRONMENT.replace(", drop: {kind: files}", "").replace("[drop.file.written -> book]", "[]")
    (clinic.folder / "clinic.yml").write_text(environment, encoding="utf-8")
    settings = Settings(store=tmp_path / "up.db")
    with open_playground(PlaygroundRequest(path=clinic.folder), settings, CATALOG) as play:
        assert list(play.sandboxes) == ["desk", "kiosk"]
        kiosk = play.sandboxes["kiosk"]
        request = urllib.request.Request(f"{kiosk.url}/slots/09:00", method="PUT")
        request.add_header("Authorization", f"Bearer {kiosk.token}")
        with urllib.request.urlopen(request) as reply:
            assert reply.status == 201
        assert play.playground.components["book"].state.dump() == {"09:00": "walk-in", "09:30": "p9"}


def test_the_same_seed_gives_the_same_log(clinic: Clinic) -> None:
    first, other = clinic.run(both), clinic.run(both)
    assert first.head == other.head


def test_a_domain_reacts_to_a_sandbox(clinic: Clinic) -> None:
    def drops(task_item: Any, sandboxes: Any) -> str:
        sandboxes["drop"].write("11:00", b"a new slot")
        sandboxes["desk"].book("11:00", "p1")
        return "done"

    log = clinic.log(clinic.run(drops))
    written = next(event for event in log if event["kind"] == "files.file.written")
    opened = [event for event in log if event["kind"] == "clinic.book.slot.opened"][-1]
    assert (opened["actor"], opened["cause"], opened["payload"]["slot"]) == ("reaction", written["seq"], "11:00")
    assert any(event["payload"].get("slot") == "11:00" for event in log if event["kind"] == "clinic.book.slot.taken")


def test_step_on_a_domain_that_fails_because_of_the_agent_does_not_error_the_run(clinic: Clinic) -> None:
    step = "    - at: +1m\n      clinic.book.open_slot: {slot: '11:00'}\n"
    later = TASK.replace("  criteria:\n", f"{step}  criteria:\n")

    def first(task_item: Any, sandboxes: Any) -> str:
        sandboxes["drop"].write("11:00", b"mine")
        sandboxes.wait("2m")
        return "done"

    task_run = clinic.run(first, later)
    failed = [event["payload"] for event in clinic.log(task_run) if event["kind"] == "scenario.step.failed"]
    assert [(one["step"], one["by_agent"]) for one in failed] == [("clinic.book.open_slot", True)]
    assert task_run.status == "completed"


MISTAKES_IN_ENVIRONMENT = [
    ("kind: clinic.book,", "kind: clinic.boook,", "7:26: environment.domains.book.kind: unknown domain `clinic.boook`"),
    ("{most: 1}", "{most: 0}", "7:54: environment.domains.book.config.most: "),
    ("{most: 1}", "{least: 1}", "environment.domains.book.config.least: unknown key"),
    (
        "domains: {book:",
        "domains: {desk:",
        "7:13: environment.domains.desk: the name `desk` is reserved: it is a sandbox",
    ),
    ("domains: {book:", "domains: {run:", "the name `run` is reserved: it is the events of the run"),
    ("domains: {book:", "domains: {clock:", "the name `clock` is reserved: it is the playground's own clock"),
    ("config: {most: 1}}}", "datasets: [slots, other]}}", "`other` is not a dataset of this environment"),
    (
        "domains: {book: {kind: clinic.book, config: {most: 1}}}",
        "domains: {}",
        "needs a domain of kind clinic.book",
    ),
    ("drop.file.written -> book", "book.slot.taken -> drop", "files does not react to clinic.book.slot.taken"),
    ("drop.file.written -> book", "drop.file.written -> boook", "unknown sandbox `boook`; did you mean `book`?"),
]


@pytest.mark.parametrize(("right", "wrong", "problem"), MISTAKES_IN_ENVIRONMENT)
def test_error_in_domains_is_reported_with_its_position(clinic: Clinic, right: str, wrong: str, problem: str) -> None:
    assert right in ENVIRONMENT
    problems = clinic.problems(ENVIRONMENT.replace(right, wrong))
    assert any(problem in each for each in problems), problems


MISTAKES_IN_TASK = [
    ("{sandbox: book,", "{sandbox: desk,", "`desk` is not a sandbox of kind clinic.book"),
    ("{sandbox: book,", "{sandbox: bok,", "no sandbox `bok` in clinic; did you mean `book`?"),
    ("clinic.kiosk.ticket.printed", "clinic.book.slot.takn", "unknown event `clinic.book.slot.takn`"),
    ('where: {slot: "10:00"}', 'where: {slt: "10:00"}', "`clinic.book.slot.taken` has no field `slt`"),
    ("clinic.book.open_slot:", "fault.error: {sandbox: book}\n    - clinic.book.open_slot:", "`book` is a domain"),
    (
        'clinic.book.open_slot: {sandbox: book, slot: "10:00"}',
        "files.drop: {sandbox: book, path: a, text: b}",
        "of kind files",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "problem"), MISTAKES_IN_TASK)
def test_a_task_names_a_domain_as_it_names_a_sandbox(clinic: Clinic, right: str, wrong: str, problem: str) -> None:
    assert right in TASK
    problems = clinic.problems(task=TASK.replace(right, wrong))
    assert any(problem in each for each in problems), problems


def test_domain_with_an_unknown_kind_is_reported_once(clinic: Clinic) -> None:
    problems = clinic.problems(ENVIRONMENT.replace("kind: clinic.book,", "kind: clinic.boook,"))
    assert [each for each in problems if "needs a domain" in each] == []


def test_the_schema_of_an_environment_has_the_domains() -> None:
    definition = build_schema("environment", CATALOG)["$defs"]["SharedDomain"]
    [form] = definition["anyOf"]
    assert form["properties"]["kind"] == {"const": "clinic.book"}
    assert "most" in form["properties"]["config"]["properties"]
    without_domains = RegisteredCatalog(domains=())
    assert build_schema("environment", without_domains)["$defs"]["SharedDomain"]["type"] == "object"


def test_registry_refuses_duplicate_kinds_and_invalid_specs() -> None:
    with pytest.raises(NameTaken, match="two domains are called"):
        load_domains([appointment_book.SPEC, appointment_book.SPEC])
    with pytest.raises(NameTaken, match=r"`clinic\.book` is the kind of a simulator and of a domain"):
        RegisteredCatalog(
            load_simulators([replace(DESK, kind="clinic.book", events=())]),
            domains=load_domains([appointment_book.SPEC]),
        )
    with pytest.raises(InvalidSpec, match=r"event `clinic\.book\.slot\.opened` does not start with `other"):
        load_domains([replace(appointment_book.SPEC, kind="other")])
    with pytest.raises(InvalidSpec, match="no exercise"):
        load_domains([replace(appointment_book.SPEC, exercise=())])
