"""`portal.put`: add a draft, or a request that was filed through the payer portal earlier."""

import base64
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.formats.pdf_letter.letter import build_text_pdf
from clerkship.model.errors import InputError
from clerkship.model.frozen import Base64Text, Frozen
from clerkship.payer.answer import Member
from clerkship.payer.scenario_changes import RecordedAuthorization
from clerkship.sandbox.steps.contract import StepHost
from clerkship.simulators.portal.desk import Desk, DeskRefusal
from clerkship.simulators.portal.drafts import attach_documents, begin_draft, prepare_document, save_draft
from clerkship.simulators.portal.events import RequestFiled
from clerkship.simulators.portal.names import USER
from clerkship.simulators.portal.records import DocumentType, DraftContent
from clerkship.simulators.portal.steps.portal_step import PortalMemberStep


class DraftDocument(Frozen):
    """A document of a draft: text, which becomes a PDF file, or a file in base64."""

    name: Annotated[str, Field(description="the name of the file, such as note.pdf")]
    type: Annotated[DocumentType, Field(description="what it is")] = "other"
    text: Annotated[str | None, Field(description="the text of a PDF file; a form feed starts a page")] = None
    base64: Annotated[Base64Text | None, Field(description="a file, in base64")] = None

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("expected either `text` or `base64`")
        if self.text is not None and not self.name.lower().endswith(".pdf"):
            raise ValueError("a document with `text` is a PDF file, and its `name` ends with .pdf")
        return self

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return build_text_pdf(self.text) if self.text is not None else base64.b64decode(self.base64 or "")


class PutRequest(PortalMemberStep):
    """Add a draft that the user or a colleague has begun, with any of its fields; or a request that was filed through
    the payer portal on an earlier day. Name the member by `member_id` or `patient`, and add `payer` if needed.
    """

    name: ClassVar[str] = "portal.put"
    owner: Annotated[str | None, USER, Field(description="username of the person; by default the agent's own user")] = (
        None
    )
    draft: Annotated[DraftContent | None, Field(description="a draft, as far as it is filled in")] = None
    documents: Annotated[tuple[DraftDocument, ...], Field(description="documents that the draft has")] = ()
    request: Annotated[
        RecordedAuthorization | None, Field(description="a request, with the fields of `payer.set_authorization`")
    ] = None

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if (self.draft is None) == (self.request is None):
            raise ValueError("expected either `draft` or `request`")
        if self.request is not None and not self.has_member:
            raise ValueError("a request needs `member_id` or `patient`")
        if self.request is not None and self.documents:
            raise ValueError("`documents` go with `draft`")
        return self

    def run(self, host: StepHost) -> None:
        """Add the draft or the request."""
        desk = self.open_desk(host, self.owner)
        member = self.find_member(desk)
        try:
            if self.request is not None and member is not None:
                self._put_request(desk, self.request, member)
            elif self.draft is not None:
                self._put_draft(desk, self.draft, member)
        except DeskRefusal as refusal:
            raise InputError.of(f"{self.name}: {refusal.text}", hint=refusal.what_to_do) from None

    def _put_draft(self, desk: Desk, content: DraftContent, member: Member | None) -> None:
        prepared = [prepare_document(desk, each.name, each.data, each.type) for each in self.documents]
        ref = desk.register_member(member) if member is not None else ""
        draft = begin_draft(desk, ref, self.find_payer(desk, member))
        if prepared:
            draft = attach_documents(desk, draft, prepared)
        save_draft(desk, draft, {name: getattr(content, name) for name in content.model_fields_set})

    def _put_request(self, desk: Desk, request: RecordedAuthorization, member: Member) -> None:
        desk.payer.set_authorization(desk.payer_action, member, request)
        desk.get_request(request.reference)  # refused if the practice cannot see it
        desk.action.emit(
            RequestFiled(
                session=desk.session,
                user=desk.user.username,
                draft="",
                reference=request.reference,
                status=request.status,
                number=request.number,
                member_key=member.key,
                patient=member.patient,
                procedure_codes=tuple(service.procedure_code for service in request.services),
            )
        )
