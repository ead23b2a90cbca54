"""Plans: what a policy pays, and what the member pays."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BeforeValidator, Field

from clerkship.model.frozen import Frozen
from clerkship.payer.code_pattern import matches_code
from clerkship.payer.inquiry import ServiceType, Unit

TABLE_FOLDER = Path(__file__).parent / "tables"
DEFAULT_PLAN = "default"
"""The id of the plan that unknown plans are read as."""


def read_table(name: str) -> Any:
    """Return the data of `tables/<name>.json`."""
    return orjson.loads((TABLE_FOLDER / f"{name}.json").read_bytes())


def _to_float(value: Any) -> Any:
    """Return a whole number as a float: amounts in events read back as they were written."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


Dollars = Annotated[float, BeforeValidator(_to_float), Field(ge=0, strict=True)]
Amount = Annotated[float, BeforeValidator(_to_float), Field(ge=0, strict=True)]
"""A number of visits, units or days."""
Share = Annotated[float, BeforeValidator(_to_float), Field(ge=0, le=1, strict=True)]


class PlanAmounts(Frozen):
    """An amount for each calendar year, and how much of it the members have paid if that is the same for all."""

    individual: Annotated[Dollars, Field(description="dollars for each person")]
    family: Annotated[Dollars | None, Field(description="dollars for all members of the policy; null if none")] = None
    individual_met: Annotated[
        Dollars | None, Field(description="what every member has paid; by default, each has paid another amount")
    ] = None
    family_met: Annotated[
        Dollars | None, Field(description="what all people of a policy have paid; by default the sum of what each has")
    ] = None


class NetworkTerms(Frozen):
    """What a member pays to providers in the network, or to others."""

    coinsurance: Annotated[Share, Field(description="share of each bill that the member pays, such as 0.2")] = 0.0
    copays: Annotated[
        dict[ServiceType, Dollars], Field(description="dollars for each visit, by service type; instead of coinsurance")
    ] = {}


class VisitLimit(Frozen):
    """How much of a service the plan pays for in a calendar year."""

    service_type: Annotated[ServiceType, Field(description="the service")]
    quantity: Annotated[Amount, Field(gt=0, description="how many")]
    unit: Annotated[Unit, Field(description="of what")] = "visits"
    used: Annotated[
        Amount | None, Field(description="how many every member has used; by default, each has used another number")
    ] = None


class BenefitPlan(Frozen):
    """The benefits of a plan. The keys that are given replace those of the shipped plan with this id, or else of the
    shipped plan `default`.
    """

    name: Annotated[str | None, Field(description="the name of the plan; by default that on the policy")] = None
    deductible: Annotated[PlanAmounts, Field(description="what the member pays before the plan pays")] = PlanAmounts(
        individual=0.0
    )
    out_of_pocket: Annotated[
        PlanAmounts | None, Field(description="the most that a member pays in a year; null for no limit")
    ] = None
    in_network: Annotated[NetworkTerms, Field(description="what the member pays in the network")] = NetworkTerms()
    out_of_network: Annotated[
        NetworkTerms | None,
        Field(description="what the member pays elsewhere; null if only emergencies are paid there"),
    ] = None
    limits: Annotated[tuple[VisitLimit, ...], Field(description="limits on services")] = ()
    not_covered: Annotated[
        tuple[ServiceType, ...], Field(description="service types that it does not pay for; it pays for all others")
    ] = ()


@cache
def load_shipped_plans() -> dict[str, BenefitPlan]:
    """Return the plans that ship, by id."""
    return {id: BenefitPlan.model_validate(fields) for id, fields in read_table("plans").items()}


def merge_plans(plans: dict[str, BenefitPlan]) -> dict[str, BenefitPlan]:
    """Return the shipped plans, with those of the config over them."""
    merged = dict(load_shipped_plans())
    for id, plan in plans.items():
        given = {name: getattr(plan, name) for name in plan.model_fields_set}
        base = merged.get(id) or merged[DEFAULT_PLAN].model_copy(update={"name": None})
        merged[id] = base.model_copy(update=given)
    return merged


@cache
def _load_service_types() -> tuple[tuple[str, ServiceType], ...]:
    return tuple((code, row["service_type"]) for row in read_table("service_types") for code in row["codes"])


@cache
def find_service_type(procedure_code: str) -> ServiceType:
    """Return the service type of a procedure; `medical` if no other is known for it."""
    return next((type for pattern, type in _load_service_types() if matches_code(pattern, procedure_code)), "medical")
