"""Claim status: read a 276, write a 277."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from clerkship.formats.x12.charset import clean_value
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import SetWriter
from clerkship.payer.answer import ClaimAnswer, ClaimLine, PayerClaim, Rejection, RejectionSubject
from clerkship.payer.inquiry import ClaimQuery
from clerkship.simulators.x12.transactions.codes import CODES, find_procedure_qualifier
from clerkship.simulators.x12.transactions.reply import (
    ReplyHeader,
    begin_reply,
    group_by_loop,
    read_id,
    read_person,
    read_reference,
    repeat_segment,
    repeat_traces,
    write_member_name,
    write_payer,
    write_reference,
)
from clerkship.simulators.x12.transactions.text import (
    parse_decimal,
    read_period,
    render_date,
    render_decimal,
    write_period,
)

# STC01-3: who is at fault.
ENTITIES: dict[RejectionSubject, str] = {"payer": "PR", "provider": "1P", "subscriber": "IL", "dependent": "QC"}
MAX_PAYMENT_NUMBER = 16
LINE_QUALIFIERS = ("AD", "HC")
"""SVC01-1 of the codes that lines have."""


class ClaimStatusRequest(NamedTuple):
    """The question about one claim of a 276, with the loops that the 277 repeats."""

    query: ClaimQuery
    trace: str
    """TRN02 of the question."""
    source: Loop
    """Loop 2000A: the payer."""
    receiver: Loop
    """Loop 2000B: who sends the question."""
    provider: Loop
    """Loop 2000C."""
    subscriber: Loop
    """Loop 2000D."""
    claim: Loop
    """Loop 2200D or 2200E."""
    dependent: Loop | None = None
    """Loop 2000E, if the patient is a dependent."""

    @property
    def patient(self) -> Loop:
        """The loop of the patient: 2000D or 2000E."""
        return self.subscriber if self.dependent is None else self.dependent


def read_claim_status(tree: Loop) -> list[ClaimStatusRequest]:
    """Return what a 276 asks: one query per claim loop, in the order of the set."""
    return [
        _read_claim(source, receiver, provider, subscriber, dependent, claim)
        for source in tree.find_all("2000A")
        for receiver in source.find_all("2000B")
        for provider in receiver.find_all("2000C")
        for subscriber in provider.find_all("2000D")
        for dependent, claim in _find_claims(subscriber)
    ]


def _find_claims(subscriber: Loop) -> Iterator[tuple[Loop | None, Loop]]:
    """Yield the claim loops of a subscriber, then those of each dependent."""
    for claim in subscriber.find_all("2200D"):
        yield None, claim
    for dependent in subscriber.find_all("2000E"):
        for claim in dependent.find_all("2200E"):
            yield dependent, claim


def _read_claim(
    source: Loop, receiver: Loop, provider: Loop, subscriber: Loop, dependent: Loop | None, claim: Loop
) -> ClaimStatusRequest:
    start, end = _read_service_period(claim)
    charges = [parse_decimal(each.raw(2)) for each in claim.segments if each.id == "AMT" and each.raw(1) == "T3"]
    query = ClaimQuery(
        payer_id=read_id(source.first("2100A")),
        provider_id=_read_provider_id(provider),
        # In a 276, DMG stands before NM1, in the loop of the level.
        subscriber=read_person(subscriber.first("2100D"), subscriber),
        dependent=None if dependent is None else read_person(dependent.first("2100E"), dependent),
        claim_number=read_reference(claim, "1K"),
        account=read_reference(claim, "EJ"),
        charge=charges[0] if charges else None,
        start=start,
        end=end,
    )
    trace = claim.segment("TRN")
    return ClaimStatusRequest(
        query, trace.raw(2) if trace else "", source, receiver, provider, subscriber, claim, dependent
    )


def _read_provider_id(provider: Loop) -> str:
    """Return the NPI of a provider, which may be named twice, by different ids."""
    names = provider.find_all("2100C")
    by_npi = [loop for loop in names if (name := loop.segment("NM1")) and name.raw(8) == "XX"]
    return read_id(next(iter(by_npi or names), None))


def _read_service_period(claim: Loop) -> tuple[date | None, date | None]:
    """Return the period of the claim, else that of all services that are asked about."""
    start, end = read_period(claim, "472")
    if start:
        return start, end
    periods = [read_period(line, "472") for line in _find_lines(claim)]
    starts = [first for first, _ in periods if first]
    ends = [last for _, last in periods if last]
    return (min(starts) if starts else None), (max(ends) if ends else None)


def _find_lines(claim: Loop) -> list[Loop]:
    return [*claim.find_all("2210D"), *claim.find_all("2210E")]


class _AnsweredClaim(NamedTuple):
    question: ClaimStatusRequest
    answer: ClaimAnswer


def write_claim_status(tree: Loop, answers: Sequence[ClaimAnswer], header: ReplyHeader) -> TransactionSet:
    """Write the 277 for a 276, with the answers in the order of `read_claim_status`.

    If the payer or the provider is rejected, the status stands in loop 2200B or 2200C, and there is no level below.
    """
    writer = begin_reply("277", tree, header, "0010", "08", "DG")
    answered = [_AnsweredClaim(*pair) for pair in zip(read_claim_status(tree), answers, strict=True)]
    today = header.sent.date()
    for source, of_source in group_by_loop(answered, lambda item: item.question.source):
        source_level = writer.add_level("20")
        write_payer(writer, source.first("2100A"), of_source[0].answer.payer_name)
        for receiver, of_receiver in group_by_loop(of_source, lambda item: item.question.receiver):
            receiver_level = writer.add_level("21", source_level)
            repeat_segment(writer, receiver.first("2100B"), "NM1")
            if rejection := _find_common_rejection(of_receiver, "payer"):
                # 2200B: the trace is the number of the whole request.
                beginning = tree.segment("BHT")
                writer.add("TRN", "2", beginning.raw(3) if beginning else "")
                _write_rejection(writer, rejection, today)
                continue
            for provider, of_provider in group_by_loop(of_receiver, lambda item: item.question.provider):
                _write_provider(writer, receiver_level, provider, of_provider, today)
    return writer.build()


def _find_common_rejection(answered: list[_AnsweredClaim], subject: RejectionSubject) -> Rejection | None:
    """Return the rejection of a party, if all questions below it are rejected because of it."""
    rejections = [item.answer.rejection for item in answered]
    return rejections[0] if all(each and each.subject == subject for each in rejections) else None


def _write_rejection(writer: SetWriter, rejection: Rejection, today: date) -> None:
    category, status = CODES.rejections[rejection.reason].stc.split(":")
    writer.add("STC", (category, status, ENTITIES.get(rejection.subject)), render_date(today))


def _write_provider(
    writer: SetWriter, parent: int, provider: Loop, answered: list[_AnsweredClaim], today: date
) -> None:
    """Write level 19 with the provider, and the levels of the patients."""
    level = writer.add_level("19", parent)
    for name in provider.find_all("2100C"):
        repeat_segment(writer, name, "NM1")
    if rejection := _find_common_rejection(answered, "provider"):
        # 2200C has a trace of its own; that of the first question lets its sender find it.
        writer.add("TRN", "1", answered[0].question.trace or "0")
        _write_rejection(writer, rejection, today)
        return
    for subscriber, of_subscriber in group_by_loop(answered, lambda item: item.question.subscriber):
        subscriber_level = writer.add_level("22", level)
        own = [item for item in of_subscriber if item.question.dependent is None]
        _write_person(writer, own, "IL", subscriber.first("2100D"))
        _write_claims(writer, own, today)
        of_dependents = [item for item in of_subscriber if item.question.dependent is not None]
        for dependent, items in group_by_loop(of_dependents, lambda item: item.question.patient):
            # Level 23 is the lowest: it does not state whether there are levels below it.
            writer.add_level("23", subscriber_level, states_children=False)
            _write_person(writer, items, "QC", dependent.first("2100E"))
            _write_claims(writer, items, today)


def _write_person(writer: SetWriter, answered: list[_AnsweredClaim], entity: str, question: Loop | None) -> None:
    """Write the NM1 of a patient: as on file if the payer found the person, else as asked."""
    members = [item.answer.member for item in answered if item.answer.member and not item.answer.rejection]
    if members:
        write_member_name(writer, entity, members[0], with_id=entity == "IL")
    else:
        repeat_segment(writer, question, "NM1")


def _write_claims(writer: SetWriter, answered: list[_AnsweredClaim], today: date) -> None:
    """Write loop 2200D or 2200E for each claim that matches a question, or one that tells why there is none."""
    for question, answer in answered:
        if answer.rejection or not answer.claims:
            repeat_traces(writer, question.claim)
            _write_missing_claim(writer, question, answer.rejection, today)
        for claim in () if answer.rejection else answer.claims:
            repeat_traces(writer, question.claim)
            _write_claim(writer, question, claim)


def _write_missing_claim(
    writer: SetWriter, question: ClaimStatusRequest, rejection: Rejection | None, today: date
) -> None:
    """Write the status of a question that finds no claim, with what the question says of the claim."""
    if rejection:
        _write_rejection(writer, rejection, today)
    else:
        codes = CODES.claim_not_found
        writer.add("STC", (codes.category, codes.status), render_date(today))
    write_reference(writer, "EJ", question.query.account)
    write_period(writer, "472", question.query.start, question.query.end)


def _write_claim(writer: SetWriter, question: ClaimStatusRequest, claim: PayerClaim) -> None:
    is_final = claim.status in ("paid", "denied")
    writer.add(
        "STC",
        _find_codes(claim.status, claim.reason, claim.paid),
        render_date(claim.status_date),
        "",
        render_decimal(claim.charge),
        render_decimal(claim.paid),
        render_date(claim.status_date) if is_final else "",
        "",
        render_date(claim.paid_date) if claim.paid_date else "",
        clean_value(claim.payment_number or "")[:MAX_PAYMENT_NUMBER],
    )
    write_reference(writer, "1K", claim.number)
    write_reference(writer, "EJ", claim.account)
    write_period(writer, "472", claim.start, claim.end)
    _write_lines(writer, question, claim)


def _find_codes(status: str, reason: str, paid: float) -> tuple[str | None, str]:
    """Return category and status (STC01) for the status of a claim or a line and the reason for it."""
    codes = CODES.paid_nothing if status == "paid" and paid == 0 else CODES.claim_statuses[status]
    if status in ("pended", "denied") and reason in CODES.claim_reasons:
        special = CODES.claim_reasons[reason]
        # A reason to wait has its own category; a denied claim is final whatever the reason.
        return (special.category or codes.category) if status == "pended" else codes.category, special.status
    return codes.category, codes.status


def _write_lines(writer: SetWriter, question: ClaimStatusRequest, claim: PayerClaim) -> None:
    """Write loop 2220D or 2220E for the services of a claim: those that are asked about, else all.

    A payment that is not divided among the services is stated for the claim only: they would all look unpaid. So is a
    claim with codes of SNOMED CT, LOINC or the payer's own: SVC has no qualifier for them.
    """
    is_undivided = claim.paid and not any(line.paid for line in claim.lines)
    if is_undivided or any(_find_qualifier(line) not in LINE_QUALIFIERS for line in claim.lines):
        return
    questions = {_read_procedure(line): line for line in _find_lines(question.claim)}
    lines = [line for line in claim.lines if line.procedure_code in questions] or claim.lines
    for line in lines:
        _write_line(writer, claim, line, questions.get(line.procedure_code))


def _find_qualifier(line: ClaimLine) -> str:
    return find_procedure_qualifier(line.procedure_code)


def _read_procedure(line: Loop) -> str:
    service = line.segment("SVC")
    return service.value(1, 2) if service else ""


def _read_units(question: Loop | None) -> str:
    """Return SVC07, which is required: the units of the question, because a payer keeps none. 1 if it states none."""
    service = question.segment("SVC") if question else None
    return (service.raw(7) if service else "") or "1"


def _write_line(writer: SetWriter, claim: PayerClaim, line: ClaimLine, question: Loop | None) -> None:
    amounts = render_decimal(line.charge), render_decimal(line.paid)
    writer.add("SVC", (_find_qualifier(line), line.procedure_code), *amounts, "", "", "", _read_units(question))
    status = line.status or claim.status
    writer.add("STC", _find_codes(status, claim.reason, line.paid), render_date(claim.status_date))
    write_reference(writer, "FJ", None if question is None else read_reference(question, "FJ"))
    write_period(writer, "472", line.service_date or claim.start)
