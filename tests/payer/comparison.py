"""What a payer answers, in words that can be compared, whichever way it was asked."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import ClassVar

from clerkship.payer.answer import Benefit, EligibilityAnswer
from clerkship.payer.inquiry import EligibilityInquiry
from clerkship.reactions.payer_codes import get_rejection_code
from tests.payer.office import Office

Network = bool | None


@dataclass
class ComparableAnswer:
    """What an answer says. A field is None where a way has no place for it."""

    rejection: str = ""
    """The reject reason of X12; empty if the request was processed."""
    status: str = ""
    plan: str | None = ""
    """The name of the plan in upper case, as X12 writes it."""
    period: tuple[date, date | None] | None = None
    amounts: dict[tuple[str, str, str, Network], tuple[float, float | None]] = field(default_factory=dict)
    """Copays, shares, deductibles, maxima and limits with what remains, by kind, service type, level and network."""
    excluded: set[tuple[str, Network]] = field(default_factory=set)
    """Service types that are not covered, by network."""
    authorizations: dict[str, bool] = field(default_factory=dict)
    """Whether an authorization is needed, by service type or procedure code."""
    others: set[str] = field(default_factory=set)
    """Names of other payers of the patient, in upper case."""


class Way(ABC):
    """A way to ask a payer."""

    name: ClassVar[str]
    asks_about_chart_only: ClassVar[bool] = False
    """Whether it can only ask about people who are in the chart, as the chart has them."""

    def __init__(self, office: Office) -> None:
        self.office = office

    def can_ask(self, inquiry: EligibilityInquiry) -> bool:
        """Return whether an inquiry can be asked in this way."""
        return True

    @abstractmethod
    def ask(self, inquiry: EligibilityInquiry) -> ComparableAnswer:
        """Ask, and return the answer."""


class Direct(Way):
    """The domain itself, as steps and simulators call it."""

    name = "direct"

    def ask(self, inquiry: EligibilityInquiry) -> ComparableAnswer:
        state, action = self.office.payer
        return describe_answer(state.check_eligibility(action, inquiry))


def describe_answer(answer: EligibilityAnswer) -> ComparableAnswer:
    """Return the answer of the domain as it can be compared."""
    if answer.rejection is not None:
        return ComparableAnswer(rejection=get_rejection_code(answer.rejection))
    assert answer.coverage is not None
    assert answer.status is not None
    comparable = ComparableAnswer(
        status=answer.status,
        plan=answer.coverage.plan_name.upper(),
        period=(answer.coverage.start, answer.coverage.end),
        others={other.payer_name.upper() for other in answer.other_coverages},
    )
    if answer.status == "active":
        describe_benefits(comparable, answer.benefits)
    return comparable


def describe_benefits(comparable: ComparableAnswer, benefits: Iterable[Benefit]) -> None:
    """Add benefits to an answer."""
    for benefit in benefits:
        for service_type in benefit.service_types:
            subject = benefit.procedure_code or service_type
            if benefit.kind == "not_covered":
                comparable.excluded.add((subject, benefit.in_network))
            elif benefit.kind not in ("active", "inactive", "other_payer"):
                key = (benefit.kind, subject, benefit.level or "", benefit.in_network)
                value = next(each for each in (benefit.amount, benefit.share, benefit.quantity) if each is not None)
                total, _ = comparable.amounts.get(key, (value, None))
                comparable.amounts[key] = (total, value) if benefit.period == "remaining" else (value, None)
            if benefit.authorization_required is not None:
                comparable.authorizations[subject] = benefit.authorization_required
