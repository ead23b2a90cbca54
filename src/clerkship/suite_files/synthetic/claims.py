"""The claim for each visit, to the insurer on that day."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.conditions import Illness
from clerkship.suite_files.synthetic.coverage import find_policy_on
from clerkship.suite_files.synthetic.organizations import ADMISSION, CHILD, IDS, URGENT
from clerkship.suite_files.synthetic.patient_history import PatientHistory, Visit, build_encounter_reference
from clerkship.suite_files.synthetic.terms import (
    TERMS,
    Term,
    build_concept,
    build_reference,
    build_resource,
    codeable_concept,
    read_table,
)
from clerkship.suite_files.synthetic.times import format_datetime, format_instant, to_local

_NEWBORN_DIAGNOSES = ((8, "diagnosis.under_8_days"), (29, "diagnosis.8_to_28_days"))
"""Maximum age in days (exclusive), and the diagnosis."""
COMBINATION_CODES: tuple[tuple[str, frozenset[str], Term], ...] = (
    ("hypertension", frozenset({"failure", "kidney"}), TERMS["diagnosis.hypertensive_both"]),
    ("hypertension", frozenset({"failure"}), TERMS["diagnosis.hypertensive_heart"]),
    ("hypertension", frozenset({"kidney"}), TERMS["diagnosis.hypertensive_kidney"]),
    ("diabetes", frozenset({"kidney"}), TERMS["diagnosis.diabetic_kidney"]),
)
"""Illnesses that ICD-10-CM codes together: the illness, the illnesses beside it, and the combination code. The first
matching row applies; the other illnesses are billed after it, because their codes give type and stage."""
BILLED_LAST = ("failure", "kidney3", "kidney4")
LAB_CHARGE = 38


class BilledService(NamedTuple):
    """The procedure code of a kind of visit or a panel, for patients below an age. Its name is our own."""

    key: str
    term: Term
    below: int = 200


SERVICES = read_table("services", BilledService)
"""The first row with the key and above the age applies."""


def build_claims(history: PatientHistory) -> Iterator[Resource]:
    """Yield the claims that have been sent by now."""
    for visit in history.visits:
        sent = visit.end + timedelta(days=history.rng.integer(2, 6))
        policy = find_policy_on(history, visit.day)
        if sent > history.now or policy is None:
            continue
        organization = visit.kind.location.organization
        items = _build_items(history, visit)
        total = sum(item["net"]["value"] for item in items)
        yield build_resource(
            "Claim",
            f"claim-{history.tag}-{visit.number}",
            format_instant(sent),
            identifier=[{"system": f"{IDS}claim", "value": f"C{history.tag}{visit.number:02}"}],
            status="active",
            type=build_concept("claim.institutional" if visit.kind in (ADMISSION, URGENT) else "claim.professional"),
            use="claim",
            patient=history.subject(),
            billablePeriod={"start": visit.day.isoformat(), "end": to_local(visit.end).date().isoformat()},
            created=format_datetime(sent),
            insurer=policy.payer.ref,
            provider=organization.ref,
            priority=build_concept("claim.normal"),
            careTeam=[{"sequence": 1, "provider": visit.clinician.ref}],
            diagnosis=[
                {"sequence": number, "diagnosisCodeableConcept": codeable_concept(term)}
                for number, term in enumerate(_list_diagnoses(history, visit), 1)
            ],
            insurance=[{"sequence": 1, "focal": True, "coverage": build_reference(f"Coverage/{policy.id}")}],
            item=items,
            total=_build_money(total),
        )


def _build_money(dollars: int) -> dict[str, Any]:
    return {"value": dollars, "currency": "USD"}


def _list_diagnoses(history: PatientHistory, visit: Visit) -> list[Term]:
    if not visit.problems:
        return [_get_wellness_diagnosis(history, visit)]
    illnesses = [problem.illness for problem in visit.problems]
    keys = {illness.key for illness in illnesses}
    ordered = sorted(illnesses, key=lambda illness: illness.key in BILLED_LAST)
    return [get_billing_term(illness, keys) for illness in ordered]


def get_billing_term(illness: Illness, other_keys: set[str]) -> Term:
    """Return the code that an illness is billed as together with other illnesses."""
    present = other_keys | {"kidney" for key in other_keys if key.startswith("kidney")}
    matches = (term for key, others, term in COMBINATION_CODES if key == illness.key and others <= present)
    return next(matches, illness.icd)


def _get_wellness_diagnosis(history: PatientHistory, visit: Visit) -> Term:
    """Return the diagnosis of a visit of a healthy patient."""
    days = (visit.day - history.person.born).days
    child = next((key for below, key in _NEWBORN_DIAGNOSES if days < below), "diagnosis.well_child")
    return TERMS[child if visit.kind is CHILD else "diagnosis.well"]


def _build_items(history: PatientHistory, visit: Visit) -> list[dict[str, Any]]:
    """Return the visit itself and each panel as items."""
    services = [(visit.kind.key, visit.kind.charge)]
    services += [(panel, LAB_CHARGE) for panel in visit.panels if panel != "phq9"]
    age = history.person.age(visit.day)
    return [
        {
            "sequence": number,
            "careTeamSequence": [1],
            "diagnosisSequence": [1],
            "productOrService": codeable_concept(_get_billed_term(key, age)),
            "servicedDate": visit.day.isoformat(),
            "unitPrice": _build_money(charge),
            "net": _build_money(charge),
            "encounter": [build_encounter_reference(history, visit)],
        }
        for number, (key, charge) in enumerate(services, 1)
    ]


def _get_billed_term(key: str, age: int) -> Term:
    return next(service.term for service in SERVICES if service.key == key and age < service.below)
