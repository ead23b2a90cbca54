"""What the review of a new request shows, section by section."""

from collections.abc import Iterable

from clerkship.simulators.portal.codes.choices import find_label
from clerkship.simulators.portal.describe import (
    build_diagnosis_rows,
    build_document_rows,
    build_draft_services,
    write_answer,
    write_period,
)
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.request_form import RequestForm, name_member
from clerkship.simulators.portal.views import Fact


def build_review_facts(desk: Desk, form: RequestForm) -> list[tuple[str, list[Fact]]]:
    """Return the facts of each section, by the key of the section."""
    draft, member = form.draft, form.member
    providers = (("Requesting provider", draft.requesting_npi), ("Servicing provider", draft.servicing_npi))
    sections: list[tuple[str, list[Fact]]] = [
        (
            "patient",
            []
            if member is None
            else [
                Fact("Name", name_member(member)),
                Fact("Birth date", f"{member.birth_date:%m/%d/%Y}"),
                Fact("Member ID", member.member_id),
                Fact("Payer", desk.name_payer(member.payer_id)),
            ],
        ),
        (
            "request",
            [
                Fact("Request type", find_label("reviews", draft.review or "")),
                Fact("Urgency", find_label("urgencies", draft.urgency or "")),
                Fact("Place of service", f"{draft.place} {find_label('places', draft.place)}".strip()),
            ],
        ),
        ("providers", [Fact(label, _name_provider(desk, npi)) for label, npi in providers]),
        ("diagnoses", [Fact(row.code, row.description) for row in build_diagnosis_rows(form.codes, draft.diagnoses)]),
        ("services", list(_list_services(form))),
        (
            "clinical",
            [
                *(
                    Fact(each.question.text, "" if each.value is None else write_answer(each.value))
                    for each in form.questions.ask(draft.answers)
                ),
                *([Fact("Note", draft.note)] if draft.note else []),
            ],
        ),
        (
            "documents",
            [Fact(row.type, f"{row.name} ({row.size})") for row in build_document_rows(desk, draft.documents)],
        ),
    ]
    return sections


def _name_provider(desk: Desk, npi: str) -> str:
    provider = desk.records.find_provider(npi)
    return f"{provider.name} (NPI {npi})" if provider else npi


def _list_services(form: RequestForm) -> Iterable[Fact]:
    for row in build_draft_services(form.codes, form.draft):
        modifiers = f", modifiers {row.modifiers}" if row.modifiers else ""
        yield Fact(f"{row.code}{modifiers}", f"{row.description}, {row.quantity}, {write_period(row.start, row.end)}")
