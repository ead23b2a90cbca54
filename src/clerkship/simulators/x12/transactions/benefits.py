"""Benefits of a plan: the EB segments of a 271 and what belongs to each."""

from clerkship.formats.x12.writer import SetWriter
from clerkship.payer.answer import Benefit, EligibilityAnswer, OtherCoverage
from clerkship.simulators.x12.transactions.codes import CODES, SERVICE_TYPE_CODES
from clerkship.simulators.x12.transactions.reply import write_message, write_reference
from clerkship.simulators.x12.transactions.text import MAX_PLAN_NAME, render_decimal, render_name

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
    has_procedure = benefit.procedure_code is not None
    types = [] if has_procedure else [SERVICE_TYPE_CODES[service_type] for service_type in benefit.service_types]
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
        ("HC", benefit.procedure_code) if has_procedure else "",
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
