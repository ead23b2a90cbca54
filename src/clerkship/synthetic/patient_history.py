"""What has happened to one patient: facts, from which every resource and every note of theirs is written."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from clerkship.synthetic.allergies import Allergen
from clerkship.synthetic.analytes import PANELS
from clerkship.synthetic.conditions import Illness
from clerkship.synthetic.drugs import Drug
from clerkship.synthetic.labs import LabResult
from clerkship.synthetic.organizations import Organization
from clerkship.synthetic.people import SyntheticPerson
from clerkship.synthetic.random_source import RandomSource
from clerkship.synthetic.staff import Clinician
from clerkship.synthetic.terms import build_reference, codeable_concept
from clerkship.synthetic.times import format_datetime, to_local
from clerkship.synthetic.visit_kinds import VisitKind
from clerkship.synthetic.vitals import BodyBuild, Vitals


@dataclass(slots=True)
class Visit:
    """One time they were seen."""

    number: int
    kind: VisitKind
    day: date
    """On the clinic's calendar."""
    start: datetime
    end: datetime
    clinician: Clinician
    problems: "list[PatientProblem]" = field(default_factory=list)
    vitals: Vitals | None = None
    panels: dict[str, list[LabResult]] = field(default_factory=dict)
    """What came back, by panel."""
    awaited: list[str] = field(default_factory=list)
    """Panels that were ordered and have not come back."""
    prescriptions: "list[Prescription]" = field(default_factory=list)

    @property
    def period(self) -> dict[str, str]:
        """From when until when, as a Period."""
        return {"start": format_datetime(self.start), "end": format_datetime(self.end)}


@dataclass(slots=True)
class PatientProblem:
    """An illness they have, or had."""

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
    """A drug they take, or took."""

    drug: Drug
    problem: PatientProblem
    visit: Visit
    status: str
    ended: date | None = None
    stop_reason: str = ""
    dose: float = 0
    """Of one time, in the drug's unit."""

    @property
    def sig(self) -> str:
        """How it is taken, in words."""
        return self.drug.sig.format(dose=f"{self.dose:g}")

    @property
    def text(self) -> str:
        """`lisinopril 10 mg: Take 1 tablet by mouth once daily.`"""
        return f"{self.drug.name}: {self.sig}"


class Referral(NamedTuple):
    """Somebody else was asked to see them."""

    problem: PatientProblem
    visit: Visit
    specialist: Clinician
    status: str


class Insurance(NamedTuple):
    """Who pays, from when until when."""

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
        """Whether it held on a day."""
        return self.start <= day and (self.end is None or day <= self.end)


@dataclass(slots=True)
class PatientHistory:
    """One patient."""

    person: SyntheticPerson
    rng: RandomSource
    now: datetime
    today: date
    end: datetime
    """Now, or when they died."""
    doctor: Clinician
    specialists: dict[str, Clinician]
    body_rng: RandomSource
    """Draws of what is the onsets wherever they are registered: how they are built, what they cannot have."""
    build: BodyBuild = field(init=False)
    allergies: list[Allergen] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)
    problems: list[PatientProblem] = field(default_factory=list)
    prescriptions: list[Prescription] = field(default_factory=list)
    referrals: list[Referral] = field(default_factory=list)
    insurance: list[Insurance] = field(default_factory=list)

    @property
    def tag(self) -> str:
        """What all ids of theirs have in them."""
        return self.person.tag

    @property
    def last_day(self) -> date:
        """Today, or the day they died."""
        return self.person.died or self.today

    @property
    def active(self) -> list[PatientProblem]:
        """What they have now."""
        return [problem for problem in self.problems if problem.status == "active"]

    def subject(self) -> dict[str, str]:
        """Them, as a reference."""
        return {"reference": self.person.key, "display": self.person.name}

    def medications_before(self, visit: Visit) -> list[Prescription]:
        """What they were taking when they came to a visit."""
        return [
            prescription
            for prescription in self.prescriptions
            if prescription.visit.start < visit.start
            and (prescription.ended is None or prescription.ended >= visit.day)
        ]

    def medications_after(self, visit: Visit) -> list[Prescription]:
        """What they take when they leave it: some of that, and what was begun."""
        left = to_local(visit.end).date()
        continued = [
            prescription
            for prescription in self.medications_before(visit)
            if prescription.ended is None or prescription.ended > left
        ]
        return [*continued, *visit.prescriptions]


def get_result_time(visit: Visit, panel: str) -> datetime:
    """When a panel that was drawn at a visit is there."""
    return visit.end + timedelta(hours=PANELS[panel].hours)


def build_condition_id(history: PatientHistory, problem: PatientProblem) -> str:
    """Return an id such as `cond-0001-hypertension`, or `cond-0001-cold-2` for the second cold of a patient."""
    onsets = sorted(other.onset for other in history.problems if other.illness.key == problem.illness.key)
    number = onsets.index(problem.onset) + 1
    return f"cond-{history.tag}-{problem.illness.key}" + (f"-{number}" if number > 1 else "")


def build_condition_reference(history: PatientHistory, problem: PatientProblem, display: str = "") -> dict[str, str]:
    """A problem, as a reference."""
    return build_reference(f"Condition/{build_condition_id(history, problem)}", display)


def build_encounter_reference(history: PatientHistory, visit: Visit) -> dict[str, str]:
    """A visit, as a reference."""
    return {"reference": f"Encounter/enc-{history.tag}-{visit.number}"}
