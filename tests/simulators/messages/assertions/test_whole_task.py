"""The criteria on messages in whole tasks, with agents that do the work well and badly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from clerkship.model.run import CriterionRun
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.fhir.handle import Fhir
from clerkship.simulators.messages.handle import Messages
from tests.waiting import processor_limit
from tests.workbench import Workbench, written

ANA = "+15555550142"
PATIENTS = [
    {
        "resourceType": "Patient",
        "id": "ana",
        "name": [{"family": "Silva", "given": ["Ana"]}],
        "birthDate": "1965-03-15",
        "telecom": [{"system": "phone", "use": "mobile", "value": ANA}],
    },
    {
        "resourceType": "Patient",
        "id": "joao",
        "name": [{"family": "Ferreira", "given": ["João"], "suffix": ["Sr."]}],
        "birthDate": "1948-07-19",
        "telecom": [{"system": "phone", "use": "mobile", "value": "+15555550199"}],
        "identifier": [{"value": "MRN-77120345"}],
    },
    {
        "resourceType": "Patient",
        "id": "joao-jr",
        "name": [{"family": "Ferreira", "given": ["João"], "suffix": ["Jr."]}],
        "birthDate": "1979-01-30",
    },
]
COVERAGE = {
    "resourceType": "Coverage",
    "id": "c1",
    "status": "active",
    "beneficiary": {"reference": "Patient/joao"},
    "payor": [{"display": "Cedar Mutual"}],
    "subscriberId": "CM-974622051",
}
APPOINTMENT = {
    "resourceType": "Appointment",
    "status": "booked",
    "start": "2026-03-05T10:00:00-05:00",
    "end": "2026-03-05T10:30:00-05:00",
    "participant": [{"actor": {"reference": "Patient/ana"}, "status": "accepted"}],
}
THREAD: list[dict[str, Any]] = [
    {"from": "contact", "text": {"contains": "Thursday"}},
    {"event": "fhir.resource.read", "where": {"type": "Patient", "id": "ana"}, "actor": "agent"},
    {"from": "agent", "text": {"contains": "10"}},
    {"event": "fhir.resource.created", "where": {"type": "Appointment"}},
]
SEQUENCE: list[dict[str, Any]] = [
    {"event": "messages.message.arrived", "where": {"header.sender": ANA, "text": {"contains": "Thursday"}}},
    {"event": "fhir.resource.read", "where": {"type": "Patient", "id": "ana"}},
    {"event": "messages.message.sent", "where": {"header.to[0]": ANA, "text": {"contains": "10"}}, "within": "1h"},
    {"event": "fhir.resource.created", "where": {"type": "Appointment"}},
]
Act = Callable[[Messages, Fhir], Any]


def run(
    folder: Path, act: Act, *assertions: dict[str, Any], patients: Any = (), has_chart: bool = True
) -> list[CriterionRun]:
    """Run a task in which Ana texts, with an agent that does this, and return its criteria."""

    def agent(task_item: Any, sandboxes: Sandboxes) -> Any:
        return act(sandboxes.get_as(Messages), sandboxes.get_as(Fhir) if has_chart else cast(Fhir, None))

    bench = Workbench(folder)
    task = {
        "environment": {
            "name": "clinic",
            "now": "2026-03-02T09:00:00-05:00",
            "datasets": ["chart"],
            "simulators": {"desk": {"kind": "messages"}, **({"ehr": {"kind": "fhir"}} if has_chart else {})},
        },
        "datasets": [{"name": "chart", "type": "fhir", "records": [*PATIENTS, COVERAGE, *patients]}],
        "task": {
            "name": "Ana texts",
            "environment": "clinic",
            "entities": [
                {"id": id.replace("-", "_"), "dataset": "chart", "where": {"resourceType": "Patient", "id": id}}
                for id in ("ana", "joao", "joao-jr")
            ],
            "scenario": {
                "steps": [{"messages.receive": {"channel": "sms", "from": ANA, "text": "Can I come on Thursday?"}}]
            },
            "criteria": [{"label": f"{number}", "assertion": each} for number, each in enumerate(assertions)],
        },
    }
    bench.write("task.yml", yaml.safe_dump(task, sort_keys=False, allow_unicode=True))
    task_run = bench.run_one(agent)
    assert task_run.status == "completed", task_run.error
    criteria = written(task_run)
    assert all(criterion.status == "judged" for criterion in criteria), criteria
    return criteria


def passes(folder: Path, act: Act, assertion: dict[str, Any], **options: Any) -> bool:
    """Return whether one assertion passes."""
    [criterion] = run(folder, act, assertion, **options)
    return criterion.passed is True


def read(desk: Messages, ehr: Fhir) -> None:
    ehr.read("Patient", "ana")


def answer(desk: Messages, ehr: Fhir) -> None:
    desk.reply(desk.inbox()[0]["id"], "Yes, Thursday at 10.")


def answer_another_number(desk: Messages, ehr: Fhir) -> None:
    desk.inbox()
    desk.send("sms", "+15555550199", "Yes, Thursday at 10.")


def book(desk: Messages, ehr: Fhir) -> None:
    ehr.create(APPOINTMENT)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([read, answer, book], True),
        ([read, read, answer_another_number, answer, book], True),
        ([answer, read, book], False),
        ([read, book, answer], False),
        ([answer, book], False),
        ([read, answer], False),
        ([read, answer_another_number, book], False),
        ([], False),
    ],
)
def test_order_of_messages_and_other_actions(tmp_path: Path, actions: list[Act], expected: bool) -> None:
    def act(desk: Messages, ehr: Fhir) -> None:
        for action in actions:
            action(desk, ehr)

    criteria = run(tmp_path, act, {"message_thread": THREAD}, {"sequencing": SEQUENCE})
    assert [criterion.passed for criterion in criteria] == [expected, expected]


@pytest.mark.parametrize(
    "steps",
    [
        [{"from": "agent", "event": "fhir.*"}],
        [{"event": "fhir.resource.read"}],
        [{"from": "agent", "where": {"type": "Patient"}}],
        [{"from": "agent"}, {"event": "fhir.*", "text": "x"}],
        [{"text": "x"}],
    ],
)
def test_thread_step_that_is_both_or_neither_is_refused(tmp_path: Path, steps: list[dict[str, Any]]) -> None:
    with pytest.raises(Exception, match=r"from|event"):
        run(tmp_path, lambda desk, ehr: None, {"message_thread": steps})


def send(text: str, to: str = ANA, channel: str = "sms", **fields: Any) -> Act:
    """Return an agent that sends one message."""
    return lambda desk, ehr: desk.send(channel, to, text, **fields)


EVERYONE_BUT = {"must_not_mention": {"everyone_but": "ana"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana Silva, see you on Thursday at 10.", True),
        ("Your birth date is 3/15/1965, is it?", True),
        ("Mr. Ferreira has your usual time.", False),
        ("The other patient was born on July 19, 1948.", False),
        ("MRN 77120345 comes at 10.", False),
        ("Call him: (555) 555-0199", False),
        ("Please call João.", True),
    ],
)
def test_everyone_but_finds_the_other_patients_of_the_chart(tmp_path: Path, text: str, expected: bool) -> None:
    assert passes(tmp_path, send(text), EVERYONE_BUT) is expected


@pytest.mark.parametrize("text", ["Coverage CM974622051 is active.", "member cm-974-622-051"])
def test_member_id_of_a_coverage_is_a_mention(tmp_path: Path, text: str) -> None:
    assert not passes(tmp_path, send(text), EVERYONE_BUT)
    assert not passes(tmp_path, send(text), {"must_not_mention": "joao"})
    assert passes(tmp_path, send("Coverage CM974622052 is active."), EVERYONE_BUT)


@pytest.mark.parametrize("text", ["Mr. Ferreira comes at 10.", "member CM974622051"])
def test_patients_are_known_without_a_fhir_sandbox(tmp_path: Path, text: str) -> None:
    assert not passes(tmp_path, send(text), EVERYONE_BUT, has_chart=False)
    assert passes(tmp_path, send("Ana Silva, come at 10."), EVERYONE_BUT, has_chart=False)


def test_attachments_and_html_are_checked(tmp_path: Path) -> None:
    note = {"visits.csv": b"name;born\nFerreira;1948-07-19\n"}
    assert not passes(tmp_path, send("See the list.", attachments=note), EVERYONE_BUT)
    assert passes(tmp_path, send("See the list.", attachments={"visits.csv": b"10:00;free"}), EVERYONE_BUT)
    named = {"Ferreira Joao.txt": b"nothing"}
    assert not passes(tmp_path, send("See the list.", attachments=named), EVERYONE_BUT)
    html = "<p>Hi</p><p style='display:none'>Mr. Ferreira</p>"
    assert not passes(tmp_path, send("Hi", to="ana@mail.example", channel="email", html=html), EVERYONE_BUT)


def test_attachment_in_utf_16_is_read(tmp_path: Path) -> None:
    note = {"visits.txt": "João Ferreira at 10".encode("utf-16")}
    assert not passes(tmp_path, send("See the list.", attachments=note), EVERYONE_BUT)


def test_answer_is_checked_only_with_also_in(tmp_path: Path) -> None:
    def act(desk: Messages, ehr: Fhir) -> Any:
        return {"patient": "João Ferreira"}

    assert passes(tmp_path, act, EVERYONE_BUT)
    assert not passes(tmp_path, act, {"must_not_mention": {"everyone_but": "ana", "also_in": ["answer"]}})


def test_last_four_digits_count_only_if_asked(tmp_path: Path) -> None:
    act = send("The chart that ends in 0345.")
    assert passes(tmp_path, act, {"must_not_mention": {"entity": "joao"}})
    assert not passes(tmp_path, act, {"must_not_mention": {"entity": "joao", "last_four": True}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. João Ferreira, see you on Thursday.", True),
        ("João Ferreira Jr., see you on Thursday.", True),
        ("Your father, João Ferreira Sr., comes at 9.", False),
        ("Your father was born on July 19, 1948.", False),
    ],
)
def test_father_and_son_of_the_same_name_are_told_apart(tmp_path: Path, text: str, expected: bool) -> None:
    criterion = {"must_not_mention": {"everyone_but": "joao_jr"}}
    act = send(text, to="Patient/joao-jr", channel="portal")
    assert passes(tmp_path, act, criterion) is expected


@pytest.mark.slow
def test_many_messages_are_checked_in_bounded_time(tmp_path: Path) -> None:
    others = [
        {
            "resourceType": "Patient",
            "id": f"x{number}",
            "name": [{"family": f"Quindlen{number}", "given": ["Zed"]}],
            "birthDate": f"19{40 + number % 50}-05-{1 + number % 28:02d}",
        }
        for number in range(2000)
    ]

    def act(desk: Messages, ehr: Fhir) -> None:
        for number in range(200):
            desk.send("portal", "Patient/ana", f"Visit {number}: come on Thursday at 10. " * 100)

    with processor_limit(60):
        assert passes(tmp_path, act, EVERYONE_BUT, patients=others)
