"""`input_entity_id` limits every assertion about records, calls, messages, faxes, files, cards and events."""

from typing import Any, ClassVar, NamedTuple

import pytest

from clerkship.assertions.evaluation import evaluate
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.events.evidence import Evidence
from clerkship.model.task import Entity, Task
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.voice.events import CaseOpened
from tests.assertions.two_patients import CLINIC, PEOPLE, RECORDS, care_for_both, write_task
from tests.simulators.fhir.assertions.clinic import Clinic
from tests.simulators.voice.call_log_builder import PAYER, CallLogBuilder
from tests.workbench import Workbench, written

CATALOG = build_catalog_without_plugins()


class Narrowed(NamedTuple):
    """A criterion, and whether it passes if it is limited to Ana, to Eva, and to nobody."""

    assertion: dict[str, Any]
    ana: bool
    eva: bool
    everybody: bool


def has(word: str) -> dict[str, str]:
    """Return the matcher of a text with a word."""
    return {"contains": word}


RESULT = {
    "resourceType": "Observation",
    "status": "final",
    "code": {"text": "K"},
    "subject": {"reference": "Patient/ana"},
}
CASES = [
    Narrowed({"fhir_resource_state": {"resource_type": "Communication", "count": 1}}, True, True, False),
    Narrowed({"fhir_was_read": {"resource_type": "Observation", "count": 1}}, True, True, False),
    Narrowed({"fhir_was_not_read": {"resource_type": "Observation", "where": {"status": "final"}}}, False, True, False),
    Narrowed({"fhir_was_searched_for": {"resource": RESULT}}, True, False, True),
    Narrowed({"payer_state": {"record": "authorization", "count": 1}}, True, True, False),
    Narrowed(
        {"portal_state_match": {"correlate_by": {"resource": "appeals", "key": "id"}, "count": 1}}, True, True, False
    ),
    Narrowed({"portal_action": {"action": "appealed", "count": 1}}, True, True, False),
    Narrowed({"portal_document": {"sent_with": "appeal", "text": has("alpha")}}, True, False, True),
    Narrowed({"hl7_structural": {"type": "ADT", "count": 1}}, True, True, False),
    Narrowed({"hl7_acknowledged": {"type": "ADT"}}, True, False, False),
    Narrowed({"x12_request": {"transaction": "270", "count": 1}}, True, True, False),
    Narrowed({"x12_response": {"transaction": "271", "count": 1}}, True, True, False),
    Narrowed({"x12_response": {"transaction": "999", "count": 1}}, True, True, False),
    Narrowed({"message_sent": {"text": has("alpha")}}, True, False, True),
    Narrowed({"message_sent": {"text": has("alpha"), "none": True}}, False, True, False),
    Narrowed({"message_thread": [{"from": "agent", "text": has("alpha")}]}, True, False, True),
    Narrowed({"fax_sent": {"to": CLINIC, "count": 1}}, False, True, False),
    Narrowed({"fax_sent": {"to": CLINIC, "count": 2}}, True, False, False),
    Narrowed({"fax_document": {"contains": ["alpha"]}}, True, False, True),
    Narrowed({"fax_document": {"not_contains": ["alpha"]}}, False, True, False),
    Narrowed({"fax_text": {"text": "Report alpha of Ana Rivera, born 1980-02-14."}}, True, False, True),
    Narrowed({"fax_forwarded": {"fax": CLINIC}}, True, False, True),
    Narrowed({"fax_was_read": {"from": CLINIC}}, True, False, False),
    Narrowed({"file_present": {"path": "out/*", "text": has("alpha")}}, True, False, True),
    Narrowed({"file_present": {"path": "out/*", "count": 1}}, True, True, False),
    Narrowed({"file_was_read": {"path": "in/*"}}, True, False, True),
    Narrowed({"file_was_read": {"path": "in/*", "none": True}}, False, True, False),
    Narrowed({"cds_card": {"summary": "alpha", "sandbox": "emr"}}, True, False, True),
    Narrowed({"cds_latency": {"max": "60s", "count": 1}}, True, True, False),
    Narrowed({"cds_called": {"service": "order-safety", "count": 1}}, True, True, False),
    Narrowed(
        {"event_occurred": {"event": "messages.message.sent", "where": {"text": has("alpha")}}}, True, False, True
    ),
    Narrowed({"event_count": {"event": "fhir.resource.created", "expected": 1}}, True, True, False),
    Narrowed({"never": {"event": "files.file.written", "where": {"path": "out/alpha.json"}}}, False, True, False),
    Narrowed(
        {
            "sequencing": [
                {"event": "fhir.resources.searched"},
                {"event": "messages.message.sent", "where": {"text": has("alpha")}},
            ]
        },
        True,
        False,
        True,
    ),
    Narrowed(
        {"any_of": [{"message_sent": {"text": has("alpha")}}, {"file_present": {"path": "out/a*"}}]}, True, False, True
    ),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Return the graded criteria of one run, three of each case."""
    bench = Workbench(tmp_path_factory.mktemp("narrowing"))
    limits: list[dict[str, str]] = [{"input_entity_id": "ana"}, {"input_entity_id": "eva"}, {}]
    write_task(bench, *({**limit, "assertion": case.assertion} for case in CASES for limit in limits))
    return written(bench.run_one(care_for_both))


def test_criterion_sees_only_what_is_about_its_record(results: list[Any]) -> None:
    wrong = []
    for number, case in enumerate(CASES):
        runs = results[3 * number : 3 * number + 3]
        if [(run.status, run.passed) for run in runs] != [("judged", each) for each in case[1:]]:
            wrong.append((case, [(run.status, run.passed, run.detail) for run in runs]))
    assert wrong == []


def test_detail_says_which_record_a_criterion_is_limited_to(results: list[Any]) -> None:
    number = next(number for number, case in enumerate(CASES) if "message_sent" in case.assertion)
    assert "(only what concerns eva)" in results[3 * number + 1].detail
    assert "concerns" not in results[3 * number + 2].detail


CALLS = [
    Narrowed({"voice_call": {"number": PAYER, "count": 1}}, True, True, False),
    Narrowed({"voice_call": {"direction": "inbound"}}, False, True, True),
    Narrowed({"voice_path": {"nodes": ["alpha"]}}, True, False, True),
    Narrowed({"voice_path": {"never": ["alpha"]}}, False, True, False),
    Narrowed({"voice_transcript": {"contains": ["alpha"]}}, True, False, True),
    Narrowed({"voice_transcript": {"not_contains": ["alpha"]}}, False, True, False),
    Narrowed({"voicemail_left": {"contains": ["alpha"]}}, True, False, True),
    Narrowed({"voicemail_left": {"contains": ["alpha"], "none": True}}, False, True, False),
    Narrowed({"voice_case": {"count": 1}}, True, True, False),
]


def build_calls() -> CallLogBuilder:
    """Build a log of calls: to a payer for each patient, identified in another way, and voicemails; one from Eva."""
    log = CallLogBuilder()
    for id, word, spoken in (
        ("ana", "alpha", "N W five five five oh one"),
        ("eva", "beta", "the patient is Eva Stone, born March fourth nineteen sixty-one"),
    ):
        call = log.start(PAYER)
        log.visit(call, word)
        log.hear(call, "Please say the member id.")
        log.say(call, spoken)
        log.say(call, word)
        member = "NW55501" if id == "ana" else ""
        case = CaseOpened(call=call, reference=f"77{len(word)}", subject="Denied claim", member_id=member)
        log.add_event(case, source="phone", actor="system", at=log.now)
        log.end(call)
        mailbox = log.start(PEOPLE[id]["phone"])
        log.beep(mailbox)
        log.say(mailbox, f"The word is {word}. Please call us back.")
        log.leave(mailbox, f"The word is {word}. Please call us back.")
        log.end(mailbox)
    caller = log.start(PEOPLE["eva"]["phone"], direction="inbound")
    log.hear(caller, "Hello.", "person")
    log.end(caller)
    return log


def test_voice_criterion_sees_only_calls_about_its_record() -> None:
    log = build_calls()
    entities = {str(record["id"]): record for record in RECORDS if record["resourceType"] == "Patient"}
    task = Task(name="t", entities=tuple(Entity(id=id, dataset="chart", type="Patient") for id in entities))
    found = Evidence(task, log.log.ordered(), {"ehr": Clinic(RECORDS).state}, "agent_done", entities=entities)
    wrong = []
    for case in CALLS:
        [(name, arguments)] = case.assertion.items()
        assertion = CATALOG.assertion(name).model_validate(arguments)
        checks = [assertion.check(found.for_entity(id)) for id in ("ana", "eva", None)]
        if [check.passed for check in checks] != list(case[1:]):
            wrong.append((case, [check.detail for check in checks]))
    assert wrong == []


class TellsSubject(Assertion):
    """An assertion whose detail is the entity that it is told."""

    name: ClassVar[str] = "tells_subject"

    def check(self, evidence: Evidence) -> Check:
        return Check.of(True, str(evidence.subject))


class TellsScopedSubject(TellsSubject):
    """The same, for one that a record can limit."""

    name: ClassVar[str] = "tells_scoped_subject"
    scoped: ClassVar[bool] = True


def test_assertion_that_cannot_be_limited_is_not_told_of_the_record() -> None:
    evidence = Evidence(Task(name="t"), (), {}, "agent_done", entities={"ana": RECORDS[2]}).for_entity("ana")
    assert evaluate(TellsSubject(), evidence).check.detail == "None"
    assert evaluate(TellsScopedSubject(), evidence).check.detail == "ana"


def test_assertion_that_says_nothing_about_records_refuses_them() -> None:
    assert TellsSubject().explain_unscoped() == "it does not use the record"
    assert TellsScopedSubject().explain_unscoped("Patient") == ""


def test_values_that_were_computed_once_are_shared_by_criteria_about_several_records() -> None:
    evidence = Evidence(Task(name="t"), (), {}, "agent_done")
    first = evidence.for_entity("ana").cached(_build_list)
    assert evidence.for_entity("eva").cached(_build_list) is evidence.cached(_build_list) is first


def _build_list(evidence: Evidence) -> list[str]:
    return []


def test_every_assertion_is_narrowed_in_a_test_or_says_why_it_cannot_be() -> None:
    tested = {name for case in (*CASES, *CALLS) for name in case.assertion}
    models: dict[str, type[Assertion]] = dict(CATALOG.assertions.items())
    assert {name for name, model in models.items() if model.scoped and model.name == name} == tested
    silent = [name for name, model in models.items() if not model.scoped and not model.unscoped_reason]
    assert silent == []
    both = [name for name, model in models.items() if model.scoped and model.unscoped_reason]
    assert both == []
