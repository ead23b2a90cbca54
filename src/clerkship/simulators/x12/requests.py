"""Write requests to payers as X12: 270, 276 and 278 sets, and the interchange around them.

The questions are the payer's own (`clerkship.payer.inquiry`), so that a program needs no knowledge of loops and
qualifiers:

    ana = PersonQuery(member_id="NW55501", family="Rivera", given="Ana", birth_date=date(1980, 2, 14))
    inquiry = EligibilityInquiry(payer_id="NW001", provider_id="1234567893", subscriber=ana)
    request = build_eligibility_request([inquiry], RequestHeader("ELG1", created))
    edi = render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 101, created), [request])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal

from clerkship.formats.x12.charset import X12Charset
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import validate_set
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, SetWriter, render_interchange
from clerkship.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
)
from clerkship.simulators.x12.transactions.codes import (
    CODES,
    GENDER_CODES,
    REVIEW_CODES,
    SERVICE_TYPE_CODES,
    find_procedure_qualifier,
)
from clerkship.simulators.x12.transactions.text import (
    MAX_GIVEN_NAME,
    render_date,
    render_decimal,
    render_name,
    write_period,
)

ELIGIBILITY_GUIDE = "005010X279A1"
CLAIM_STATUS_GUIDE = "005010X212"
AUTHORIZATION_GUIDE = "005010X217"
AUTHORIZATION_INQUIRY_GUIDE = "005010X215"
AuthorizationRequestKind = Literal["request", "update", "cancel", "appeal"]
_CERTIFICATION_TYPES: dict[AuthorizationRequestKind, str] = {
    "request": "I",
    "update": "S",
    "cancel": "3",
    "appeal": "2",
}
"""UM02."""
_URGENT_APPEAL = "1"
"""UM02 of an appeal that cannot wait."""
_PROFESSIONAL_PLACE = "B"
"""UM04-2: the code is a place of service, not a bill type."""


@dataclass(frozen=True)
class RequestHeader:
    """What a request states beside its questions."""

    reference: str
    """The sender's number for the request (BHT03). It is also the trace of a question without one of its own."""
    created: datetime
    control_number: str = "0001"
    """ST02; two sets of a group must differ."""
    originator: str = "9CLINIC001"
    """Who assigned the traces (TRN03): 9 and a number of the sender's own, or 1 and its tax number."""
    payer_name: str = "PAYER"
    provider_name: str = "PROVIDER"
    submitter: str = "CLINIC01"
    """The sender's id with the clearinghouse, which a 276 states (2100B NM109)."""
    delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS
    charset: X12Charset = "extended"

    def number_trace(self, place: int, count: int) -> str:
        """Return the trace of a question: the reference, with the place of the question if there are several."""
        return self.reference if count == 1 else f"{self.reference}-{place}"


def render_requests(envelope: OutgoingEnvelope, sets: Sequence[TransactionSet]) -> str:
    """Return an interchange with requests. Sets of one guide that follow each other are one group, in their order."""
    groups = [list(group) for _, group in groupby(sets, key=lambda each: (each.code, each.version))]
    outgoing = [OutgoingGroup(number, group[0].version, group) for number, group in enumerate(groups, 1)]
    return render_interchange(envelope, outgoing)


def build_eligibility_request(inquiries: Sequence[EligibilityInquiry], header: RequestHeader) -> TransactionSet:
    """Return a 270 with one patient per inquiry.

    Inquiries that follow each other share the levels of their payer, provider and subscriber. Raises `ValueError`
    if the set would not be valid.
    """
    writer = _begin("270", ELIGIBILITY_GUIDE, "0022", header)
    source = receiver = subscriber = 0
    previous: EligibilityInquiry | None = None
    for place, inquiry in enumerate(inquiries, 1):
        shared = _count_shared_levels(previous, inquiry)
        if shared < 1:
            source = _add_payer(writer, "PR", inquiry, header)
        if shared < 2:
            receiver = _add_provider(writer, "21", source, inquiry, header)
        trace = header.number_trace(place, len(inquiries))
        if shared < 3:
            subscriber = writer.add_level("22", receiver)
            if inquiry.dependent is None:
                writer.add("TRN", "1", trace, header.originator)
            _add_person(writer, "IL", inquiry.subscriber)
        if inquiry.dependent is not None:
            writer.add_level("23", subscriber)
            writer.add("TRN", "1", trace, header.originator)
            _add_person(writer, "03", inquiry.dependent)
        _add_eligibility_question(writer, inquiry)
        previous = inquiry
    return _finish(writer)


def build_claim_status_request(queries: Sequence[ClaimQuery], header: RequestHeader) -> TransactionSet:
    """Return a 276 with one claim per query. Levels are shared, and `ValueError` raised, as for eligibility."""
    writer = _begin("276", CLAIM_STATUS_GUIDE, "0010", header)
    provider = subscriber = receiver = 0
    previous: ClaimQuery | None = None
    for place, query in enumerate(queries, 1):
        shared = _count_shared_levels(previous, query)
        if shared < 1:
            receiver = writer.add_level("21", _add_payer(writer, "PR", query, header))
            writer.add("NM1", "41", "2", render_name(header.provider_name), "", "", "", "", "46", header.submitter)
        if shared < 2:
            provider = _add_provider(writer, "19", receiver, query, header)
        if shared < 3:
            subscriber = writer.add_level("22", provider)
            # In a 276, DMG stands before NM1; and that of a subscriber only if it is the patient.
            _add_demographics(writer, query.subscriber if query.dependent is None else PersonQuery())
            _add_name(writer, "IL", query.subscriber)
        if query.dependent is not None:
            writer.add_level("23", subscriber, states_children=False)
            _add_demographics(writer, query.dependent)
            _add_name(writer, "QC", query.dependent)
        _add_claim_question(writer, query, header.number_trace(place, len(queries)))
        previous = query
    return _finish(writer)


def build_authorization_request(
    query: AuthorizationQuery,
    header: RequestHeader,
    kind: AuthorizationRequestKind = "request",
    *,
    authorization_number: str | None = None,
    payer_reference: str | None = None,
) -> TransactionSet:
    """Return a 278 that requests an authorization, or updates, cancels or appeals one.

    An update, a cancellation and an appeal quote the authorization number (REF BB) or the payer's reference number
    (REF NT). The reason of an appeal is the note of the query. Raises `ValueError` if the set would not be valid.
    """
    if kind != "request" and not (authorization_number or payer_reference):
        raise ValueError(f"`{kind}` quotes no request: give `authorization_number` or `payer_reference`")
    writer = _begin("278", AUTHORIZATION_GUIDE, "0007", header)
    event = writer.add_level("EV", _add_review_parties(writer, query, header))
    writer.add("TRN", "1", query.trace or header.reference, header.originator)
    certification = _URGENT_APPEAL if kind == "appeal" and query.is_urgent else _CERTIFICATION_TYPES[kind]
    service_type = SERVICE_TYPE_CODES[query.service_type] if query.service_type else ""
    place = (query.place, _PROFESSIONAL_PLACE) if query.place else ""
    urgency = "U" if query.is_urgent else ""
    writer.add("UM", REVIEW_CODES[query.review], certification, service_type, place, "", urgency, "", "", "Y")
    _add_earlier_numbers(writer, authorization_number, payer_reference)
    write_period(writer, "AAH", query.start, query.end)
    if query.diagnoses:
        writer.add("HI", *((("ABF" if place else "ABK"), code) for place, code in enumerate(query.diagnoses)))
    for number in query.attachments:
        # Support data for verification, sent electronically.
        writer.add("PWK", "77", "EL", "", "", "AC", number)
    if message := "; ".join([*_render_answers(query), *filter(None, (query.note,))]):
        writer.add("MSG", message)
    for service in query.services:
        _add_service(writer, event, service, header)
    return _finish(writer)


def build_authorization_inquiry(
    query: PartyQuery,
    header: RequestHeader,
    *,
    authorization_number: str | None = None,
    payer_reference: str | None = None,
) -> TransactionSet:
    """Return a 278 inquiry about one request, or about all of a person. Raises `ValueError` if it would be invalid."""
    writer = _begin("278", AUTHORIZATION_INQUIRY_GUIDE, "0007", header, purpose="28")
    patient = _add_review_parties(writer, query, header)
    if authorization_number or payer_reference:
        writer.add_level("EV", patient)
        writer.add("TRN", "1", header.reference, header.originator)
        _add_earlier_numbers(writer, authorization_number, payer_reference)
    return _finish(writer)


def _begin(code: str, guide: str, structure: str, header: RequestHeader, purpose: str = "13") -> SetWriter:
    writer = SetWriter(code, header.control_number, guide, delimiters=header.delimiters, charset=header.charset)
    writer.add("BHT", structure, purpose, header.reference, render_date(header.created), f"{header.created:%H%M}")
    return writer


def _finish(writer: SetWriter) -> TransactionSet:
    transaction = writer.build()
    errors = validate_set(transaction).errors
    if errors:
        texts = [element.text for element in errors[0].elements] or [errors[0].text]
        raise ValueError(f"the {transaction.code} would not be valid: {errors[0].segment}: {texts[0]}")
    return transaction


def _count_shared_levels(previous: PartyQuery | None, query: PartyQuery) -> int:
    """Return how many levels a question shares with the one before: 0, or 1 payer, 2 provider, 3 subscriber."""
    if previous is None or previous.payer_id != query.payer_id:
        return 0
    if previous.provider_id != query.provider_id:
        return 1
    # A question about the subscriber itself begins a level: it stands before those about dependents.
    return 3 if previous.subscriber == query.subscriber and query.dependent is not None else 2


def _add_payer(writer: SetWriter, entity: str, query: PartyQuery, header: RequestHeader) -> int:
    level = writer.add_level("20")
    writer.add("NM1", entity, "2", render_name(header.payer_name), "", "", "", "", "PI", query.payer_id)
    return level


def _add_provider(writer: SetWriter, code: str, parent: int, query: PartyQuery, header: RequestHeader) -> int:
    level = writer.add_level(code, parent)
    writer.add("NM1", "1P", "2", render_name(header.provider_name), "", "", "", "", "XX", query.provider_id)
    return level


def _add_review_parties(writer: SetWriter, query: PartyQuery, header: RequestHeader) -> int:
    """Write the levels of a 278 down to the patient; return the number of the last."""
    requester = _add_provider(writer, "21", _add_payer(writer, "X3", query, header), query, header)
    level = writer.add_level("22", requester)
    _add_person(writer, "IL", query.subscriber)
    if query.dependent is not None:
        level = writer.add_level("23", level)
        _add_person(writer, "QC", query.dependent)
    return level


def _add_person(writer: SetWriter, entity: str, person: PersonQuery) -> None:
    _add_name(writer, entity, person)
    _add_demographics(writer, person)


def _add_name(writer: SetWriter, entity: str, person: PersonQuery) -> None:
    names = (render_name(person.family or ""), render_name(person.given or "", MAX_GIVEN_NAME))
    id = ("MI", person.member_id) if person.member_id else ()
    writer.add("NM1", entity, "1", *names, "", "", "", *id)


def _add_demographics(writer: SetWriter, person: PersonQuery) -> None:
    if person.birth_date:
        writer.add("DMG", "D8", render_date(person.birth_date), GENDER_CODES[person.gender] if person.gender else "")


def _add_eligibility_question(writer: SetWriter, inquiry: EligibilityInquiry) -> None:
    write_period(writer, "291", inquiry.service_date)
    writer.add("EQ", [SERVICE_TYPE_CODES[each] for each in inquiry.service_types])
    for code in inquiry.procedure_codes:
        writer.add("EQ", "", (find_procedure_qualifier(code), code))


def _add_claim_question(writer: SetWriter, query: ClaimQuery, trace: str) -> None:
    writer.add("TRN", "1", trace)
    for qualifier, number in (("1K", query.claim_number), ("EJ", query.account)):
        if number:
            writer.add("REF", qualifier, number)
    if query.charge is not None:
        writer.add("AMT", "T3", render_decimal(query.charge))
    write_period(writer, "472", query.start, query.end)


def _add_earlier_numbers(writer: SetWriter, authorization_number: str | None, payer_reference: str | None) -> None:
    for qualifier, number in (("BB", authorization_number), ("NT", payer_reference)):
        if number:
            writer.add("REF", qualifier, number)


def _render_answers(query: AuthorizationQuery) -> list[str]:
    """Return the answers to clinical questions as the text of MSG; see `transactions/authorization.py`."""
    words = {True: "yes", False: "no"}
    return [f"{id}={words[value] if isinstance(value, bool) else value}" for id, value in query.answers.items()]


def _add_service(writer: SetWriter, event: int, service: RequestedService, header: RequestHeader) -> None:
    writer.add_level("SS", event)
    if service.trace:
        writer.add("TRN", "1", service.trace, header.originator)
    if service.place:
        writer.add("UM", "HS", "", "", (service.place, _PROFESSIONAL_PLACE))
    write_period(writer, "472", service.start, service.end)
    qualifier = find_procedure_qualifier(service.procedure_code)
    procedure = (qualifier, service.procedure_code, *service.modifiers)
    if qualifier == "AD":
        writer.add("SV3", procedure, "", "", "", "", render_decimal(service.quantity))
    elif service.unit == "units":
        writer.add("SV1", procedure, "", "UN", render_decimal(service.quantity))
    else:
        writer.add("SV1", procedure)
        writer.add("HSD", CODES.service_units[service.unit], render_decimal(service.quantity))
    if service.performer_id:
        writer.add("NM1", "SJ", "2", "", "", "", "", "", "XX", service.performer_id)
