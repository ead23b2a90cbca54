"""The Patient resource of a patient."""

from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.organizations import CLINIC, IDS
from clerkship.suite_files.synthetic.patient_history import PatientHistory
from clerkship.suite_files.synthetic.terms import Term, build_concept, build_resource, codeable_concept
from clerkship.suite_files.synthetic.times import clinic_time, format_datetime, format_instant

MRN = f"{IDS}mrn"


def build_patient(history: PatientHistory) -> Resource:
    """Build the Patient resource."""
    person = history.person
    died = person.died
    known = history.visits[-1].end if history.visits else min(clinic_time(person.born, 23), history.end)
    updated = clinic_time(died, 18) if died is not None else known
    return build_resource(
        "Patient",
        f"pat-{history.tag}",
        format_instant(min(updated, history.now)),
        identifier=_build_identifiers(history),
        active=died is None,
        name=_build_names(history),
        telecom=_build_telecom(history),
        gender=person.sex,
        birthDate=person.born.isoformat(),
        deceasedDateTime=format_datetime(clinic_time(died, 6, 15)) if died is not None else None,
        address=_build_addresses(history),
        maritalStatus=build_concept(f"marital.{person.marital}") if person.age(history.last_day) >= 18 else None,
        contact=[_build_contact(history)],
        communication=[_build_language(history)],
        generalPractitioner=[history.doctor.ref],
        managingOrganization=CLINIC.ref,
    )


def _build_identifiers(history: PatientHistory) -> list[dict[str, Any]]:
    record = {
        "use": "usual",
        "type": build_concept("patient.record", text="MRN"),
        "system": MRN,
        "value": history.person.mrn,
    }
    members = [
        {
            "use": "secondary",
            "type": build_concept("patient.member", text="Member number"),
            "system": f"{IDS}member/{insurance.payer.number}",
            "value": insurance.member,
        }
        for insurance in history.insurance
        if insurance.covers(history.last_day)
    ]
    return [record, *members]


def _build_names(history: PatientHistory) -> list[dict[str, Any]]:
    person = history.person
    given = [person.given, person.middle] if person.middle else [person.given]
    name = {"use": "official", "text": " ".join(filter(None, (*given, person.family, person.suffix)))}
    official: dict[str, Any] = {**name, "family": person.family, "given": given}
    if person.suffix:
        official["suffix"] = [person.suffix]
    if not person.maiden:
        return [official]
    former = " ".join((*given, person.maiden))
    return [official, {"use": "maiden", "text": former, "family": person.maiden, "given": given}]


def _build_telecom(history: PatientHistory) -> list[dict[str, Any]]:
    person = history.person
    ways = (("phone", person.phone, "home"), ("phone", person.mobile, "mobile"), ("email", person.email, "home"))
    return [{"system": system, "value": value, "use": use} for system, value, use in ways if value]


def _build_addresses(history: PatientHistory) -> list[dict[str, Any]]:
    """Return the current address, and for some patients the previous one."""
    person = history.person
    if person.moved is None:
        return [person.address.to_fhir()]
    year = max(person.born.year, history.last_day.year - 2)
    old = person.moved.to_fhir()
    return [person.address.to_fhir(since=f"{year}"), old | {"use": "old", "period": {"end": f"{year}"}}]


def _build_contact(history: PatientHistory) -> dict[str, Any]:
    relation, name, phone = history.person.kin
    given, _, family = name.partition(" ")
    return {
        "relationship": [build_concept(f"kin.{relation}")],
        "name": {"text": name, "family": family, "given": [given]},
        "telecom": [{"system": "phone", "value": phone, "use": "home"}],
    }


def _build_language(history: PatientHistory) -> dict[str, Any]:
    code, name = history.person.language
    return {"language": codeable_concept(Term("urn:ietf:bcp:47", code, name)), "preferred": True}
