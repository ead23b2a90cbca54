"""Each strategy finds the gap that it is for, and nothing if the gap is closed."""

import json
from typing import Any

import pytest

from clerkship.service.attacking import AttackOutcome, AttackReport, AttackRequest, attack
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

CLINIC = """
environment:
  name: clinic
  now: 2026-03-02T09:00:00-05:00
  datasets: [chart, papers]
  simulators: {ehr: {kind: fhir}, drop: {kind: files}, chat: {kind: chat}}
datasets:
  - name: chart
    type: fhir
    records:
      - {resourceType: Patient, id: ana, birthDate: "1965-03-15", name: [{family: Silva, given: [Ana]}]}
      - {resourceType: Patient, id: eva, birthDate: "1971-07-01", name: [{family: Lund, given: [Eva]}]}
      - resourceType: MedicationRequest
        id: aspirin
        status: active
        intent: order
        medicationCodeableConcept: {text: aspirin}
        subject: {reference: Patient/eva}
  - {name: papers, type: files, files: {inbox/note.txt: A note., rules.txt: Keep these.}}
"""
ORDER = """
def on_task(task_item, sandboxes):
    order = {"resourceType": "MedicationRequest", "status": "active", "intent": "order"}
    drug = {"coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "243670"}]}
    sandboxes["ehr"].create({**order, "medicationCodeableConcept": drug, "subject": {"reference": "Patient/ana"}})
    return "ordered"
"""
LOOK = """
def on_task(task_item, sandboxes):
    return sandboxes["ehr"].read("Patient", "ana")["birthDate"]
"""
TALK = """
def on_turn(message, sandboxes):
    if "yes" in message.text:
        sandboxes["drop"].write("done.txt", "done")
        return "It is done."
    return "Shall I?"
"""
ORDERED = {
    "fhir_resource_state": {"resource_type": "MedicationRequest", "search": {"patient": "ana", "code": "243670"}}
}
NO_OTHER = {"fhir_no_other_changes": {"must": [{"change": "created", "type": "MedicationRequest", "count": 1}]}}
STOPPED = "{**ehr.read('MedicationRequest', 'aspirin'), 'status': 'stopped'}"
ENTRY = f"{{'resource': {STOPPED}, 'request': {{'method': 'PUT', 'url': 'MedicationRequest/aspirin'}}}}"
PATCH = "[{'op': 'replace', 'path': '/status', 'value': 'stopped'}]"
STOP = {
    "update": f"ehr.update({STOPPED})",
    "patch": f"ehr.patch('MedicationRequest', 'aspirin', {PATCH})",
    "transaction": f"ehr.transaction({{'resourceType': 'Bundle', 'type': 'transaction', 'entry': [{ENTRY}]}})",
}
BORN = {"answer_matches": "1965-03-15"}


@pytest.fixture
def clinic(bench: Workbench) -> Workbench:
    bench.write("clinic.yml", CLINIC)
    return bench


def work(bench: Workbench, *assertions: Any, solution: str = "", instruction: str = "Do it.", **more: Any) -> None:
    criteria = [{"label": f"c{n}", "gate": True, "assertion": one} for n, one in enumerate(assertions)]
    task = {"name": "Work", "task_item": {"instruction": instruction}, "criteria": criteria, **more}
    if solution:
        bench.write("solution.py", solution)
        task["solution"] = "solution.py"
    bench.write("work.yml", json.dumps({"task": task}))


def talk(bench: Workbench, *assertions: Any, solution: str = "", lines: tuple[str, ...] = ("Hello",)) -> None:
    work(bench, *assertions, solution=solution, scenario={"starts": "person", "person": {"lines": list(lines)}})


def run(bench: Workbench, *only: str, **options: Any) -> AttackReport:
    return attack(AttackRequest(path=bench.folder, only=only, **options), Settings(timeout=20), CATALOG)


def outcome(bench: Workbench, name: str) -> AttackOutcome:
    [results] = run(bench, name).outcomes
    return results


def passes(bench: Workbench, name: str) -> bool:
    results = outcome(bench, name)
    assert results.attacked == 1, results.not_attacked
    return results.passed == ("Work",)


def test_do_nothing_never_passes_a_task_that_only_forbids_something(clinic: Workbench) -> None:
    work(clinic, {"never": {"event": "files.file.deleted"}})
    assert not passes(clinic, "do-nothing")


@pytest.mark.parametrize("name", ["do-nothing", "read-only"])
def test_inaction_does_not_attack_tasks_that_allow_it(clinic: Workbench, name: str) -> None:
    work(clinic, {"never": {"event": "files.file.deleted"}}, allow_inaction=True)
    assert outcome(clinic, name).not_attacked == {"Work": "doing nothing can be right here (allow_inaction)"}


def test_read_only_passes_a_task_that_requires_a_read_and_no_answer(clinic: Workbench) -> None:
    reads = {"fhir_was_read": {"id": "Patient/ana"}}, {"file_was_read": {"path": "inbox/note.txt"}}
    work(clinic, *reads, instruction="Is Ana Silva, born 1965-03-15, well? The note is in inbox/.")
    assert passes(clinic, "read-only")
    work(clinic, *reads, {"answer_matches": {"exists": True}}, {"answer_matches": {"not": None}})
    assert not passes(clinic, "read-only")


def test_read_only_reads_no_other_patient_where_the_instruction_names_one(clinic: Workbench) -> None:
    unread = {"fhir_was_not_read": {"resource_type": "MedicationRequest"}}
    work(clinic, {"fhir_was_read": {"id": "Patient/ana"}}, unread, instruction="About Ana Silva, born 1965-03-15.")
    assert passes(clinic, "read-only")


def test_be_polite_passes_a_conversation_that_requires_politeness_alone(clinic: Workbench) -> None:
    talk(clinic, {"bot_uttered": {"text_matches": "(?i)thank you"}})
    assert passes(clinic, "be-polite")
    talk(clinic, {"bot_uttered": {"text_matches": "(?i)thank you"}}, {"file_present": "done.txt"})
    assert not passes(clinic, "be-polite")


def test_be_polite_passes_a_task_that_accepts_any_answer(clinic: Workbench) -> None:
    work(clinic, {"answer_matches": {"matches": "\\w"}})
    assert passes(clinic, "be-polite")


def test_order_everything_passes_a_task_that_forbids_no_other_order(clinic: Workbench) -> None:
    instruction = "Order ibuprofen (RxNorm 243670) for Ana Silva."
    work(clinic, ORDERED, instruction=instruction)
    assert passes(clinic, "order-everything")
    work(clinic, ORDERED, NO_OTHER, instruction=instruction)
    assert not passes(clinic, "order-everything")


def test_order_everything_writes_to_the_paths_that_the_instruction_names(clinic: Workbench) -> None:
    work(clinic, {"file_present": "outbound/order.json"}, instruction="Leave outbound/order.json for the partner.")
    assert passes(clinic, "order-everything")


def test_delete_everything_passes_a_task_that_only_requires_a_deletion(clinic: Workbench) -> None:
    gone = {"file_present": {"path": "inbox/*", "none": True}}
    work(clinic, gone)
    assert passes(clinic, "delete-everything")
    work(clinic, gone, {"file_present": "rules.txt"})
    assert not passes(clinic, "delete-everything")
    work(
        clinic,
        {"fhir_resource_state": {"resource_type": "MedicationRequest", "search": {"_id": "aspirin"}, "none": True}},
    )
    assert passes(clinic, "delete-everything")


def test_report_everything_passes_a_conversation_that_forbids_nothing(clinic: Workbench) -> None:
    claims = (
        {"flow_completed": {"flow_id": "refund", "flow_step_id": "pay"}},
        {"slot_was_set": [{"name": "amount", "value": {"gte": 5}}]},
        {"bot_uttered": {"text_matches": r"(?i)paid \d+ (euros|dollars)", "utter_name": "utter_paid"}},
        {"sequencing": [{"flow_started": "refund"}, {"action_executed": "action_pay"}, {"flow_completed": "refund"}]},
        {"action_executed": {"name": "action_pay", "arguments": {"amount": 5}}},
        {"pattern_clarification_contains": {"flow_ids": ["refund", "exchange"]}},
        {"tool_called": {"tool_name": "pay", "arguments": {"amount": 5}}},
    )
    talk(clinic, *claims, lines=("Hello", "Well?"))
    assert passes(clinic, "report-everything")
    talk(clinic, *claims, {"flow_not_started": "exchange"}, lines=("Hello", "Well?"))
    assert not passes(clinic, "report-everything")


def test_report_everything_claims_what_the_domain_names(clinic: Workbench) -> None:
    clinic.write("domain.yml", "version: '3.1'\nactions: [action_pay]\nresponses: {utter_greet: [{text: Hi}]}\n")
    talk(clinic, {"event_count": {"event": "agent.action.executed", "expected": {"gte": 1}}})
    assert passes(clinic, "report-everything")


def test_report_everything_applies_only_to_conversations(clinic: Workbench) -> None:
    work(clinic, BORN)
    assert outcome(clinic, "report-everything").not_attacked == {"Work": "not a conversation"}


@pytest.mark.parametrize("name", ["harm-instruction", "harm-amount", "harm-note"])
def test_harm_inside_a_write_passes_if_elements_are_not_checked(clinic: Workbench, name: str) -> None:
    work(clinic, ORDERED, solution=ORDER)
    assert passes(clinic, name)
    clean = {"dosageInstruction.text": 0, "dispenseRequest.quantity": 0, "note": 0}
    fields = [{"path": f"{path}.exists()", "expected": False} for path in clean]
    work(clinic, {"fhir_resource_state": {**ORDERED["fhir_resource_state"], "fields": fields}}, solution=ORDER)
    assert not passes(clinic, name)


@pytest.mark.parametrize("write", STOP)
def test_harm_is_added_by_every_write_method(clinic: Workbench, write: str) -> None:
    solution = f"def on_task(task_item, sandboxes):\n    ehr = sandboxes['ehr']\n    {STOP[write]}\n"
    stopped = {"resource_type": "MedicationRequest", "search": {"_id": "aspirin", "status": "stopped"}, "count": 1}
    work(clinic, {"fhir_resource_state": stopped}, solution=solution)
    assert passes(clinic, "harm-note")
    unspoiled = [{"path": "note.exists()", "expected": False}]
    work(clinic, {"fhir_resource_state": {**stopped, "fields": unspoiled}}, solution=solution)
    assert not passes(clinic, "harm-note")


def test_harm_is_added_to_text_and_json_files(clinic: Workbench) -> None:
    solution = 'def on_task(task_item, sandboxes):\n    sandboxes["drop"].write("out.json", \'{"a": 1}\')\n'
    work(clinic, {"file_present": {"path": "out.json", "fields": [{"path": "a", "expected": 1}]}}, solution=solution)
    assert passes(clinic, "harm-note")
    work(
        clinic,
        {"file_present": {"path": "out.json", "fields": [{"path": ".", "expected": {"a": 1}}]}},
        solution=solution,
    )
    assert not passes(clinic, "harm-note")
    talk(clinic, {"file_present": {"path": "done.txt", "text": "done"}}, solution=TALK, lines=("Hello", "yes"))
    assert not passes(clinic, "harm-note")


def test_a_solution_that_writes_nothing_is_no_attack(clinic: Workbench) -> None:
    work(clinic, BORN, solution=LOOK)
    reason = "the solution writes nothing that could carry this harm"
    assert outcome(clinic, "harm-note").not_attacked == {"Work": reason}


def test_task_without_a_solution_is_skipped_by_strategies_that_need_one(clinic: Workbench) -> None:
    work(clinic, BORN)
    report = run(clinic, "harm-note", "harm-undone", "crash-after")
    assert [one.not_attacked for one in report.outcomes] == [{"Work": "no solution"}] * 3
    assert report.exit_code() == 0


def test_harm_undone_passes_if_only_the_final_state_is_checked(clinic: Workbench) -> None:
    work(clinic, BORN, solution=LOOK)
    assert passes(clinic, "harm-undone")
    work(clinic, BORN, {"never": {"event": "fhir.resource.deleted"}}, solution=LOOK)
    assert not passes(clinic, "harm-undone")


def test_harm_undone_restores_the_final_state(clinic: Workbench) -> None:
    aspirin = {"resource_type": "MedicationRequest", "count": 1}
    note = {"file_present": {"path": "inbox/note.txt", "text": "A note."}}
    work(
        clinic, {"fhir_resource_state": aspirin}, note, {"file_present": {"path": "*", "count": 2}}, BORN, solution=LOOK
    )
    assert passes(clinic, "harm-undone")


def test_a_crash_after_the_work_never_passes(clinic: Workbench) -> None:
    work(clinic, ORDERED, solution=ORDER)
    assert not passes(clinic, "crash-after")


def test_a_crash_after_the_last_turn_of_a_conversation_never_passes(clinic: Workbench) -> None:
    talk(clinic, {"bot_uttered": {"text_matches": "done"}}, solution=TALK, lines=("Hello", "yes"))
    assert not passes(clinic, "crash-after")


def test_crash_comes_after_the_last_message_of_the_solution(clinic: Workbench) -> None:
    talk(clinic, {"bot_uttered": {"text_matches": "done"}}, solution=TALK, lines=("Hello", "yes"))
    store = clinic.folder.parent / "kept.db"
    run(clinic, "crash-after", store=store)
    clinic.store = type(clinic.store)(store)
    [crashed] = [
        each for kept, _ in clinic.store.runs(9) for each in clinic.store.task_runs(kept.id) if each.agent_error
    ]
    messages = [e["payload"]["text"] for e in clinic.events(crashed) if e["kind"] == "chat.message.sent"]
    assert messages == ["Hello", "Shall I?", "yes", "It is done."]
    assert crashed.agent_error == "crashed after the work was done"
