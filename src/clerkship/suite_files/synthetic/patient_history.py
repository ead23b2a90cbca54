"""The simulated history of one patient, from which all resources and notes are written."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from clerkship.suite_files.synthetic.analytes import PANELS
from clerkship.suite_files.synthetic.conditions import Allergen, Illness
from clerkship.suite_files.synthetic.drugs import Drug
from clerkship.suite_files.synthetic.labs import LabResult
from clerkship.suite_files.synthetic.organizations import Organization, VisitKind
from clerkship.suite_files.synthetic.people import SyntheticPerson
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.staff import Clinician
from clerkship.suite_files.synthetic.terms import build_reference, codeable_concept
from clerkship.suite_files.synthetic.times import format_datetime, to_local
from clerkship.suite_files.synthetic.vitals import BodyBuild, Vitals


@dataclass(slots=True)
class Visit:
    """One visit of a patient."""

    number: int
    kind: VisitKind
    day: date
    """The day in the time zone of the clinic."""
    start: datetime
    end: datetime
    clinician: Clinician
    problems: "list[PatientProblem]" = field(default_factory=list)
    vitals: Vitals | None = None
    panels: dict[str, list[LabResult]] = field(default_factory=dict)
    """Results by panel."""
    awaited: list[str] = field(default_factory=list)
    """Panels whose results are pending."""
    prescriptions: "list[Prescription]" = field(default_factory=list)

    @property
    def period(self) -> dict[str, str]:
        """The time of the visit as a Period."""
        return {"start": format_datetime(self.start), "end": format_datetime(self.end)}


@dataclass(slots=True)
class PatientProblem:
    """An illness of a patient, current or past."""

    illness: Illness
    onset: date
    recorded: date
    abated: date | None = None
    visit: Visit | None = None
    status: str = "active"

    @property
    def reason(self) -> dict[str, Any]:
        """The reason for a visit or an order, as a CodeableConcept."""
        return codeable_concept(self.illness.snomed, text=self.illness.name)


@dataclass(slots=True)
class Prescription:
    """A drug of a patient, current or past."""

    drug: Drug
    problem: PatientProblem
    visit: Visit
    status: str
    ended: date | None = None
    stop_reason: str = ""
    dose: float = 0
    """A single dose, in the unit of the drug."""

    @property
    def sig(self) -> str:
        """The instructions for taking it."""
        return self.drug.sig.format(dose=f"{self.dose:g}")

    @property
    def text(self) -> str:
        """Drug and instructions, such as `lisinopril 10 mg: Take 1 tablet by mouth once daily.`"""
        return f"{self.drug.name}: {self.sig}"


class Referral(NamedTuple):
    """A referral to a specialist."""

    problem: PatientProblem
    visit: Visit
    specialist: Clinician
    status: str


class Insurance(NamedTuple):
    """An insurance policy."""

    id: str
    payer: Organization
    member: str
    group: str
    plan: str
    start: date
    end: date | None
    order: int
    relationship: str

    def covers(self, day: date) -> bool:
        """Return whether the policy is in force on a day."""
        return self.start <= day and (self.end is None or day <= self.end)


@dataclass(slots=True)
class PatientHistory:
    """Everything that has happened to one patient."""

    person: SyntheticPerson
    rng: RandomSource
    now: datetime
    today: date
    end: datetime
    """Now, or the time of death."""
    doctor: Clinician
    specialists: dict[str, Clinician]
    body_rng: RandomSource
    """Draws that two records of the same person share: build and allergies."""
    build: BodyBuild = field(init=False)
    allergies: list[Allergen] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    problems: list[PatientProblem] = field(default_factory=list)
    prescriptions: list[Prescription] = field(default_factory=list)
    referrals: list[Referral] = field(default_factory=list)
    insurance: list[Insurance] = field(default_factory=list)

    @property
    def tag(self) -> str:
        """The part that all ids of the patient contain."""
        return self.person.tag

    @property
    def last_day(self) -> date:
        """Today, or the day of death."""
        return self.person.died or self.today

    @property
    def active(self) -> list[PatientProblem]:
        """The current problems."""
        return [problem for problem in self.problems if problem.status == "active"]

    def subject(self) -> dict[str, str]:
        """Return a Reference to the patient."""
        return {"reference": self.person.key, "display": self.person.name}

    def medications_before(self, visit: Visit) -> list[Prescription]:
        """Return what the patient takes on arrival at a visit."""
        return [
            prescription
            for prescription in self.prescriptions
            if prescription.visit.start < visit.start
            and (prescription.ended is None or prescription.ended >= visit.day)
        ]

    def medications_after(self, visit: Visit) -> list[Prescription]:
        """Return what the patient takes after a visit: what is continued, and what is started."""
        left = to_local(visit.end).date()
        continued = [
            prescription
            for prescription in self.medications_before(visit)
            if prescription.ended is None or prescription.ended > left
        ]
        return [*continued, *visit.prescriptions]


def get_result_time(visit: Visit, panel: str) -> datetime:
    """Return when the results of a panel are available."""
    return visit.end + timedelta(hours=PANELS[panel].hours)


def build_condition_id(history: PatientHistory, problem: PatientProblem) -> str:
    """Return an id such as `cond-0001-hypertension`, or `cond-0001-cold-2` for the second cold of a patient."""
    onsets = sorted(other.onset for other in history.problems if other.illness.key == problem.illness.key)
    number = onsets.index(problem.onset) + 1
    return f"cond-{history.tag}-{problem.illness.key}" + (f"-{number}" if number > 1 else "")


def build_condition_reference(history: PatientHistory, problem: PatientProblem, display: str = "") -> dict[str, str]:
    """Return a Reference to the Condition of a problem."""
    return build_reference(f"Condition/{build_condition_id(history, problem)}", display)


def build_encounter_reference(history: PatientHistory, visit: Visit) -> dict[str, str]:
    """Return a Reference to the Encounter of a visit."""
    return {"reference": f"Encounter/enc-{history.tag}-{visit.number}"}
