"""Requests that were filed: list, details, and what can be done with them."""

from collections.abc import Callable

from clerkship.payer.answer import Authorization
from clerkship.simulators.portal import follow_up
from clerkship.simulators.portal.codes.choices import find_label, list_choices
from clerkship.simulators.portal.describe import (
    STATUS_LABELS,
    build_answer_facts,
    build_diagnosis_rows,
    build_document_rows,
    build_letter_row,
    build_member_card,
    build_request_row,
    build_service_rows,
    list_request_values,
    write_period,
    write_reason,
)
from clerkship.simulators.portal.desk import Desk, refuse_field
from clerkship.simulators.portal.drafts import PreparedDocument, prepare_document
from clerkship.simulators.portal.follow_up import MAX_REASON, find_deadline, list_actions, list_appeals, require_action
from clerkship.simulators.portal.form_values import FormValues, write_day
from clerkship.simulators.portal.lists import CodeLists
from clerkship.simulators.portal.pages.members import read_form
from clerkship.simulators.portal.records import DocumentType
from clerkship.simulators.portal.request_list import SORTS, find_requests
from clerkship.simulators.portal.site import PageRequest, Redirect, Shown, SitePage
from clerkship.simulators.portal.uploads import describe_accepted
from clerkship.simulators.portal.views import (
    AppealView,
    ChangeView,
    Fact,
    FieldChoice,
    QuestionField,
    ReplyView,
    RequestListView,
    RequestView,
    WithdrawView,
)

MAX_UPLOAD_BODY = 20_000_000


def show_requests(desk: Desk, request: PageRequest) -> Shown:
    """List the requests of the practice, with filters, sorting and paging."""
    form = read_form(desk, request)
    found = find_requests(desk, form)
    view = RequestListView(
        title="Authorization requests",
        rows=[build_request_row(desk, each) for each in found.rows],
        paging=found.paging,
        statuses=[FieldChoice("", "All"), *(FieldChoice(*each) for each in STATUS_LABELS.items())],
        sorts=[FieldChoice(key, label) for key, (label, _) in SORTS.items()],
        is_filtered=any(text for name, text in found.terms.items() if name != "sort"),
        values=found.terms,
        problems=form.problems,
    )
    return Shown(view, found.records, found.values)


def show_request(desk: Desk, request: PageRequest) -> Shown:
    """Show everything about one request."""
    found, codes = desk.get_request(request.id), CodeLists(desk.state.config)
    member = desk.records.get_member(found.member_key)
    desk.register_member(member)
    row = build_request_row(desk, found)
    letters = [each for each in desk.state.letters.values() if each.reference == found.id]
    view = RequestView(
        title=f"Request {found.id}",
        row=row,
        member=build_member_card(desk, member),
        facts=_list_facts(desk, found),
        diagnoses=build_diagnosis_rows(codes, found.query.diagnoses),
        services=build_service_rows(codes, found),
        answers=build_answer_facts(desk, found),
        documents=build_document_rows(desk, found.query.attachments),
        reason=write_reason(found.reason),
        text=found.text,
        open_questions=[question.text for question in found.questions],
        appeals=[
            Fact(
                each.id,
                f"{each.status.capitalize()}, filed {write_day(desk.local_time(each.filed).date())}. {each.text}",
            )
            for each in list_appeals(desk, found)
        ],
        letters=[build_letter_row(desk, each) for each in letters],
        actions=list_actions(desk, found),
        is_new="new" in request.fields,
    )
    return Shown(view, (f"request/{found.id}", f"member/{member.key}"), list_request_values(found))


def _list_facts(desk: Desk, request: Authorization) -> list[Fact]:
    query = request.query
    providers = {npi: desk.records.find_provider(npi) for npi in (query.provider_id, _get_performer(request))}
    names = {npi: f"{each.name} (NPI {npi})" if each else npi for npi, each in providers.items()}
    facts = [
        Fact("Request type", find_label("reviews", query.review)),
        Fact("Urgency", find_label("urgencies", "urgent" if query.is_urgent else "standard")),
        Fact("Place of service", f"{query.place} {find_label('places', query.place)}" if query.place else ""),
        Fact("Requesting provider", names[query.provider_id]),
        Fact("Servicing provider", names[_get_performer(request)]),
        Fact("Valid", write_period(request.valid_from, request.valid_to)),
        Fact("Contact", desk.state.contacts.get(request.id, "")),
        Fact("Note", query.note),
    ]
    return [fact for fact in facts if fact.value]


def _get_performer(request: Authorization) -> str:
    return next((each.performer_id for each in request.query.services if each.performer_id), request.query.provider_id)


def prepare_files(desk: Desk, request: PageRequest) -> list[PreparedDocument]:
    """Check the files of a form; raises InvalidForm."""
    typed = request.fields.get("file_type", "") or "other"
    if request.files and not find_label("document_types", typed):
        raise refuse_field("file_type", "Choose the type of the document.")
    type: DocumentType = typed  # type: ignore[assignment]
    return [prepare_document(desk, file.name, file.data, type) for file in request.files]


def show_reply(desk: Desk, request: PageRequest) -> Shown:
    """Show the form to answer questions of the payer."""
    found = desk.get_request(request.id)
    require_action(desk, found, "reply")
    view = ReplyView(
        title=f"Send information for {found.id}",
        row=build_request_row(desk, found),
        text=found.text,
        questions=[
            QuestionField(each.id, each.text, each.type, each.choices, request.fields.get(f"answer_{each.id}", ""))
            for each in found.questions
        ],
        documents=build_document_rows(desk, found.query.attachments),
        document_types=list_choices("document_types"),
        accepted=describe_accepted(desk.state.config.attachments),
    )
    return Shown(view, (f"request/{found.id}",), {"questions": [each.id for each in found.questions]})


def send_reply(desk: Desk, request: PageRequest) -> Redirect:
    """Send answers and documents to the payer."""
    found = desk.get_request(request.id)
    follow_up.reply(desk, found, FormValues(request.fields), prepare_files(desk, request))
    return Redirect(f"/requests/{found.id}", "replied")


def show_change(desk: Desk, request: PageRequest) -> Shown:
    """Show the form to change a request."""
    found = desk.get_request(request.id)
    require_action(desk, found, "change")
    values = {"place": found.query.place or "", "urgency": "urgent" if found.query.is_urgent else "standard"}
    for number, service in enumerate(found.query.services, 1):
        values |= {
            f"units_{number}": f"{service.quantity:g}",
            f"start_{number}": write_day(service.start or found.query.start),
            f"end_{number}": write_day(service.end or found.query.end),
        }
    view = ChangeView(
        title=f"Change {found.id}",
        row=build_request_row(desk, found),
        services=build_service_rows(CodeLists(desk.state.config), found),
        places=list_choices("places"),
        values=values,
    )
    return Shown(view, (f"request/{found.id}",))


def send_change(desk: Desk, request: PageRequest) -> Redirect:
    """Change what a request asks for."""
    found = desk.get_request(request.id)
    follow_up.send_change(desk, found, read_form(desk, request))
    return Redirect(f"/requests/{found.id}", "changed")


def show_withdraw(desk: Desk, request: PageRequest) -> Shown:
    """Ask whether a request is to be withdrawn."""
    found = desk.get_request(request.id)
    require_action(desk, found, "withdraw")
    view = WithdrawView(title=f"Withdraw {found.id}", row=build_request_row(desk, found))
    return Shown(view, (f"request/{found.id}",))


def send_withdrawal(desk: Desk, request: PageRequest) -> Redirect:
    """Withdraw a request."""
    found = desk.get_request(request.id)
    if not request.fields.get("confirm"):
        raise refuse_field("confirm", "Confirm that the request is to be withdrawn.")
    follow_up.withdraw(desk, found)
    return Redirect(f"/requests/{found.id}", "withdrawn")


def show_appeal(desk: Desk, request: PageRequest) -> Shown:
    """Show the form to appeal against a denial."""
    found = desk.get_request(request.id)
    require_action(desk, found, "appeal")
    view = AppealView(
        title=f"Appeal against the denial of {found.id}",
        row=build_request_row(desk, found),
        denial=found.text or write_reason(found.reason),
        deadline=find_deadline(desk, found),
        document_types=list_choices("document_types"),
        accepted=describe_accepted(desk.state.config.attachments),
        max_reason=MAX_REASON,
    )
    return Shown(view, (f"request/{found.id}",), {"reason": found.reason})


def send_appeal(desk: Desk, request: PageRequest) -> Redirect:
    """Appeal against a denial."""
    found = desk.get_request(request.id)
    follow_up.appeal(desk, found, FormValues(request.fields), prepare_files(desk, request))
    return Redirect(f"/requests/{found.id}", "appealed")


def _page(method: str, name: str, run: Callable[..., Shown | Redirect], show: object = None) -> SitePage:
    return SitePage(
        method,
        f"/requests/{{id}}/{name}",
        run,
        "authorizations",
        "authorizations",
        show=show,  # type: ignore[arg-type]
        max_body=MAX_UPLOAD_BODY,
    )


PAGES = (
    SitePage("GET", "/requests", show_requests, "authorizations", "authorizations"),
    SitePage("GET", "/requests/{id}", show_request, "authorizations", "authorizations"),
    _page("GET", "reply", show_reply),
    _page("POST", "reply", send_reply, show_reply),
    _page("GET", "change", show_change),
    _page("POST", "change", send_change, show_change),
    _page("GET", "withdraw", show_withdraw),
    _page("POST", "withdraw", send_withdrawal, show_withdraw),
    _page("GET", "appeal", show_appeal),
    _page("POST", "appeal", send_appeal, show_appeal),
)
