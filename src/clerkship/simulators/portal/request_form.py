"""A request for an authorization: its sections, what is checked, and the payer's query that it becomes."""

from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple, get_args

from clerkship.payer.answer import Member
from clerkship.payer.code_pattern import matches_any_code
from clerkship.payer.eligibility import find_coverage
from clerkship.payer.inquiry import AuthorizationQuery, RequestedService
from clerkship.simulators.portal.codes.choices import find_label
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.lists import CodeLists, RequestQuestions, check_place
from clerkship.simulators.portal.records import RequestDraft, ServiceLine, UploadedDocument
from clerkship.simulators.portal.views import FieldMistake

Section = Literal["patient", "request", "providers", "diagnoses", "services", "clinical", "documents", "review"]
SECTIONS: tuple[Section, ...] = get_args(Section)
SECTION_LABELS: dict[Section, str] = {
    "patient": "Patient",
    "request": "Request",
    "providers": "Providers",
    "diagnoses": "Diagnoses",
    "services": "Services",
    "clinical": "Clinical questions",
    "documents": "Documents",
    "review": "Review",
}
MAX_DIAGNOSES, MAX_SERVICES = 12, 10
ATTESTATION = (
    "I confirm that this information is complete and correct, that it is in the patient's medical record, and that I "
    "may submit this request for the provider."
)


class SectionProblem(NamedTuple):
    """A problem of a draft, and where it is mended."""

    section: Section
    problem: FieldMistake


class RequestForm:
    """A draft with what is needed to check it."""

    def __init__(self, desk: Desk, draft: RequestDraft) -> None:
        self.desk, self.draft = desk, draft
        self.codes = CodeLists(desk.state.config)
        self.questions = RequestQuestions(desk.state.config, [service.code for service in draft.services])
        key = desk.state.members.get(draft.member)
        self.member: Member | None = None if key is None else desk.records.find_member(key)

    @property
    def first_day(self) -> date:
        """The first day of service; today if none is given."""
        return min((each.start for each in self.draft.services if each.start is not None), default=self.desk.today)

    def list_problems(self) -> list[SectionProblem]:
        """Return everything that is missing or wrong, in the order of the sections."""
        checks = {
            "patient": self._check_patient,
            "request": self._check_request,
            "providers": self._check_providers,
            "diagnoses": self._check_diagnoses,
            "services": self._check_services,
            "clinical": self._check_answers,
            "documents": self._check_documents,
            "review": self._check_contact,
        }
        return [
            SectionProblem(section, FieldMistake(*problem)) for section in SECTIONS for problem in checks[section]()
        ]

    def find_open_section(self) -> Section:
        """Return the first section with a problem; the review if there is none."""
        return next((problem.section for problem in self.list_problems()), "review")

    def _check_patient(self) -> Iterator[tuple[str, str]]:
        if self.member is None:
            yield "member", "Find the patient and choose them."
            return
        coverage = find_coverage(self.member, self.first_day)
        if coverage is None or coverage.status != "active":
            yield (
                "member",
                f"{name_member(self.member)} is not covered on {self.first_day:%m/%d/%Y}. Check the coverage.",
            )

    def _check_request(self) -> Iterator[tuple[str, str]]:
        draft = self.draft
        if draft.review is None:
            yield "review", "Choose what you request."
        if draft.urgency is None:
            yield "urgency", "Choose how urgent the request is."
        if not draft.place:
            yield "place", "Choose the place of service."
        elif problem := check_place(draft.place):
            yield "place", problem

    def _check_providers(self) -> Iterator[tuple[str, str]]:
        desk = self.desk
        for field, npi, label in (
            ("requesting_npi", self.draft.requesting_npi, "requesting provider"),
            ("servicing_npi", self.draft.servicing_npi, "servicing provider"),
        ):
            if not npi:
                yield field, f"Choose the {label}."
            elif desk.records.find_provider(npi) is None:
                yield field, f"There is no provider with the NPI {npi}. Search the directory for the {label}."
            elif field == "requesting_npi" and not desk.records.may_read(desk.npi, npi):
                yield field, f"The requesting provider must belong to {desk.organization}."

    def _check_diagnoses(self) -> Iterator[tuple[str, str]]:
        if not self.draft.diagnoses:
            yield "diagnosis_code", "Add at least one diagnosis."
        if len(self.draft.diagnoses) > MAX_DIAGNOSES:
            yield "diagnosis_code", f"A request has at most {MAX_DIAGNOSES} diagnoses."
        for place, code in enumerate(self.draft.diagnoses):
            if problem := self.codes.diagnoses.find_problem(code, self.first_day):
                yield "diagnosis_code", problem
            elif code in self.draft.diagnoses[:place]:
                yield "diagnosis_code", f"{code} is in the list already."

    def _check_services(self) -> Iterator[tuple[str, str]]:
        services = self.draft.services
        if not services and self.draft.review != "admission":
            yield "procedure_code", "Add at least one procedure."
        if len(services) > MAX_SERVICES:
            yield "procedure_code", f"A request has at most {MAX_SERVICES} procedures."
        for place, service in enumerate(services):
            yield from self.check_service(service)
            if service.code in [each.code for each in services[:place]]:
                yield "procedure_code", f"{service.code} is in the list already. Remove it to change it."

    def check_service(self, service: ServiceLine) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with one procedure."""
        if problem := self.codes.procedures.find_problem(service.code, service.start or self.desk.today):
            yield "procedure_code", problem
        for modifier in service.modifiers:
            if problem := self.codes.check_modifier(modifier):
                yield "modifiers", problem
        if service.start is None:
            yield "start", f"Enter the first day of service of {service.code}."
        elif service.end is not None and service.end < service.start:
            yield "end", f"The last day of {service.code} is before its first day."

    def _check_answers(self) -> Iterator[tuple[str, str]]:
        for each in self.questions.check(self.draft.answers):
            yield each.field, each.text

    def _check_documents(self) -> Iterator[tuple[str, str]]:
        for needed in self.name_needed_documents():
            yield "file", f"Upload a document of the type “{needed}”."

    def list_needed_documents(self) -> list[str]:
        """Return the types of documents that the procedures of the request need."""
        required = self.desk.state.config.attachments.required
        codes = [service.code for service in self.draft.services]
        found = [type for pattern, type in required.items() if codes and matches_any_code((pattern,), codes)]
        return list(dict.fromkeys(found))

    def name_needed_documents(self) -> list[str]:
        """Return the types of documents that are needed and not there yet, in words."""
        types = {document.type for document in self.documents}
        return [find_label("document_types", each) for each in self.list_needed_documents() if each not in types]

    @property
    def documents(self) -> list[UploadedDocument]:
        """The uploaded documents."""
        known = self.desk.state.documents
        return [known[id] for id in self.draft.documents if id in known]

    def _check_contact(self) -> Iterator[tuple[str, str]]:
        if not self.draft.contact_name:
            yield "contact_name", "Enter whom the payer can ask about this request."
        if not self.draft.contact_phone:
            yield "contact_phone", "Enter a phone number for questions about this request."
        elif sum(character.isdigit() for character in self.draft.contact_phone) < 10:
            yield "contact_phone", "Enter a phone number with area code, such as 555-010-0140."

    def build_query(self) -> AuthorizationQuery:
        """Return the request as the payer gets it. The draft must have no problems."""
        draft, member = self.draft, self.member
        assert member is not None
        return AuthorizationQuery(
            **{**dict(self.desk.build_party(member)), "provider_id": draft.requesting_npi},
            review=draft.review or "services",
            services=tuple(build_service(service, draft) for service in draft.services),
            diagnoses=tuple(code.replace(".", "") for code in draft.diagnoses),
            place=draft.place or None,
            is_urgent=draft.urgency == "urgent",
            answers=self.questions.read(draft.answers),
            attachments=draft.documents,
            note=draft.note,
        )


def build_service(service: ServiceLine, draft: RequestDraft) -> RequestedService:
    """Return a procedure as the payer gets it."""
    return RequestedService(
        procedure_code=service.code,
        modifiers=service.modifiers,
        quantity=service.units,
        unit=service.unit,
        start=service.start,
        end=service.end,
        performer_id=draft.servicing_npi or None,
        frequency=None if service.frequency == "total" else service.frequency,
    )


def name_member(member: Member) -> str:
    """Return the name of a member."""
    return " ".join((*member.given, member.family))
