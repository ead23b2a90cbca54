"""Facts that played people make up: who decides whether they may, and what is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import History, Message
from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.model.run_options import PersonFacts
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.running import execute
from clerkship.service.stored_runs import load_snapshot
from clerkship.service.task_view import EventFilter, load_task_view
from clerkship.settings import Settings, load_settings
from tests.service.forks import fork
from tests.workbench import CATALOG, Workbench

BALANCE = """
    scenario:
      name: Balance
      simulation_context: You want to know the balance of your account.
      setup: {SETUP}
      goals:
        assertions:
          - bot_uttered: {text_matches: 12 dollars}
"""
OPENING = {"about": "person", "contains": "The conversation starts", "answer": {"message": "What is my balance?"}}
PIN = {"about": "person", "contains": "What is your PIN?", "answer": {"message": "4711."}}
OTHER_PIN = {"about": "person", "contains": "PIN is wrong", "answer": {"message": "Then it is 8822."}}
THANKS = {"about": "person", "contains": "12 dollars", "answer": {"message": "Thanks, bye.", "done": True}}


def bank(message: Message) -> str:
    if message.text == "4711.":
        return "You have 12 dollars."
    return "Goodbye." if "bye" in message.text else "What is your PIN?"


class Bank:
    """The bank as an agent that can continue a conversation."""

    def on_history(self, history: History) -> None:
        """It needs to know nothing."""

    def on_turn(self, message: Message) -> str:
        return bank(message)


def doubtful_bank(message: Message) -> str:
    return "That PIN is wrong. Try again." if message.text == "4711." else "What is your PIN?"


@pytest.fixture
def person(bench: Workbench) -> str:
    path = bench.folder.parent / "person.json"
    path.write_text(json.dumps([OPENING, PIN, OTHER_PIN, THANKS]))
    return f"scripted:{path}"


def write(bench: Workbench, setup: str = "") -> None:
    bench.write("eval/scenarios/balance.yml", BALANCE.replace("SETUP", setup))


def find_facts(bench: Workbench, task_run: TaskRun) -> list[Any]:
    return [event for event in bench.events(task_run) if event["kind"] == "person.made_up_facts"]


def test_person_makes_up_a_pin_if_nothing_says_otherwise(bench: Workbench, person: str) -> None:
    write(bench)
    task_run = bench.run_one(bank, person=person)
    assert (task_run.status, task_run.verdict) == ("completed", "pass")
    [note] = find_facts(bench, task_run)
    said = next(event for event in bench.events(task_run) if event["payload"].get("text") == "4711.")
    assert note["payload"] == {"facts": ["4711"]}
    assert (note["cause"], note["actor"]) == (said["seq"], "run")
    view = load_task_view(bench.store, task_run, EventFilter())
    assert ("person", "(made up: 4711)") in view.utterances


def test_strict_run_ends_as_invalid_person(bench: Workbench, person: str) -> None:
    write(bench)
    task_run = bench.run_one(bank, person=person, person_facts="strict")
    assert (task_run.status, task_run.verdict) == ("invalid_person", None)
    assert "(makes_up)" in task_run.error
    assert find_facts(bench, task_run) == []


def test_second_different_pin_contradicts_the_first(bench: Workbench, person: str) -> None:
    write(bench)
    task_run = bench.run_one(doubtful_bank, person=person)
    assert task_run.status == "invalid_person"
    assert "(contradicts)" in task_run.error
    assert "the PIN is '8822', and before it was '4711'" in task_run.error
    assert len(find_facts(bench, task_run)) == 1


@pytest.mark.parametrize("facts", ["strict", "free"])
def test_contradicting_a_known_fact_is_invalid_in_both_modes(bench: Workbench, person: str, facts: PersonFacts) -> None:
    write(bench, 'persona: {name: p, description: Calm., knows: {PIN: "1234"}}')
    task_run = bench.run_one(bank, person=person, person_facts=facts)
    assert task_run.status == "invalid_person"
    assert "(contradicts)" in task_run.error


PERSONA = "persona: {name: p, description: Calm., VALUE}"


@pytest.mark.parametrize(
    ("setup", "configured", "expected"),
    [
        ("", (None, None, None), "free"),
        ("", (None, None, "strict"), "strict"),
        ("", (None, "free", "strict"), "free"),
        ("", (None, "strict", "free"), "strict"),
        ("", ("free", "strict", "strict"), "free"),
        ("", ("strict", "free", "free"), "strict"),
        ("person: {facts: strict}", ("free", "free", "free"), "strict"),
        ("person: {facts: free}", ("strict", "strict", "strict"), "free"),
        ("person: {may_invent: true}", ("strict", None, None), "free"),
        ("person: {may_invent: false}", ("free", None, None), "strict"),
        (PERSONA.replace("VALUE", "facts: strict"), ("free", None, None), "strict"),
        (PERSONA.replace("VALUE", "may_invent: true"), ("strict", None, None), "free"),
        (f"person: {{facts: free, {PERSONA.replace('VALUE', 'facts: strict')}}}", (None, None, None), "free"),
    ],
)
def test_file_decides_before_option_conftest_and_setting(
    bench: Workbench, person: str, setup: str, configured: tuple[PersonFacts | None, ...], expected: str
) -> None:
    option, conftest, setting = configured
    write(bench, setup)
    if conftest is not None:
        bench.write("eval/conftest.yml", f"person: {{facts: {conftest}}}")
    request = RunRequest(path=bench.folder / "eval" / "scenarios", agent="nop", person=person, person_facts=option)
    [snapshot] = plan_run(request, Settings(person_facts=setting), CATALOG).snapshots
    [planned] = snapshot.task.people
    assert planned.facts == expected
    assert planned.may_make_up_facts is (expected == "free")
    [restored] = Snapshot.model_validate_json(snapshot.data).task.people
    assert restored.may_make_up_facts is (expected == "free")


def test_scripted_person_and_their_task_hash_stay_as_they_were(bench: Workbench) -> None:
    write(bench, "person: {lines: [Hello]}")
    plan = plan_run(RunRequest(path=bench.folder, agent="nop", person_facts="strict"), Settings(), CATALOG)
    [planned] = plan.snapshots[0].task.people
    assert planned.facts is None


def test_task_hash_is_that_of_an_older_version_if_facts_are_strict(bench: Workbench, person: str) -> None:
    write(bench)
    hashes = {}
    for facts in ("strict", "free"):
        request = RunRequest(path=bench.folder, agent="nop", person=person, person_facts=facts)
        hashes[facts] = plan_run(request, Settings(), CATALOG).snapshots[0]
    old = json.loads(hashes["strict"].data)
    old["task"]["scenario"]["person"].pop("facts")
    assert Snapshot.model_validate(old).task_hash == hashes["strict"].task_hash != hashes["free"].task_hash


@pytest.mark.parametrize(("facts", "status"), [("strict", "invalid_person"), ("free", "completed")])
def test_rerun_and_fork_use_the_facts_of_the_stored_run(
    bench: Workbench, person: str, facts: PersonFacts, status: str
) -> None:
    write(bench)
    first = bench.run_one(bank, person=person, person_facts=facts)
    other = Settings(person_facts="free" if facts == "strict" else "strict")
    plan = plan_rerun(bench.store, first.run, CATALOG, other, PythonSolver("agent", bank))
    [again] = bench.store.task_runs(execute(plan, bench.store, CATALOG).run.id)
    assert (again.status, again.head) == (status, first.head)
    for turn in (1, 2) if facts == "free" else (1,):
        forked = fork(bench, Bank, run=first.run, task="Balance", turn=turn)
        assert forked.status == status
        events = [event["kind"] for event in bench.events(forked) if event["kind"] != "run.forked"]
        assert events == bench.kinds(first)


def test_run_stored_before_the_setting_existed_stays_strict(bench: Workbench, person: str) -> None:
    write(bench)
    task_run = bench.run_one(bank, person=person, person_facts="strict")
    old = json.loads(load_snapshot(bench.store, task_run.snapshot).data)
    old["task"]["scenario"]["person"].pop("facts")
    [restored] = Snapshot.model_validate(old).task.people
    assert restored.facts is None
    assert not restored.may_make_up_facts
    assert ScenarioPerson(may_invent=True).may_make_up_facts


def test_unknown_value_is_refused(bench: Workbench, person: str) -> None:
    write(bench)
    unknown: Any = "loose"
    with pytest.raises(InputError, match=r"unknown --person-facts value `loose`; expected strict or free"):
        bench.run("nop", person=person, person_facts=unknown)
    with pytest.raises(InputError, match="CLERKSHIP_PERSON_FACTS is 'loose'"):
        load_settings({"CLERKSHIP_PERSON_FACTS": "loose", "HOME": str(Path.home())})
    assert load_settings({"CLERKSHIP_PERSON_FACTS": "strict"}).person_facts == "strict"
    write(bench, "person: {facts: loose}")
    with pytest.raises(InputError, match="facts"):
        bench.run("nop", person=person)
