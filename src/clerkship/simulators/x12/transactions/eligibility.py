"""Eligibility: read a 270, write a 271."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import SetWriter
from clerkship.payer.answer import Benefit, EligibilityAnswer, Member, OtherCoverage, Rejection, RejectionSubject
from clerkship.payer.inquiry import EligibilityInquiry, ServiceType
from clerkship.simulators.x12.transactions.codes import CODES, SERVICE_TYPE_CODES, find_procedure_qualifier
from clerkship.simulators.x12.transactions.reply import (
    ReplyHeader,
    begin_reply,
    group_by_loop,
    read_id,
    read_person,
    repeat_segment,
    repeat_traces,
    write_aaa,
    write_demographics,
    write_member_name,
    write_message,
    write_payer,
    write_reference,
)
from clerkship.simulators.x12.transactions.text import (
    MAX_PLAN_NAME,
    read_period,
    render_decimal,
    render_name,
    write_period,
)

STATUS_KINDS = ("active", "inactive")
# EB12 of a benefit that is the same in and out of network: not applicable.
SAME_IN_AND_OUT_OF_NETWORK = "W"
OUT_OF_NETWORK = "The provider is not in the network of the plan."
ORDER_TEXTS = {1: "Primary payer", 2: "Secondary payer", 3: "Tertiary payer"}


def write_benefits(writer: SetWriter, answer: EligibilityAnswer) -> None:
    """Write loops 2110C or 2110D: the status of the coverage, its benefits, and other payers."""
    for place, benefit in enumerate(_list_benefits(answer)):
        _write_benefit(writer, benefit, answer)
        if place == 0 and answer.in_network is False:
            write_message(writer, OUT_OF_NETWORK)
    for coverage in answer.other_coverages:
        _write_other_payer(writer, coverage)


def _list_benefits(answer: EligibilityAnswer) -> list[Benefit]:
    """Return the benefits, after the status of the coverage if they do not state it."""
    benefits = [each for each in answer.benefits if each.kind != "other_payer" or not answer.other_coverages]
    if any(benefit.kind in STATUS_KINDS for benefit in benefits):
        return benefits
    status = Benefit(kind="active" if answer.status == "active" else "inactive", service_types=("plan",))
    return [status, *benefits]


def write_unprocessed_benefit(writer: SetWriter, service_type_codes: list[str]) -> None:
    """Write the EB under which an AAA refuses a part of the inquiry."""
    writer.add("EB", "V", "", [*service_type_codes] or SERVICE_TYPE_CODES["plan"])


def _write_benefit(writer: SetWriter, benefit: Benefit, answer: EligibilityAnswer) -> None:
    plan_name = answer.coverage.plan_name if answer.coverage and benefit.kind in STATUS_KINDS else ""
    # EB03 and EB13 exclude each other: a benefit of one procedure is not one of a type of services.
    code = benefit.procedure_code
    types = [] if code else [SERVICE_TYPE_CODES[service_type] for service_type in benefit.service_types]
    writer.add(
        "EB",
        CODES.benefits[benefit.kind],
        CODES.levels[benefit.level] if benefit.level else "",
        [*types],
        "",
        render_name(plan_name, MAX_PLAN_NAME),
        CODES.periods[benefit.period] if benefit.period else "",
        render_decimal(benefit.amount),
        render_decimal(benefit.share),
        CODES.benefit_units[benefit.unit or "units"] if benefit.quantity is not None else "",
        render_decimal(benefit.quantity),
        _render_flag(benefit.authorization_required),
        _render_network(benefit),
        (find_procedure_qualifier(code), code) if code else "",
    )
    if benefit.text and benefit.text != plan_name:
        write_message(writer, benefit.text)


def _render_flag(value: bool | None) -> str:
    return "" if value is None else "Y" if value else "N"


def _render_network(benefit: Benefit) -> str:
    if benefit.in_network is None and benefit.kind in (*STATUS_KINDS, "other_payer"):
        return ""
    return _render_flag(benefit.in_network) or SAME_IN_AND_OUT_OF_NETWORK


def _write_other_payer(writer: SetWriter, coverage: OtherCoverage) -> None:
    """Write another payer of the same person: EB R with its name in loop 2120."""
    writer.add("EB", CODES.benefits["other_payer"], "", SERVICE_TYPE_CODES["plan"])
    write_reference(writer, "1W", coverage.member_id)
    if coverage.order in ORDER_TEXTS:
        writer.add("MSG", ORDER_TEXTS[coverage.order])
    writer.add("LS", "2120")
    writer.add("NM1", "PR", "2", render_name(coverage.payer_name), *[""] * 4, "PI", coverage.payer_id)
    writer.add("LE", "2120")


class EligibilityRequest(NamedTuple):
    """The inquiry about one patient of a 270, with the loops that the 271 repeats."""

    inquiry: EligibilityInquiry
    trace: str
    """TRN02 of the first trace of the patient; empty if there is none."""
    source: Loop
    """Loop 2000A: the payer."""
    receiver: Loop
    """Loop 2000B: the provider."""
    subscriber: Loop
    """Loop 2000C."""
    dependent: Loop | None = None
    """Loop 2000D, if the patient is a dependent."""


def read_eligibility(tree: Loop) -> list[EligibilityRequest]:
    """Return what a 270 asks: one inquiry per patient, in the order of the set."""
    return [
        _read_patient(source, receiver, subscriber, dependent)
        for source in tree.find_all("2000A")
        for receiver in source.find_all("2000B")
        for subscriber in receiver.find_all("2000C")
        for dependent in _find_patients(subscriber)
    ]


def _find_patients(subscriber: Loop) -> list[Loop | None]:
    """Return the dependents of a subscriber, after None for the subscriber if it is a patient itself.

    A subscriber with dependents is a patient only if something is asked about it (2110C).
    """
    dependents: list[Loop | None] = [*subscriber.find_all("2000D")]
    return dependents if dependents and not subscriber.find_all("2110C") else [None, *dependents]


def _read_patient(source: Loop, receiver: Loop, subscriber: Loop, dependent: Loop | None) -> EligibilityRequest:
    patient = subscriber if dependent is None else dependent
    questions = patient.find_all("2110C" if dependent is None else "2110D")
    traces = patient.segments_with_id("TRN")
    inquiry = EligibilityInquiry(
        payer_id=read_id(source.first("2100A")),
        provider_id=read_id(receiver.first("2100B")),
        subscriber=read_person(subscriber.first("2100C")),
        dependent=None if dependent is None else read_person(dependent.first("2100D")),
        service_date=_read_service_date(subscriber, dependent, questions),
        service_types=_read_service_types(questions),
        procedure_codes=tuple(dict.fromkeys(_read_procedures(questions))),
    )
    return EligibilityRequest(inquiry, traces[0].value(2) if traces else "", source, receiver, subscriber, dependent)


def _read_service_date(subscriber: Loop, dependent: Loop | None, questions: list[Loop]) -> date | None:
    """Return the first day of DTP 291: that of a question, else that of the patient, else that of the subscriber."""
    people = (dependent.first("2100D") if dependent is not None else None, subscriber.first("2100C"))
    days = (read_period(loop, "291")[0] for loop in (*questions, *people))
    return next((day for day in days if day), None)


def _read_service_types(questions: list[Loop]) -> tuple[ServiceType, ...]:
    """Return the service types of the EQ segments.

    A payer that does not support a service type answers as if the plan (30) had been asked about, which is what the
    guide and the CORE rule for eligibility content ask for; a code outside the list of X12 is refused with a 999.
    """
    types = dict.fromkeys(CODES.service_types.get(code, "plan") for code in _read_service_type_codes(questions))
    return tuple(types) or ("plan",)


def _read_service_type_codes(questions: list[Loop]) -> list[str]:
    segments = [segment for loop in questions for segment in loop.segments_with_id("EQ")]
    return list(dict.fromkeys(code for segment in segments for code in segment.repeats(1)))


def _read_procedures(questions: list[Loop]) -> Iterator[str]:
    for loop in questions:
        for segment in loop.segments:
            if segment.id == "EQ" and segment.value(2, 2):
                yield segment.value(2, 2)


class _AnsweredEligibility(NamedTuple):
    question: EligibilityRequest
    answer: EligibilityAnswer


def write_eligibility(tree: Loop, answers: Sequence[EligibilityAnswer], header: ReplyHeader) -> TransactionSet:
    """Write the 271 for a 270, with the answers in the order of `read_eligibility`.

    A rejection of the payer or the provider is written once in its loop. The levels below are repeated as they were
    asked, so that every trace comes back.
    """
    writer = begin_reply("271", tree, header, "0022", "11")
    answered = [_AnsweredEligibility(*pair) for pair in zip(read_eligibility(tree), answers, strict=True)]
    for source, of_source in group_by_loop(answered, lambda item: item.question.source):
        source_level = writer.add_level("20")
        write_payer(writer, source.first("2100A"), of_source[0].answer.payer_name)
        write_aaa(writer, _find_rejections(of_source, "payer"), "271")
        for receiver, of_receiver in group_by_loop(of_source, lambda item: item.question.receiver):
            receiver_level = writer.add_level("21", source_level)
            repeat_segment(writer, receiver.first("2100B"), "NM1")
            write_aaa(writer, _find_rejections(of_receiver, "provider"), "271")
            for _, patients in group_by_loop(of_receiver, lambda item: item.question.subscriber):
                _write_subscriber(writer, receiver_level, patients)
    return writer.build()


def _find_rejections(answered: Iterable[_AnsweredEligibility], *subjects: RejectionSubject) -> list[Rejection]:
    rejections = (item.answer.rejection for item in answered)
    return [rejection for rejection in rejections if rejection and rejection.subject in subjects]


def _write_subscriber(writer: SetWriter, parent: int, answered: list[_AnsweredEligibility]) -> None:
    """Write level 22 with the subscriber, and level 23 with each dependent."""
    level = writer.add_level("22", parent)
    rejections = _find_rejections((item for item in answered if item.question.dependent is not None), "subscriber")
    first, *dependents = answered
    if first.question.dependent is None:
        _write_patient(writer, first, first.question.subscriber, rejections)
    else:
        dependents = answered
        repeat_traces(writer, first.question.subscriber)
        _write_as_asked(writer, first.question.subscriber.first("2100C"), rejections)
    for item in dependents:
        if item.question.dependent is not None:
            writer.add_level("23", level)
            _write_patient(writer, item, item.question.dependent, [])


def _write_patient(
    writer: SetWriter, answered: _AnsweredEligibility, patient: Loop, rejections: list[Rejection]
) -> None:
    """Write a patient: the traces, then the person as on file with its benefits, or as asked with the rejections."""
    repeat_traces(writer, patient)
    answer, is_dependent = answered.answer, answered.question.dependent is not None
    if answer.member and not answer.rejection:
        _write_person_on_file(writer, answer, answer.member, is_dependent=is_dependent)
        write_benefits(writer, answer)
        return
    subjects: tuple[RejectionSubject, ...] = ("dependent", "request")
    own_rejections = _find_rejections([answered], *subjects, *(() if is_dependent else ("subscriber",)))
    about_benefits = [rejection for rejection in own_rejections if rejection.reason in CODES.benefit_level_reasons]
    about_person = [rejection for rejection in own_rejections if rejection not in about_benefits]
    _write_as_asked(writer, patient.first("2100D" if is_dependent else "2100C"), [*rejections, *about_person])
    if about_benefits:
        questions = patient.find_all("2110D" if is_dependent else "2110C")
        write_unprocessed_benefit(writer, _read_service_type_codes(questions))
        write_aaa(writer, about_benefits, "271")


def _write_as_asked(writer: SetWriter, loop: Loop | None, rejections: list[Rejection]) -> None:
    """Write loop 2100C or 2100D with nothing that the request does not say."""
    repeat_segment(writer, loop, "NM1")
    write_aaa(writer, rejections, "271")
    repeat_segment(writer, loop, "DMG")


def _write_person_on_file(writer: SetWriter, answer: EligibilityAnswer, member: Member, *, is_dependent: bool) -> None:
    """Write loop 2100C or 2100D as the payer has the person on file, with the days of the policy."""
    write_member_name(writer, "03" if is_dependent else "IL", member, with_id=not is_dependent)
    coverage = answer.coverage
    write_reference(writer, "6P", coverage.group if coverage else None)
    write_demographics(writer, member)
    if is_dependent:
        writer.add("INS", "N", CODES.relationships[member.relationship])
    if coverage:
        write_period(writer, "346", coverage.start)
        write_period(writer, "347", coverage.end)
