"""Drafts of requests: begin, save, delete and submit them, and upload their documents."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from clerkship.payer.answer import Authorization, AuthorizationAnswer, Rejection
from clerkship.simulators.portal.desk import CONFLICT, Desk, DeskRefusal, InvalidForm, refuse_field
from clerkship.simulators.portal.document_events import DocumentRemoved, DocumentUploaded
from clerkship.simulators.portal.events import DraftDeleted, DraftSaved, RequestFiled, RequestNotNeeded
from clerkship.simulators.portal.records import DocumentType, RequestDraft, UploadedDocument
from clerkship.simulators.portal.request_form import RequestForm
from clerkship.simulators.portal.uploads import UploadRefused, check_upload
from clerkship.simulators.portal.views import FieldMistake

MAX_DRAFTS = 200
"""Drafts of one practice."""
MAX_LOOSE_DOCUMENTS = 50
"""Uploaded documents that belong to no draft, request or appeal."""
_REJECTED_FIELDS = {"provider": "requesting_npi", "subscriber": "member", "dependent": "member", "payer": "payer"}
"""The part of a request that a payer rejects -> the form field."""


class Submission(NamedTuple):
    """What became of a draft that was submitted."""

    request: Authorization | None
    text: str = ""
    """Why there is none."""


def begin_draft(desk: Desk, member: str = "", payer_id: str = "") -> RequestDraft:
    """Begin a draft, for a member that was looked up or for none yet."""
    state, now, user = desk.state, desk.action.now, desk.user
    if len(state.drafts) >= MAX_DRAFTS:
        text = f"Your organization has {MAX_DRAFTS} drafts, which is as many as can be kept."
        raise DeskRefusal(CONFLICT, text, "Submit or delete drafts that are no longer needed.")
    if member:
        payer_id = desk.get_member(member).payer_id
    draft = RequestDraft(
        id=desk.action.ids.new("draft"),
        owner=user.username,
        created=now,
        updated=now,
        updated_by=user.username,
        payer_id=payer_id or (desk.payer_ids[0] if len(desk.payer_ids) == 1 else ""),
        member=member,
        requesting_npi=desk.npi,
    )
    desk.action.emit(DraftSaved(session=desk.session, draft=draft))
    return draft


def check_revision(desk: Desk, draft: RequestDraft, revision: int | None) -> None:
    """Refuse a change that is based on another state of the draft, as from a second tab."""
    if desk.state.config.friction.single_tab and revision is not None and revision != draft.revision:
        text = "This draft was changed in another window since you opened it. Your changes were not saved."
        raise DeskRefusal(CONFLICT, text, "Open the draft again, and work in one window only.")


def save_draft(desk: Desk, draft: RequestDraft, changes: dict[str, Any]) -> RequestDraft:
    """Save changes of a draft; nothing happens if nothing differs."""
    if all(getattr(draft, name) == value for name, value in changes.items()):
        return draft
    saved = draft.model_copy(
        update={
            **changes,
            "revision": draft.revision + 1,
            "updated": desk.action.now,
            "updated_by": desk.user.username,
        }
    )
    desk.action.emit(DraftSaved(session=desk.session, draft=saved))
    return saved


def delete_draft(desk: Desk, draft: RequestDraft) -> None:
    """Delete a draft and its documents."""
    for id in draft.documents:
        if id in desk.state.documents:
            desk.action.emit(DocumentRemoved(session=desk.session, id=id))
    desk.action.emit(DraftDeleted(session=desk.session, id=draft.id))


class PreparedDocument(NamedTuple):
    """A file that was checked, and may be sent."""

    document: UploadedDocument
    data: bytes | None
    """None if it is stored already."""


def prepare_document(desk: Desk, name: str, data: bytes, type: DocumentType) -> PreparedDocument:
    """Check a file; raises InvalidForm."""
    try:
        checked = check_upload(name, data, desk.state.config.attachments)
    except UploadRefused as refusal:
        raise refuse_field("file", str(refusal)) from None
    document = UploadedDocument(
        id=desk.action.ids.new("doc"),
        name=checked.name,
        media=checked.media,
        format=checked.format,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        type=type,
        pages=checked.pages,
        uploaded=desk.action.now,
        user=desk.user.username,
    )
    return PreparedDocument(document, data)


def store_documents(desk: Desk, documents: Iterable[PreparedDocument]) -> None:
    """Store the files that are not stored yet."""
    for document, data in documents:
        if data is not None:
            desk.action.emit(DocumentUploaded(session=desk.session, document=document, data=data))


def find_used_documents(desk: Desk) -> set[str]:
    """Return the numbers of the documents of drafts, requests and appeals."""
    records = desk.records
    sent = [each.query.attachments for each in records.authorizations.values()]
    sent += [each.attachments for each in records.appeals.values()]
    return {id for ids in (*sent, *(draft.documents for draft in desk.state.drafts.values())) for id in ids}


def upload_loose_document(desk: Desk, prepared: PreparedDocument) -> None:
    """Store a file that a request, a reply or an appeal will name."""
    if len(desk.state.documents.keys() - find_used_documents(desk)) >= MAX_LOOSE_DOCUMENTS:
        text = f"{MAX_LOOSE_DOCUMENTS} documents belong to no request, which is as many as can be kept."
        raise DeskRefusal(CONFLICT, text, "Use or remove some of them.")
    store_documents(desk, [prepared])


def choose_documents(desk: Desk, ids: Sequence[str]) -> list[PreparedDocument]:
    """Return documents that were uploaded and belong to nothing yet; raises InvalidForm."""
    used, most = find_used_documents(desk), desk.state.config.attachments.max_files
    for id in ids:
        if id not in desk.state.documents:
            raise refuse_field("documents", f"There is no document {id[:40]}. Upload it first.")
        if id in used:
            raise refuse_field("documents", f"{desk.state.documents[id].name} was used already. Upload it again.")
    if len(ids) > most:
        raise refuse_field("documents", f"A request has at most {most} documents.")
    return [PreparedDocument(desk.state.documents[id], None) for id in dict.fromkeys(ids)]


def attach_documents(desk: Desk, draft: RequestDraft, prepared: Sequence[PreparedDocument]) -> RequestDraft:
    """Add files to a draft."""
    most = desk.state.config.attachments.max_files
    if len(draft.documents) + len(prepared) > most:
        raise refuse_field("file", f"A request has at most {most} documents. Remove one first.")
    store_documents(desk, prepared)
    return save_draft(desk, draft, {"documents": (*draft.documents, *(each.document.id for each in prepared))})


def detach_document(desk: Desk, draft: RequestDraft, id: str) -> RequestDraft:
    """Remove a document of a draft."""
    if id not in draft.documents:
        raise refuse_field("file", "This document was removed already.")
    desk.action.emit(DocumentRemoved(session=desk.session, id=id))
    return save_draft(desk, draft, {"documents": tuple(each for each in draft.documents if each != id)})


def submit_draft(desk: Desk, draft: RequestDraft, *, is_attested: bool) -> Submission:
    """Submit a draft to the payer; raises InvalidForm with everything that is wrong."""
    form = RequestForm(desk, draft)
    problems = [each.problem for each in form.list_problems()]
    if not is_attested:
        problems.append(FieldMistake("attest", "Confirm that the information is complete and correct."))
    if problems:
        raise InvalidForm(problems)
    answer = desk.payer.request_authorization(desk.payer_action, form.build_query())
    codes = tuple(service.code for service in draft.services)
    member = answer.member
    if answer.rejection is not None or member is None:
        raise refuse_rejection(answer.rejection)
    if not answer.is_required:
        desk.action.emit(
            RequestNotNeeded(
                session=desk.session,
                user=desk.user.username,
                draft=draft.id,
                member_key=member.key,
                procedure_codes=codes,
            )
        )
        return Submission(None, answer.text)
    request = answer.authorizations[0]
    desk.action.emit(
        RequestFiled(
            session=desk.session,
            user=desk.user.username,
            draft=draft.id,
            reference=request.id,
            status=request.status,
            number=request.number,
            member_key=member.key,
            patient=member.patient,
            procedure_codes=codes,
            contact=f"{draft.contact_name}, {draft.contact_phone}",
        )
    )
    return Submission(request)


def refuse_rejection(rejection: Rejection | None) -> InvalidForm:
    """Build the refusal of what a payer rejected."""
    assert rejection is not None
    field = _REJECTED_FIELDS.get(rejection.subject, "")
    return InvalidForm([FieldMistake(field, rejection.text)], rejection.reason)


def get_updated(answer: AuthorizationAnswer) -> Authorization:
    """Return the request after an update; raises InvalidForm if the payer rejected it."""
    if answer.rejection is not None:
        raise refuse_rejection(answer.rejection)
    return answer.authorizations[0]
