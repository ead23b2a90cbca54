"""Authorizations: read a 278 request or inquiry, write a 278 response.

X12 asks clinical questions by LOINC codes or in words. Here they are asked in words:

    MSG*QUESTION red_flags (boolean) - Are there warning signs? QUESTION side (left/right) - Which side?~

A loop has one MSG segment. Questions that do not fit in that of the event stand in those of the services. They are
answered in the MSG segments of an update, by the id of the question. A `;` separates several answers:

    MSG*red_flags=no; side=left~

Other text is a note.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import NamedTuple

from clerkship.formats.x12.charset import X12Charset
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import SetWriter, decode_elements
from clerkship.payer.answer import (
    Appeal,
    Authorization,
    AuthorizationAnswer,
    ClinicalQuestion,
    DecidedService,
    Rejection,
    RejectionReason,
    RejectionSubject,
)
from clerkship.payer.inquiry import AuthorizationQuery
from clerkship.simulators.x12.transactions.codes import CODES, REVIEW_CODES, SERVICE_TYPE_CODES, RequestKind
from clerkship.simulators.x12.transactions.reply import (
    ReplyHeader,
    begin_reply,
    read_id,
    read_person,
    read_reference,
    repeat_segment,
    repeat_traces,
    write_aaa,
    write_member_name,
    write_message,
    write_payer,
    write_reference,
)
from clerkship.simulators.x12.transactions.services import (
    find_service_segment,
    read_place,
    read_quantity,
    read_service,
    write_decided_service,
)
from clerkship.simulators.x12.transactions.text import MAX_MESSAGE, read_period, render_message, write_period

MIN_QUESTION = 20
"""Characters of a question that are kept if there is not enough space."""
_ANSWER = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)\s*=\s*(\S.*)")


def read_messages(texts: Iterable[str]) -> tuple[dict[str, str | bool | float], str]:
    """Return the answers to clinical questions, by the id of the question, and the other text as a note.

    The payer reads an answer as the type of its question.
    """
    answers: dict[str, str | bool | float] = {}
    notes: list[str] = []
    for part in (part.strip() for text in texts for part in text.split(";")):
        if match := _ANSWER.fullmatch(part):
            answers[match[1]] = match[2]
        elif part:
            notes.append(part)
    return answers, "; ".join(notes)


def render_question_id(id: str, charset: X12Charset) -> str:
    """Return the id of a question. The basic character set has no `_`; the payer takes `-` for it."""
    return id.replace("_", "-") if charset == "basic" else id


def pack_messages(
    text: str, questions: Sequence[ClinicalQuestion], slots: int, charset: X12Charset = "extended"
) -> list[str]:
    """Return the texts of at most `slots` MSG segments: an explanation, and all questions.

    If there is not enough space, the explanation is left out, then the questions are shortened. Every id is there.
    """
    whole = [_render_question(question, charset) for question in questions]
    if packed := _pack([*([render_message(text)] if text else []), *whole], slots):
        return packed
    for max_length in range(MAX_MESSAGE, MIN_QUESTION, -1):
        if packed := _pack([question[:max_length].strip() for question in whole], slots):
            return packed
    return [render_message(" ".join(whole))] if whole else []


def _pack(texts: Sequence[str], slots: int) -> list[str]:
    """Return the texts joined to at most `slots` messages, in order; an empty list if they do not fit."""
    messages: list[str] = []
    for text in texts:
        if messages and len(messages[-1]) + 1 + len(text) <= MAX_MESSAGE:
            messages[-1] += f" {text}"
        else:
            messages.append(text)
    return messages if len(messages) <= slots else []


def _render_question(question: ClinicalQuestion, charset: X12Charset) -> str:
    kind = "/".join(question.choices) or question.type
    return render_message(f"QUESTION {render_question_id(question.id, charset)} ({kind}) - {question.text}")


INQUIRY_GUIDE = "005010X215"
INQUIRY_PURPOSE = "28"
CANCELLATION_PURPOSE = "01"
URGENT_LEVELS = ("03", "U")
# Principal before other and admitting diagnoses.
DIAGNOSIS_QUALIFIERS = ("ABK", "ABF", "ABJ")
MAX_ATTACHMENTS = 10
"""PWK segments in an event."""
MAX_ATTACHMENT_NUMBER = 80
# BHT06.
FINAL_RESPONSE, MORE_TO_FOLLOW = "18", "19"
OPEN_STATUSES = ("pending", "need_more_info")
CERTIFIED = ("A1", "A2", "A6")
PARTLY_CERTIFIED, NO_ACTION = "A2", "NA"
# The payer's reason for a service that needs no authorization.
NOT_REQUIRED = "not_required"


class AuthorizationRequest(NamedTuple):
    """What a 278 asks for.

    Pass `query` to `request_authorization` or `update_authorization`; it is also the PartyQuery for
    `cancel_authorization`, `find_authorizations` and `appeal`. The reason of an appeal is its note.
    """

    kind: RequestKind
    query: AuthorizationQuery
    reference: str | None
    """The payer's authorization number (REF BB) or reference number (REF NT) that is quoted."""
    trace: str
    """TRN02 of the event; empty if there is none."""
    rejection: Rejection | None = None
    """Set if the request cannot be put to the payer, such as a cancellation without a reference: answer with it."""


def read_authorization(tree: Loop) -> AuthorizationRequest:
    """Return what a 278 request or inquiry asks for.

    UM02 tells requests, updates, cancellations and appeals apart; inquiries have a guide of their own.
    """
    event = _find_event(tree)
    services = tree.find_all("2000F")
    review = event.segment("UM")
    kind = _read_kind(tree, review)
    references = (read_reference(loop, "BB", "NT") for loop in (event, *services))
    reference = next((number for number in references if number), None)
    query = _read_query(tree, event, services)
    rejection = _check_request(kind, review, reference, services)
    return AuthorizationRequest(kind or "request", query, reference, query.trace, rejection)


def _find_event(tree: Loop) -> Loop:
    event = tree.first("2000E")
    return Loop("2000E") if event is None else event


def _read_kind(tree: Loop, review: X12Segment | None) -> RequestKind | None:
    """Return what is asked for; None if this payer does not process such requests."""
    start, beginning = tree.segment("ST"), tree.segment("BHT")
    purpose = beginning.raw(2) if beginning else ""
    if purpose == INQUIRY_PURPOSE or (start and start.raw(3).startswith(INQUIRY_GUIDE)):
        return "inquiry"
    if purpose == CANCELLATION_PURPOSE:
        return "cancel"
    return CODES.request_kinds.get((review.raw(2) if review else "") or "I")


def _check_request(
    kind: RequestKind | None, review: X12Segment | None, reference: str | None, services: list[Loop]
) -> Rejection | None:
    """Return why a request cannot be put to the payer."""
    if kind is None or (kind == "request" and review and review.raw(1) not in CODES.reviews):
        return _reject("invalid_service", "The payer does not process this kind of review (UM01, UM02).")
    if kind in ("update", "cancel", "appeal") and not reference:
        return _reject("missing_request_data", "The request quotes no earlier authorization (REF BB or REF NT).")
    quantities = [quantity for loop in services if (quantity := read_quantity(loop))]
    if any(quantity.amount <= 0 for quantity in quantities):
        return _reject("invalid_service", "The quantity of a service must be more than zero.")
    return None


def _reject(reason: RejectionReason, text: str) -> Rejection:
    return Rejection(reason=reason, subject="request", text=text)


def _read_query(tree: Loop, event: Loop, services: list[Loop]) -> AuthorizationQuery:
    review, trace, dependent = event.segment("UM"), event.segment("TRN"), tree.first("2010D")
    start, end = read_period(event, "AAH", "435", "472")
    answers, note = read_messages(
        segment.raw(1) for loop in (event, *services) for segment in loop.segments_with_id("MSG")
    )
    return AuthorizationQuery(
        payer_id=read_id(tree.first("2010A")),
        provider_id=read_id(tree.first("2010B")),
        subscriber=read_person(tree.first("2010C")),
        dependent=None if dependent is None else read_person(dependent),
        review=CODES.reviews.get(review.raw(1) if review else "", "services"),
        service_type=CODES.service_types.get(review.raw(3)) if review else None,
        services=tuple(read_service(loop, event) for loop in services),
        diagnoses=_read_diagnoses(event),
        place=read_place(review),
        is_urgent=bool(review and review.raw(6) in URGENT_LEVELS),
        start=start,
        end=read_period(event, "096")[0] or end,
        answers=answers,
        attachments=_read_attachments((event, *services)),
        note=note,
        trace=trace.raw(2) if trace else "",
    )


def _read_diagnoses(event: Loop) -> tuple[str, ...]:
    """Return the ICD-10 codes of HI, the principal first, without dots."""
    codes: dict[str, list[str]] = {qualifier: [] for qualifier in DIAGNOSIS_QUALIFIERS}
    for segment in event.segments:
        if segment.id == "HI":
            for position in range(1, len(segment.elements)):
                if (qualifier := segment.value(position)) in codes:
                    codes[qualifier].append(segment.value(position, 2).replace(".", ""))
    return tuple(dict.fromkeys(code for group in codes.values() for code in group if code))


def _read_attachments(loops: Sequence[Loop]) -> tuple[str, ...]:
    """Return the control numbers of documents that the requester sends (PWK06)."""
    numbers = (segment.raw(6) for loop in loops for segment in loop.segments if segment.id == "PWK")
    return tuple(dict.fromkeys(number for number in numbers if number))


def write_authorization(
    tree: Loop, answer: AuthorizationAnswer | Appeal | Rejection, header: ReplyHeader, payer_name: str = ""
) -> TransactionSet:
    """Write the 278 response to a request. Without the name of the payer, it is as in the request.

    Call it again with the same request when the payer has decided later: the reply is then a final one (BHT06 18).
    """
    if isinstance(answer, Rejection):
        answer = AuthorizationAnswer(rejection=answer)
    status = MORE_TO_FOLLOW if _is_open(answer) else FINAL_RESPONSE
    writer = begin_reply("278", tree, header, "0007", "11", status)
    rejection = None if isinstance(answer, Appeal) else answer.rejection
    level = _write_parties(writer, tree, answer, rejection, payer_name)
    if isinstance(answer, Appeal):
        _write_appeal(writer, level, tree, answer)
    elif rejection:
        _write_rejected_event(writer, level, tree, rejection)
    elif answer.authorizations:
        for authorization in answer.authorizations:
            _write_event(writer, level, tree, authorization, header.sent.tzinfo)
    else:
        _write_undecided_event(writer, level, tree, answer)
    return writer.build()


def _is_open(answer: AuthorizationAnswer | Appeal) -> bool:
    """Return whether the payer will answer again."""
    if isinstance(answer, Appeal):
        return answer.status == "received"
    return any(authorization.status in OPEN_STATUSES for authorization in answer.authorizations)


def _write_parties(
    writer: SetWriter, tree: Loop, answer: AuthorizationAnswer | Appeal, rejection: Rejection | None, payer_name: str
) -> int:
    """Write the levels of the payer, the provider and the patient; return the number of the last."""
    member = None if isinstance(answer, Appeal) or rejection else answer.member
    has_dependent = tree.first("2000D") is not None
    level = 0
    rows: tuple[tuple[str, str, str, RejectionSubject], ...] = (
        ("2000A", "20", "2010A", "payer"),
        ("2000B", "21", "2010B", "provider"),
        ("2000C", "22", "2010C", "subscriber"),
        ("2000D", "23", "2010D", "dependent"),
    )
    for loop_id, code, name_loop, subject in rows:
        if loop_id == "2000D" and not has_dependent:
            continue
        level = writer.add_level(code, level)
        is_patient = loop_id == ("2000D" if has_dependent else "2000C")
        if member and is_patient:
            write_member_name(writer, "QC" if has_dependent else "IL", member, with_id=not has_dependent)
        elif subject == "payer":
            write_payer(writer, tree.first(name_loop), payer_name)
        else:
            repeat_segment(writer, tree.first(name_loop), "NM1")
        subjects = (subject, "dependent") if is_patient else (subject,)
        write_aaa(writer, [rejection] if rejection and rejection.subject in subjects else [], "278")
    return level


def _write_rejected_event(writer: SetWriter, parent: int, tree: Loop, rejection: Rejection) -> None:
    """Write the event of a request that is not processed: its trace, and the reason if the event is at fault."""
    event = _find_event(tree)
    writer.add_level("EV", parent)
    repeat_traces(writer, event)
    is_about_event = rejection.subject == "request"
    write_aaa(writer, [rejection] if is_about_event else [], "278")
    _repeat_review(writer, event)
    if is_about_event:
        write_message(writer, rejection.text)


def _repeat_review(writer: SetWriter, event: Loop) -> None:
    """Write UM with category, kind of request, service type and place of the request."""
    review = event.segment("UM")
    if review:
        writer.add("UM", *decode_elements(review)[:4])


def _write_review(writer: SetWriter, query: AuthorizationQuery) -> None:
    """Write UM of a request that an inquiry found."""
    service_type = SERVICE_TYPE_CODES[query.service_type] if query.service_type else ""
    writer.add("UM", REVIEW_CODES[query.review], "I", service_type, (query.place, "B") if query.place else "")


def _write_undecided_event(writer: SetWriter, parent: int, tree: Loop, answer: AuthorizationAnswer) -> None:
    """Write an event without an authorization: none is required, or an inquiry found none."""
    if answer.is_required:
        text = answer.text or "The payer has no authorization for this patient."
        _write_rejected_event(writer, parent, tree, _reject("unknown_authorization", text))
        return
    level = writer.add_level("EV", parent)
    event = _find_event(tree)
    repeat_traces(writer, event)
    _repeat_review(writer, event)
    writer.add("HCR", NO_ACTION, "", CODES.decision_reasons[NOT_REQUIRED])
    write_message(writer, answer.text)
    for loop in tree.find_all("2000F"):
        writer.add_level("SS", level)
        repeat_traces(writer, loop)
        writer.add("HCR", NO_ACTION, "", CODES.decision_reasons[NOT_REQUIRED])
        if service := find_service_segment(loop):
            writer.copy(service)


def _write_appeal(writer: SetWriter, parent: int, tree: Loop, appeal: Appeal) -> None:
    """Write what becomes of an appeal, under the payer's number for the appeal."""
    event = _find_event(tree)
    writer.add_level("EV", parent)
    repeat_traces(writer, event)
    _repeat_review(writer, event)
    writer.add("HCR", CODES.appeal_decisions[appeal.status])
    write_reference(writer, "NT", appeal.id)
    write_message(writer, appeal.text or f"Appeal {appeal.status}.")


def _write_event(writer: SetWriter, parent: int, tree: Loop, authorization: Authorization, zone: tzinfo | None) -> None:
    """Write the decision on a request, and on each of its services."""
    event = _find_event(tree)
    level = writer.add_level("EV", parent)
    repeat_traces(writer, event)
    if _read_kind(tree, event.segment("UM")) == "inquiry":
        _write_review(writer, authorization.query)
    else:
        _repeat_review(writer, event)
    code = find_event_code(authorization)
    _write_decision(writer, code, authorization.number, authorization.reason)
    _write_reference(writer, code, authorization)
    if code in CERTIFIED:
        decided = authorization.decided
        write_period(writer, "102", decided.astimezone(zone).date() if decided else None)
        write_period(writer, "036", authorization.valid_to)
        write_period(writer, "007", authorization.valid_from)
    documents = [question for question in authorization.questions if question.type == "attachment"]
    for question in documents[:MAX_ATTACHMENTS]:
        number = f"{authorization.id}-{render_question_id(question.id, writer.charset)}"
        writer.add("PWK", "77", "EL", "", "", "AC", number[:MAX_ATTACHMENT_NUMBER])
    slots = 1 + len(authorization.services)
    texts = iter(pack_messages(authorization.text, authorization.questions, slots, writer.charset))
    write_message(writer, next(texts, ""))
    requested = _AskedServices(tree.find_all("2000F"))
    for service in authorization.services:
        _write_service(writer, level, authorization, service, requested.take(service))
        write_message(writer, next(texts, ""))


def find_event_code(authorization: Authorization) -> str:
    """Return HCR01 of the event: approved in part if some services are approved and others are denied."""
    statuses = {service.status for service in authorization.services}
    if authorization.status in ("approved", "modified") and "denied" in statuses:
        return PARTLY_CERTIFIED
    return CODES.decisions[authorization.status]


def find_service_code(service: DecidedService) -> str:
    """Return HCR01 of a service."""
    return NO_ACTION if service.reason == NOT_REQUIRED else CODES.decisions[service.status]


def _write_decision(writer: SetWriter, code: str, number: str | None, reason: str) -> None:
    """Write HCR. Only a certification has an authorization number (HCR02)."""
    writer.add("HCR", code, number if code in CERTIFIED else "", CODES.decision_reasons.get(reason, ""))


def _write_reference(writer: SetWriter, code: str, authorization: Authorization) -> None:
    """Write the number under which to ask again: the authorization number is in HCR02 if there is one."""
    if code in CERTIFIED:
        return
    if authorization.number:
        write_reference(writer, "BB", authorization.number)
    else:
        write_reference(writer, "NT", authorization.id)


class _AskedServices:
    """The services of a request, each to be taken once for the decision that belongs to it."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self._by_trace: dict[str, list[Loop]] = {}
        self._by_procedure: dict[str, list[Loop]] = {}
        self._taken: set[int] = set()
        for loop in reversed(loops):
            service = read_service(loop, loop)
            self._by_trace.setdefault(service.trace, []).append(loop)
            self._by_procedure.setdefault(service.procedure_code, []).append(loop)

    def take(self, service: DecidedService) -> Loop | None:
        """Return the requested service to which a decision belongs: by its trace, else by its procedure."""
        by_trace = self._by_trace.get(service.trace) if service.trace else None
        candidates = by_trace or self._by_procedure.get(service.procedure_code, [])
        while candidates:
            loop = candidates.pop()
            if id(loop) not in self._taken:
                self._taken.add(id(loop))
                return loop
        return None


def _write_service(
    writer: SetWriter, parent: int, authorization: Authorization, service: DecidedService, requested: Loop | None
) -> None:
    writer.add_level("SS", parent)
    if requested is not None:
        repeat_traces(writer, requested)
    _write_decision(writer, find_service_code(service), authorization.number, service.reason)
    write_period(writer, "472", service.start, service.end)
    write_decided_service(writer, service, find_service_segment(requested) if requested is not None else None)
