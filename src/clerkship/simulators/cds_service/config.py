"""The configuration of a `cds_service` simulator."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.formats.cds_hooks.card import Card
from clerkship.formats.cds_hooks.hooks import HookName
from clerkship.formats.cds_hooks.prefetch import find_template_problem
from clerkship.formats.cds_hooks.wire_model import CdsService
from clerkship.model.closed import NameOf
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.sandbox.authentication.client_jwt import JwtClient

SERVICE = NameOf("CDS service")
RuleName = Literal["allergy", "interaction", "duplicate_order"]
MEDICATIONS = "MedicationRequest?patient={{context.patientId}}&status=active&_include=MedicationRequest:medication"
PREFETCH_OF_RULES: dict[RuleName, dict[str, str]] = {
    "allergy": {"allergies": "AllergyIntolerance?patient={{context.patientId}}"},
    "interaction": {"medications": MEDICATIONS},
    "duplicate_order": {
        "medications": MEDICATIONS,
        "orders": "ServiceRequest?patient={{context.patientId}}",
    },
}
"""What each rule needs to know, by prefetch key."""


class ServiceConfig(Frozen):
    """One service: its description, and how it answers."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="the last part of its URL")]
    hook: Annotated[HookName, Field(description="the hook on which it is called")]
    description: Annotated[str, Field(min_length=1, description="what it does")]
    title: Annotated[str | None, Field(description="its name, for people")] = None
    prefetch: Annotated[dict[str, str], Field(description="prefetch templates, besides those of its rules")] = {}
    cards: Annotated[tuple[Card, ...], Field(description="cards that it always returns")] = ()
    rules: Annotated[tuple[RuleName, ...], Field(description="rules that look at draft orders")] = ()
    duplicate_days: Annotated[Whole, Field(description="days in which the same test counts as a duplicate")] = 30

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rules and self.hook not in ("order-select", "order-sign"):
            raise ValueError(f"rules look at draft orders, which {self.hook} does not have")
        for key, template in self.prefetch.items():
            if problem := find_template_problem(template, self.hook):
                raise ValueError(f"prefetch.{key}: {problem}")
        return self

    @property
    def needs(self) -> dict[str, str]:
        """All prefetch templates: its own and those of its rules."""
        rules = {key: text for rule in self.rules for key, text in PREFETCH_OF_RULES[rule].items()}
        return {**rules, **self.prefetch}

    def describe(self) -> CdsService:
        """Return the service as the discovery endpoint describes it."""
        return CdsService(
            hook=self.hook, id=self.id, description=self.description, title=self.title, prefetch=self.needs
        )


DEFAULT_SERVICES = (
    ServiceConfig(
        id="order-safety",
        hook="order-sign",
        title="Order safety",
        description="Checks draft orders against allergies, active medication and earlier orders.",
        rules=("allergy", "interaction", "duplicate_order"),
    ),
)


class CdsServiceConfig(Frozen):
    """The configuration."""

    services: Annotated[tuple[ServiceConfig, ...], Field(min_length=1, description="the services")] = DEFAULT_SERVICES
    require_jwt: Annotated[Flag, Field(description="whether calls and feedback need a JWT of the client")] = False
    clients: Annotated[
        tuple[JwtClient, ...],
        Field(description="clients that are registered from the start"),
    ] = ()

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        ids = [service.id for service in self.services]
        if len(set(ids)) < len(ids):
            raise ValueError("two services have the same id")
        if len({client.issuer for client in self.clients}) < len(self.clients):
            raise ValueError("two clients have the same issuer")
        return self
