"""The sandboxes of a trial at any moment, rebuilt from its log."""

import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.contract import Message
from clerkship.engine.build import build_task
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.regrade import parse_log
from clerkship.events.agent import SlotSet
from clerkship.events.event import Event
from clerkship.model.run import TaskRun
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import replay
from clerkship.sandbox.request import Refusal, Request
from clerkship.service.moments import MAX_ROWS_SHOWN, MAX_VALUE_SHOWN, TrialMoments
from clerkship.service.stored_runs import load_datasets, load_snapshot
from clerkship.settings import Settings
from clerkship.store.contract import StoreDamaged
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.routes import answer
from tests.service.test_speech_redaction import SUITE as CUT_SPEECH
from tests.service.test_speech_redaction import interrupt
from tests.workbench import CATALOG, Workbench

SUITES = Path(__file__).parent.parent.parent / "suites"
TASKS = {
    "chart": "Act on a result that arrives while you work",
    "phone": "Authorize a refill on the prescriber line of a pharmacy",
    "fax": "Answer two requests for records by their authorizations",
    "messages": "Answer portal messages that the chart has as Communications",
    "prior-auth": "Answer a payer that wants to know more about a request",
    "feeds": "A result arrives late, and is no cause for alarm",
    "revenue": "Check the coverage of tomorrow's patients in one batch",
    "equipment": "Extend a loan once",
}
QUICK = ("chart", "phone")
"""Suites of `make test`; `make test-all` takes all."""
TALK = """\
environment: {name: desk, simulators: {chat: {kind: chat}}}
task:
  name: Keep notes
  task_item: {instruction: Be brief.}
  scenario:
    starts: person
    initial_slots: {desk: "7"}
    person: {lines: [one, two], end: {when: bye}}
  criteria: [{label: says yes, assertion: {bot_uttered: {text_matches: Yes}}}]
"""
FILES_AND_CHART = "{drop: {kind: files}, chart: {kind: fhir}}"
each_suite = pytest.mark.parametrize(
    "suite", [suite if suite in QUICK else pytest.param(suite, marks=pytest.mark.slow) for suite in TASKS]
)
VALUE = "Adaeze Okafor 4471902"


class SuiteTrials(dict[str, TaskRun]):
    """A trial of one task of each suite, by its reference solution; run when a test first asks for it."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self._bench = bench

    def __missing__(self, suite: str) -> TaskRun:
        self._bench.folder = SUITES / suite
        [self[suite]] = self._bench.run("oracle", only=frozenset({TASKS[suite]}))
        return self[suite]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workbench, SuiteTrials]]:
    bench = Workbench(tmp_path_factory.mktemp("moments"))
    yield bench, SuiteTrials(bench)
    bench.store.close()


def open_moments(bench: Workbench, task_run: TaskRun) -> TrialMoments:
    return TrialMoments(bench.store, bench.store.run(task_run.run), task_run, CATALOG)


def build_cold(bench: Workbench, task_run: TaskRun) -> tuple[Mapping[str, PreparedComponent], list[Event]]:
    """Return the components and all events of a trial, as it is graded again."""
    snapshot = load_snapshot(bench.store, task_run.snapshot)
    built = build_task(snapshot, load_datasets(bench.store, [snapshot]), CATALOG)
    return built.components, parse_log(bench.store.log(task_run), CATALOG.events, bench.store.blob)


def dump_all(states: Mapping[str, Any]) -> bytes:
    return orjson.dumps({name: state.dump() for name, state in states.items()}, option=orjson.OPT_NON_STR_KEYS)


def list_changes(moment: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return how each record that changed differs, by sandbox and key."""
    return {
        (name, record["key"]): record["change"]
        for name, sandbox in moment["sandboxes"].items()
        for record in sandbox["records"]
        if record["change"] is not None
    }


def find_kept(moment: dict[str, Any], sandbox: str) -> dict[str, dict[str, Any]]:
    return {record["key"]: record for record in moment["sandboxes"][sandbox]["records"]}


def ask(bench: Workbench, task_run: TaskRun, may_see: bool = True, **query: object) -> dict[str, Any]:
    """Return the answer of the route."""
    settings = Settings()
    context = ViewerContext(settings, lambda: nullcontext(bench.store), may_see=lambda run: may_see)
    given = {"task": task_run.task, "trial": str(task_run.trial)} | {name: str(each) for name, each in query.items()}
    reply = answer(context, Request("GET", f"/view/data/runs/{given.pop('run', task_run.run)}/state", given))
    data: dict[str, Any] = orjson.loads(reply.body)
    return data


@pytest.mark.long
@each_suite
def test_end_of_a_trial_is_what_grading_sees(trials: tuple[Workbench, SuiteTrials], suite: str) -> None:
    bench, task_runs = trials
    task_run = task_runs[suite]
    components, events = build_cold(bench, task_run)
    graded = dump_all(replay(components, events))
    assert dump_all(open_moments(bench, task_run).rebuild(len(events))) == graded
    assert dump_all(replay(components, ())) != graded


@pytest.mark.long
@each_suite
def test_start_has_no_changes_and_the_end_has(trials: tuple[Workbench, SuiteTrials], suite: str) -> None:
    bench, task_runs = trials
    moments = open_moments(bench, task_runs[suite])
    start = moments.show(0)
    end = moments.show(start["total"])
    assert list_changes(start) == {}
    assert list_changes(end)
    for sandbox in end["sandboxes"].values():
        assert sum(sandbox["counts"].values()) == len(sandbox["records"]) + sandbox["left_out"]
        keys = [record["key"] for record in sandbox["records"]]
        assert len(set(keys)) == len(keys)


@pytest.mark.long
@each_suite
def test_moments_in_any_order_equal_a_rebuild_from_the_start(trials: tuple[Workbench, SuiteTrials], suite: str) -> None:
    bench, task_runs = trials
    task_run, choose = task_runs[suite], random.Random(suite)
    moments, (components, events) = open_moments(bench, task_run), build_cold(bench, task_run)
    for seq in [len(events), 0, *(choose.randint(0, len(events)) for _ in range(4))]:
        cold = replay(components, [event for event in events if event.seq <= seq])
        assert dump_all(moments.rebuild(seq)) == dump_all(cold)
        shown = moments.show(seq)
    assert orjson.dumps(open_moments(bench, task_run).show(seq)) == orjson.dumps(shown)


@pytest.mark.long
def test_created_resource_is_absent_before_its_event(trials: tuple[Workbench, SuiteTrials]) -> None:
    bench, task_runs = trials
    moments = open_moments(bench, task_runs["chart"])
    created = [event for event in bench.events(task_runs["chart"]) if event["kind"] == "fhir.resource.created"]
    assert len(created) > 1
    for event in created:
        key, seq = f"{event['payload']['type']}/{event['payload']['id']}", event["seq"]
        assert key not in find_kept(moments.show(seq - 1), "ehr")
        record = find_kept(moments.show(seq), "ehr")[key]
        assert (record["change"], record["cause_seq"], record["group"]) == ("created", seq, event["payload"]["type"])
        read = moments.read_record(seq, "ehr", key)
        assert (read["before"], read["after"]) == (None, event["payload"]["resource"])


@pytest.mark.long
def test_chart_shows_the_patients_of_the_trial_and_not_the_whole_dataset(
    trials: tuple[Workbench, SuiteTrials],
) -> None:
    bench, task_runs = trials
    sandbox = open_moments(bench, task_runs["chart"]).show(0)["sandboxes"]["ehr"]
    patients = [record for record in sandbox["records"] if record["group"] == "Patient"]
    assert 1 <= len(patients) <= 3
    assert 20 < sandbox["counts"]["unchanged"] < 1000
    assert "Condition" in {record["group"] for record in sandbox["records"]}


@pytest.mark.long
def test_call_says_where_it_is_at_each_moment(trials: tuple[Workbench, SuiteTrials]) -> None:
    bench, task_runs = trials
    moments = open_moments(bench, task_runs["phone"])
    states = []
    for seq in range(1, moments.show(0)["total"] + 1):
        for record in find_kept(moments.show(seq), "phone").values():
            states.append(record["facts"]["status"])
    in_order = list(dict.fromkeys(states))
    assert in_order[0] == "ringing"
    assert "in the menu" in in_order
    assert in_order[-1].startswith("ended: ")


def test_updated_record_has_its_fields_before_and_after(bench: Workbench) -> None:
    bench.write(
        "a.yml",
        """\
        environment:
          name: office
          simulators: {drop: {kind: files}}
        task:
          name: A
          task_item: {instruction: Work.}
          scenario: [{files.drop: {sandbox: drop, path: note.txt, text: "one"}}]
          criteria: [{label: there, assertion: {file_present: {path: note.txt}}}]
        """,
    )
    task_run = bench.run_one(lambda task_item, sandboxes: sandboxes["drop"].write("note.txt", b"two"))
    written = [event["seq"] for event in bench.events(task_run) if event["kind"] == "files.file.written"]
    moments = open_moments(bench, task_run)
    before, after = (find_kept(moments.show(seq), "drop")["note.txt"] for seq in written)
    assert [record["cause_seq"] for record in (before, after)] == written
    assert [moments.read_record(seq, "drop", "note.txt")["after"]["lines"] for seq in written] == [["one"], ["two"]]


def test_update_and_deletion_of_a_dataset_record_are_told_apart(bench: Workbench) -> None:
    bench.write("datasets/notes.yml", "dataset: {name: notes, type: files, files: {a.txt: one, b.txt: two}}")
    bench.write(
        "a.yml",
        """\
        environment: {name: office, datasets: [notes], simulators: {drop: {kind: files}}}
        task:
          name: A
          task_item: {instruction: Work.}
          criteria: [{label: there, assertion: {file_present: {path: a.txt}}}]
        """,
    )

    def change(task_item: Any, sandboxes: Any) -> None:
        sandboxes["drop"].write("a.txt", b"three")
        sandboxes["drop"].delete("b.txt")

    task_run = bench.run_one(change)
    moments = open_moments(bench, task_run)
    moment = moments.show(len(bench.events(task_run)))
    assert list_changes(moment) == {("drop", "a.txt"): "updated", ("drop", "b.txt"): "deleted"}
    rows = find_kept(moment, "drop")["a.txt"]["differences"]
    assert {"path": "lines[0]", "before": "one", "after": "three"} in rows
    assert moments.read_record(moment["seq"], "drop", "b.txt")["after"] is None


DROP = """\
environment: {name: office, simulators: {drop: {kind: files}}}
task:
  name: A
  task_item: {instruction: "Work for ${PATIENT_NAME}."}
  scenario: [{files.drop: {sandbox: drop, path: "${PATIENT_NAME}.txt", text: "Dear ${PATIENT_NAME}"}}]
  criteria: [{label: there, assertion: {file_present: {path: a.txt}}}]
"""


def test_resource_with_digits_that_plain_json_would_lose_is_shown(bench: Workbench) -> None:
    bench.write("a.yml", DROP.replace("${PATIENT_NAME}", "Ana").replace("{drop: {kind: files}}", FILES_AND_CHART))

    def create(task_item: Any, sandboxes: Any) -> None:
        extension = b'[{"url": "http://a", "valueDecimal": 1.10}]'
        body = b'{"resourceType": "Basic", "code": {"text": "dose"}, "extension": %s}' % extension
        sandboxes["chart"].request("POST", "/Basic", body=body, headers={"content-type": "application/fhir+json"})

    task_run = bench.run_one(create)
    [record] = ask(bench, task_run, seq=len(bench.events(task_run)))["sandboxes"]["chart"]["records"]
    read = ask(bench, task_run, seq=len(bench.events(task_run)), sandbox="chart", key=record["key"])
    assert read["after"]["extension"] == [{"url": "http://a", "valueDecimal": 1.1}]


def test_answer_is_bounded_and_says_what_it_leaves_out(bench: Workbench) -> None:
    bench.write("a.yml", DROP.replace("${PATIENT_NAME}", "Ana"))

    def fill(task_item: Any, sandboxes: Any) -> None:
        for number in range(MAX_ROWS_SHOWN + 20):
            sandboxes["drop"].write(f"{number:04d}.txt", b"x")
        sandboxes["drop"].write("long.txt", b"y" * (MAX_VALUE_SHOWN + 5))

    task_run = bench.run_one(fill)
    moments = open_moments(bench, task_run)
    moment = moments.show(len(bench.events(task_run)))
    sandbox = moment["sandboxes"]["drop"]
    assert sandbox["counts"]["created"] == MAX_ROWS_SHOWN + 22
    assert len(sandbox["records"]) == MAX_ROWS_SHOWN
    assert sandbox["left_out"] == 22 + sandbox["counts"]["unchanged"]
    assert "0000.txt" not in find_kept(moment, "drop")  # those that changed last are kept
    [line] = moments.read_record(moment["seq"], "drop", "long.txt")["after"]["lines"]
    assert line.endswith("y… (5 more characters)")
    assert len(line) < MAX_VALUE_SHOWN + 50


def test_values_of_variables_are_in_no_answer(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATIENT_NAME", VALUE)
    bench.write("a.yml", DROP)
    task_run = bench.run_one(lambda task_item, sandboxes: sandboxes["drop"].write("a.txt", b"z" * 290 + VALUE.encode()))
    moment = ask(bench, task_run, seq=len(bench.events(task_run)))
    keys = sorted(key for key in find_kept(moment, "drop") if key.endswith(".txt"))
    assert keys == ["${PATIENT_NAME}.txt", "a.txt"]
    records = [ask(bench, task_run, seq=moment["seq"], sandbox="drop", key=key) for key in keys]
    assert records[0]["after"]["lines"] == ["Dear ${PATIENT_NAME}"]
    assert not [part for part in VALUE.split() if part in orjson.dumps([moment, records]).decode()]


def test_variable_that_is_not_set_any_more_is_named(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATIENT_NAME", VALUE)
    bench.write("a.yml", DROP)
    task_run = bench.run_one("nop")
    monkeypatch.delenv("PATIENT_NAME")
    with pytest.raises(Refusal, match="PATIENT_NAME") as refused:
        ask(bench, task_run, seq=0)
    assert (refused.value.status, refused.value.code) == (422, "cannot_rebuild")


def test_missing_plugin_is_named(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a.yml", DROP.replace("${PATIENT_NAME}", "Ana"))
    task_run = bench.run_one("nop")
    monkeypatch.setattr(RegisteredCatalog, "simulator", lambda self, kind: self.simulators.get(f"acme.{kind}"))
    with pytest.raises(Refusal, match=r"acme\.files") as refused:
        ask(bench, task_run, seq=0)
    assert refused.value.status == 422


def test_missing_dataset_is_said(bench: Workbench) -> None:
    bench.write("datasets/notes.yml", "dataset: {name: notes, type: files, files: {a.txt: one}}")
    bench.write(
        "a.yml", DROP.replace("${PATIENT_NAME}", "Ana").replace("{name: office,", "{name: office, datasets: [notes],")
    )
    task_run = bench.run_one("nop")
    [digest] = load_snapshot(bench.store, task_run.snapshot).datasets.values()
    with sqlite3.connect(bench.store.path) as database:
        database.execute("DELETE FROM blobs WHERE sha256 = ?", (digest,))
    with pytest.raises(Refusal, match=digest[:12]) as refused:
        ask(bench, task_run, seq=0)
    assert refused.value.status == 422


def test_log_that_was_changed_is_not_shown(bench: Workbench) -> None:
    bench.write("a.yml", DROP.replace("${PATIENT_NAME}", "Ana"))
    task_run = bench.run_one("nop")
    with pytest.raises(StoreDamaged, match="hash of its lines differs"):
        open_moments(bench, task_run.model_copy(update={"head": "0" * 64}))


def test_speech_that_was_cut_within_a_value_shows_nothing_of_it(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATIENT_NAME", VALUE)
    bench.write("a.yml", CUT_SPEECH)
    task_run = bench.run_one(interrupt)
    moments = open_moments(bench, task_run)
    shown = [moments.show(seq) for seq in range(len(bench.events(task_run)) + 1)]
    call = moments.read_record(shown[-1]["seq"], "phone", "call-1")
    assert [turn for turn in call["after"]["said"] if turn.get("interrupted") and "${PATIENT_NAME}" in turn["text"]]
    assert "Adaeze" not in orjson.dumps([shown, call]).decode()


def test_slots_are_shown_as_they_were_set(bench: Workbench) -> None:
    bench.write("a.yml", TALK)

    class Agent:
        def on_turn(self, message: Message) -> list[Any]:
            return [SlotSet(name="desk", value="8"), "Yes."]

    task_run = bench.run_one(Agent)
    set_at = [event["seq"] for event in bench.events(task_run) if event["kind"] == "agent.slot.set"]
    moments = open_moments(bench, task_run)
    values = [find_kept(moments.show(seq), "agent")["desk"]["facts"]["value"] for seq in (set_at[0], set_at[-1])]
    assert values == ["7", "8"]
    assert find_kept(moments.show(set_at[0] - 1), "agent") == {}


def test_only_trials_of_the_run_that_the_reader_may_see_are_answered(bench: Workbench) -> None:
    bench.write("a.yml", DROP.replace("${PATIENT_NAME}", "Ana"))
    first = bench.run_one("nop")
    bench.write("a.yml", DROP.replace("${PATIENT_NAME}", "Ana").replace("name: A\n", "name: B\n"))
    second = bench.run_one("nop")
    assert ask(bench, first, seq=0)["seq"] == 0
    for query, status in (
        ({"run": second.run}, 404),
        ({"run": "run-that-is-not-there"}, 404),
        ({"trial": 2}, 404),
        ({"seq": 1_000_000}, 404),
        ({"seq": "-1"}, 400),
        ({"seq": "one"}, 400),
        ({"trial": "²"}, 400),
        ({"sandbox": "drop", "key": "none.txt"}, 404),
        ({"sandbox": "none", "key": "Ana.txt"}, 404),
        ({"may_see": False}, 404),
    ):
        with pytest.raises(Refusal) as refused:
            ask(bench, first, **query)
        assert refused.value.status == status, query
