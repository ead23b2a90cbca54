"""The configuration of the payers: directory, plans, people, and rules of decisions."""

from collections import Counter
from datetime import date, timedelta, timezone
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.duration import Duration
from clerkship.model.environment import Environment, utc_offset_minutes
from clerkship.model.frozen import Frozen, Whole
from clerkship.model.names import did_you_mean
from clerkship.payer.answer import Adjustment, ClaimLine
from clerkship.payer.code_pattern import CodePatterns
from clerkship.payer.determination_rule import AppealRule, AuthorizationRule, ClaimRule, Determination
from clerkship.payer.inquiry import ServiceType
from clerkship.payer.money import find_sum_mistake
from clerkship.payer.plan import DEFAULT_PLAN, Amount, BenefitPlan, Dollars, Share, merge_plans, read_table

Gender = Literal["male", "female", "unknown"]
_RULES: dict[str, TypeAdapter[Any]] = {
    "authorization_required": TypeAdapter(tuple[AuthorizationRule, ...]),
    "determinations": TypeAdapter(tuple[Determination, ...]),
    "claim_rules": TypeAdapter(tuple[ClaimRule, ...]),
    "appeal_rules": TypeAdapter(tuple[AppealRule, ...]),
}


@cache
def _load_shipped_rules(name: str) -> Any:
    return _RULES[name].validate_python(read_table("rules")[name])


def _rules(name: str, description: str) -> Any:
    """Return a field of rules that are as shipped by default."""
    return Field(default_factory=lambda: _load_shipped_rules(name), description=description)


class PayerEntry(Frozen):
    """A payer, or changes to one of the dataset."""

    name: Annotated[str | None, Field(description="its name; by default that of the dataset, or its number")] = None
    status: Annotated[
        Literal["active", "inactive", "unavailable"],
        Field(description="`inactive` no longer pays; `unavailable` cannot answer at the moment"),
    ] = "active"
    fax_numbers: Annotated[
        tuple[PhoneNumber, ...],
        Field(description="fax numbers for documents; a fax with the number of a request is filed with it"),
    ] = ()


class CoverageEntry(Frozen):
    """A policy of a member."""

    plan: Annotated[str, Field(min_length=1, description="id of the plan")] = DEFAULT_PLAN
    group: Annotated[str, Field(description="number of the group")] = ""
    start: Annotated[date, Field(description="first covered day")]
    end: Annotated[date | None, Field(description="last covered day")] = None
    order: Annotated[Whole, Field(ge=1, le=9, description="1 if it pays first, 2 if it pays second")] = 1

    @model_validator(mode="after")
    def _check_period(self) -> Self:
        if self.end is not None and self.end < self.start:
            raise ValueError(f"`end` ({self.end}) is before `start` ({self.start})")
        return self


class PersonEntry(Frozen):
    """A person."""

    family: Annotated[str, Field(min_length=1, description="family name")]
    given: Annotated[tuple[str, ...], Field(min_length=1, description="given names")]
    birth_date: Annotated[date, Field(description="birth date")]
    gender: Annotated[Gender, Field(description="gender")] = "unknown"
    patient: Annotated[str, Field(description="the patient of the chart, such as Patient/pat-0013")] = ""


class DependentEntry(PersonEntry):
    """A person without a member id of its own."""

    relationship: Annotated[Literal["spouse", "child", "other"], Field(description="to the subscriber")] = "child"


class MemberEntry(PersonEntry):
    """A subscriber beside those of the dataset."""

    payer: Annotated[str, Field(min_length=1, description="number of the payer")]
    member_id: Annotated[str, Field(min_length=1, max_length=80, description="its id")]
    coverages: Annotated[tuple[CoverageEntry, ...], Field(min_length=1, description="its policies with this payer")]
    dependents: Annotated[
        tuple[DependentEntry, ...], Field(description="people whom the same policies cover, under the same id")
    ] = ()


class ProviderEntry(Frozen):
    """A provider on file with the payers, or changes to one of the dataset."""

    name: Annotated[str | None, Field(description="its name; by default that of the dataset, or its NPI")] = None
    organization: Annotated[
        str | None, Field(description="NPI of the organization it works for, whose requests it may read")
    ] = None
    networks: Annotated[
        CodePatterns | None, Field(description="plans whose network it is in: ids or patterns; all if not given")
    ] = None
    on_file: Annotated[bool, Field(description="false if the payers do not know it")] = True


class Accumulators(Frozen):
    """What a member has used this year. What is not given is as the plan says, or else the member's own."""

    deductible_met: Annotated[Dollars | None, Field(description="dollars paid toward the deductible")] = None
    out_of_pocket_met: Annotated[Dollars | None, Field(description="dollars paid toward the out-of-pocket maximum")] = (
        None
    )
    used: Annotated[dict[ServiceType, Amount], Field(description="visits used, by service type")] = {}


class ClaimEntry(Frozen):
    """A claim beside those of the dataset."""

    number: Annotated[str, Field(min_length=1, max_length=50, description="the payer's number")]
    payer: Annotated[str, Field(description="number of the payer")]
    member_id: Annotated[str, Field(description="id of the member")]
    dependent: Annotated[Whole, Field(ge=0, description="number of the dependent; 0 for the subscriber")] = 0
    provider_id: Annotated[str, Field(description="NPI of the provider")]
    account: Annotated[str, Field(description="the provider's own number")] = ""
    status: Annotated[Literal["received", "pended", "denied", "paid"], Field(description="its status")] = "received"
    reason: Annotated[str, Field(description="why it is pended or denied")] = ""
    text: Annotated[str, Field(description="an explanation for people")] = ""
    charge: Annotated[Dollars, Field(description="dollars charged")]
    paid: Annotated[Dollars, Field(description="dollars paid")] = 0.0
    start: Annotated[date, Field(description="first day of service")]
    end: Annotated[date | None, Field(description="last day of service; by default the first")] = None
    received: Annotated[date, Field(description="day on which the payer received it")]
    status_date: Annotated[date | None, Field(description="day of the status; by default the day of receipt")] = None
    paid_date: Annotated[date | None, Field(description="day of the payment")] = None
    payment_number: Annotated[str | None, Field(description="number of the payment")] = None
    adjustments: Annotated[
        tuple[Adjustment, ...], Field(description="why less was paid than charged; `charge` is `paid` and these")
    ] = ()
    lines: Annotated[tuple[ClaimLine, ...], Field(description="its services; their charges add up to `charge`")] = ()

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        for name, day in (("end", self.end), ("received", self.received)):
            if day is not None and day < self.start:
                raise ValueError(f"`{name}` ({day}) is before `start` ({self.start})")
        return self

    @model_validator(mode="after")
    def _check_sums(self) -> Self:
        mistake = find_sum_mistake(self)
        if mistake:
            raise ValueError(mistake)
        return self


class NumberPrefixes(Frozen):
    """What the payer's numbers begin with."""

    reference: Annotated[str, Field(pattern=r"^[A-Z0-9]{1,8}$", description="of requests")] = "R"
    authorization: Annotated[str, Field(pattern=r"^[A-Z0-9]{1,8}$", description="of authorizations")] = "A"
    claim: Annotated[str, Field(pattern=r"^[A-Z0-9]{1,8}$", description="of claims")] = "CLM"
    appeal: Annotated[str, Field(pattern=r"^[A-Z0-9]{1,8}$", description="of appeals")] = "AP"
    payment: Annotated[str, Field(pattern=r"^[A-Z0-9]{1,8}$", description="of payments")] = "EFT"


class AppealConfig(Frozen):
    """How appeals are decided."""

    deadline: Annotated[
        Whole, Field(ge=1, le=3650, description="days after the denial in which an appeal is possible")
    ] = 180
    delay: Annotated[Duration, Field(description="simulated time until the decision")] = timedelta(days=3)
    rules: Annotated[
        tuple[AppealRule, ...],
        _rules("appeal_rules", "the first that matches decides; if none does, the denial is upheld"),
    ]


class PayerConfig(Frozen):
    """The payers of the environment. What is not given is as shipped: plans, rules and members for clinic-100."""

    payers: Annotated[dict[str, PayerEntry], Field(description="payers by number, beside those of the dataset")] = {}
    plans: Annotated[
        dict[str, BenefitPlan], Field(description="plans by id; their keys replace those of the shipped plan")
    ] = {}
    members: Annotated[tuple[MemberEntry, ...], Field(description="members beside those of the dataset")] = ()
    providers: Annotated[
        dict[str, ProviderEntry], Field(description="providers by NPI, beside those of the dataset")
    ] = {}
    accumulators: Annotated[
        dict[str, Accumulators], Field(description="what members have used this year, by member id")
    ] = {}
    authorization_required: Annotated[
        tuple[AuthorizationRule, ...],
        _rules("authorization_required", "which services need an authorization; the first rule that matches applies"),
    ]
    determinations: Annotated[
        tuple[Determination, ...],
        _rules("determinations", "decisions on authorization requests; the first that matches applies"),
    ]
    default_determination: Annotated[
        Determination, Field(description="the decision if no other matches; approved if not given")
    ] = Determination(status="approved")
    validity: Annotated[Duration, Field(description="how long approvals are valid, if their rule does not say")] = (
        timedelta(days=90)
    )
    claims: Annotated[tuple[ClaimEntry, ...], Field(description="claims beside those of the dataset")] = ()
    claim_rules: Annotated[
        tuple[ClaimRule, ...],
        _rules(
            "claim_rules", "the status of the dataset's claims; the first rule that matches applies; otherwise paid"
        ),
    ]
    allowed_share: Annotated[
        Share, Field(description="share of a charge that the payers allow on claims of the dataset")
    ] = 0.8
    appeals: Annotated[
        AppealConfig,
        Field(default_factory=lambda: AppealConfig.model_validate({}), description="how appeals are decided"),
    ]
    peer_review_period: Annotated[
        Duration, Field(description="how long after a denial a physician of the payer can be asked to decide again")
    ] = timedelta(days=14)
    numbers: Annotated[NumberPrefixes, Field(description="what the payer's numbers begin with")] = NumberPrefixes()
    zone: Annotated[
        Whole | None,
        Field(
            ge=-840, le=840, description="UTC offset of its days, in minutes; by default that of the environment's now"
        ),
    ] = None
    as_of: Annotated[
        date | None,
        Field(
            description="day on which the dataset's claims have their status; by default that of the environment's now"
        ),
    ] = None

    @property
    def local_zone(self) -> timezone:
        """The zone of the payers' days."""
        return timezone(timedelta(minutes=self.zone or 0))

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        ids = Counter((member.payer, member.member_id) for member in self.members)
        numbers = Counter(claim.number for claim in self.claims)
        mistakes = [f"two members of {payer} have the id {id}" for (payer, id), count in ids.items() if count > 1]
        mistakes += [f"two claims have the number {number}" for number, count in numbers.items() if count > 1]
        plans = merge_plans(dict(self.plans))
        mistakes += [
            f"the member {member.member_id} has the unknown plan `{coverage.plan}`"
            f"; {did_you_mean(coverage.plan, plans) or 'add it to `plans`'}"
            for member in self.members
            for coverage in member.coverages
            if coverage.plan not in plans
        ]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self


def apply_environment_time(config: PayerConfig, environment: Environment) -> PayerConfig:
    """Return the config with the zone and the day of the environment, unless the config sets them."""
    zone = config.zone if config.zone is not None else utc_offset_minutes(environment.now)
    local = environment.now.astimezone(timezone(timedelta(minutes=zone)))
    return config.model_copy(update={"zone": zone, "as_of": config.as_of or local.date()})
