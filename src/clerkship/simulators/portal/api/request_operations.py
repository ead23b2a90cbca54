"""Operations of the REST API about requests that were filed."""

from collections.abc import Mapping

from clerkship.payer.answer import Authorization
from clerkship.simulators.portal import follow_up
from clerkship.simulators.portal.api.inputs import (
    AppealInput,
    ChangeInput,
    ReferenceInput,
    ReplyInput,
    RequestFilter,
)
from clerkship.simulators.portal.api.results import (
    ApiAppeal,
    ApiDocument,
    ApiDocuments,
    ApiRequest,
    ApiRequestPage,
)
from clerkship.simulators.portal.api.serve import ApiAnswer
from clerkship.simulators.portal.describe import (
    build_diagnosis_rows,
    build_letter_row,
    build_member_card,
    build_request_row,
    build_service_rows,
    list_request_values,
)
from clerkship.simulators.portal.desk import Desk, refuse_field
from clerkship.simulators.portal.draft_fields import ANSWER
from clerkship.simulators.portal.drafts import choose_documents
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.lists import CodeLists
from clerkship.simulators.portal.records import UploadedDocument
from clerkship.simulators.portal.request_list import find_requests


def build_document(desk: Desk, document: UploadedDocument) -> ApiDocument:
    """Return a document as the API shows it."""
    fields = {name: getattr(document, name) for name in ApiDocument.model_fields}
    user = desk.state.config.find_user(document.user).name
    return ApiDocument(**{**fields, "uploaded": desk.local_time(document.uploaded), "user": user})


def _list_documents(desk: Desk, request: Authorization) -> tuple[ApiDocument, ...]:
    known = desk.state.documents
    return tuple(build_document(desk, known[id]) for id in request.query.attachments if id in known)


def build_request(desk: Desk, request: Authorization) -> ApiRequest:
    """Return a request as the API shows it."""
    codes, query = CodeLists(desk.state.config), request.query
    member = desk.records.get_member(request.member_key)
    desk.register_member(member)
    letters = [each for each in desk.state.letters.values() if each.reference == request.id]
    return ApiRequest(
        **vars(build_request_row(desk, request)),
        member=build_member_card(desk, member),
        review=query.review,
        urgency="urgent" if query.is_urgent else "standard",
        place=query.place or "",
        requesting_npi=query.provider_id,
        servicing_npi=next((each.performer_id for each in query.services if each.performer_id), query.provider_id),
        diagnoses=tuple(build_diagnosis_rows(codes, query.diagnoses)),
        lines=tuple(build_service_rows(codes, request)),
        answers=query.answers,
        note=query.note,
        contact=desk.state.contacts.get(request.id, ""),
        documents=_list_documents(desk, request),
        valid_from=request.valid_from,
        reason=request.reason,
        text=request.text,
        questions=request.questions,
        appeals=tuple(
            ApiAppeal(
                id=each.id,
                status=each.status,
                filed=desk.local_time(each.filed),
                reason=each.reason,
                text=each.text,
            )
            for each in follow_up.list_appeals(desk, request)
        ),
        appeal_deadline=follow_up.find_deadline(desk, request) if request.status in ("denied", "modified") else None,
        letters=tuple(build_letter_row(desk, each) for each in letters),
        actions=follow_up.list_actions(desk, request),
    )


def list_requests(desk: Desk, given: RequestFilter) -> ApiAnswer[ApiRequestPage]:
    """List authorization requests of the practice, newest first, in pages of 20. Look here before filing a request: a
    duplicate is refused.
    """
    form = FormValues(given.model_dump())
    found = find_requests(desk, form)
    form.check()
    listed = tuple(build_request_row(desk, each) for each in found.rows)
    paging = found.paging
    page = ApiRequestPage(requests=listed, page=paging.page, pages=paging.pages, total=paging.total)
    return ApiAnswer(page, "request_list", found.records, found.values)


def read_request(desk: Desk, given: ReferenceInput) -> ApiAnswer[ApiRequest]:
    """Read everything about a request: status, authorization number, validity, decisions, open questions of the payer,
    documents, appeals, letters, and what can be done with it now.
    """
    found = desk.get_request(given.reference)
    records = (f"request/{found.id}", f"member/{found.member_key}")
    return ApiAnswer(build_request(desk, found), "request", records, list_request_values(found))


def list_request_documents(desk: Desk, given: ReferenceInput) -> ApiAnswer[ApiDocuments]:
    """List the documents that were sent with a request or a reply."""
    found = desk.get_request(given.reference)
    return ApiAnswer(ApiDocuments(documents=_list_documents(desk, found)), "request", (f"request/{found.id}",))


def reply_to_request(desk: Desk, given: ReplyInput) -> ApiAnswer[ApiRequest]:
    """Answer the questions that the payer asks about a request (`questions`), and send documents that were uploaded or
    a note.
    """
    found = desk.get_request(given.reference)
    follow_up.require_action(desk, found, "reply")
    form = FormValues({"note": given.note, **to_typed_answers(given.answers)})
    documents = choose_documents(desk, given.documents)
    return ApiAnswer(build_request(desk, follow_up.reply(desk, found, form, documents)))


def to_typed_answers(answers: Mapping[str, str | bool | float]) -> dict[str, str]:
    """Return answers as the fields of a form have them."""
    return {f"{ANSWER}{id}": to_typed(value) for id, value in answers.items()}


def to_typed(value: str | bool | float) -> str:
    """Return an answer as it is typed in a form."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.12g}"


def change_request(desk: Desk, given: ChangeInput) -> ApiAnswer[ApiRequest]:
    """Change place of service, urgency, units or days of a request that is open or approved. The payer decides then."""
    found = desk.get_request(given.reference)
    fields = {name: text for name in ("place", "urgency") if (text := getattr(given, name))}
    for each in given.services:
        if each.line > (count := len(found.query.services)):
            raise refuse_field("services", f"The request has no procedure {each.line}; it has {count}.")
        units = "" if each.units is None else to_typed(each.units)
        fields |= {f"units_{each.line}": units, f"start_{each.line}": each.start, f"end_{each.line}": each.end}
    return ApiAnswer(build_request(desk, follow_up.send_change(desk, found, FormValues(fields))))


def withdraw_request(desk: Desk, given: ReferenceInput) -> ApiAnswer[ApiRequest]:
    """Withdraw a request that is open or approved. It cannot be undone."""
    return ApiAnswer(build_request(desk, follow_up.withdraw(desk, desk.get_request(given.reference))))


def appeal_request(desk: Desk, given: AppealInput) -> ApiAnswer[ApiRequest]:
    """Appeal against a denial, or an approval of less than was requested, with a reason and documents that were
    uploaded.
    """
    found = desk.get_request(given.reference)
    follow_up.require_action(desk, found, "appeal")
    follow_up.appeal(desk, found, FormValues({"reason": given.reason}), choose_documents(desk, given.documents))
    return ApiAnswer(build_request(desk, desk.get_request(found.id)))
