"""A task's own wrong solutions and other ways: what they change, what is reported, and what stays out of snapshots."""

import json
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest

from clerkship.checks.attacks.call_changes import ChangedCalls
from clerkship.model.errors import InputError
from clerkship.model.snapshot import Snapshot
from clerkship.model.variant import CallChange
from clerkship.sandbox.handle import Handle, Sandboxes
from clerkship.service.planning.load import load_suite
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.load import load_library
from tests.checks.attacks.test_strategies import CLINIC, run
from tests.workbench import CATALOG, Workbench

SOLUTION = """
def on_task(task_item, sandboxes):
    order = {"resourceType": "MedicationRequest", "status": "active", "intent": "order"}
    drug = {"coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "243670"}], "text": "aspirin"}
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    [patient] = ehr.search("Patient", family="Silva")
    ehr.create({**order, "medicationCodeableConcept": drug, "subject": {"reference": f"Patient/{patient['id']}"}})
    drop.write("first.txt", "Ordered aspirin.")
    drop.write("second.txt", drop.read("first.txt"))
    return {"ordered": "aspirin", "at": sandboxes.now.isoformat()}
"""
START = "2026-03-02T09:00:00-05:00"
OWN_PYTHON = """
from clerkship.plugin import override_methods

def write_less(task_item, sandboxes, reference):
    def write(original, path, text):
        original(path, text[:7])
    return reference(task_item, override_methods(sandboxes, {"drop.write": write}))

def give_up(task_item):
    return {"ordered": "aspirin", "at": "2026-03-02T09:00:00-05:00"}

def crash(task_item, sandboxes):
    raise RuntimeError("not today")
"""
CRITERIA = {
    "ordered": {
        "fhir_resource_state": {
            "resource_type": "MedicationRequest",
            "search": {"patient": "ana"},
            "count": 1,
            "fields": [
                {"path": "status", "expected": "active"},
                {"path": "medicationCodeableConcept.coding.code", "expected": "243670"},
            ],
        }
    },
    "first file": {"file_present": {"path": "first.txt", "text": {"matches": "Ordered (aspirin|ASA)[.]"}}},
    "second file": {"file_present": {"path": "second.txt"}},
    "kept": {"fhir_resource_state": {"resource_type": "MedicationRequest", "search": {"_id": "aspirin"}, "count": 1}},
    "answer": {"answer_matches": {"fields": [{"path": "ordered", "expected": "aspirin"}]}},
    "in time": {"answer_matches": {"fields": [{"path": "at", "expected": {"within": {"of": START, "by": "1m"}}}]}},
}


@pytest.fixture
def clinic(bench: Workbench) -> Workbench:
    bench.write("clinic.yml", CLINIC)
    bench.write("solution.py", SOLUTION)
    bench.write("own.py", OWN_PYTHON)
    return bench


def write_task(bench: Workbench, solution: str | None = "solution.py", **variants: Any) -> None:
    """Write the task with these variants."""
    criteria = [{"label": label, "gate": True, "assertion": assertion} for label, assertion in CRITERIA.items()]
    task = {"name": "Order", "task_item": {}, "criteria": criteria, "solution": solution, **variants}
    bench.write("task.yml", json.dumps({"task": task}))


def find_problems(bench: Workbench, **variants: Any) -> list[str]:
    """Return the unexpected results of variants."""
    write_task(bench, **variants)
    report = run(bench, *variants.keys() & {"wrong", "ways"})
    assert [outcome.not_attacked for outcome in report.outcomes] == [{}]
    return report.problems()


def load_mistakes(bench: Workbench, **variants: Any) -> list[tuple[int, str]]:
    """Return the line and message of each mistake in the files."""
    write_task(bench, **variants)
    with pytest.raises(InputError) as raised:
        load_library(bench.folder, CATALOG)
    return [(problem.line, problem.message) for problem in raised.value.problems]


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("ordered", {"changes": [{"call": "ehr.create", "times": 0}]}),
    ("ordered", {"changes": [{"call": "ehr.create", "times": 2}]}),
    ("ordered", {"changes": [{"call": "ehr.create", "set": {"resource.status": "stopped"}}]}),
    ("ordered", {"changes": [{"call": "ehr.create", "set": {"resource.medicationCodeableConcept.coding": None}}]}),
    ("ordered", {"changes": [{"call": "ehr.create", "replace": {"Patient/ana": "Patient/eva"}}]}),
    ("ordered", {"changes": [{"call": "ehr.search", "set": {"family": "Lund"}}]}),
    ("ordered", {"changes": [{"call": "ehr.search", "returns": [{"id": "eva"}]}]}),
    (
        "first file",
        {
            "changes": [{"call": "drop.write", "where": {"path": "first.txt"}, "set": {"path": "other.txt"}}],
            "before": [{"drop.write": ["first.txt", "Empty."]}],
        },
    ),
    (
        "first file",
        {
            "changes": [{"call": "drop.write", "occurrence": 1, "append": {"data": " Or not."}}],
            "after": [{"drop.write": {"path": "first.txt", "data": "Nothing."}}],
        },
    ),
    ("second file", {"changes": [{"call": "drop.write", "where": {"path": {"matches": "second"}}, "times": 0}]}),
    ("kept", {"after": [{"ehr.delete": ["MedicationRequest", "aspirin"]}]}),
    ("answer", {"answer": {"ordered": "all"}}),
    ("answer", {"answer": None}),
    ("in time", {"changes": [{"call": "ehr.create", "after": [{"wait": "20m"}]}]}),
    ("in time", {"before": [{"wait": "2d"}]}),
    ("first file", {"solution": "own.py::write_less"}),
    ("ordered", {"solution": "own.py::give_up"}),
    ("first file", {"changes": [{"call": "drop.write", "substitute": {"(?s)ed .*": ""}}]}),
    ("first file", {"changes": [{"call": "drop.write", "substitute": {"^(\\w+) (\\w+)": "\\2 \\1"}}]}),
    ("first file", {"changes": [{"call": "drop.write", "replace": {"Ordered": "\\1 [Written"}}]}),
    ("ordered", {"changes": [{"call": "ehr.search", "replace_result": {"ana": "eva"}}]}),
    ("ordered", {"changes": [{"call": "ehr.search", "set_result": {"*.id": "eva"}}]}),
]


def test_wrong_solutions_fail_on_the_criteria_that_they_name(clinic: Workbench) -> None:
    wrong = [{"name": f"wrong {n}", "fails": label, **changes} for n, (label, changes) in enumerate(WRONG)]
    assert find_problems(clinic, wrong=wrong) == []


def test_other_ways_pass(clinic: Workbench) -> None:
    ways = [
        {"name": "other words", "changes": [{"call": "drop.write", "replace": {"aspirin": "ASA"}}]},
        {
            "name": "code only",
            "changes": [{"call": "ehr.create", "set": {"resource.medicationCodeableConcept.text": None}}],
        },
        {"name": "a refused call", "before": [{"ehr.read": ["Patient", "nobody"]}]},
        {"name": "looks first", "before": [{"ehr.search": {"type": "Patient", "family": "Silva"}}]},
    ]
    assert find_problems(clinic, ways=ways) == []


def test_texts_are_appended_to_bytes_and_to_missing_arguments(clinic: Workbench) -> None:
    second = {"call": "drop.write", "where": {"path": "second.txt"}, "append": {"data": " Or not."}}  # it writes bytes
    note = {"call": "ehr.create", "append": {"resource.language": "en"}}
    ways = [{"name": "appended", "changes": [second, note]}]
    assert find_problems(clinic, ways=ways) == []


def test_tasks_may_have_different_numbers_of_variants(clinic: Workbench) -> None:
    wrong = [{"name": f"wrong {n}", "fails": label, **changes} for n, (label, changes) in enumerate(WRONG[:3])]
    write_task(clinic, name="One", wrong=wrong[:1])
    (clinic.folder / "task.yml").rename(clinic.folder / "one.yml")
    write_task(clinic, name="Three", wrong=wrong)
    report = run(clinic, "wrong")
    assert report.problems() == []
    assert sorted(report.outcomes[0].failed) == ["One: wrong 0", "Three: wrong 0", "Three: wrong 1", "Three: wrong 2"]


def test_change_of_a_method_with_any_number_of_arguments() -> None:
    class Drawer:
        def __init__(self) -> None:
            self.calls: list[tuple[Any, ...]] = []

        def put(self, drawer: str, *items: str, note: str = "", **marks: str) -> None:
            self.calls.append((drawer, items, note, marks))

    handle = Drawer()
    sandboxes = Sandboxes({"desk": cast("Handle", handle)}, cast("Any", None), cast("Any", None))
    change = CallChange(call="desk.put", set={"items.1": "ink"}, times=2)
    ChangedCalls([change]).wrap(sandboxes)["desk"].put("top", "pen", "paper", color="blue")  # type: ignore[attr-defined]
    assert handle.calls == [("top", ("pen", "ink"), "", {"color": "blue"})] * 2


@pytest.mark.parametrize(
    ("key", "variant", "reason"),
    [
        ("wrong", {"fails": "kept", "answer": {"ordered": "aspirin"}}, "it passes"),
        (
            "wrong",
            {"fails": "kept", "answer": None},
            "it must fail on 'kept', but the verdict is fail on 'answer', 'in time'",
        ),
        ("ways", {"answer": None}, "it must pass, but the verdict is fail on 'answer', 'in time'"),
        ("wrong", {"fails": "kept", "solution": "own.py::crash"}, "the agent failed: RuntimeError: not today (own.py:"),
        (
            "wrong",
            {"fails": "kept", "changes": [{"call": "drop.delete", "times": 0}]},
            "the solution does not call `drop.delete`",
        ),
        (
            "wrong",
            {"fails": "kept", "changes": [{"call": "drop.write", "occurrence": 3, "times": 0}]},
            "the solution does not call `drop.write` 3 times",
        ),
        (
            "ways",
            {"changes": [{"call": "drop.write", "replace": {"morphine": "aspirin"}}]},
            "no argument of `drop.write` has the text 'morphine'",
        ),
        (
            "ways",
            {"changes": [{"call": "ehr.search", "replace_result": {"morphine": "aspirin"}}]},
            "no result of `ehr.search` has the text 'morphine'",
        ),
    ],
)
def test_an_unexpected_result_is_reported(clinic: Workbench, key: str, variant: dict[str, Any], reason: str) -> None:
    [problem] = find_problems(clinic, **{key: [{"name": "it", **variant}]})
    assert problem.startswith(f"{key}: 'Order: it': {reason}")


def test_report_names_the_run_of_each_unexpected_result(clinic: Workbench) -> None:
    write_task(clinic, ways=[{"name": "right", "before": [{"wait": "0s"}]}, {"name": "silent", "answer": None}])
    report = run(clinic, "ways", store=clinic.folder / "attacks.db")
    [outcome] = report.outcomes
    assert (outcome.passed, outcome.failed) == (("Order: right",), ("Order: silent",))
    assert outcome.runs.keys() == {"Order: silent"}
    assert outcome.runs["Order: silent"] != outcome.run
    assert report.exit_code() == 1


def test_variants_are_neither_in_snapshots_nor_in_hashes(clinic: Workbench) -> None:
    write_task(clinic)
    plain = freeze(clinic)
    write_task(clinic, wrong=[{"name": "silent", "fails": "answer", "answer": "secret-word"}])
    with_variants = freeze(clinic)
    assert with_variants.task.wrong[0].answer == "secret-word"
    assert (with_variants.hash, with_variants.task_hash) == (plain.hash, plain.task_hash)
    assert b"secret-word" not in with_variants.data


def test_a_run_loads_no_variants_unless_their_files_must_be_hidden_from_its_agent(clinic: Workbench) -> None:
    write_task(clinic, wrong=[{"name": "idle", "fails": "nothing", "solution": "own.py::give_up"}])
    request, settings = RunRequest(path=clinic.folder, agent="oracle"), Settings(timeout=20)
    loaded = load_suite(request, settings, CATALOG)
    assert loaded.library.tasks["Order"].task.wrong == ()
    assert clinic.folder / "own.py" not in loaded.library.files
    for agent, needs_variants in (("command:true", False), ("oracle", True)):
        with pytest.raises(InputError, match="no criterion `nothing`"):
            load_suite(replace(request, agent=agent, needs_variants=needs_variants), settings, CATALOG)


def freeze(bench: Workbench) -> Snapshot:
    library = load_library(bench.folder, CATALOG)
    return library.snapshot(library.tasks["Order"], timeout=20)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ({"fails": "Ordered", "answer": 1}, "no criterion `Ordered`"),
        ({"fails": "kept"}, "it does what the solution does: add `changes`, `before`, `after`, `answer` or `solution`"),
        ({"changes": [{"call": "ehr.create"}]}, "it changes nothing: add one of set, replace, substitute"),
        ({"changes": [{"call": "create", "times": 0}]}, "`create` is not a sandbox and a method, such as `ehr.create`"),
        ({"changes": [{"call": "fax.send", "times": 0}]}, "the environment has no sandbox `fax`"),
        ({"changes": [{"call": "ehr.creates", "times": 0}]}, "`ehr` has no method `creates`"),
        ({"changes": [{"call": "ehr.create", "set": {"status": 1}}]}, "`ehr.create` has no parameter `status`"),
        ({"changes": [{"call": "ehr.create", "replace": {"": "a"}}]}, "a text to replace is empty"),
        ({"changes": [{"call": "ehr.create", "set": {".": "a"}}]}, "a path is empty"),
        ({"after": [{"ehr.remove": ["Patient", "ana"]}]}, "`ehr` has no method `remove`"),
        ({"after": [{"ehr.delete": {"kind": "Patient"}}]}, "`ehr.delete` has no parameter `kind`"),
        ({"after": [{"ehr.delete": 1, "wait": 2}]}, "a call is a map with one key"),
        ({"solution": "none.py"}, "none.py: there is no such file"),
        ({"solution": "own.py::write_all"}, "no function `write_all` in the file"),
        ({"solution": "clinic.yml"}, "clinic.yml: not Python"),
    ],
)
def test_mistakes_in_a_variant_are_reported_with_file_and_line(
    clinic: Workbench, variant: dict[str, Any], message: str
) -> None:
    [(line, reported)] = load_mistakes(clinic, wrong=[{"name": "it", "fails": "kept", **variant}])
    assert line
    assert message in reported


def test_two_variants_of_a_name_and_a_variant_of_no_solution_are_mistakes(clinic: Workbench) -> None:
    twice = [{"name": "it", "answer": 1}] * 2
    [(_, reported)] = load_mistakes(clinic, ways=twice)
    assert reported == "another entry of `ways` has the same name"
    [(_, reported)] = load_mistakes(clinic, solution=None, ways=twice[:1])
    assert reported == "the task has no `solution` that could be changed"


def test_templates_in_variants_are_filled(clinic: Workbench) -> None:
    entity = {"id": "patient", "dataset": "chart", "type": "Patient", "where": {"_id": "eva"}}
    changes = [{"call": "ehr.create", "set": {"resource.subject.reference": "{{ patient.reference }}"}}]
    wrong = [{"name": "for {{ patient.id }}", "fails": "ordered", "changes": changes}]
    assert find_problems(clinic, entities=[entity], wrong=wrong) == []


def test_a_scenario_file_may_have_variants(bench: Workbench) -> None:
    scenario = {
        "name": "Greets",
        "simulation_context": "You say hello.",
        "setup": {"person": {"opening": "Hello"}},
        "goals": {"assertions": [{"bot_uttered": {"text_matches": "Good day"}}]},
        "solution": "right.py",
        "wrong": [{"name": "rude", "fails": "bot_uttered(Good day)", "solution": "rude.py"}],
        "ways": [{"name": "long", "solution": "long.py"}],
    }
    bench.write("greets.yml", json.dumps({"scenario": scenario}))
    for name, reply in {"right": "Good day.", "rude": "What?", "long": "Good day to you."}.items():
        bench.write(f"{name}.py", f"def on_turn(message):\n    return {reply!r}\n")
    assert run(bench, "wrong", "ways").problems() == []


GUARDED = """
from clerkship.plugin import ActionExecuted, Say, SlotSet

def on_turn(message):
    asks = Say("Which day?", utter_name="utter_ask_day", buttons=({"title": "Monday"}, {"title": "Friday"}))
    if message.turn == 1:
        return asks
    return [SlotSet(name="day", value=message.text), ActionExecuted(name="action_book"), Say("Booked.")]
"""


def write_booking(bench: Workbench, **variants: Any) -> None:
    """Write a conversation of two turns with these variants."""
    scenario = {
        "name": "Books",
        "simulation_context": "You want to come on Friday.",
        "setup": {"person": {"opening": "A visit, please.", "script": [{"when": "(?i)day", "press": "Friday"}]}},
        "goals": {
            "assertions": [
                {"slot_was_set": [{"name": "day", "value": "Friday"}]},
                {"sequencing": [{"slot_was_set": "day"}, {"action_executed": "action_book"}]},
                {"bot_uttered": {"text_matches": "(?i)booked|see you"}},
                {"bot_did_not_utter": {"text_matches": "(?i)card number"}},
            ]
        },
        "solution": "booking.py",
        **variants,
    }
    bench.write("booking.py", GUARDED)
    bench.write("books.yml", json.dumps({"scenario": scenario}))


def test_variants_change_the_parts_of_a_reply(bench: Workbench) -> None:
    booked = {"call": "reply.action_executed", "where": {"name": "action_book"}}
    wrong: list[dict[str, Any]] = [
        {"fails": "slot_was_set(day='Friday')", "changes": [{"call": "reply.slot_set", "set": {"value": "Monday"}}]},
        {"fails": "sequencing(2 steps)", "changes": [{**booked, "times": 0}]},
        {
            "fails": "sequencing(2 steps)",
            "changes": [
                {**booked, "times": 0},
                {"call": "reply.slot_set", "before": [{"reply.action_executed": "action_book"}]},
            ],
        },
        {"fails": "bot_uttered((?i)booked|see you)", "changes": [{"call": "reply.say", "replace": {"Booked": "Done"}}]},
        {
            "fails": "bot_did_not_utter((?i)card number)",
            "after": [{"reply.say": {"text": "Your card number?", "buttons": [{"title": "Pay"}]}}],
        },
        {
            "fails": "slot_was_set(day='Friday')",
            "changes": [{"call": "reply.say", "set": {"buttons.1.title": "Never"}}],
        },
    ]
    ways = [
        {"name": "other words", "changes": [{"call": "reply.say", "replace": {"Booked.": "See you then!"}}]},
        {"name": "polite", "before": [{"reply.say": "Good morning!"}, {"reply.slot_set": ["polite", True]}]},
    ]
    write_booking(bench, wrong=[{"name": f"wrong {n}", **each} for n, each in enumerate(wrong)], ways=ways)
    assert run(bench, "wrong", "ways").problems() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"call": "reply.says", "times": 0}, "`reply` has no method `says`"),
        ({"call": "reply.slot_set", "set": {"slot": "day"}}, "`reply.slot_set` has no parameter `slot`"),
        ({"call": "chat.say", "after": [{"reply.say": {"words": "Hi"}}]}, "`reply.say` has no parameter `words`"),
    ],
)
def test_mistakes_in_a_change_of_a_reply_are_reported(bench: Workbench, change: dict[str, Any], message: str) -> None:
    write_booking(bench, ways=[{"name": "it", "changes": [change]}])
    with pytest.raises(InputError) as raised:
        load_library(bench.folder, CATALOG)
    assert [problem.message for problem in raised.value.problems] == [message]


def test_a_task_without_a_conversation_has_no_reply_to_change(clinic: Workbench) -> None:
    [(_, reported)] = load_mistakes(clinic, ways=[{"name": "it", "changes": [{"call": "reply.say", "times": 0}]}])
    assert reported == "the environment has no sandbox `reply`"


def test_a_function_replaces_the_turns_of_the_reference_solution(bench: Workbench) -> None:
    bench.write(
        "own.py",
        "def wait(message, sandboxes, reference):\n    return reference(message) if message.turn < 2 else 'Hm'",
    )
    write_booking(bench, wrong=[{"name": "it", "fails": "slot_was_set", "solution": "own.py::wait"}])
    bench.write("booking.py", GUARDED + "\ndef on_start(start):\n    return 'Booked so far: nothing.'")
    report = run(bench, "wrong", store=bench.folder / "runs.db")
    assert report.problems() == []
    with SqliteStore(bench.folder / "runs.db") as store:
        [trial] = store.task_runs(report.outcomes[0].run)
        messages = [orjson.loads(line)["payload"]["text"] for line in store.log(trial) if b"chat.message" in line]
    assert messages == ["Booked so far: nothing.", "A visit, please.", "Which day?", "Friday", "Hm"]


def test_the_criterion_that_must_fail_may_be_named_by_its_assertion(bench: Workbench) -> None:
    silent = {"name": "it", "changes": [{"call": "reply.action_executed", "times": 0}]}
    write_booking(bench, wrong=[{**silent, "fails": "sequencing"}])
    assert run(bench, "wrong").problems() == []
    write_booking(bench, wrong=[{**silent, "fails": "slot_was_set"}])
    [problem] = run(bench, "wrong").problems()
    assert "it must fail on \"slot_was_set(day='Friday')\", but the verdict is fail on 'sequencing(2 steps)'" in problem


def test_what_must_fail_may_be_a_monitor(clinic: Workbench) -> None:
    order = {"resourceType": "Task", "status": "requested", "intent": "order", "description": "Give her 400 tablets."}
    wrong = [{"name": "it", "fails": "conduct", "after": [{"ehr.create": {"resource": order}}]}]
    assert find_problems(clinic, wrong=wrong, monitors={"conduct": "gate"}) == []


def test_an_assertion_that_two_criteria_have_does_not_name_one(bench: Workbench) -> None:
    goals = {"assertions": [{"bot_uttered": {"text_matches": "day"}}, {"bot_uttered": {"text_matches": "Booked"}}]}
    write_booking(bench, goals=goals, wrong=[{"name": "it", "fails": "bot_uttered", "before": [{"wait": "1s"}]}])
    with pytest.raises(InputError) as raised:
        load_library(bench.folder, CATALOG)
    [problem] = raised.value.problems
    assert (problem.message, problem.hint) == (
        "2 criteria are `bot_uttered`",
        "give a label: bot_uttered(day), bot_uttered(Booked)",
    )


def test_a_wrong_solution_of_a_judged_criterion_needs_a_judge_or_its_recorded_answers(bench: Workbench) -> None:
    kind, rude = "The agent is kind", {"call": "reply.say", "set": {"text": "Again?"}}
    goals = {"criteria": [kind], "assertions": [{"action_executed": "action_book"}]}
    write_booking(bench, goals=goals, wrong=[{"name": "rude", "fails": kind, "changes": [rude]}])
    answers = [
        {"contains": "Again?", "answer": {"passed": False, "reasoning": "It is rude."}},
        {"answer": {"passed": True, "reasoning": "It is kind."}},
    ]
    judge = f"scripted:{bench.write('judge.json', json.dumps(answers))}"
    [unjudged] = run(bench, "wrong").outcomes
    assert unjudged.not_attacked == {"Books": "the criterion that must fail needs a judge"}
    assert run(bench, "wrong", tape="replay").exit_code() == 2
    for options in ({"judge": judge}, {"judge": judge, "tape": "refresh"}, {"tape": "replay"}):
        report = run(bench, "wrong", **options)
        assert report.problems() == []
        assert report.outcomes[0].failed == ("Books: rude",)
