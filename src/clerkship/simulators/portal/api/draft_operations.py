"""Operations of the REST API about drafts and documents, and how their data become a draft."""

from typing import Any

from clerkship.sandbox.operation import NoInput, OperationContext
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.route import HttpCall, bind_input, validate_input
from clerkship.simulators.portal.api.inputs import (
    DraftChange,
    DraftFields,
    DraftSubmission,
    DraftUpload,
    IdInput,
    ServiceInput,
    UploadInput,
)
from clerkship.simulators.portal.api.request_operations import (
    build_document,
    build_request,
    to_typed,
    to_typed_answers,
)
from clerkship.simulators.portal.api.results import (
    ApiDocument,
    ApiDraft,
    ApiDrafts,
    ApiSubmission,
)
from clerkship.simulators.portal.api.serve import ApiAnswer
from clerkship.simulators.portal.describe import build_draft_row
from clerkship.simulators.portal.desk import CONFLICT, Desk, DeskRefusal, InvalidForm
from clerkship.simulators.portal.document_events import DocumentRemoved
from clerkship.simulators.portal.downloads import build_download, download_uploaded, get_document
from clerkship.simulators.portal.draft_fields import read_section, read_service
from clerkship.simulators.portal.drafts import (
    Submission,
    attach_documents,
    begin_draft,
    check_revision,
    delete_draft,
    detach_document,
    find_used_documents,
    prepare_document,
    save_draft,
    submit_draft,
    upload_loose_document,
)
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.records import RequestDraft, ServiceLine
from clerkship.simulators.portal.request_form import SECTIONS, RequestForm
from clerkship.transports.multipart import FORM, parse_form

_LISTS = ("diagnoses", "services", "answers")


def read_draft_fields(desk: Desk, draft: RequestDraft, given: DraftFields) -> dict[str, Any]:
    """Return what the data of a request change in a draft, read as a form is; raises InvalidForm."""
    names = given.model_fields_set & DraftFields.model_fields.keys()
    fields = {name: getattr(given, name) for name in names if name not in _LISTS}
    fields |= to_typed_answers(given.answers)
    form, request_form = FormValues(fields), RequestForm(desk, draft)
    changes: dict[str, Any] = {}
    for section in SECTIONS:
        changes |= read_section(form, request_form, section)
    if changes.get("member"):
        changes["payer_id"] = desk.get_member(changes["member"]).payer_id
    if "diagnoses" in names:
        codes = tuple(request_form.codes.write_diagnosis(code.strip()[:20]) for code in given.diagnoses)
        changes["diagnoses"] = codes
    if "services" in names:
        lines = [_read_service(each, form) for each in given.services]
        changes["services"] = tuple(line for line in lines if line is not None)
    form.check()
    return changes


def _read_service(service: ServiceInput, whole: FormValues) -> ServiceLine | None:
    form = FormValues(
        {
            "procedure_code": service.code,
            "modifiers": " ".join(service.modifiers),
            "units": to_typed(service.units),
            **{name: getattr(service, name) for name in ("unit", "frequency", "start", "end")},
        }
    )
    line = read_service(form)
    whole.problems += form.problems
    return line


def _check_changes(desk: Desk, draft: RequestDraft, given: DraftFields) -> dict[str, Any]:
    """Return what is to be saved in a draft; raises InvalidForm for what a form would not add."""
    changes = read_draft_fields(desk, draft, given)
    sections = [name for name in ("diagnoses", "services") if getattr(given, name)]
    changed = RequestForm(desk, draft.model_copy(update=changes))
    problems = [each.problem for each in changed.list_problems() if each.section in sections]
    if problems:
        raise InvalidForm(problems)
    return changes


def _describe(desk: Desk, draft: RequestDraft) -> ApiDraft:
    return ApiDraft(**vars(draft), problems=tuple(each.problem for each in RequestForm(desk, draft).list_problems()))


def list_drafts(desk: Desk, _: NoInput) -> ApiAnswer[ApiDrafts]:
    """List the drafts of the practice, newest first: requests that were begun and not submitted, by any colleague."""
    drafts = list(reversed(desk.state.drafts.values()))
    rows = tuple(build_draft_row(desk, each) for each in drafts)
    return ApiAnswer(ApiDrafts(drafts=rows), "draft_list", tuple(f"draft/{each.id}" for each in drafts))


def create_draft(desk: Desk, given: DraftFields) -> ApiAnswer[ApiDraft]:
    """Begin a draft with the fields that are known so far. `problems` of the answer say what is still missing. Nothing
    goes to the payer before the draft is submitted.
    """
    changes = _check_changes(desk, _blank_draft(desk), given)
    draft = begin_draft(desk, changes.get("member", ""))
    return ApiAnswer(_describe(desk, save_draft(desk, draft, changes)))


def read_draft(desk: Desk, given: IdInput) -> ApiAnswer[ApiDraft]:
    """Read a draft, with what is missing or wrong in it."""
    draft = desk.get_draft(given.id)
    member = RequestForm(desk, draft).member
    records = (f"draft/{draft.id}", *((f"member/{member.key}",) if member else ()))
    return ApiAnswer(_describe(desk, draft), "draft", records, {"draft": draft.id})


def update_draft(desk: Desk, given: DraftChange) -> ApiAnswer[ApiDraft]:
    """Change fields of a draft. Fields that are not given stay; a list that is given replaces the list. Answers are
    added to those that are there.
    """
    draft = desk.get_draft(given.id)
    check_revision(desk, draft, given.revision)
    return ApiAnswer(_describe(desk, save_draft(desk, draft, _check_changes(desk, draft, given))))


def discard_draft(desk: Desk, given: IdInput) -> ApiAnswer[None]:
    """Delete a draft and its documents."""
    delete_draft(desk, desk.get_draft(given.id))
    return ApiAnswer(None)


def submit_saved_draft(desk: Desk, given: DraftSubmission) -> ApiAnswer[ApiSubmission]:
    """Submit a draft to the payer. `attest` must be true. The answer has the request with its reference number, or says
    that no authorization is needed; then nothing was filed. Do not submit again without looking at the list of
    requests.
    """
    return answer_submission(desk, submit_draft(desk, desk.get_draft(given.id), is_attested=given.attest))


def answer_submission(desk: Desk, submission: Submission) -> ApiAnswer[ApiSubmission]:
    """Return what became of a submission."""
    if submission.request is None:
        return ApiAnswer(ApiSubmission(is_needed=False, text=submission.text))
    return ApiAnswer(ApiSubmission(is_needed=True, request=build_request(desk, submission.request)))


def _blank_draft(desk: Desk) -> RequestDraft:
    now, user = desk.action.now, desk.user.username
    return RequestDraft(id="", owner=user, created=now, updated=now, updated_by=user, requesting_npi=desk.npi)


def build_new_request(desk: Desk, given: DraftFields, documents: tuple[str, ...]) -> RequestDraft:
    """Return a draft that is not stored, with all data of a request; raises InvalidForm."""
    draft = _blank_draft(desk)
    return draft.model_copy(update={**read_draft_fields(desk, draft, given), "documents": documents})


def parse_upload(call: HttpCall, context: OperationContext[Any]) -> Any:
    """Read a file from a form with `file` and `type`, or from the body with its name in the query."""
    assert call.route is not None
    media = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != FORM:
        return bind_input(call, context)
    parts = parse_form(call.request)
    files = [part for part in parts if part.filename is not None]
    if len(files) != 1:
        raise Refusal(422, "invalid_input", f"file: send one file; the form has {len(files)}")
    typed = {part.name: part.text for part in parts if part.filename is None and part.name == "type"}
    return validate_input(
        call.route.operation, {**call.params, **typed, "name": files[0].filename, "data": files[0].data}
    )


def upload_document(desk: Desk, given: UploadInput) -> ApiAnswer[ApiDocument]:
    """Upload a document, for a request, a reply or an appeal that will name its id. A form (`multipart/form-data`) has
    the file in `file` and its type in `type`; else the body is the file, and `name` and `type` are in the query.
    """
    prepared = prepare_document(desk, given.name, given.data, given.type)
    upload_loose_document(desk, prepared)
    return ApiAnswer(build_document(desk, prepared.document))


def upload_to_draft(desk: Desk, given: DraftUpload) -> ApiAnswer[ApiDocument]:
    """Upload a document to a draft, as `upload_document` does."""
    draft = desk.get_draft(given.id)
    saved = attach_documents(desk, draft, [prepare_document(desk, given.name, given.data, given.type)])
    return ApiAnswer(build_document(desk, desk.state.documents[saved.documents[-1]]))


def read_document(desk: Desk, given: IdInput) -> ApiAnswer[ApiDocument]:
    """Read name, type and size of an uploaded document."""
    document = get_document(desk, given.id)
    return ApiAnswer(build_document(desk, document), "document", (f"document/{document.id}",))


def read_document_content(desk: Desk, given: IdInput) -> Reply:
    """Download an uploaded document."""
    return build_download(download_uploaded(desk, given.id))


def discard_document(desk: Desk, given: IdInput) -> ApiAnswer[None]:
    """Remove an uploaded document that was not sent to the payer yet."""
    document = get_document(desk, given.id)
    draft = next((each for each in desk.state.drafts.values() if document.id in each.documents), None)
    if draft is not None:
        detach_document(desk, draft, document.id)
    elif document.id in find_used_documents(desk):
        raise DeskRefusal(CONFLICT, f"{document.name} was sent to the payer, and cannot be removed.")
    else:
        desk.action.emit(DocumentRemoved(session=desk.session, id=document.id))
    return ApiAnswer(None)
