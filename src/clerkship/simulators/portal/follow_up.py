"""What users do with requests that were filed: reply, change, withdraw and appeal."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Literal, get_args

from clerkship.payer.answer import Appeal, Authorization, Rejection
from clerkship.payer.authorizations import OPEN_STATUSES
from clerkship.payer.determination import read_answers
from clerkship.payer.inquiry import AuthorizationQuery, PartyQuery, RequestedService
from clerkship.simulators.portal.describe import label_status
from clerkship.simulators.portal.desk import CONFLICT, Desk, DeskRefusal, InvalidForm, refuse_field
from clerkship.simulators.portal.draft_fields import ANSWER
from clerkship.simulators.portal.drafts import PreparedDocument, get_updated, refuse_rejection, store_documents
from clerkship.simulators.portal.events import AppealSubmitted, RequestChanged, RequestReplied, RequestWithdrawn
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.lists import check_place
from clerkship.simulators.portal.records import Urgency
from clerkship.simulators.portal.views import FieldMistake

RequestAction = Literal["reply", "change", "withdraw", "appeal"]
MAX_REASON = 2000
_NEEDED_STATUS: dict[RequestAction, str] = {
    "reply": "Only a request that the payer is reviewing takes more information.",
    "change": "Only a request that is open or approved can be changed.",
    "withdraw": "Only a request that is open or approved can be withdrawn.",
    "appeal": "Only a denial, or an approval of less than was requested, can be appealed.",
}


def list_actions(desk: Desk, request: Authorization) -> tuple[RequestAction, ...]:
    """Return what can be done with a request now."""
    if "authorizations" not in desk.user.rights:
        return ()
    actions: list[RequestAction] = []
    is_open = request.status in OPEN_STATUSES
    is_valid = request.status in ("approved", "modified") and not desk.is_expired(request)
    if is_open:
        actions.append("reply")
    if is_open or is_valid:
        actions += ["change", "withdraw"]
    if request.status in ("denied", "modified") and not list_appeals(desk, request):
        actions.append("appeal")
    return tuple(actions)


def list_appeals(desk: Desk, request: Authorization) -> list[Appeal]:
    """Return the appeals about a request, oldest first."""
    return [appeal for appeal in desk.records.appeals.values() if appeal.of == request.id]


def require_action(desk: Desk, request: Authorization, action: RequestAction) -> None:
    """Refuse what cannot be done with a request now."""
    if action not in list_actions(desk, request):
        appeals = list_appeals(desk, request) if action == "appeal" else []
        text = f"{request.id} has the status “{label_status(desk, request)}”. {_NEEDED_STATUS[action]}"
        if appeals:
            text = f"{request.id} was appealed already: {appeals[-1].id} ({appeals[-1].status})."
        raise DeskRefusal(CONFLICT, text, "Open the request to see what can be done.")


def find_deadline(desk: Desk, request: Authorization) -> date | None:
    """Return the last day on which a denial can be appealed."""
    if request.decided is None:
        return None
    decided = request.decided.astimezone(desk.payer.config.local_zone).date()
    return decided + timedelta(days=desk.payer.config.appeals.deadline)


def _build_party(desk: Desk, request: Authorization) -> PartyQuery:
    """Return who asks about whom."""
    party = desk.build_party(desk.records.get_member(request.member_key))
    return party.model_copy(update={"provider_id": request.query.provider_id})


def build_update(desk: Desk, request: Authorization, **changes: Any) -> AuthorizationQuery:
    """Return the query of an update: who asks about whom, and only what differs."""
    return AuthorizationQuery(**dict(_build_party(desk, request)), **changes)


def reply(desk: Desk, request: Authorization, form: FormValues, documents: Sequence[PreparedDocument]) -> Authorization:
    """Send answers (`answer_ID`), documents or a note; raises InvalidForm."""
    require_action(desk, request, "reply")
    note, given = form.text("note", "The note"), _read_answers(form, request)
    form.check()
    typed = read_answers(request.questions, given)
    for each in request.questions:
        if each.id not in typed and not (each.type == "attachment" and documents):
            form.refuse(f"{ANSWER}{each.id}", _explain_missing(each.type, is_given=each.id in given))
    if not (given or documents or note or form.problems):
        form.refuse("", "Answer the questions, or add a document or a note.")
    form.check()
    sent = _list_ids(desk, documents)
    update = build_update(desk, request, answers=typed, attachments=sent, note=note)
    updated = get_updated(desk.payer.update_authorization(desk.payer_action, request.id, update))
    store_documents(desk, documents)
    desk.action.emit(
        RequestReplied(
            session=desk.session,
            user=desk.user.username,
            reference=request.id,
            answers=typed,
            documents=sent,
            note=note,
            status=updated.status,
        )
    )
    return updated


def _list_ids(desk: Desk, documents: Sequence[PreparedDocument]) -> tuple[str, ...]:
    most = desk.state.config.attachments.max_files
    if len(documents) > most:
        raise refuse_field("file", f"At most {most} files can be sent at once. Leave some out.")
    return tuple(each.document.id for each in documents)


def _read_answers(form: FormValues, request: Authorization) -> dict[str, str]:
    """Return the answers that are given, by the id of the question."""
    asked = {question.id for question in request.questions}
    ids = [name.removeprefix(ANSWER) for name in form.fields if name.startswith(ANSWER)]
    given = {id: text for id in ids if (text := form.text(f"{ANSWER}{id}", "The answer"))}
    for id in given.keys() - asked:
        form.refuse(f"{ANSWER}{id}", f"The payer does not ask “{id[:40]}” (any more). Open the page again.")
    return given


def _explain_missing(type: str, *, is_given: bool) -> str:
    if type == "attachment":
        return "Upload the document that is asked for."
    if not is_given:
        return "Answer this question."
    return {"number": "Enter a number.", "boolean": "Choose yes or no."}.get(type, "Choose one of the answers.")


def change(
    desk: Desk,
    request: Authorization,
    *,
    services: tuple[RequestedService, ...],
    place: str | None,
    is_urgent: bool,
) -> Authorization:
    """Change what a request asks for; raises InvalidForm."""
    require_action(desk, request, "change")
    before = request.query
    if place is not None and place != before.place and (problem := check_place(place)):
        raise refuse_field("place", problem)
    changes: dict[str, Any] = {}
    if services != before.services:
        changes["services"] = services
    if place is not None and place != before.place:
        changes["place"] = place
    if is_urgent and not before.is_urgent:
        changes["is_urgent"] = True
    if not changes:
        raise InvalidForm([FieldMistake("", "Nothing differs from the request. Change a field first.")])
    update = build_update(desk, request, **changes)
    updated = get_updated(desk.payer.update_authorization(desk.payer_action, request.id, update))
    desk.action.emit(
        RequestChanged(
            session=desk.session,
            user=desk.user.username,
            reference=request.id,
            changes={
                name: [each.model_dump(mode="json") for each in value] if name == "services" else value
                for name, value in changes.items()
            },
            status=updated.status,
        )
    )
    return updated


def send_change(desk: Desk, request: Authorization, form: FormValues) -> Authorization:
    """Change a request to what a form says: place, urgency, and `units_N`, `start_N`, `end_N` of each service N."""
    services = tuple(
        _read_service(form, number, each, request) for number, each in enumerate(request.query.services, 1)
    )
    place = form.text("place", "The place of service") if form.has("place") else None
    urgency = form.choice("urgency", "The urgency", get_args(Urgency))
    if urgency == "standard" and request.query.is_urgent:
        form.refuse("urgency", "An urgent request stays urgent. Withdraw it, and submit a standard one.")
    form.check()
    return change(desk, request, services=services, place=place or None, is_urgent=urgency == "urgent")


def _read_service(form: FormValues, number: int, service: RequestedService, request: Authorization) -> RequestedService:
    """Return a procedure with what the form changes in it."""
    changes: dict[str, object] = {}
    units = form.number(f"units_{number}", "The number of units")
    if units is not None and float(units) != float(service.quantity):
        changes["quantity"] = units
    for name, label in (("start", "The first day"), ("end", "The last day")):
        day = form.day(f"{name}_{number}", f"{label} of {service.procedure_code}")
        if day is not None and day != (getattr(service, name) or getattr(request.query, name)):
            changes[name] = day
    return service.model_copy(update=changes) if changes else service


def withdraw(desk: Desk, request: Authorization) -> Authorization:
    """Withdraw a request."""
    require_action(desk, request, "withdraw")
    party = _build_party(desk, request)
    withdrawn = get_updated(desk.payer.cancel_authorization(desk.payer_action, request.id, party))
    desk.action.emit(RequestWithdrawn(session=desk.session, user=desk.user.username, reference=request.id))
    return withdrawn


def appeal(desk: Desk, request: Authorization, form: FormValues, documents: Sequence[PreparedDocument]) -> Appeal:
    """Appeal against a denial, with a `reason`; raises InvalidForm."""
    require_action(desk, request, "appeal")
    reason = form.text("reason", "The reason", MAX_REASON)
    form.check()
    if not reason:
        raise refuse_field("reason", "Say why the denial should be reversed.")
    sent = _list_ids(desk, documents)
    filed = desk.payer.appeal(desk.payer_action, _build_party(desk, request), request.id, reason, sent)
    if isinstance(filed, Rejection):
        raise refuse_rejection(filed)
    store_documents(desk, documents)
    desk.action.emit(
        AppealSubmitted(
            session=desk.session,
            user=desk.user.username,
            reference=request.id,
            appeal=filed.id,
            reason=reason,
            documents=sent,
        )
    )
    return filed
