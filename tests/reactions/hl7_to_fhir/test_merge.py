"""Tests of merging, linking and unlinking patients."""

from clerkship.formats.fhir.resource import Resource
from clerkship.simulators.fhir.events import NothingChanged
from tests.reactions.hl7_to_fhir.clinic import ANA, CHART, MRN, ORDER, Clinic, build_msh

OLD: Resource = {
    **ANA,
    "id": "anna",
    "identifier": [{"system": MRN, "value": "4799"}],
    "name": [{"family": "Sylva", "given": ["Anna"]}],
}
THEIRS: tuple[Resource, ...] = (
    {
        "resourceType": "Observation",
        "id": "k1",
        "status": "final",
        "code": {"text": "Potassium"},
        "subject": {"reference": "Patient/anna", "display": "Anna Sylva"},
    },
    {
        "resourceType": "Coverage",
        "id": "cover",
        "status": "active",
        "beneficiary": {"reference": "Patient/anna"},
        "payor": [{"reference": "Patient/anna"}],
    },
    {
        "resourceType": "Appointment",
        "id": "soon",
        "status": "booked",
        "start": "2026-03-05T09:00:00-05:00",
        "end": "2026-03-05T09:30:00-05:00",
        "participant": [{"actor": {"reference": "Patient/anna"}, "status": "accepted"}],
    },
    {
        "resourceType": "Task",
        "id": "call",
        "status": "requested",
        "intent": "order",
        "for": {"reference": "Patient/anna"},
    },
    {
        "resourceType": "Provenance",
        "id": "origin",
        "target": [{"reference": "Patient/anna"}],
        "recorded": "2026-01-01T00:00:00Z",
        "agent": [{"who": {"reference": "Patient/anna"}}],
    },
)
EVN = "EVN||20260302090000"
PID = "PID|1||4711^^^CLINIC^MR||Silva^Ana||19650315|F"
MERGE = (build_msh("ADT^A40^ADT_A39"), EVN, PID, "MRG|4799^^^CLINIC^MR")


def test_merge_moves_all_resources_to_survivor() -> None:
    clinic = Clinic(*CHART, OLD, *THEIRS)
    keys = clinic.file(*MERGE)
    assert keys == ["Appointment/soon", "Coverage/cover", "Observation/k1", "Task/call", "Patient/anna", "Patient/ana"]
    assert clinic.get("Observation/k1")["subject"] == {"reference": "Patient/ana", "display": "Ana Maria Silva"}
    assert clinic.get("Coverage/cover")["payor"][0]["reference"] == "Patient/ana"
    assert clinic.get("Task/call")["for"]["reference"] == "Patient/ana"
    assert clinic.get("Provenance/origin")["target"] == [{"reference": "Patient/anna"}]
    gone, here = clinic.get("Patient/anna"), clinic.get("Patient/ana")
    assert (gone["active"], gone["link"]) == (False, [{"other": {"reference": "Patient/ana"}, "type": "replaced-by"}])
    assert (here["active"], here["link"]) == (True, [{"other": {"reference": "Patient/anna"}, "type": "replaces"}])
    assert here["identifier"][-1] == {"system": MRN, "value": "4799", "use": "old"}
    assert clinic.replay() == clinic.state.dump()


def test_repeated_merge_changes_nothing_and_old_number_finds_survivor() -> None:
    clinic = Clinic(*CHART, OLD)
    clinic.file(*MERGE)
    [event] = clinic.receive(*MERGE)
    assert isinstance(event.payload, NothingChanged)
    late = "PID|1||4799^^^CLINIC^MR||Sylva^Anna||19650315|F"
    [visit] = clinic.file(build_msh("ADT^A01^ADT_A01"), EVN, late, "PV1|1|O")
    assert clinic.get(visit)["subject"]["reference"] == "Patient/ana"
    assert clinic.get("Patient/ana")["name"] == ANA["name"]


def test_merged_patient_is_matched_by_former_name() -> None:
    clinic = Clinic(*CHART, {**OLD, "name": [{"family": "Doe", "given": ["Jane"]}], "birthDate": "1900-01-01"})
    clinic.file(*MERGE)
    late = "PID|1||4799^^^CLINIC^MR||Doe^Jane||19000101|F"
    [visit] = clinic.file(build_msh("ADT^A01^ADT_A01"), EVN, late, "PV1|1|O")
    assert clinic.get(visit)["subject"]["reference"] == "Patient/ana"
    assert clinic.get("Patient/ana")["name"] == ANA["name"]
    stranger = late.replace("Doe^Jane||19000101", "Roe^Rita||19700101")
    assert "they are different patients" in clinic.refusal_text(build_msh("ADT^A01^ADT_A01"), EVN, stranger, "PV1|1|O")


def test_merge_without_mrg_is_refused() -> None:
    clinic = Clinic(*CHART, OLD)
    other = "MRG|4799^^^CLINIC^MR||||||Zhou^Bao"
    reason = clinic.refusal_text(*MERGE[:3], other)
    assert "MRG-1 names Patient/anna, who is Anna Sylva, born 1965-03-15, female; MRG-7 says Bao Zhou" in reason
    assert clinic.file(*MERGE[:3], other.replace("Zhou^Bao", "SYLVA^A"))


def test_merge_of_unknown_patient_is_refused() -> None:
    clinic = Clinic(*CHART, OLD)
    assert "no patient in this chart has the number `1` of MRG-1" in clinic.refusal_text(*MERGE[:3], "MRG|1")
    assert "has no MRG" in clinic.refusal_text(*MERGE[:3], checked=False)
    stranger = "PID|1||4711^^^CLINIC^MR||Roe^Jane||19700101|F"
    assert "they are different patients" in clinic.refusal_text(*MERGE[:2], stranger, MERGE[3])


def test_merge_of_several_is_atomic() -> None:
    clinic = Clinic(*CHART, OLD)
    assert "no patient in this chart" in clinic.refusal_text(
        *MERGE, "PID|1||4712^^^CLINIC^MR||Brandt^Eva||19710701", "MRG|1^^^CLINIC^MR"
    )
    assert clinic.get("Patient/anna")["active"] is True


def test_merge_over_limit_is_refused_completely() -> None:
    clinic = Clinic(*CHART, OLD, *THEIRS, max_entries=2)
    assert "this server moves 2 at once" in clinic.refusal_text(*MERGE)


def test_patients_are_linked_and_unlinked() -> None:
    clinic = Clinic(ANA, OLD, ORDER)
    lines = (EVN, PID, "PID|2||4799^^^CLINIC^MR||Sylva^Anna||19650315|F")
    clinic.file(build_msh("ADT^A24^ADT_A24"), *lines)
    assert clinic.get("Patient/anna")["link"] == [{"other": {"reference": "Patient/ana"}, "type": "seealso"}]
    clinic.file(build_msh("ADT^A37^ADT_A37"), *lines)
    assert "link" not in clinic.get("Patient/anna")
    assert "both PID name Patient/ana" in clinic.refusal_text(build_msh("ADT^A24^ADT_A24"), EVN, PID, PID)
